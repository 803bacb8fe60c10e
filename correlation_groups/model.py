"""Correlation groups: capacity domains that are taken back together, as one reviewed file declares them."""

from __future__ import annotations

import enum
from typing import Literal

from pydantic import Field

from contracts.fields import Declared, Name


class GroupKind(enum.Enum):
    """Why the members fall together; `observed` groups were learnt, the others follow from the building."""

    AGGREGATE = "aggregate"
    HALL = "hall"
    POWER = "power"
    OBSERVED = "observed"


class Evidence(Declared):
    """What a learnt group rests on."""

    waves: int = Field(ge=1, strict=True)
    first: str
    last: str
    note: str = Field(default="", max_length=400)


class GroupFile(Declared):
    """`correlation_groups/<region>/<group>.yaml`; members are capacity domains."""

    api_version: Literal["ebbtide/v1"]
    kind: Literal["CorrelationGroup"]
    region: Name
    name: Name
    falls_with: Literal["aggregate", "hall", "power", "observed"]
    bounding: bool = True
    members: tuple[Name, ...] = Field(min_length=1, max_length=1000)
    evidence: Evidence | None = None
