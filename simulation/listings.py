"""What listings, signals and scheduler views look like while they are partial, stale, contradictory or forged.

Pure but for the luck of their faults. Called by the wires; `seen_whole` says what of such a listing was true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from random import Random

from pools.provider import Lifecycle, LifecycleKind, Listing, Notice, NoticeKind, Part, Server, Signals, Status
from reconciler.ports import SchedulerView
from simulation.faults import Fault
from simulation.weather import Weather, hit


def _lacks_half(listing: Listing, fault: Fault) -> Listing:
    return replace(listing, servers=tuple(row for row in listing.servers if not hit(fault, row.id)))


def _doubled(listing: Listing, fault: Fault) -> Listing:
    """Some rows again, as they were a moment ago: still building."""
    again = tuple(replace(row, status=Status.BUILDING) for row in listing.servers if hit(fault, row.id))
    return replace(listing, servers=(*listing.servers, *again))


def _without_ids(listing: Listing, fault: Fault) -> Listing:
    return replace(listing, servers=tuple(replace(r, id="") if hit(fault, r.id) else r for r in listing.servers))


def _garbled(listing: Listing, fault: Fault) -> Listing:
    def one(row: Server) -> Server:
        if not hit(fault, row.id):
            return row
        return replace(row, pool="") if row.id[-1:] in "02468" else replace(row, status=Status.UNKNOWN)

    return replace(listing, servers=tuple(one(row) for row in listing.servers))


def _partial(listing: Listing, fault: Fault) -> Listing:
    """One project read in part, and told so."""
    rows = tuple(row for row in listing.servers if row.project != fault.target or hit(fault, row.id))
    parts = tuple(
        Part(part.name, complete=False, reason="503 on a page") if part.name == fault.target else part
        for part in listing.parts
    )
    return replace(listing, servers=rows, parts=parts)


DISTORTIONS: dict[str, Callable[[Listing, Fault], Listing]] = {
    "listing_half": _lacks_half,
    "listing_doubled": _doubled,
    "listing_no_id": _without_ids,
    "listing_garbled": _garbled,
    "listing_partial": _partial,
}


def distorted(true: Listing, frozen: Listing | None, weather: Weather) -> Listing:
    """The listing that is answered in place of the true one; `frozen` is what stood when a stale one began."""
    listing = true
    if frozen is not None:
        lying = weather.on("listing_lying") is not None
        listing = replace(frozen, as_of=true.as_of) if lying else frozen
    for kind, change in DISTORTIONS.items():
        fault = weather.on(kind)
        if fault is not None:
            listing = change(listing, fault)
    return listing


def seen_whole(true: Listing, told: Listing, age_ms: int) -> frozenset[str]:
    """Projects whose listing came to its end and was not older than `age_ms`."""
    if true.as_of - told.as_of > age_ms:
        return frozenset()
    return frozenset(part.name for part in told.parts if part.complete)


def hidden_in(true: Listing, told: Listing, whole: frozenset[str], listed_at: int) -> frozenset[str]:
    """Servers that stand in those projects, stood at `listed_at`, and were not shown."""
    if told is true:
        return frozenset()
    shown = {row.id for row in told.servers}
    return frozenset(
        row.id
        for row in true.servers
        if row.project in whole and row.id not in shown and row.created_at <= listed_at and row.mark is not None
    )


def garbled_signals(
    said: Signals,
    everything: Signals | None,
    weather: Weather,
    *,
    lost: AbstractSet[tuple[str, bool]],
    names: list[str],
) -> Signals:
    """What the stream says in place of `said`; `everything` is all that it ever said, where it repeats itself, `lost`
    what it never carries, and `names` whose servers are not ours.
    """
    if everything is not None:
        said = replace(said, notices=everything.notices, lifecycle=everything.lifecycle)
    if lost:
        said = replace(said, notices=tuple(n for n in said.notices if (n.id, n.withdrawn) not in lost))
    if weather.on("signals_reordered"):
        said = replace(said, notices=said.notices[::-1], lifecycle=said.lifecycle[::-1])
    fault = weather.on("signals_forged")
    if fault is not None:
        said = _forged(said, fault, weather.luck(fault), names)
    return said


def _forged(said: Signals, fault: Fault, luck: Random, strangers: list[str]) -> Signals:
    """Notices and ends of servers that are others' or nobody's."""
    made = [f"eb-forged-{luck.randrange(9)}-{luck.randrange(10**6):06d}" for _ in range(fault.size)]
    names = [luck.choice([*strangers, name]) for name in made]
    notices = tuple(
        Notice(
            id=f"{fault.name}/{said.as_of}/{name}",
            server=f"forged-{name}",
            name=name,
            pool="nowhere",
            reclaim=f"rc-{fault.name}",
            kind=NoticeKind.RECLAIM,
            issued_at=said.as_of,
            ends_at=said.as_of + luck.randrange(120_000),
        )
        for name in names
    )
    ends = tuple(Lifecycle(said.as_of, LifecycleKind.DELETED, f"forged-{n}", n, "nowhere") for n in names[:1])
    return replace(said, notices=(*said.notices, *notices), lifecycle=(*said.lifecycle, *ends))


def dimmed(
    view: SchedulerView, weather: Weather, *, cluster: Mapping[str, str], runs: Callable[[str], str]
) -> SchedulerView:
    """The schedulers' view while some are silent or forget nodes; a copy, since the true one goes on changing.

    `cluster` is each workload's, `runs` the workload of a node.
    """
    silent = frozenset(fault.target for fault in weather.all_on("scheduler_silent"))
    forgetting = {fault.target: fault for fault in weather.all_on("scheduler_forgets")}

    def shown(name: str) -> bool:
        where = cluster.get(runs(name), "")
        return where not in silent and not (where in forgetting and hit(forgetting[where], name))

    demands = {name: demand for name, demand in view.demands.items() if cluster.get(name) not in silent}
    return SchedulerView(view.as_of, demands, {n: node for n, node in view.nodes.items() if shown(n)}, silent)
