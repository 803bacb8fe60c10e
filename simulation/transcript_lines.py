"""A chronicle as lines of a story: one thing that happened, who did it, and whom it concerns.

Called by `simulation.transcript`, which folds and lays them out. Reads the world's account and the ledger's events, and
decides nothing: what stands here is what was seen, in the order of time.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ledger.events import Event, EventType
from simulation.chronicle import Act, Call, Chronicle, Ended, Look
from simulation.faults import Fault

LARGE_SPOOL = 64 * 2**20
"""A spool worth a word: a region writes some hundred kilobytes an hour."""


class Weight(enum.IntEnum):
    """How long a line is worth its place: DETAIL only near the breach, TURN always."""

    DETAIL = 0
    TURN = 1


@dataclass(frozen=True, slots=True)
class Line:
    """`verb` and `kind` say what happened and may be shared by many lines of one moment; `thing` is this one's own.
    `about` are the names that it concerns.
    """

    at: int
    who: str
    verb: str
    thing: str = ""
    about: frozenset[str] = frozenset()
    weight: Weight = Weight.DETAIL
    order: int = 5


def lines_of(chronicle: Chronicle) -> list[Line]:
    """Everything that happened, in order; at one moment causes before effects."""
    found = [
        *_people(chronicle),
        *_faults(chronicle.faults),
        *_cloud(chronicle),
        *_replicas(chronicle),
        *_looks(chronicle),
        *_acts(chronicle),
        *(line for who, events in chronicle.events.items() for line in _events(who, events)),
    ]
    return sorted(found, key=lambda line: (line.at, line.order))  # stable: within one order as it was written down


def hhmm(at: int) -> str:
    """The UTC time of day to the second."""
    return datetime.fromtimestamp(at / 1000, tz=UTC).strftime("%H:%M:%S")


def _people(chronicle: Chronicle) -> Iterator[Line]:
    for merged in chronicle.reviewed:
        yield Line(merged.at, "people", f"merge commit {merged.commit[:12]}, version {merged.version}",
                   weight=Weight.TURN, order=0)  # fmt: skip
    last: dict[str, int] = {}
    for at, workload, units in chronicle.wanted:
        before = last.get(workload)
        last[workload] = units
        told = f"{workload} wants {units} units" + (f" after {before}" if before is not None else "")
        yield Line(at, "people", told, about=frozenset({workload}), order=0)


def _faults(faults: Iterable[Fault]) -> Iterator[Line]:
    for fault in faults:
        yield Line(fault.at, "FAULT", f"{fault.name} begins" + told_fault(fault), weight=Weight.TURN, order=0)
        if fault.until > fault.at:
            yield Line(fault.until, "FAULT", f"{fault.name} is over", weight=Weight.TURN, order=0)


def told_fault(fault: Fault) -> str:
    """Where and how much, in the words of its kind."""
    parts = [part for part in (fault.target, f"size {fault.size}" if fault.size else "") if part]
    return f": {', '.join(parts)}" if parts else ""


def _cloud(chronicle: Chronicle) -> Iterator[Line]:
    for at, notice in chronicle.given:
        about = frozenset({notice.name, notice.server, notice.reclaim})
        if notice.withdrawn:
            yield Line(
                at, "cloud", f"withdraws its notice ({notice.reclaim or notice.id}) of", notice.name, about, order=1
            )
        else:
            verb = f"gives notice ({notice.kind.value} {notice.reclaim or notice.id}, ends {hhmm(notice.ends_at)}) to"
            yield Line(at, "cloud", verb, notice.name, about, order=1)
    for gone in chronicle.ended:
        yield Line(gone.at, "cloud", _ending(gone), gone.name or gone.server,
                   frozenset({gone.name, gone.server}), order=4)  # fmt: skip


def _ending(gone: Ended) -> str:
    notice = gone.noticed
    told = f", notice of {hhmm(notice.issued_at)} said {hhmm(notice.ends_at)}" if notice is not None else ""
    foreign = "" if gone.mark is not None else ", which bears no mark of ours"
    return f"ends ({gone.cause.value}{told}{foreign})"


def _replicas(chronicle: Chronicle) -> Iterator[Line]:
    for led in chronicle.led:
        yield Line(led.at, led.replica, f"takes the lease with epoch {led.epoch}", about=frozenset({led.replica}),
                   weight=Weight.TURN, order=2)  # fmt: skip
    for at, replica, disk in chronicle.killed:
        left = "its disk is intact" if disk == "disk" else f"its disk: {disk}"
        yield Line(at, replica, f"DIES; {left}", about=frozenset({replica}), weight=Weight.TURN, order=4)
    before: dict[str, int] = {}
    for at, totals in chronicle.reserved:
        changed = {name: units for name, units in totals.items() if before.get(name) != units}
        before = dict(totals)
        if changed:
            told = ", ".join(f"{name} {micro / 1_000_000:.2f}" for name, micro in sorted(changed.items()))
            yield Line(at, "store", f"reserved today: {told}", about=frozenset(changed), order=3)


def _looks(chronicle: Chronicle) -> Iterator[Line]:
    """A line whenever a replica sees otherwise than in its cycle before."""
    projects = frozenset().union(*(look.whole for look in chronicle.looks))
    last: dict[str, str] = {}
    alike: dict[str, int] = {}
    for look in chronicle.looks:
        told = sight(look, projects)
        if last.get(look.replica) == told:
            alike[look.replica] = alike.get(look.replica, 0) + 1
            continue
        after = alike.pop(look.replica, 0)
        last[look.replica] = told
        told += f" (before: {after + 1} cycles alike)" if after else ""
        yield Line(look.at, look.replica, told, about=frozenset({look.replica}), weight=Weight.TURN, order=2)


def sight(look: Look, projects: frozenset[str]) -> str:
    """What a replica can see, in one sentence."""
    unseen = sorted(projects - look.whole)
    age = f", the last of {hhmm(look.listed_at)}" if look.listed_at else ", none came"
    dark = [
        *([f"no whole listing of {', '.join(unseen)}{age}"] if unseen else []),
        *([] if look.told else ["no notices and reclaims"]),
        *([f"silent: {', '.join(sorted(look.silent))}"] if look.silent else []),
        *([] if look.git else ["no valid bundle"]),
        *([] if look.clock else ["its clock is wrong"]),
        *([] if look.disk else ["its journal cannot be written"]),
        *([f"{look.pending >> 20} MiB in the spool"] if look.pending > LARGE_SPOOL else []),
        *([f"stopped: {look.stopped}"] if look.stopped else []),
    ]
    role = f"leads (epoch {look.epoch})" if look.leads else "stands by"
    return f"{role} and sees " + ("everything" if not dark else "badly: " + "; ".join(dark))


def _acts(chronicle: Chronicle) -> Iterator[Line]:
    """What was done, and under which epoch where that is not the newest."""
    terms = sorted(chronicle.led, key=lambda led: led.at)
    newest, ahead = 0, 0
    for act in sorted(chronicle.acts, key=lambda act: act.at):
        while ahead < len(terms) and terms[ahead].at <= act.at:
            newest = max(newest, terms[ahead].epoch)
            ahead += 1
        line = _act(act)
        if act.epoch < newest:
            line = replace(line, verb=f"under epoch {act.epoch} while {newest} leads: {line.verb}", weight=Weight.TURN)
        yield line


DOES = {
    Call.CREATE: "creates",
    Call.DELETE: "deletes",
    Call.MARK: "marks",
    Call.UNMARK: "takes its mark off",
    Call.ASK_RETURN: "asks to return",
    Call.REMOVE_NODE: "takes out of its scheduler",
}


def _act(act: Act) -> Line:
    verb = DOES[act.call]
    if act.call is Call.CREATE:
        verb += f" for {act.workload} ({act.paid})"
    notes = [*([] if act.fresh else ["again, nothing changed"]), *([] if act.answered else ["and hears no answer"])]
    thing = act.name or act.server
    if act.call is Call.CREATE:
        thing += f" in {act.pool}"
    if act.call is Call.DELETE and act.stood is None:
        notes.append("which bears no mark")
    elif act.call is Call.DELETE and act.stood is not None and act.stood.name != act.name:
        notes.append(f"which bears the mark of {act.stood.estate}/{act.stood.name}")
    verb += f" ({', '.join(notes)})" if notes else ""
    about = frozenset({act.name, act.server, act.workload, act.pool, act.for_}) - {""}
    return Line(act.at, act.replica, verb, thing, about, order=3)


DECIDED = {
    EventType.CLAIM_CHANGED: "notes a claim",
    EventType.INSTANCE_REQUESTED: "decides to acquire",
    EventType.INSTANCE_FAILED: "notes a failed acquisition",
    EventType.INSTANCE_LOST: "notes a loss",
    EventType.RELEASE_ASKED: "decides to release",
    EventType.NOTICE_RECEIVED: "hears of the notice for",
    EventType.NOTICE_WITHDRAWN: "hears of the withdrawal for",
    EventType.DRAIN_STARTED: "drains",
    EventType.DRAIN_ENDED: "ends its drain",
    EventType.GUARD_REFUSED: "is held back by the guard",
    EventType.SHORTFALL_BEGAN: "notes a shortfall",
    EventType.SHORTFALL_ENDED: "notes the end of a shortfall",
    EventType.POOL_EXCLUDED: "excludes",
    EventType.POOL_PROBED: "probes",
    EventType.POOL_READMITTED: "readmits",
    EventType.FALLBACK_RESERVED: "reserves fallback",
    EventType.FALLBACK_RETURNED: "returns fallback",
    EventType.QUARANTINED: "quarantines",
}
"""Events that tell a decision or a drain; those about money and time are left to the books."""


def _events(who: str, events: Iterable[Event]) -> Iterator[Line]:
    for event in events:
        verb = DECIDED.get(event.type)
        if verb is None:
            continue
        extra = _extra(event)
        thing = event.instance or event.workload or event.pool
        about = frozenset({event.instance, event.workload, event.pool, event.id, event.caused_by}) - {""}
        told = f"{verb} ({', '.join((event.cause.value, *extra))})"
        yield Line(event.occurred_at, who or "node", told, thing, about, order=3 if who else 4)


def _extra(event: Event) -> tuple[str, ...]:
    """The one datum that says most."""
    for key in ("outcome", "action", "error", "amount"):
        if key in event.data:
            return (str(event.data[key]),)
    if "missing_units" in event.data:
        return (f"{event.data['missing_units']} units missing",)
    if event.type is EventType.CLAIM_CHANGED:
        return (f"{event.data['units']} units",)
    return (f"until {hhmm(int(event.data['until']))}",) if "until" in event.data else ()
