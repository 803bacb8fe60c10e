"""`ebbtide stop` (DESIGN 9): within five seconds nothing new is begun; what was agreed is finished."""

from __future__ import annotations

from collections.abc import Iterator

from simulation.check_reading import Checker
from simulation.check_scene import Scene
from simulation.chronicle import Act, Call

WITHIN_MS = 5_000
"""The stop holds within five seconds (DESIGN 9)."""

BEGINS = frozenset({Call.CREATE, Call.MARK, Call.UNMARK, Call.ASK_RETURN})


class Acts(Checker):
    """While stopped, nothing is created, marked, disowned or asked back: five seconds after the stop was thrown, and at
    once in a cycle whose look saw it. A call counts when it was begun: nobody can call back what is in flight, be it
    that its caller stands still in the middle of it for an hour.
    """

    name = "check_stop.Acts"

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge one act by the switch as it is, and as its replica saw it."""
        if act.call not in BEGINS or not act.fresh:
            return
        look = scene.look_of(act)
        if act.call is Call.ASK_RETURN and look is not None and scene.decided_at(act) < look.at:
            return  # agreed before
        late_ms = (act.sent_at or act.at) - scene.stopped_at
        if scene.stopped and late_ms > WITHIN_MS:
            yield f"{act.call.value} of {act.name} by {act.replica}, {late_ms} ms after the stop ({scene.stopped})"
        elif look is not None and look.stopped:
            yield f"{act.call.value} of {act.name} by {act.replica}, which saw the stop at {look.at} ({look.stopped})"
