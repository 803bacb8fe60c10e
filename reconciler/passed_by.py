"""Who is shown just as it is known, and is passed by; and what is left for a census to look at, hardly anything.

Pure; called by `census` before anything else looks at a row. Of a large region nearly every node is listed where it
was, busy and covered as it was, and nothing follows from it: this is the one pass that looks at each of them. What it
asks of a row is written out in one place, since at a million rows a call costs as much as what it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pools.provider import Server, Status
from reconciler.fleet import Instance, Phase
from reconciler.ports import NodeView
from reconciler.sight import Sight

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Others:
    """What is not passed by, each in the order that it has where it stands: rows of the listing, instances of the
    fleet, and nodes that belong to none of the fleet or to one of these.
    """

    rows: tuple[Server, ...]
    instances: dict[str, Instance]
    nodes: dict[str, NodeView]


def others(instances: Mapping[str, Instance], sight: Sight) -> Others:
    """All but what is shown as ever. Of whom the provider spoke, and who is listed twice, is looked at."""
    watched = {one.name for one in sight.signals.lifecycle} | {one.name for one in sight.signals.notices}
    found, twice = _all_but_shown(instances, sight, watched)
    if twice:
        found, _ = _all_but_shown(instances, sight, watched | twice)
    return found


class InStep(Generic[Value]):
    """A mapping's values asked for by name, each once, in hardly any other order than its own.

    Schedulers and provider show a fleet in the order in which it came to be. To look each name up would be a walk
    through memory at random, which costs a large fleet more than everything that is asked of what is found; here the
    next one is held ready, and only who comes out of its order is looked up. `left` holds who was passed over and not
    asked for so far, in the mapping's order unless `late` says that somebody was asked for behind its turn.
    """

    __slots__ = ("_of", "late", "left")

    def __init__(self, of: Mapping[str, Value]) -> None:
        self._of = of
        self.left: dict[str, Value] = {}
        self.late = False

    def answers(self) -> Callable[[str], Value | None]:
        """What to ask: the value of a name, or None where there is none or it was given. The empty name ends it: who
        was not asked for is `left` then.
        """
        walk = self._walk()
        next(walk)
        return walk.send

    def _walk(self) -> Generator[Value | None, str, None]:
        left, of = self.left, self._of
        asked = yield None
        for name, value in of.items():
            while name != asked:
                late = left.pop(asked, None)
                if late is None and (not asked or asked in of):
                    left[name] = value
                    break
                self.late = self.late or late is not None
                asked = yield late
            else:
                asked = yield value
        while True:
            late = left.pop(asked, None)
            self.late = self.late or late is not None
            asked = yield late


def _all_but_shown(instances: Mapping[str, Instance], sight: Sight, watched: set[str]) -> tuple[Others, set[str]]:
    """One look at each row of ours. None of the `watched` is passed by; named beside the rest is who was
    passed by and came again.
    """
    estate, region, partition = sight.owner
    projects, active, serving, joined = sight.projects, Status.ACTIVE, Phase.SERVING, Phase.JOINED
    fleet, nodes = InStep(instances), InStep(sight.nodes)
    known_of, view_of, left = fleet.answers(), nodes.answers(), fleet.left
    rows: list[Server] = []
    twice: set[str] = set()
    for row in sight.listing.servers if sight.listing else ():
        mark = row.mark
        if (
            mark is not None
            and mark.region == region
            and mark.estate == estate
            and mark.partition == partition
            and row.project in projects
        ):
            name = mark.name
            known = known_of(name)
            if known is None:
                if name in instances:
                    twice.add(name)
            elif name in watched:
                left[name] = known
            else:
                view = view_of(name)
                if (
                    view is not None
                    and row.status is active
                    and known.phase is (serving if view.busy_units else joined)
                    and known.server == row.id
                    and known.pool == row.pool
                    and known.busy_units == view.busy_units
                    and known.joined_at == view.joined_at
                    and known.covered is view.covered  # identity is cheaper, and whoever has another truth is looked at
                    and row.id
                    and not (known.missing_since or known.left_at or known.moving_to or known.end_told)
                    and not (view.drained or view.draining_until)
                ):
                    continue
                watched.add(name)
                left[name] = known
        rows.append(row)
    known_of("")
    view_of("")
    if fleet.late:
        left = {name: left[name] for name in filter(left.__contains__, instances)}
    return Others(tuple(rows), left, nodes.left), twice
