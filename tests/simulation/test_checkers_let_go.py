"""What we deleted ourselves is no loss: not to who did it, and not to who began to look when it was gone."""

from __future__ import annotations

import pytest

from simulation.chronicle import Call, Ended
from simulation.cloud_model import EndCause
from tests.reconciler.builders import MINUTE, REGION
from tests.simulation.chronicles import Story, eventful, grown

CHECKER = "check_told.LetGo"
ASKED = f"instance.requested/{REGION}/r8"


def let_go(story: Story, name: str) -> None:
    """We delete one, and it ends."""
    story.act(Call.DELETE, name)
    story.told.ended.append(Ended(story.at, f"s-{name}", name, story.mark(name), EndCause.DELETED, None))


@pytest.mark.parametrize("lost", [False, True])
def test_who_deleted_a_server_does_not_tell_it_as_lost(lost: bool) -> None:
    story = eventful()
    if lost:
        story.lost("r8", ASKED)
    assert (CHECKER in story.breaks()) is lost


@pytest.mark.parametrize("shown", [False, True], ids=["looked after it was gone", "was shown it before"])
def test_another_term_tells_as_lost_only_what_it_may_have_been_shown(shown: bool) -> None:
    story = grown()
    let_go(story, "r0")
    deleted_at = story.at
    story.wait(1)
    story.lead("b", 2)
    story.look(replica="b", listed_at=deleted_at if shown else story.at)
    story.lost("r0", ASKED)
    assert (CHECKER in story.breaks()) is not shown


@pytest.mark.parametrize(
    ("terms", "may"),
    [
        ((("b", True), ("b", False)), True),
        ((("b", False), ("b", False)), False),
        ((("b", True), ("c", False), ("b", False)), False),
        ((("a", False),), False),
    ],
    ids=["shown in its term before", "never shown", "another's term between", "shown until its own deletion alone"],
)
def test_a_term_goes_on_with_what_its_replica_was_shown_since_the_deletion(
    terms: tuple[tuple[str, bool], ...], may: bool
) -> None:
    story = grown()
    let_go(story, "r0")
    deleted_at = story.at
    for epoch, (replica, shown) in enumerate(terms, 2):
        story.wait(1)
        story.lead(replica, epoch)
        story.look(replica=replica, listed_at=deleted_at if shown else story.at)
    story.lost("r0", ASKED)
    assert (CHECKER in story.breaks()) is not may


@pytest.mark.parametrize("cause", [EndCause.RECLAIMED, EndCause.LOST])
def test_what_the_provider_ended_may_be_told_as_lost_though_it_was_asked_back(cause: EndCause) -> None:
    story = grown()
    story.act(Call.ASK_RETURN, "r0", server="", project="", ends_at=story.at + 2 * MINUTE)
    story.gone("r0", cause, ASKED)
    assert CHECKER not in story.breaks()


@pytest.mark.parametrize("both", [False, True])
def test_of_two_servers_under_one_key_the_other_may_be_lost(both: bool) -> None:
    story = grown()
    story.create("r1", story.pool_of("r1"), server="s-twin")
    story.look()
    let_go(story, "r1")
    if both:
        story.act(Call.DELETE, "r1", server="s-twin")
    story.wait(1)
    story.lost("r1", ASKED)
    assert (CHECKER in story.breaks()) is both
