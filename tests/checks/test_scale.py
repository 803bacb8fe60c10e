"""Thousands of files in one run: one process for all of them, and a bound on what the schema checker is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from contracts.findings import Severity
from repo_layout.adapters.cue import Cue
from repo_layout.schema_layer import SchemaVerdict
from repo_layout.source import Source
from repo_layout.validate import MOST_WRONG
from tests.checks.estates import FORECAST, findings_of, judged, minimal


@dataclass
class Remembering:
    """A checker that has nothing to say and remembers what it was shown."""

    shown: list[str] = field(default_factory=list)

    def judge(self, sources: Sequence[Source]) -> SchemaVerdict:
        self.shown += [source.file for source in sources]
        return SchemaVerdict()


def _copies(count: int, *swaps: tuple[str, str]) -> dict[str, bytes]:
    """The minimal estate with so many more contracts, whose text is changed."""
    files = minimal()
    text = files[FORECAST].decode().replace("floor: 4\n", "").replace("minimum: 8\n", "")
    for old, new in swaps:
        assert old in text
        text = text.replace(old, new)
    copies = {
        f"contracts/tides/copy-{at}.yaml": text.replace("name: forecast\n", f"name: copy-{at}\n").encode()
        for at in range(count)
    }
    return files | copies


STARTS = frozenset({"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"})


@contextmanager
def _processes_started() -> Iterator[list[str]]:
    """Every process that Python starts while this lasts, by what was run."""
    started: list[str] = []
    listening = [True]

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event in STARTS:
            started.append(f"{event} {arguments[0] if arguments else ''}")

    sys.addaudithook(hear)  # a hook stays for good, so it is told to be quiet
    try:
        yield started
    finally:
        listening.clear()


def test_five_thousand_contracts_take_one_process(cue: Cue) -> None:
    with _processes_started() as started:
        verdict = judged(_copies(5_000), cue)
    assert started == [f"subprocess.Popen {cue.binary}"]
    assert verdict.estate is not None
    assert len(verdict.estate.contracts) > 5_000


def test_files_refused_beyond_a_number_are_judged_by_their_models_alone() -> None:
    checker = Remembering()
    wrong = _copies(MOST_WRONG + 7, ("memory: 16GiB", "memory: 512m"))
    findings = findings_of(wrong, checker)
    assert len([f for f in findings if f.code == "EBT-120"]) == MOST_WRONG + 7
    (note,) = [f for f in findings if f.code == "EBT-313"]
    assert note.severity is Severity.NOTE
    assert "the other 7 may show more" in note.message
    assert len(checker.shown) == len(wrong) - 7
    assert set(minimal()) - {"CODEOWNERS"} <= set(checker.shown)


def test_up_to_that_number_the_checker_sees_every_file() -> None:
    checker = Remembering()
    wrong = _copies(20, ("memory: 16GiB", "memory: 512m"))
    assert all(f.code != "EBT-313" for f in findings_of(wrong, checker))
    assert sorted(checker.shown) == sorted(set(wrong) - {"CODEOWNERS"})
