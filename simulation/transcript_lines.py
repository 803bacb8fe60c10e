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
from simulation.chronicle import Act, Call, Chronicle, Ended, Look, Node, NodeWord
from simulation.faults import KINDS, Fault

LARGE_SPOOL = 64 * 2**20
"""A spool worth a word: a region writes some hundred kilobytes an hour."""


class Weight(enum.IntEnum):
    """How long a line is worth its place: DETAIL only near the breach, TURN always."""

    DETAIL = 0
    TURN = 1


@dataclass(frozen=True, slots=True)
class Line:
    """`verb` says what happened and may be shared by many lines of one moment; `thing` is this one's own. `alone` says
    the whole where the line stands by itself. `about` are the names that it concerns.
    """

    at: int
    who: str
    verb: str
    thing: str = ""
    about: frozenset[str] = frozenset()
    weight: Weight = Weight.DETAIL
    order: int = 5
    alone: str = ""

    @property
    def text(self) -> str:
        """What a line by itself says."""
        return self.alone or f"{self.verb} {self.thing}".rstrip()


def lines_of(chronicle: Chronicle) -> list[Line]:
    """Everything that happened, in order; at one moment causes before effects."""
    found = [
        *_people(chronicle),
        *_faults(chronicle.faults),
        *_cloud(chronicle),
        *_replicas(chronicle),
        *_looks(chronicle),
        *_acts(chronicle),
        *map(_node, chronicle.nodes),
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
        if before == units:
            continue
        last[workload] = units
        told = f"{workload} wants {units} units" + (f" after {before}" if before is not None else "")
        yield Line(at, "people", told, about=frozenset({workload}), order=0)

    for stop in chronicle.stops:
        told = f"STOP the region: {stop.reason}" if stop.reason else "let the region go on"
        yield Line(stop.at, "people", told, weight=Weight.TURN, order=0)


def _faults(faults: Iterable[Fault]) -> Iterator[Line]:
    for fault in faults:
        yield Line(fault.at, "FAULT", f"{fault.name} begins" + told_fault(fault), weight=Weight.TURN, order=0)
        if fault.until > fault.at:
            yield Line(fault.until, "FAULT", f"{fault.name} is over", weight=Weight.TURN, order=0)


def told_fault(fault: Fault) -> str:
    """What it does, in the words of its kind, and where."""
    about = KINDS.get(fault.kind, "").replace("SIZEth", f"no. {fault.size}").replace("SIZE", str(fault.size))
    return f": {about}" * bool(about) + f" ({fault.target})" * bool(fault.target)


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
    for at, reclaim in chronicle.reclaims:
        told = f"holds {', '.join(reclaim.domains)} until {hhmm(reclaim.hold_until)} (reclaim {reclaim.id})"
        yield Line(at, "cloud", told, about=frozenset({reclaim.id, *reclaim.domains}), order=1)
    for moved in chronicle.moved:
        verb = f"moves to {moved.pool}:" if moved.pool else "moves, and does not say where to:"
        yield Line(moved.at, "cloud", verb, moved.name or moved.server,
                   frozenset({moved.name, moved.server, moved.pool}) - {""}, order=1)  # fmt: skip
    for gone in chronicle.ended:
        yield Line(gone.at, "cloud", _ending(gone), gone.name or gone.server,
                   frozenset({gone.name, gone.server}), order=4)  # fmt: skip


def _ending(gone: Ended) -> str:
    notice = gone.noticed
    told = f", notice of {hhmm(notice.issued_at)} said {hhmm(notice.ends_at)}" if notice is not None else ""
    foreign = "" if gone.mark is not None else ", which bears no mark"
    silent = "" if gone.told else ", and the stream does not say so"
    return f"ends ({gone.cause.value}{told}{foreign}{silent}):"


NODE_DOES = {
    NodeWord.JOINED: "joined:",
    NodeWord.COVERED: "covered now:",
    NodeWord.UNCOVERED: "no longer covered:",
    NodeWord.HEARD: "heard that it ends:",
    NodeWord.TAKEN_BACK: "heard that its notice is taken back:",
    NodeWord.DRAINING: "drains:",
    NodeWord.VERIFIED: "drained and verified:",
    NodeWord.OVERRUN: "OVERRAN its drain:",
    NodeWord.WITHDRAWN: "drains no longer, withdrawn:",
    NodeWord.LEFT: "left its scheduler:",
}


def _node(node: Node) -> Line:
    verb, thing = NODE_DOES[node.word], node.name or node.server
    until = f", by {hhmm(node.ends_at)}" if node.ends_at else ""
    by = f" ({node.notice})" if node.notice else ""
    about = frozenset({node.name, node.server, node.notice}) - {""}
    return Line(node.at, "node", verb, thing, about, order=4, alone=f"{verb} {thing}{until}{by}")


def _replicas(chronicle: Chronicle) -> Iterator[Line]:
    for led in chronicle.led:
        if led.renewed:
            continue
        yield Line(led.at, led.replica, f"takes the lease with epoch {led.epoch}", about=frozenset({led.replica}),
                   weight=Weight.TURN, order=2)  # fmt: skip
    for at, replica, disk in chronicle.killed:
        left = "its disk is intact" if disk == "disk" else f"its disk: {disk}"
        yield Line(at, replica, f"DIES; {left}", about=frozenset({replica}), weight=Weight.TURN, order=4)
    before: dict[str, int] = {}
    for at, day, totals in chronicle.reserved:
        changed = {name: units for name, units in totals.items() if before.get(name) != units}
        before = dict(totals)
        if changed:
            told = ", ".join(f"{name} {micro / 1_000_000:.2f}" for name, micro in sorted(changed.items()))
            yield Line(at, "store", f"holds reservations of {day}: {told}", about=frozenset(changed), order=3)


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
        *([f"a listing that hides {_some(look.hidden)}"] if look.hidden else []),
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


def _some(servers: frozenset[str]) -> str:
    names = sorted(servers)
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _acts(chronicle: Chronicle) -> Iterator[Line]:
    """What was done, and under which epoch where that is not the newest."""
    terms = chronicle.led
    newest, ahead = 0, 0
    for act in chronicle.acts:
        while ahead < len(terms) and terms[ahead].at <= act.at:
            newest = max(newest, terms[ahead].epoch)
            ahead += 1
        line = _act(act)
        if act.epoch < newest:
            old = f"UNDER EPOCH {act.epoch} while {newest} leads: "
            line = replace(line, verb=old + line.verb, alone=old + line.alone, weight=Weight.TURN)
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
    notes = [*([] if act.fresh else ["nothing changed"]), *([] if act.answered else ["the answer is lost"])]
    thing = act.name or act.server
    alone = f"{verb} {thing}"
    if act.call is Call.CREATE:
        verb = f"creates for {act.workload} ({act.paid})"
        alone = f"creates {thing} in {act.pool} for {act.workload}, {act.units} units, {act.paid}"
        thing += f" in {act.pool}"
    if act.call is Call.DELETE and act.stood is None:
        notes.append("it bore no mark")
    elif act.call is Call.DELETE and act.stood is not None and act.stood.name != act.name:
        notes.append(f"it bore the mark of {act.stood.estate}/{act.stood.name}")
    alone += f", by {hhmm(act.ends_at)}" if act.ends_at else ""
    alone += f" = {act.server}" if act.server and act.server != thing else ""
    tail = f"; {', '.join(notes)}" if notes else ""
    about = frozenset({act.name, act.server, act.workload, act.pool, act.for_}) - {""}
    return Line(act.at, act.replica, verb + tail, thing, about, order=3, alone=alone + tail)


DECIDED = {
    EventType.CLAIM_CHANGED: "notes a claim",
    EventType.INSTANCE_REQUESTED: "decides to acquire",
    EventType.INSTANCE_FAILED: "notes a failed acquisition",
    EventType.INSTANCE_LOST: "notes a loss",
    EventType.RELEASE_ASKED: "decides to release",
    EventType.NOTICE_RECEIVED: "hears of the notice for",
    EventType.NOTICE_WITHDRAWN: "hears of the withdrawal for",
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
        if verb is None or not who:  # what nodes do stands in the chronicle itself
            continue
        extra = _extra(event)
        thing = event.instance or event.workload or event.pool
        about = frozenset({event.instance, event.workload, event.pool, event.id, event.caused_by}) - {""}
        told = f"{verb} ({', '.join((event.cause.value, *extra))})"
        yield Line(event.occurred_at, who, told, thing, about, order=2)


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
