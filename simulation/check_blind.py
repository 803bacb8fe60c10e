"""No growth when blind (DESIGN 10): for each row of the table, what stops while an input is late, partial or untrue.

Judged by what the acting replica could see at its last look, as the world has it: what was decided before a condition
could be seen is no fault. Deletes are `check_drains`'s, a stop is `check_stop`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from ledger.events import Event, EventType
from simulation.check_blast import RETURNS
from simulation.check_missing import improbable, missed_in
from simulation.check_purse import Purse
from simulation.check_reading import Checker
from simulation.check_scene import Scene, stood
from simulation.chronicle import Act, Call, Look

GROWS = frozenset({Call.CREATE, Call.MARK})
LESSENS = frozenset({Call.ASK_RETURN, Call.UNMARK})


class Acts(Checker):
    """Acquisition, replacement, release and fallback purchase happen only on a look that allows them."""

    name = "check_blind.Acts"
    hears = Purse.hears

    def __init__(self) -> None:
        self._given_back: dict[str, int] = {}
        self._purse = Purse()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Remember since when fallback of a workload is agreed to go back: no breaker blocks that (DESIGN 10)."""
        if scene.told.get(event.id, scene.now) < scene.now:
            return
        if event.type is EventType.FALLBACK_RETURNED:
            self._given_back.setdefault(event.workload, _decided_by(scene, event))
        elif event.type is EventType.FALLBACK_RESERVED:
            self._given_back.pop(event.workload, None)
        self._purse.hear(scene, event)
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Hold one act against the table, row by row."""
        if not act.fresh or act.call not in GROWS | LESSENS:
            return
        what = f"{act.call.value} of {act.name} by {act.replica}"
        look = scene.look_of(act)
        if look is None:
            yield f"{what}, which never looked"
            return
        if act.call is Call.ASK_RETURN and scene.decided_at(act) < look.at:
            return  # agreed before this look: no breaker blocks it
        release = scene.releases.get(act.name) if act.call is Call.ASK_RETURN else None
        if release is not None and release.cause in RETURNS:
            if self._given_back.get(release.workload, look.at) < look.at:
                return  # so was the return of this fallback
            if self._purse.lacks(scene, release.workload, act):
                return  # an authority is never exceeded, whoever cannot see (DESIGN 12)
        seen = f"as its look at {look.at} could tell"
        for reason in (*_everything(scene, act, look), *_change(scene, act, look), *_purchase(scene, act, look)):
            yield f"{what}: {reason}, {seen}"


def _decided_by(scene: Scene, event: Event) -> int:
    """When a return was agreed at the latest: it may have waited for a disk to be written down, and its leader's clock
    may be as far behind as an answer may be old.
    """
    return min(scene.now, event.occurred_at + scene.ground.limits.listing_age * 1000)


def _everything(scene: Scene, act: Act, look: Look) -> Iterator[str]:
    """Rows in which everything stops: lease, clock, journal, provider, unexplained absence."""
    if not look.leads:
        yield "it does not hold the lease"
    if not look.clock:
        yield "its clock jumped or is wrong"
    if not look.disk:
        yield "its journal cannot be written"
    project = act.project or _project(scene, act)
    if project not in look.whole:
        yield f"the listing of {project or '(no project)'} is not proven complete"
    if improbable(scene, look):
        gone, of = len(missed_in(scene, look)), stood(scene, look.at)
        yield f"{gone} of {of} servers are gone at once and nothing explains it"


def _project(scene: Scene, act: Act) -> str:
    """The project of the instance that a node is asked to give back."""
    return next((stand.project for stand in reversed(scene.namesakes.get(act.name, []))), "")


def _change(scene: Scene, act: Act, look: Look) -> Iterator[str]:
    """Rows in which growth and release stop, and lost capacity is replaced all the same: Git, schedulers."""
    if act.call is Call.CREATE and scene.pays_debt(act.name):
        return
    if not look.git:
        yield "the desired state is not verified, and this replaces nothing"
    contract = scene.ground.contracts.get(act.workload or _workload(scene, act))
    if contract is not None and contract.cluster in look.silent:
        yield f"{contract.cluster} is silent, and this replaces nothing"


def _workload(scene: Scene, act: Act) -> str:
    return next((stand.workload for stand in reversed(scene.namesakes.get(act.name, []))), "")


def _purchase(scene: Scene, act: Act, look: Look) -> Iterator[str]:
    """Rows in which growth and fallback stop: a full spool; and what nobody told of reclaims for long."""
    if act.call not in GROWS:
        return
    limit = scene.chronicle.spool_limit
    replaces = act.paid != "fallback" and scene.pays_debt(act.name)
    if limit and look.pending >= limit and not replaces:
        yield f"{look.pending} bytes wait in its spool, {limit} are allowed"
    silence_ms = look.at - scene.told_at
    if act.paid == "reclaimable" and silence_ms > scene.ground.limits.listing_age * 1000:
        yield f"nobody told of reclaims for {silence_ms} ms, {scene.ground.limits.listing_age} s are allowed"
