"""Debts and releases (DESIGN 6, 9): a hole is filled once, an instance is given back once, and never one too many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ledger.causes import Cause
from ledger.events import Event, EventType
from simulation.check_reading import Checker
from simulation.check_scene import DEBTS, Scene
from simulation.chronicle import Act, Call, Node, NodeWord

USABLE_NO_MORE = frozenset(
    {
        Cause.LEFT_SCHEDULER,
        Cause.RECLAIMABLE_HELD,
        Cause.AUTHORITY_SPENT,
        Cause.NEVER_JOINED,
        Cause.CREATE_FAILED,
        Cause.REBALANCE,
    }
)
"""Releases of what carries nothing any more, was given up before it came, whose money ends, or whose work another took
over.
"""


BELIEVED_MS = 15 * 60_000
"""What is gone may be held to be there so long: an absence that nothing explains is no loss yet (DESIGN 10)."""


class PaidOnce(Checker):
    """For one notice or loss at most one instance is bought, those aside that failed to boot; and it was owed. One that
    was told as failed and becomes a node after all counts again.
    """

    name = "check_debts.PaidOnce"
    hears = frozenset({EventType.INSTANCE_FAILED, EventType.INSTANCE_REQUESTED})

    def __init__(self) -> None:
        self._bought: dict[str, set[str]] = defaultdict(set)
        self._payer: dict[str, str] = {}

    def on_node(self, scene: Scene, node: Node) -> Iterator[str]:
        """What joins was bought, whatever was told of it."""
        owed = self._payer.get(node.name, "")
        if node.word is NodeWord.JOINED and owed and node.name not in self._bought[owed]:
            yield from self._pay(owed, node.name)

    def _pay(self, owed: str, name: str) -> Iterator[str]:
        bought = self._bought[owed]
        bought.add(name)
        if len(bought) > 1:
            yield f"{owed} is paid by {', '.join(sorted(bought))}"

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """A purchase, or the failure of one."""
        if event.type is EventType.INSTANCE_FAILED:
            self._bought[self._payer.get(event.instance, "")].discard(event.instance)
        cause = scene.events.get(event.caused_by)
        if event.type is not EventType.INSTANCE_REQUESTED or cause is None or cause.type not in DEBTS:
            return
        self._payer[event.instance] = cause.id
        yield from self._pay(cause.id, event.instance)


class ReleasedOnce(Checker):
    """A node is asked back once, and no release leaves less than any claim that may be believed: no second victim. What
    no node ever heard of, a later leader that does not know of it may decide anew; and a node that drains for nothing
    any more, since its provider took back the notice that it heard beside the return, is told of the same one again,
    once that drain was stopped.
    """

    name = "check_debts.ReleasedOnce"

    def __init__(self) -> None:
        self._asked: dict[str, Act] = {}
        self._heard: dict[str, int] = {}
        self._stopped: dict[str, int] = {}

    def on_node(self, scene: Scene, node: Node) -> Iterator[str]:
        """Remember when nodes heard that they were asked, and when one was told that what it drains for is over."""
        if node.word is NodeWord.HEARD and node.notice.startswith(f"{EventType.RELEASE_ASKED.value}/"):
            self._heard[node.name] = node.at
        elif node.word in (NodeWord.TAKEN_BACK, NodeWord.WITHDRAWN):
            self._stopped[node.name] = node.at
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one return by what stands without it."""
        if act.call is not Call.ASK_RETURN or not act.fresh:
            return
        before = self._asked.setdefault(act.name, act)
        same = (act.replica, act.epoch) == (before.replica, before.epoch)
        known = same or self._heard.get(act.name, -1) >= before.at
        repeated = act.for_ != "" and act.for_ == before.for_ and self._stopped.get(act.name, -1) >= before.at
        if before.at != act.at and known and not repeated:
            yield f"{act.name} was asked back at {before.at} and at {act.at}"
        stands = scene.namesakes.get(act.name)
        event = scene.releases.get(act.name)
        if not stands or event is None or event.cause in USABLE_NO_MORE or stands[-1].paid == "fallback":
            return
        workload, look = stands[-1].workload, scene.look_of(act)
        if look is None or workload not in scene.ground.contracts:
            return
        if scene.decided_at(act) < look.at:
            return  # it was agreed before this look, while it was no node yet; only the word to the node is new
        left = scene.supply(workload, look.at) + scene.departed_since(workload, look.listed_at - BELIEVED_MS)
        least = min(scene.claims(workload))
        if left < least:
            yield f"{act.name} was asked back at {act.at}: {workload} has {left} units left and claims {least}"
