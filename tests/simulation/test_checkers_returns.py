"""What one leader decided to give back, and no node heard of, another leader may decide anew."""

from __future__ import annotations

import pytest

from simulation.chronicle import Call, NodeWord
from tests.reconciler.builders import REGION
from tests.simulation.chronicles import asked_back, grown

# -- drains -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("heard", "another"), [(False, True), (True, True), (False, False)])
def test_what_no_node_heard_of_another_leader_may_decide_anew(heard: bool, another: bool) -> None:
    story = grown()
    story.want(11)
    story.looks(6)
    asked_back(story, "r0")
    if heard:
        story.node("r0", NodeWord.HEARD, ends_at=story.at + 120_000, notice=f"release.asked/{REGION}/r0/1")
    story.wait(1000)
    story.act(Call.ASK_RETURN, "r0", server="", project="", ends_at=story.at + 9, epoch=story.epoch + another)
    told = [b.sentence for b in story.broken() if b.checker == "check_debts.ReleasedOnce"]
    assert any(" and at " in sentence for sentence in told) is (heard or not another)
