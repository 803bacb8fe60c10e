"""Correlation groups: capacity domains that are taken back together, as one reviewed file declares them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from contracts.fields import Date, Declared, Flag, Name, Positive
from contracts.findings import Fault


class Evidence(Declared):
    """What a learnt group rests on."""

    waves: Positive
    first: Date
    last: Date
    note: Annotated[str, Field(strict=True, max_length=400)] = ""


class GroupFile(Declared):
    """`correlation_groups/<region>/<group>.yaml`; members are capacity domains."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["CorrelationGroup"]
    region: Name
    name: Name
    falls_with: Literal["aggregate", "hall", "power", "observed"]
    bounding: Flag = True
    members: tuple[Name, ...] = Field(min_length=1, max_length=1000)
    evidence: Evidence | None = None

    def faults(self) -> Iterator[Fault]:
        """A learnt group that says nothing of what it was learnt from."""
        if self.falls_with == "observed" and self.evidence is None:
            message = f"the observed group {self.name} has no evidence"
            yield Fault(("fallsWith",), "EBT-166", message, "observed", "evidence with waves, first and last")
