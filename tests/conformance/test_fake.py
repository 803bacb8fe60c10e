"""What the fake shows beyond the suite: the answers that are missing, and its script; and how one part is paged."""

from __future__ import annotations

import pytest

from contracts.errors import Refused, Transient
from pools.fake import Room
from pools.paging import Page, read_part
from pools.provider import FaultKind, LifecycleKind, NoticeKind, Server, Status
from pools.script import Boot, SignalLog
from tests.conformance.stage import FIRST, NARROW, NARROW_DOMAIN, WIDE, create, mark, offer, row_of
from tests.conformance.test_providers import FakeStage


def server(id_: str, status: Status = Status.ACTIVE) -> Server:
    return Server(id_, f"name-{id_}", FIRST, WIDE, status, 0)


def test_a_pool_whose_rate_is_withheld_has_no_rate() -> None:
    stage = FakeStage()
    del stage.cloud.rates[WIDE]
    card = stage.provider.rates()
    assert WIDE not in card.rates
    assert WIDE in card.guaranteed


def test_a_server_may_be_somewhere_the_provider_does_not_say() -> None:
    stage = FakeStage()
    moved = stage.plant("n1", mark=mark("n1"))
    stage.move(moved, "")
    row = row_of(stage.provider.instances(), moved)
    assert row is not None
    assert (row.pool, row.status) == ("", Status.MOVED)


@pytest.mark.parametrize(("reason", "told"), [(None, []), ("host failure", [LifecycleKind.FAILED])])
def test_a_loss_is_explained_only_when_the_script_says_why(reason: str | None, told: list[LifecycleKind]) -> None:
    stage = FakeStage()
    lost = stage.plant("n1", mark=mark("n1"))
    cursor = stage.provider.signals("").cursor
    stage.cloud.lose(lost, reason=reason)
    assert [event.kind for event in stage.provider.signals(cursor).lifecycle] == told
    assert row_of(stage.provider.instances(), lost) is None


def test_capacity_that_others_take_is_not_offered() -> None:
    stage = FakeStage()
    stage.cloud.capacity[NARROW_DOMAIN] = Room(8, 32 * 1024**3, 0)
    create(stage, "n1", NARROW)
    late = create(stage, "n2", NARROW)
    stage.wait(60)
    row, offered = row_of(stage.provider.instances(), late.id), offer(stage, NARROW_DOMAIN)
    assert row is not None
    assert row.fault is FaultKind.NO_HOST
    assert offered is not None
    assert offered.vcpu == 0


def test_a_server_that_never_boots_takes_room_all_the_same() -> None:
    stage = FakeStage()
    before = offer(stage, NARROW_DOMAIN)
    stage.script.boot(NARROW, Boot.NEVER)
    create(stage, "n1", NARROW)
    stage.wait(3600)
    after = offer(stage, NARROW_DOMAIN)
    assert before is not None
    assert after is not None
    assert before.vcpu - after.vcpu == 8


def test_a_maintenance_notice_says_its_kind_and_opens_no_reclaim() -> None:
    stage = FakeStage()
    stage.cloud.notify(stage.plant("n1"), seconds=600, kind=NoticeKind.MAINTENANCE)
    answer = stage.provider.signals("")
    assert [notice.kind for notice in answer.notices] == [NoticeKind.MAINTENANCE]
    assert answer.reclaims == ()


def test_a_refusal_in_the_script_is_raised_as_it_is() -> None:
    stage = FakeStage()
    stage.script.fail("create", error=lambda: Refused("the project is locked"))
    with pytest.raises(Refused, match="locked"):
        create(stage, "n1")
    assert create(stage, "n1").status is Status.BUILDING


def test_a_row_seen_on_two_pages_counts_once_with_its_later_state() -> None:
    pages = {"": Page((server("a"), server("b")), "2"), "2": Page((server("b", Status.DELETING), server("c")))}
    rows, part = read_part(FIRST, pages.__getitem__)
    assert part.complete
    assert [(row.id, row.status) for row in rows] == [
        ("a", Status.ACTIVE),
        ("b", Status.DELETING),
        ("c", Status.ACTIVE),
    ]


def test_pages_that_lead_in_a_circle_are_never_complete() -> None:
    pages = {"": Page((server("a"),), "2"), "2": Page((server("b"),), "2")}
    rows, part = read_part(FIRST, pages.__getitem__)
    assert not part.complete
    assert "back" in part.reason
    assert len(rows) == 2


def test_more_pages_than_the_limit_are_never_complete() -> None:
    _, part = read_part(FIRST, lambda marker: Page((), str(int(marker or "0") + 1)), most_pages=5)
    assert (part.complete, part.reason) == (False, "more than 5 pages")


def test_a_page_is_not_asked_for_more_often_than_said() -> None:
    asked: list[str] = []

    def silent(marker: str) -> Page:
        asked.append(marker)
        raise Transient("503")

    rows, part = read_part(FIRST, silent, attempts=3)
    assert (asked, rows, part.complete) == (["", "", ""], (), False)


def test_a_refusal_on_a_page_is_no_incomplete_part_but_a_refusal() -> None:
    def forbidden(marker: str) -> Page:
        raise Refused("403")

    with pytest.raises(Refused):
        read_part(FIRST, forbidden)


def test_a_log_at_its_limit_drops_the_oldest_and_an_old_cursor_begins_anew() -> None:
    stage = FakeStage()
    notice = stage.cloud.notify(stage.plant("n1"), seconds=600)
    log = SignalLog(limit=10)
    for _ in range(25):
        log.say(notice)
    following, kept, _ = log.since("0")
    assert following == "25"
    assert 9 <= len(kept) <= 10
    assert log.since(following)[1] == ()
