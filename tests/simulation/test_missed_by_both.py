"""What a leader has to miss by the checker's account it misses by its own: both are counted side by side, look by look.

The checker is written from the design and the world's account, the census from what a leader sees. Histories are denser
in listings that lack rows or ids than any that a seed draws.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ledger.events import Event
from reconciler.cycle import Decision
from simulation.check_missing import improbable, missed_in
from simulation.check_reading import Checker, Reader
from simulation.check_scene import Scene
from simulation.chronicle import Act, Chronicle, Look
from simulation.faults import Fault
from simulation.hunted import START, drawn, hunted, small
from simulation.replica import Replica
from tests.reconciler.builders import MINUTE, SECOND

CYCLE_MS = 20 * SECOND
"""What a cycle tells and does comes no later after its look; what comes later the look says nothing of."""

LYING = tuple(
    Fault(kind, 100 + number, at, at + 11 * MINUTE, size=size)
    for number, (kind, size) in enumerate(
        (("listing_half", 15), ("listing_no_id", 30), ("listing_half", 50), ("listing_no_id", 15)) * 2
    )
    for at in [START + (60 + 40 * number) * MINUTE]
)


class Missed(Checker):
    """The names that who leads has to miss at each look that lacks an improbable share, as its cycle left the scene."""

    name = "test_missed_by_both.Missed"

    def __init__(self) -> None:
        self.at: dict[tuple[str, int], set[str]] = {}
        self._look: Look | None = None

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """Count anew."""
        self._look = look if look.leads else None
        yield from self._counted(scene, look.replica)

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Count again: what this leader tells explains."""
        if self._look is not None and event.epoch == self._look.epoch:
            yield from self._counted(scene, self._look.replica)

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Count again: who acts is asked now."""
        yield from self._counted(scene, act.replica)

    def _counted(self, scene: Scene, replica: str) -> Iterator[str]:
        look = self._look
        if look is not None and replica == look.replica and scene.now <= look.at + CYCLE_MS:
            missed = {stand.name for stand in missed_in(scene, look)} if improbable(scene, look) else set()
            self.at[replica, look.at] = missed
        yield from ()


@pytest.mark.parametrize(
    ("seed", "days", "lying", "least"),
    [(29304, 0.3, LYING, 6), (29309, 0.3, LYING, 6), (31203, 0.398, (), 1)],
    ids=["29304", "29309", "second servers and an empty memory"],
)
def test_a_leader_misses_whom_the_checker_holds_it_to_miss(
    seed: int, days: float, lying: tuple[Fault, ...], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground, missed, cycle = small(), Missed(), Replica.cycle
    reader = Reader(ground.region, [missed])
    unexplained: dict[tuple[str, int], set[str]] = {}

    def noted(self: Replica) -> Decision | None:
        decision = cycle(self)
        looks = self.scene.chronicle.looks
        if decision is not None:
            at = next(look.at for look in reversed(looks) if look.replica == self.name)
            unexplained[self.name, at] = set(decision.unexplained)
        return decision

    def read(chronicle: Chronicle) -> None:
        reader.see(chronicle)

    monkeypatch.setattr(Replica, "cycle", noted)
    faults = sorted((*drawn(seed, 1.0, ground), *lying), key=lambda fault: (fault.at, fault.name))
    hunted(seed, days, faults, ground, after=read).run()
    asked = {when: names for when, names in missed.at.items() if names and when in unexplained}
    assert len(asked) >= least, "hardly a look was put to the test"
    assert {when: names - unexplained[when] for when, names in asked.items() if names - unexplained[when]} == {}
