"""The `trace` mark: skips with a reason, and never silently where the traces were promised."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = "\n".join(
    line
    for line in (Path(__file__).parent / "conftest.py").read_text(encoding="utf-8").splitlines()
    if not line.startswith("pytest_plugins")  # the suite under test is not this package
)
TRACE_TEST = """
import pytest

@pytest.mark.trace
def test_reads_a_record(traces_folder):
    if not (traces_folder / "record.csv").exists():
        pytest.skip("no such record")
"""


@pytest.fixture(name="suite")
def _suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("EBBTIDE_TRACES", raising=False)
    monkeypatch.delenv("EBBTIDE_REQUIRE_TRACES", raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TRACE_TEST)
    pytester.makeini("[pytest]\nmarkers = trace: x\n")
    return pytester


def run(suite: pytest.Pytester) -> pytest.RunResult:
    return suite.runpytest_subprocess("-p", "no:cacheprovider", "-rs")


def test_a_trace_test_skips_and_names_the_variable_when_it_is_unset(suite: pytest.Pytester) -> None:
    result = run(suite)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*EBBTIDE_TRACES is not set*"])


def test_a_trace_test_fails_without_traces_where_they_are_required(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EBBTIDE_REQUIRE_TRACES", "1")
    monkeypatch.setenv("EBBTIDE_TRACES", str(suite.path / "nowhere"))
    result = run(suite)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*which is no folder*"])


def test_a_trace_test_that_skips_by_itself_fails_where_traces_are_required(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EBBTIDE_TRACES", str(suite.path))
    run(suite).assert_outcomes(skipped=1)
    monkeypatch.setenv("EBBTIDE_REQUIRE_TRACES", "1")
    result = run(suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*this test skipped*no such record*"])


def test_a_trace_test_runs_where_the_traces_are(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    (suite.path / "record.csv").touch()
    monkeypatch.setenv("EBBTIDE_TRACES", str(suite.path))
    run(suite).assert_outcomes(passed=1)
