"""What every provider adapter must do, as tests: derive a class named `Test...` and give it a `stage` fixture.

Written from the seam's promises (`pools.provider`), not from an adapter. Creating and deleting stand in
`lifecycle_suite`; `ProviderSuite` is all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from contracts.errors import Transient
from pools.provider import (
    LifecycleKind,
    Status,
    VictimHint,
)
from tests.conformance.lifecycle_suite import CreateSuite, DeleteSuite
from tests.conformance.stage import (
    ALSO,
    ELSEWHERE,
    ESTATE,
    FIRST,
    NARROW,
    NARROW_DOMAIN,
    ROOM_IN_NARROW,
    SECOND,
    WIDE,
    WIDE_DOMAIN,
    Stage,
    create,
    mark,
    offer,
    row_of,
)


class ListingSuite:
    """Completeness, pages, times."""

    def test_1003_servers_over_pages_of_1000_are_1003_servers(self, stage: Stage) -> None:
        planted = {stage.plant(f"n{number}", mark=mark(f"n{number}")) for number in range(1003)}
        listing = stage.provider.instances()
        assert listing.complete
        assert {row.id for row in listing.servers} == planted

    def test_a_second_page_that_fails_three_times_leaves_its_part_incomplete(self, stage: Stage) -> None:
        planted = {stage.plant(f"n{number}", mark=mark(f"n{number}")) for number in range(1003)}
        other = stage.plant("other", NARROW, mark=mark("other"))
        stage.script.fail_page(FIRST, 2, times=3)
        listing = stage.provider.instances()
        parts = {part.name: part for part in listing.parts}
        assert not listing.complete
        assert not parts[FIRST].complete
        assert parts[FIRST].reason
        assert parts[SECOND].complete
        assert len(planted & {row.id for row in listing.servers}) == 1000
        assert row_of(listing, other) is not None

    def test_an_incomplete_listing_says_nothing_of_servers_going_away(self, stage: Stage) -> None:
        stage.plant("n1", mark=mark("n1"))
        cursor = stage.provider.signals("").cursor
        stage.script.fail_page(FIRST, 1, times=3)
        assert stage.provider.instances().servers == ()
        assert stage.provider.signals(cursor).lifecycle == ()
        assert stage.provider.instances().complete
        assert len(stage.provider.instances().servers) == 1

    def test_a_page_that_fails_twice_is_read_at_the_third_try(self, stage: Stage) -> None:
        stage.plant("n1", mark=mark("n1"))
        stage.script.fail_page(FIRST, 1, times=2)
        assert stage.provider.instances().complete

    def test_a_silent_provider_raises_and_lists_nothing(self, stage: Stage) -> None:
        stage.script.fail("instances")
        with pytest.raises(Transient):
            stage.provider.instances()

    def test_servers_of_others_in_our_projects_are_listed_with_their_marks(self, stage: Stage) -> None:
        nobodys = stage.plant("stray")
        foreign = stage.plant("theirs", mark=mark("theirs", estate="other"))
        listing = stage.provider.instances()
        seen = row_of(listing, nobodys), row_of(listing, foreign)
        assert seen[0] is not None
        assert seen[0].mark is None
        assert seen[1] is not None
        assert seen[1].mark == mark("theirs", estate="other")

    def test_projects_that_are_not_ours_are_not_listed(self, stage: Stage) -> None:
        payroll = stage.plant("payroll-1", project=ELSEWHERE)
        listing = stage.provider.instances()
        assert row_of(listing, payroll) is None
        assert {part.name for part in listing.parts} == {FIRST, SECOND}

    def test_a_row_without_an_id_is_shown_as_it_is(self, stage: Stage) -> None:
        stage.break_row()
        listing = stage.provider.instances()
        assert [row.id for row in listing.servers] == [""]

    def test_each_answer_carries_the_provider_s_time(self, stage: Stage) -> None:
        provider = stage.provider
        before = provider.quota().as_of
        stage.wait(10)
        times = [
            provider.signals("").as_of,
            provider.rates().as_of,
            provider.forward_capacity().as_of,
            provider.instances().as_of,
            provider.quota().as_of,
        ]
        assert min(times) >= before + 10_000
        assert times == sorted(times)


class SignalSuite:
    """Notices, reclaims, advisories, lifecycle events."""

    def test_a_notice_names_server_end_and_kind_and_the_server_goes_then(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        stage.notify(server, seconds=120)
        answer = stage.provider.signals("")
        notice = next(notice for notice in answer.notices if notice.server == server)
        assert notice.ends_at == notice.issued_at + 120_000
        assert (notice.name, notice.pool, notice.withdrawn) == ("n1", WIDE, False)
        stage.wait(119)
        assert row_of(stage.provider.instances(), server) is not None
        stage.wait(2)
        assert row_of(stage.provider.instances(), server) is None

    def test_the_same_cursor_gives_the_same_notices_and_the_next_one_no_more(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        stage.notify(server, seconds=120)
        first, second = stage.provider.signals(""), stage.provider.signals("")
        assert first.notices == second.notices
        assert stage.provider.signals(first.cursor).notices == ()

    def test_a_repeated_notice_is_the_same_notice(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        stage.notify(server, seconds=120)
        cursor = stage.provider.signals("")
        stage.repeat(server)
        again = stage.provider.signals(cursor.cursor).notices
        assert again == tuple(notice for notice in cursor.notices if notice.server == server)

    def test_a_withdrawn_notice_keeps_its_id_and_the_server_stays(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        stage.notify(server, seconds=120)
        given = stage.provider.signals("")
        stage.wait(20)
        stage.withdraw(server)
        withdrawn = [notice for notice in stage.provider.signals(given.cursor).notices if notice.server == server]
        assert [(notice.id, notice.withdrawn) for notice in withdrawn] == [(given.notices[0].id, True)]
        stage.wait(300)
        assert row_of(stage.provider.instances(), server) is not None

    def test_a_server_under_notice_may_be_deleted_early(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        stage.notify(server, seconds=120)
        stage.provider.delete(server, expected=mark("n1"))
        assert row_of(stage.provider.instances(), server) is None
        stage.wait(300)
        assert stage.provider.instances().complete

    def test_capacity_under_an_open_reclaim_is_no_forward_capacity(self, stage: Stage) -> None:
        stage.open_reclaim(WIDE_DOMAIN, hold_s=600)
        open_now = stage.provider.signals("").reclaims
        held = offer(stage, WIDE_DOMAIN)
        assert [reclaim.domains for reclaim in open_now] == [(WIDE_DOMAIN,)]
        assert held is None or (held.vcpu, held.memory, held.gpu) == (0, 0, 0)
        elsewhere = offer(stage, NARROW_DOMAIN)
        assert elsewhere is not None
        assert elsewhere.vcpu > 0

    def test_the_hold_ends_by_itself(self, stage: Stage) -> None:
        stage.open_reclaim(WIDE_DOMAIN, hold_s=600)
        stage.wait(601)
        offered = offer(stage, WIDE_DOMAIN)
        assert stage.provider.signals("").reclaims == ()
        assert offered is not None
        assert offered.vcpu > 0

    def test_an_open_reclaim_is_told_whatever_the_cursor(self, stage: Stage) -> None:
        stage.open_reclaim(WIDE_DOMAIN, hold_s=600)
        first = stage.provider.signals("")
        assert stage.provider.signals(first.cursor).reclaims == first.reclaims

    def test_an_advisory_stands_until_it_ends(self, stage: Stage) -> None:
        stage.advise(ALSO, seconds=60)
        assert [advisory.pool for advisory in stage.provider.signals("").advisories] == [ALSO]
        stage.wait(61)
        assert stage.provider.signals("").advisories == ()

    def test_a_moved_server_says_so_where_it_is_and_is_not_reclaimed(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        cursor = stage.provider.signals("").cursor
        stage.move(server, ALSO)
        row = row_of(stage.provider.instances(), server)
        answer = stage.provider.signals(cursor)
        assert row is not None
        assert (row.status, row.pool) == (Status.MOVED, ALSO)
        assert [event.kind for event in answer.lifecycle] == [LifecycleKind.MOVED]
        assert (answer.notices, answer.reclaims) == ((), ())

    def test_the_life_of_a_server_is_told_in_order(self, stage: Stage) -> None:
        made = create(stage, "n1")
        stage.wait(300)
        stage.provider.delete(made.id, expected=mark("n1"))
        told = [event.kind for event in stage.provider.signals("").lifecycle if event.server == made.id]
        assert told == [LifecycleKind.CREATED, LifecycleKind.ACTIVE, LifecycleKind.DELETED]

    @pytest.mark.parametrize("cursor", ["nonsense", "999999999", "-1"])
    def test_a_cursor_nobody_knows_means_the_beginning(self, stage: Stage, cursor: str) -> None:
        stage.notify(stage.plant("n1", mark=mark("n1")), seconds=120)
        assert stage.provider.signals(cursor).notices == stage.provider.signals("").notices


class MarketSuite:
    """Rates, forward capacity, hints."""

    def test_rates_are_positive_decimals_and_each_has_its_guaranteed_rate(self, stage: Stage) -> None:
        card = stage.provider.rates()
        assert card.currency
        assert set(card.rates) <= set(card.guaranteed)
        assert all(isinstance(rate, Decimal) and rate > 0 for rate in (*card.rates.values(), *card.guaranteed.values()))

    def test_what_we_hold_is_not_offered_again(self, stage: Stage) -> None:
        for number in range(ROOM_IN_NARROW):
            create(stage, f"n{number}", NARROW)
        offered = offer(stage, NARROW_DOMAIN)
        assert offered is None or offered.vcpu == 0

    def test_forward_capacity_lies_ahead_and_its_confidence_is_a_share(self, stage: Stage) -> None:
        answer = stage.provider.forward_capacity()
        assert answer.domains
        assert all(row.until > answer.as_of and 0 <= row.confidence <= 1 for row in answer.domains)

    def test_the_latest_hint_wins_and_hints_about_nothing_harm_nobody(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        stage.provider.publish_hints((VictimHint(server, 900, 60, 100), VictimHint("no-such-server", 1, 1, 1)))
        stage.provider.publish_hints((VictimHint(server, 5, 60, 100),))
        assert stage.hint(server) == VictimHint(server, 5, 60, 100)

    @pytest.mark.parametrize("call", ["signals", "rates", "forward_capacity", "quota", "create", "delete", "mark"])
    def test_silence_is_transient_for_every_call(self, stage: Stage, call: str) -> None:
        provider = stage.provider
        server = stage.plant("n1", mark=mark("n1"))
        calls: dict[str, Callable[[], object]] = {
            "signals": lambda: provider.signals(""),
            "rates": provider.rates,
            "forward_capacity": provider.forward_capacity,
            "quota": provider.quota,
            "create": lambda: create(stage, "n2"),
            "delete": lambda: provider.delete(server, expected=mark("n1")),
            "mark": lambda: provider.mark(server, None),
        }
        stage.script.fail(call)
        with pytest.raises(Transient):
            calls[call]()
        assert [(row.id, row.mark) for row in provider.instances().servers] == [(server, mark("n1"))]

    def test_the_estate_s_own_marks_are_ours(self, stage: Stage) -> None:
        made = create(stage, "n1")
        assert made.mark is not None
        assert made.mark.key == (ESTATE, "west", "n1")


class ProviderSuite(ListingSuite, CreateSuite, DeleteSuite, SignalSuite, MarketSuite):
    """All of it."""
