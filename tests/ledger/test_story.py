"""A story puts each event below what caused it, once, and ends in money."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ledger.events import Event, EventType
from ledger.money import TICKS
from ledger.story import Chain, chain, chain_down, chain_up, priced, sentence, told, told_chain
from tests.ledger.histories import Writer, histories, one_lost_instance


def test_a_reclaim_reads_from_its_notice_to_its_money() -> None:
    events = one_lost_instance().events
    notice = next(event for event in events if event.type is EventType.NOTICE_RECEIVED)
    loss = next(event for event in events if event.type is EventType.WORK_LOST)
    found = chain(events, notice.id)
    steps = told_chain(Chain(notice.id, found.up, found.down, {loss.id: TICKS // 4}))
    assert ["  " * step.depth + step.what for step in steps] == [
        "i-1 has notice of r-1 (reclaim)",
        "  i-1 drains",
        "    2 of 2 slots of i-1 draining, paid as reclaimable",
        "    i-1 was lost",
        "      train does 60.0 unit-minutes of work again",
        "      i-1 ended",
    ]
    assert [priced(step, "EUR") for step in steps if step.ticks is not None] == ["0.2500 EUR"]


@given(events=histories())
def test_every_event_stands_in_the_story_exactly_once(events: list[Event]) -> None:
    steps = told(events)
    assert sorted(step.event.id for step in steps) == sorted(event.id for event in events)
    depth = {step.event.id: step.depth for step in steps}
    for step in steps:
        if step.event.caused_by in depth:
            assert step.depth == depth[step.event.caused_by] + 1


@given(events=histories(), number=st.integers(0, 60))
def test_up_and_down_meet_in_the_event_itself(events: list[Event], number: int) -> None:
    event = events[number % len(events)]
    up, down = chain_up(events, event.id), chain_down(events, event.id)
    assert up[-1] == event
    assert event in down
    assert all(above.id == below.caused_by for above, below in itertools.pairwise(up))


def test_a_loop_of_causes_ends() -> None:
    writer = Writer()
    writer.write(EventType.POOL_PROBED, 0, caused_by="e00001")
    writer.write(EventType.POOL_PROBED, 1, caused_by="e00000")
    assert len(chain_up(writer.events, "e00000")) == 2
    assert len(chain_down(writer.events, "e00000")) == 2
    assert len(told(writer.events)) == 2


def test_an_unknown_event_has_no_story() -> None:
    assert chain([], "nobody") == Chain("nobody", (), ())


def test_a_sentence_never_fails_for_what_an_event_lacks() -> None:
    writer = Writer()
    writer.write(EventType.DRAIN_ENDED, 0, {"outcome": "verified"})
    assert sentence(writer.events[0]) == "- drained: verified"
