"""`ebbtide stop` (DESIGN 9): within five seconds nothing new is begun; what was agreed is finished."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import Act, Call

WITHIN_MS = 5_000
"""The stop holds within five seconds (DESIGN 9)."""

BEGINS = frozenset({Call.CREATE, Call.MARK, Call.UNMARK, Call.ASK_RETURN})


class Acts(Checker):
    """While stopped, nothing is created, marked, disowned or asked back: five seconds after the stop was thrown, and at
    once in a cycle whose look saw it. A call counts when it was begun, by the switch as it was then: nobody can call
    back what is in flight, be it that its caller stands still in the middle of it for an hour.
    """

    name = "check_stop.Acts"

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one act by the switch as it was, and as its replica saw it."""
        if act.call not in BEGINS or not act.fresh:
            return
        look = scene.look_of(act)
        if act.call is Call.ASK_RETURN and look is not None and scene.decided_at(act) < look.at:
            return  # agreed before
        begun = act.sent_at or act.at
        reason, since = stopped_at(scene, begun)
        if reason and begun - since > WITHIN_MS:
            yield f"{act.call.value} of {act.name} by {act.replica}, {begun - since} ms after the stop ({reason})"
        elif look is not None and look.stopped:
            yield f"{act.call.value} of {act.name} by {act.replica}, which saw the stop at {look.at} ({look.stopped})"


def stopped_at(scene: Scene, at: int) -> tuple[str, int]:
    """Why the region was stopped at that time (empty: it was not), and since when, under whatever reason."""
    reason, since = "", 0
    for thrown in takewhile(lambda thrown: thrown.at <= at, scene.chronicle.stops):
        since = since if reason and thrown.reason else thrown.at
        reason = thrown.reason
    return reason, since
