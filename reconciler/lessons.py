"""What of the appraiser's learning outlives its process: back-offs, interruption history, what was promised and told.

Pure; used by `logbook` and `saved`. Left out is what follows from the rest: board, topology and prices follow from the
commit and the history, the rate card is asked for anew each cycle, and which instances had become nodes stands in the
fleet. On an empty disk all of it is missing: pools start from the outlook, or from what a ledger knows of their past
hours (`Appraiser.remember`), and an exclusion that stood is found again by its own evidence.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from contracts.errors import Refused
from contracts.frozen import quick
from pools import exclusion, forward
from pools.interruption import Evidence, Floats, History, Outlook, Topology
from reconciler.appraisal import Learnt, ToldRates
from reconciler.fleet import Fleet


@quick
@dataclass(frozen=True, slots=True)
class Sums:
    """One memory of the history: arrays of doubles as base64, in the order of the pools and groups."""

    exposure: str
    losses: str
    squares: str
    group_squares: str
    region_squares: float


@dataclass(frozen=True, slots=True)
class Past:
    """The interruption history, by the names of pools and groups."""

    pools: tuple[str, ...]
    groups: tuple[str, ...]
    memories_h: tuple[float, ...]
    sums: tuple[Sums, ...]
    at: int
    began: int


@dataclass(frozen=True, slots=True)
class Lessons:
    """What is kept of `appraisal.Learnt`, under the same names."""

    past: Past | None = None
    exposure: Mapping[str, float] = field(default_factory=dict)
    losses: Mapping[str, float] = field(default_factory=dict)
    heard: Mapping[str, str] = field(default_factory=dict)
    failed: tuple[exclusion.Failed, ...] = ()
    excluded: exclusion.State | None = None
    ahead: forward.Forward = field(default_factory=forward.Forward)
    called_at: int = 0
    told_rates: ToldRates = field(default_factory=dict)


def lessons_of(learnt: Learnt) -> Lessons:
    """What lasts of all that was learnt."""
    return Lessons(
        past=_past(learnt.history) if learnt.history is not None else None,
        exposure=learnt.exposure,
        losses=learnt.losses,
        heard=learnt.heard,
        failed=learnt.failed,
        excluded=learnt.excluded,
        ahead=learnt.ahead,
        called_at=learnt.called_at,
        told_rates=learnt.told_rates,
    )


def learnt_of(lessons: Lessons, fleet: Fleet, outlook: Outlook) -> Learnt:
    """What an appraiser goes on with; a history that was kept under other memories is none.

    Raises `Refused` where the arrays are not as long as the names say.
    """
    return Learnt(
        history=_history(lessons.past, outlook) if lessons.past is not None else None,
        exposure=lessons.exposure,
        losses=lessons.losses,
        heard=lessons.heard,
        failed=lessons.failed,
        nodes=frozenset(i.name for i in fleet.instances.values() if i.joined_at),
        excluded=lessons.excluded,
        ahead=lessons.ahead,
        called_at=lessons.called_at,
        told_rates=lessons.told_rates,
    )


def _past(history: History) -> Past:
    return Past(
        pools=history.topology.pools,
        groups=history.topology.groups,
        memories_h=history.outlook.memories_h,
        sums=tuple(
            Sums(
                _packed(one.exposure),
                _packed(one.losses),
                _packed(one.squares),
                _packed(one.group_squares),
                one.region_squares,
            )
            for one in history.evidence
        ),
        at=history.at,
        began=history.began,
    )


def _history(past: Past, outlook: Outlook) -> History | None:
    if past.memories_h != outlook.memories_h:
        return None
    pools, groups = len(past.pools), len(past.groups)
    evidence = tuple(
        Evidence(
            exposure=_unpacked(one.exposure, pools),
            losses=_unpacked(one.losses, pools),
            squares=_unpacked(one.squares, pools),
            group_squares=_unpacked(one.group_squares, groups),
            region_squares=one.region_squares,
        )
        for one in past.sums
    )
    # laid over the topology of the commit in hand before it is used: names are all it needs until then
    topology = Topology(past.pools, past.groups, np.zeros((groups, pools)), ())
    return replace(History.empty(topology, outlook), evidence=evidence, at=past.at, began=past.began)


def _packed(values: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode("ascii")


def _unpacked(text: str, length: int) -> Floats:
    try:
        values = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8")
    except (binascii.Error, ValueError):
        raise Refused("an array of the interruption history is no base64 of doubles") from None
    if len(values) != length:
        raise Refused(f"an array of the interruption history has {len(values)} numbers for {length} names")
    return values.astype(np.float64)
