"""Everything that is checked before anything is compiled: files in, one estate and all findings out.

`ebbtide validate` and the compiler call `validate`. The models judge first, which is quick; beside the schema checker
the rules across files run on what is well formed. It must not print, nor decide an exit code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from contracts.errors import Place
from contracts.findings import Finding, Severity, in_order
from repo_layout import feasibility
from repo_layout.change import touched
from repo_layout.faults import merged
from repo_layout.layout import Kind
from repo_layout.load import Assembled, Judged, Known, Read, assemble, first_of, read
from repo_layout.model import Estate
from repo_layout.schema_layer import SchemaChecker
from repo_layout.source import Source
from repo_layout.tree import Tree
from repo_layout.versions import CONVERTERS, Converter

MOST_WRONG = 1_000
"""Files refused by their model that the schema checker is shown as well: each costs it half a mebibyte and a
millisecond until its memory is full, and minutes beyond; with 1,000 of them it ends in about two seconds.
"""


@dataclass(frozen=True, slots=True)
class Validated:
    """The estate, None as long as any file is not well formed, and every finding in order.

    An estate that comes with errors is well formed and cannot be honoured: nothing may be compiled from it.
    """

    estate: Estate | None
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        """Whether a person has to change something, or something could not be judged."""
        return any(f.severity in (Severity.ERROR, Severity.UNJUDGED) for f in self.findings)


def validate(
    tree: Tree,
    *,
    cue: SchemaChecker,
    converters: Mapping[str, Converter] = CONVERTERS,
    since: Estate | None = None,
    known: Known | None = None,
) -> Validated:
    """Judge one commit's files. Never raises for what a file holds.

    `since` is the estate before the change that is judged: rules that rest on other people's files refuse only what
    differs from it. Without one everything counts as changed. `known` holds files that were read before.
    """
    known = known if known is not None else Known()
    taken = read(tree, converters, known)
    judged = [known.judge(source) for source in taken.sources]
    shown, held_back = _for_the_checker(judged)
    with ThreadPoolExecutor(max_workers=1) as pool:
        schema = pool.submit(cue.judge, shown)
        assembled = assemble(tree, judged)
        lost = _lost(taken, judged)
        across = _across(assembled, lost, since)
        verdict = schema.result()
    findings = [*taken.findings, *held_back, *assembled.findings, *verdict.findings, *across]
    malformed = bool(lost or assembled.broken)
    for item in judged:
        faults = merged(item.faults, verdict.faults.get(item.source.file, ()))
        malformed = malformed or bool(faults)
        findings.extend(first_of([item.source.finding(fault) for fault in faults]))
    return Validated(None if malformed else assembled.estate, in_order(findings))


def _for_the_checker(judged: Sequence[Judged]) -> tuple[Sequence[Source], Sequence[Finding]]:
    """The sources that the schema checker is shown, and the note where those are not all.

    What is held back is refused by its model already, so nothing passes unseen; only what the schema might add to such
    a file is told in a later run.
    """
    wrong = [item for item in judged if item.faults]
    if len(wrong) <= MOST_WRONG:
        return [item.source for item in judged], ()
    beyond = {item.source.file for item in wrong[MOST_WRONG:]}
    message = (
        f"{len(wrong):,} files are refused by their models; the schemas were asked about the first {MOST_WRONG:,} of "
        f"them, so the other {len(beyond):,} may show more once these are corrected"
    )
    note = Finding("EBT-313", Place("."), message, hint="correct these first", severity=Severity.NOTE)
    return [item.source for item in judged if item.source.file not in beyond], (note,)


def estate_before(tree: Tree, *, known: Known, converters: Mapping[str, Converter] = CONVERTERS) -> Estate | None:
    """The estate of files that were judged when they were merged, to compare with; None where any is not well formed.

    The schema is not asked and no rule is: what `since` needs are the values, and a file without them has a fault in
    its model.
    """
    taken = read(tree, converters, known)
    judged = [known.judge(source) for source in taken.sources]
    assembled = assemble(tree, judged)
    return None if _lost(taken, judged) or assembled.broken else assembled.estate


def _lost(taken: Read, judged: Sequence[Judged]) -> frozenset[Kind]:
    """The kinds that lost a file to an error of form."""
    return taken.broken | {item.source.kind for item in judged if item.document is None}


def _across(assembled: Assembled, lost: frozenset[Kind], since: Estate | None) -> tuple[Finding, ...]:
    """What the rules across files say."""
    if assembled.estate is None:
        return ()
    keys = touched(since, assembled.estate) if since is not None else None
    return feasibility.check(assembled.estate, broken=lost | assembled.broken, changed=keys)
