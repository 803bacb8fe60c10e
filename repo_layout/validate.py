"""Everything that is checked before anything is compiled: files in, one estate and all findings out.

`ebbtide validate` and the compiler call `validate`. The two form layers run side by side; the rules across files run on
what is well formed. It must not print, nor decide an exit code.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from contracts.findings import Finding, Severity, in_order
from repo_layout import feasibility
from repo_layout.faults import merged
from repo_layout.load import assemble, first_of, judge, read
from repo_layout.model import Estate
from repo_layout.schema_layer import SchemaChecker
from repo_layout.tree import Tree
from repo_layout.versions import CONVERTERS, Converter


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


def validate(tree: Tree, *, cue: SchemaChecker, converters: Mapping[str, Converter] = CONVERTERS) -> Validated:
    """Judge one commit's files. Never raises for what a file holds."""
    taken = read(tree, converters)
    with ThreadPoolExecutor(max_workers=1) as pool:
        schema = pool.submit(cue.judge, taken.sources)
        judged = [judge(source) for source in taken.sources]
        assembled = assemble(tree, judged)
        lost = taken.broken | {item.source.kind for item in judged if item.document is None}
        across = (
            feasibility.check(assembled.estate, broken=lost | assembled.broken) if assembled.estate is not None else ()
        )
        verdict = schema.result()
    findings = [*taken.findings, *assembled.findings, *verdict.findings, *across]
    malformed = bool(lost or assembled.broken)
    for item in judged:
        faults = merged(item.faults, verdict.faults.get(item.source.file, ()))
        malformed = malformed or bool(faults)
        findings.extend(first_of([item.source.finding(fault) for fault in faults]))
    return Validated(None if malformed else assembled.estate, in_order(findings))
