"""What every test stands on: the recorded traces where they are, and no setting of the person who runs it.

Tests marked `trace` need the folder that EBBTIDE_TRACES names. Without it they skip and say so; where
EBBTIDE_REQUIRE_TRACES=1 promises that it is there, a trace test that does not run is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.golden_option"]

# The same examples on every run and machine; `--hypothesis-profile=seek` looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("seek", deadline=None, max_examples=2_000)
settings.load_profile("steady")

# A person's Git settings (signing, hooks, line endings, default branch) decide nothing here.
os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
# A hook of Git's that runs these tests names its own repository; a test means the one it makes.
for _name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
    os.environ.pop(_name, None)

TRACES = "EBBTIDE_TRACES"
REQUIRE_TRACES = "EBBTIDE_REQUIRE_TRACES"


def _missing_traces() -> str:
    """Why the recorded traces cannot be read, or an empty string."""
    folder = os.environ.get(TRACES, "")
    if not folder:
        return f"{TRACES} is not set: `ebbtide traces` lists where the recorded traces come from"
    if not Path(folder).is_dir():
        return f"{TRACES} names {folder}, which is no folder"
    return ""


def _traces_are_required() -> bool:
    return os.environ.get(REQUIRE_TRACES) == "1"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a trace test without traces, or fail it where they were promised."""
    if item.get_closest_marker("trace") is None:
        return
    reason = _missing_traces()
    if reason and _traces_are_required():
        pytest.fail(f"{REQUIRE_TRACES}=1, but {reason}", pytrace=False)
    if reason:
        pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a trace test, whatever its reason, into a failure where traces were promised."""
    report = yield
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and item.get_closest_marker("trace")
        and _traces_are_required()
    ):
        report.outcome = "failed"
        report.longrepr = f"{REQUIRE_TRACES}=1, but this test skipped: {report.longreprtext}"
    return report


@pytest.fixture(scope="session")
def traces_folder() -> Path:
    """The folder of the recorded traces; for tests marked `trace` only."""
    return Path(os.environ[TRACES])
