"""What counts as a place that anybody would lend in: its rate, and what was taken there."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.events import Event
from simulation.check_reading import Checker, Reader
from simulation.check_scene import Scene
from simulation.check_worth import Worth
from simulation.chronicle import Ended, Look
from simulation.cloud_model import EndCause
from tests.reconciler.builders import MINUTE, REGION
from tests.simulation.chronicles import DOMAINS, Story, grown


class Listener(Checker):
    """Hears a history as checkers do, and keeps what it makes of it."""

    def __init__(self) -> None:
        self.worth = Worth()
        self.scene: Scene | None = None

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """A look."""
        self.scene = scene
        self.worth.looked(scene, look)
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:  # noqa: ARG002 - the seam's
        """A rate."""
        self.worth.heard(event)
        yield from ()

    def on_ended(self, scene: Scene, ended: Ended) -> Iterator[str]:
        """An end."""
        self.worth.ended(scene, ended)
        yield from ()


def spared(story: Story, pool: str) -> bool:
    listener = Listener()
    Reader(REGION, [listener]).see(story.told)
    assert listener.scene is not None
    return listener.worth.spared(listener.scene, pool)


def test_what_was_deleted_before_the_end_of_its_notice_was_taken_all_the_same() -> None:
    for noticed in (False, True):
        story = grown()
        said = story.notice("r0", DOMAINS[0]) if noticed else None
        story.wait(MINUTE)
        story.gone("r0", EndCause.DELETED, f"instance.requested/{REGION}/r0", said)
        story.looks(1)
        assert spared(story, DOMAINS[0]) is not noticed
        assert spared(story, DOMAINS[1]) is not noticed  # of one hall
