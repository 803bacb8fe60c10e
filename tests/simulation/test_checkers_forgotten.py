"""What stands in the end is what the last leader knows, as far as any whole listing of its term showed it."""

from __future__ import annotations

import pytest

from tests.reconciler.builders import MINUTE, REGION
from tests.simulation.chronicles import eventful

CHECKER = "check_owners.Forgotten"


@pytest.mark.parametrize(
    ("shown", "lost", "wrong"),
    [(True, False, True), (True, True, False), (False, False, False)],
    ids=["shown once", "told as lost since", "never shown"],
)
def test_what_its_last_listing_hid_a_leader_still_knows_unless_it_told_it_as_lost(
    *, shown: bool, lost: bool, wrong: bool
) -> None:
    story = eventful()
    story.lead("b", 2)
    for hidden in (not shown, True):
        story.wait(5 * MINUTE)
        story.look(replica="b", hidden=frozenset({"s-r1"}) if hidden else frozenset())
    if lost:
        story.lost("r1", f"instance.requested/{REGION}/r1")
    story.close_books()
    assert story.told.known is not None
    story.told.known -= {"s-r1"}
    assert (CHECKER in {b.checker for b in story.broken(closed=False)}) is wrong
