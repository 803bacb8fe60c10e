"""Findings that a change brings or ends, whatever lines they moved to, and the contracts that they are about.

`repo_layout.change` asks. A finding is the same on both sides when it has the same code and is about the same thing,
although a number in its sentence moved. Pure; it must not know a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from contracts.findings import Finding, Severity, in_order
from repo_layout.layout import Kind, Located, locate

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class FindingsChange:
    """What appears and what vanishes, each in order, and the contracts that can be honoured on one side only, by name.

    `stopped` had no error before and has one now, `started` the other way round.
    """

    appear: tuple[Finding, ...] = ()
    vanish: tuple[Finding, ...] = ()
    stopped: tuple[str, ...] = ()
    started: tuple[str, ...] = ()

    def mirrored(self) -> FindingsChange:
        """The same change, undone."""
        return FindingsChange(self.vanish, self.appear, self.started, self.stopped)


def findings_change(before: Iterable[Finding], after: Iterable[Finding]) -> FindingsChange:
    """What differs between two sets of findings.

    An error that is weighed as a warning on the other side is the same finding: how a rule weighs one depends on what
    it is compared with.
    """
    had, has = _by_subject(before), _by_subject(after)
    appear: list[Finding] = []
    vanish: list[Finding] = []
    bad_before, bad_after = set(_contracts(had.values())), set(_contracts(has.values()))
    for key in had.keys() | has.keys():
        left, came, kept = _matched(had.get(key, []), has.get(key, []))
        appear += came
        vanish += left
        if lasting := tuple(_contracts([[finding for pair in kept for finding in pair]])):
            bad_before.update(lasting)
            bad_after.update(lasting)
    return FindingsChange(
        in_order(appear),
        in_order(vanish),
        tuple(sorted(bad_after - bad_before)),
        tuple(sorted(bad_before - bad_after)),
    )


def subject(finding: Finding) -> str:
    """What a finding is about: `contract/NAME` for a contract's file wherever it lies, else the file."""
    located = locate(finding.place.file)
    if isinstance(located, Located) and located.kind is Kind.CONTRACT:
        return f"contract/{located.name}"
    return finding.place.file


def _contracts(groups: Iterable[Sequence[Finding]]) -> Iterator[str]:
    """The contracts that errors are about."""
    for finding in (one for group in groups for one in group if one.severity is Severity.ERROR):
        kind, _, name = subject(finding).partition("/")
        if kind == "contract" and "/" not in name:
            yield name


def _by_subject(findings: Iterable[Finding]) -> dict[tuple[str, str], list[Finding]]:
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in in_order(findings):
        found.setdefault((finding.code, subject(finding)), []).append(finding)
    return found


def _matched(
    before: Sequence[Finding], after: Sequence[Finding]
) -> tuple[list[Finding], list[Finding], list[tuple[Finding, Finding]]]:
    """What left, what came and what stayed: equal sentences are paired, then those that differ in numbers, then any."""
    left, came = list(before), list(after)
    kept: list[tuple[Finding, Finding]] = []
    for alike in _ALIKE:
        for finding in tuple(left):
            twin = next((other for other in came if alike(other) == alike(finding)), None)
            if twin is not None:
                left.remove(finding)
                came.remove(twin)
                kept.append((finding, twin))
    return left, came, kept


_ALIKE: tuple[Callable[[Finding], str], ...] = (
    lambda finding: finding.message,
    lambda finding: _DIGITS.sub("#", finding.message),
    lambda _: "",
)
