"""Small, consistent histories of a region: every paid slot is accounted for exactly once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import strategies as st

from ledger.causes import Cause
from ledger.events import Datum, Event, EventType, Paid, Use
from ledger.usage import slots

HOUR = 3_600_000
HORIZON = 5 * HOUR
"""Histories end here; instances that still run are used up to here."""

REGIONS = ("north", "south")
WORKLOADS = ("etl", "render", "train")

# awkward on purpose: nothing divides, or everything vanishes, or the digits run out
RATES = st.sampled_from(["0", "0.000000001", "0.1", "0.333333333", "1", "7.77", "123.456789012", "999999999.999999999"])
AMOUNTS = st.sampled_from(["0", "0.000000001", "0.10", "12.345678901", "-3.3"])
MOMENTS = st.integers(0, HORIZON)


class Subject(NamedTuple):
    """What an event is about."""

    region: str = "north"
    workload: str = ""
    pool: str = ""
    instance: str = ""


@dataclass
class Writer:
    """Gives events their ids and keeps them in order."""

    events: list[Event] = field(default_factory=list)

    def write(
        self,
        kind: EventType,
        at: int,
        data: dict[str, Datum] | None = None,
        *,
        cause: Cause = Cause.ACCOUNTING,
        on: Subject = Subject(),  # noqa: B008 - a frozen value
        caused_by: str = "",
        recorded_at: int | None = None,
    ) -> str:
        """Append one event and return its id."""
        name = f"e{len(self.events):05d}"
        self.events.append(
            Event(
                id=name,
                occurred_at=at,
                recorded_at=at if recorded_at is None else recorded_at,
                type=kind,
                cause=cause,
                caused_by=caused_by,
                region=on.region,
                workload=on.workload,
                pool=on.pool,
                instance=on.instance,
                data=data or {},
            )
        )
        return name


def write_rate(
    writer: Writer, pool: str, rate: str, guaranteed: str, *, effective_from: int = 0, at: int = 0, known: int = 0
) -> None:
    data: dict[str, Datum] = {
        "rate": rate,
        "guaranteed": guaranteed,
        "currency": "EUR",
        "effective_from": effective_from,
    }
    writer.write(EventType.RATE_KNOWN, at, data, cause=Cause.RATE_CHANGED, on=Subject(pool=pool), recorded_at=known)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """The events of up to two regions, three pools and four instances."""
    writer = Writer()
    pools = [f"pool-{number}" for number in range(draw(st.integers(1, 3)))]
    for pool in pools:
        write_rate(writer, pool, draw(RATES), draw(RATES))
        for _ in range(draw(st.integers(0, 3))):
            write_rate(
                writer,
                pool,
                draw(RATES),
                draw(RATES),
                effective_from=draw(MOMENTS),
                at=draw(MOMENTS),
                known=draw(MOMENTS),
            )
    for number in range(draw(st.integers(0, 4))):
        _instance(draw, writer, f"i-{number}", pools)
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from([EventType.STORAGE_CHARGED, EventType.FOOTPRINT_CHARGED]))
        names = WORKLOADS if kind is EventType.STORAGE_CHARGED else ("", *WORKLOADS)
        writer.write(
            kind,
            draw(MOMENTS),
            {"amount": draw(AMOUNTS), "currency": "EUR"},
            on=Subject(draw(st.sampled_from(REGIONS)), draw(st.sampled_from(names))),
        )
    return writer.events


def _instance(draw: st.DrawFn, writer: Writer, name: str, pools: list[str]) -> None:
    region, holds, paid = draw(st.sampled_from(REGIONS)), draw(st.integers(1, 7)), draw(st.sampled_from(Paid))
    workload = draw(st.sampled_from(("", *WORKLOADS) if paid is Paid.HEADROOM else WORKLOADS))
    moments = sorted(draw(st.sets(MOMENTS, min_size=2, max_size=5)))
    runs_on = draw(st.booleans())
    if runs_on:
        moments[-1] = HORIZON if moments[-2] < HORIZON else moments[-1]
    about = Subject(region, workload, draw(st.sampled_from(pools)), name)
    started: dict[str, Datum] = {"units": holds, "paid": paid.value}
    root = writer.write(EventType.INSTANCE_STARTED, moments[0], started, cause=Cause.CLAIM_GREW, on=about)
    for place, (begin, end) in enumerate(itertools.pairwise(moments)):
        if place and len(pools) > 1 and draw(st.booleans()):
            about = about._replace(pool=draw(st.sampled_from(pools)))
            writer.write(EventType.INSTANCE_MOVED, begin, cause=Cause.MIGRATED, caused_by=root, on=about)
        used = []
        free = holds
        for use in Use:
            units = draw(st.integers(0, free))
            used.append((use, units))
            free -= units
        for run in slots(holds, used):
            data = run.data(of_units=holds, paid=paid, from_ms=begin, to_ms=end)
            cause = draw(st.sampled_from([Cause.NOTICE, Cause.CLAIM_SHRANK, Cause.RESTORED]))
            writer.write(EventType.USAGE, end, data, cause=cause, caused_by=root, on=about)
    if workload and draw(st.booleans()):
        lost_at = draw(st.integers(moments[0], moments[-1]))
        lost: dict[str, Datum] = {"unit_ms": draw(st.integers(0, 100_000))}
        writer.write(EventType.WORK_LOST, lost_at, lost, cause=Cause.LOST_AFTER_NOTICE, caused_by=root, on=about)
    if not (runs_on and moments[-1] == HORIZON):
        writer.write(EventType.INSTANCE_ENDED, moments[-1], cause=Cause.DRAINED, on=about)


TRAIN = Subject("north", "train", "hall-a", "i-1")


def one_lost_instance() -> Writer:
    """A reclaimed instance: notice, drain, loss, a replacement, work done again."""
    writer = Writer()
    write_rate(writer, "hall-a", "0.5", "1")
    claim = writer.write(EventType.CLAIM_CHANGED, 0, {"units": 2}, cause=Cause.CLAIM_GREW, on=Subject("north", "train"))
    asked = writer.write(
        EventType.INSTANCE_REQUESTED,
        0,
        {"units": 2, "paid": "reclaimable"},
        cause=Cause.CLAIM_GREW,
        on=TRAIN,
        caused_by=claim,
    )
    began = writer.write(
        EventType.INSTANCE_STARTED,
        0,
        {"units": 2, "paid": "reclaimable"},
        cause=Cause.CLAIM_GREW,
        on=TRAIN,
        caused_by=asked,
    )
    notice = writer.write(
        EventType.NOTICE_RECEIVED,
        3 * HOUR,
        {"reclaim": "r-1", "kind": "reclaim", "ends_at": 4 * HOUR},
        cause=Cause.NOTICE,
        on=TRAIN,
        caused_by="",
    )
    drain = writer.write(
        EventType.DRAIN_STARTED, 3 * HOUR, {"ends_at": 4 * HOUR}, cause=Cause.NOTICE, on=TRAIN, caused_by=notice
    )
    for start, end, use, cause, by in (
        (0, 3 * HOUR, Use.SERVING, Cause.CLAIM_GREW, began),
        (3 * HOUR, 4 * HOUR, Use.DRAINING, Cause.NOTICE, drain),
    ):
        for run in slots(2, [(use, 2)]):
            data = run.data(of_units=2, paid=Paid.RECLAIMABLE, from_ms=start, to_ms=end)
            writer.write(EventType.USAGE, end, data, cause=cause, on=TRAIN, caused_by=by)
    lost = writer.write(
        EventType.INSTANCE_LOST, 4 * HOUR, {"noticed": "yes"}, cause=Cause.LOST_AFTER_NOTICE, on=TRAIN, caused_by=drain
    )
    writer.write(
        EventType.WORK_LOST, 4 * HOUR, {"unit_ms": HOUR}, cause=Cause.LOST_AFTER_NOTICE, on=TRAIN, caused_by=lost
    )
    writer.write(EventType.INSTANCE_ENDED, 4 * HOUR, cause=Cause.LOST_AFTER_NOTICE, on=TRAIN, caused_by=lost)
    return writer
