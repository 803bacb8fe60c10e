"""What every provider adapter must do, as tests: derive a class named `Test...` and give it a `stage` fixture.

Written from the seam's promises (`pools.provider`), not from an adapter. Split by topic; `ProviderSuite` is all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from contracts.errors import Breach, Gone, Refused, Transient
from pools.provider import (
    Conflict,
    CreateRequest,
    FaultKind,
    ForwardCapacity,
    LifecycleKind,
    Listing,
    Mark,
    QuotaExhausted,
    Server,
    Status,
    VictimHint,
)
from pools.script import Boot
from tests.conformance.stage import (
    ALSO,
    ELSEWHERE,
    ESTATE,
    FIRST,
    NARROW,
    NARROW_DOMAIN,
    POOLS,
    ROOM_IN_NARROW,
    SECOND,
    WIDE,
    WIDE_DOMAIN,
    Stage,
    mark,
)

BOOTED_S = 300


def create(stage: Stage, name: str, pool: str = WIDE) -> Server:
    project = next(row.project for row in POOLS if row.name == pool)
    return stage.provider.create(CreateRequest(pool, project, mark(name)))


def row_of(listing: Listing, server: str) -> Server | None:
    return next((row for row in listing.servers if row.id == server), None)


def offer(stage: Stage, domain: str) -> ForwardCapacity | None:
    return next((row for row in stage.provider.forward_capacity().domains if row.domain == domain), None)


def try_to_create(stage: Stage, name: str, pool: str, *, tries: int) -> Server | Transient:
    last = Transient("never tried")
    for _ in range(tries):
        try:
            return create(stage, name, pool)
        except Transient as error:
            last = error
    return last


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


class CreateSuite:
    """Idempotence, quota, capacity, conflicts, dead on arrival."""

    def test_a_created_server_becomes_active_with_our_mark(self, stage: Stage) -> None:
        made = create(stage, "n1")
        stage.wait(BOOTED_S)
        row = row_of(stage.provider.instances(), made.id)
        assert row is not None
        assert (row.status, row.pool, row.project, row.mark) == (Status.ACTIVE, WIDE, FIRST, mark("n1"))

    def test_the_same_key_gives_the_same_server(self, stage: Stage) -> None:
        first = create(stage, "n1")
        stage.wait(BOOTED_S)
        assert create(stage, "n1").id == first.id
        assert len(stage.provider.instances().servers) == 1

    def test_a_lost_answer_leaves_a_server_that_the_same_key_finds(self, stage: Stage) -> None:
        stage.script.lose_answer("create")
        with pytest.raises(Transient):
            create(stage, "n1")
        again = create(stage, "n1")
        assert [row.id for row in stage.provider.instances().servers] == [again.id]

    def test_a_key_asked_for_by_a_later_epoch_is_still_the_same_server(self, stage: Stage) -> None:
        first = create(stage, "n1")
        again = stage.provider.create(CreateRequest(WIDE, FIRST, mark("n1", epoch=9)))
        assert again.id == first.id

    def test_another_s_server_of_the_same_name_is_not_found_by_our_key(self, stage: Stage) -> None:
        foreign = stage.plant("n1", mark=mark("n1", estate="other"))
        assert create(stage, "n1").id != foreign

    def test_quota_for_three_gives_three(self, stage: Stage) -> None:
        stage.set_instances(SECOND, 3)
        made, refused = [], 0
        for number in range(5):
            try:
                made.append(create(stage, f"n{number}", NARROW))
            except QuotaExhausted:
                refused += 1
        left = {quota.project: quota.instances for quota in stage.provider.quota().projects}
        assert (len({row.id for row in made}), refused, left[SECOND]) == (3, 2, 0)

    def test_deleting_gives_quota_back(self, stage: Stage) -> None:
        stage.set_instances(SECOND, 1)
        made = create(stage, "n1", NARROW)
        stage.provider.delete(made.id, expected=mark("n1"))
        assert create(stage, "n2", NARROW).id != made.id

    def test_a_full_domain_ends_the_next_boot_with_no_host(self, stage: Stage) -> None:
        for number in range(ROOM_IN_NARROW):
            create(stage, f"n{number}", NARROW)
        late = create(stage, "late", NARROW)
        stage.wait(BOOTED_S)
        rows = {row.id: row for row in stage.provider.instances().servers}
        assert (rows[late.id].status, rows[late.id].fault) == (Status.ERROR, FaultKind.NO_HOST)
        assert sum(row.status is Status.ACTIVE for row in rows.values()) == ROOM_IN_NARROW

    def test_four_boots_end_in_four_ways(self, stage: Stage) -> None:
        stage.script.boot(WIDE, Boot.ACTIVE, Boot.NO_HOST, Boot.QUOTA, Boot.NEVER)
        made = [create(stage, f"n{number}") for number in range(4)]
        stage.wait(BOOTED_S)
        listing = stage.provider.instances()
        rows = [row_of(listing, row.id) for row in made]
        assert [(row.status, row.fault) for row in rows if row is not None] == [
            (Status.ACTIVE, None),
            (Status.ERROR, FaultKind.NO_HOST),
            (Status.ERROR, FaultKind.QUOTA),
            (Status.BUILDING, None),
        ]
        assert all(row.fault_text for row in rows if row is not None and row.status is Status.ERROR)

    def test_servers_in_error_and_servers_that_never_boot_can_be_deleted(self, stage: Stage) -> None:
        stage.script.boot(WIDE, Boot.NO_HOST, Boot.QUOTA, Boot.NEVER)
        made = [create(stage, f"n{number}") for number in range(3)]
        stage.wait(BOOTED_S)
        for number, row in enumerate(made):
            stage.provider.delete(row.id, expected=mark(f"n{number}"))
        assert stage.provider.instances().servers == ()

    def test_twelve_conflicts_in_thirty_creates_give_thirty_servers(self, stage: Stage) -> None:
        stage.script.conflict(WIDE, times=12)
        waiting = [f"n{number}" for number in range(30)]
        conflicts, made = 0, []
        for _ in range(3):
            still = []
            for name in waiting:
                try:
                    made.append(create(stage, name).id)
                except Conflict:
                    conflicts += 1
                    still.append(name)
            waiting = still
        listed = [row.id for row in stage.provider.instances().servers]
        assert (conflicts, waiting, len(set(made))) == (12, [], 30)
        assert sorted(listed) == sorted(made)

    def test_a_conflict_on_every_try_stays_a_conflict_and_makes_nothing(self, stage: Stage) -> None:
        stage.script.conflict(WIDE, times=40)
        assert isinstance(try_to_create(stage, "n1", WIDE, tries=40), Conflict)
        assert stage.provider.instances().servers == ()

    def test_nothing_is_created_outside_owned_projects(self, stage: Stage) -> None:
        with pytest.raises(Breach):
            stage.provider.create(CreateRequest(WIDE, ELSEWHERE, mark("n1")))

    @pytest.mark.parametrize("wrong", [mark("n1", estate="other"), mark("n1", region="east")])
    def test_nothing_is_created_under_another_s_mark(self, stage: Stage, wrong: Mark) -> None:
        with pytest.raises(Breach):
            stage.provider.create(CreateRequest(WIDE, FIRST, wrong))

    def test_user_data_over_the_pool_s_limit_is_refused_and_at_the_limit_is_not(self, stage: Stage) -> None:
        stage.provider.create(CreateRequest(WIDE, FIRST, mark("n1"), b"x" * 49_149))
        with pytest.raises(Refused):
            stage.provider.create(CreateRequest(WIDE, FIRST, mark("n2"), b"x" * 49_150))


class DeleteSuite:
    """Only what is ours, adoption and disowning."""

    def test_our_server_is_gone_after_delete_and_a_second_delete_says_gone(self, stage: Stage) -> None:
        made = create(stage, "n1")
        stage.provider.delete(made.id, expected=mark("n1"))
        assert row_of(stage.provider.instances(), made.id) is None
        with pytest.raises(Gone):
            stage.provider.delete(made.id, expected=mark("n1"))

    def test_an_empty_id_is_refused_and_nothing_is_deleted(self, stage: Stage) -> None:
        stage.plant("n1", mark=mark("n1"))
        stage.break_row()
        with pytest.raises(Refused):
            stage.provider.delete("", expected=mark("n1"))
        assert len(stage.provider.instances().servers) == 2

    def test_a_server_that_never_was_is_gone(self, stage: Stage) -> None:
        with pytest.raises(Gone):
            stage.provider.delete("no-such-server", expected=mark("n1"))

    @pytest.mark.parametrize(
        "carried",
        [
            None,
            mark("n1", estate="other"),
            mark("n1", region="east"),
            mark("n2"),
            mark("n1", epoch=4),
        ],
        ids=["no mark", "another estate", "another region", "another name", "a later epoch"],
    )
    def test_a_server_without_the_expected_mark_is_a_breach_and_stays(self, stage: Stage, carried: Mark | None) -> None:
        server = stage.plant("n1", mark=carried)
        with pytest.raises(Breach):
            stage.provider.delete(server, expected=mark("n1"))
        assert row_of(stage.provider.instances(), server) is not None

    def test_a_foreign_mark_is_a_breach_even_when_it_is_expected(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1", estate="other"))
        with pytest.raises(Breach):
            stage.provider.delete(server, expected=mark("n1", estate="other"))

    def test_our_mark_in_a_project_that_is_not_ours_is_a_breach(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"), project=ELSEWHERE)
        with pytest.raises(Breach):
            stage.provider.delete(server, expected=mark("n1"))

    def test_a_later_leader_deletes_what_an_earlier_one_marked(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1", epoch=3))
        stage.provider.delete(server, expected=mark("n1", epoch=4))
        assert stage.provider.instances().servers == ()

    def test_a_lost_answer_to_delete_is_told_by_the_second(self, stage: Stage) -> None:
        made = create(stage, "n1")
        stage.script.lose_answer("delete")
        with pytest.raises(Transient):
            stage.provider.delete(made.id, expected=mark("n1"))
        with pytest.raises(Gone):
            stage.provider.delete(made.id, expected=mark("n1"))

    def test_an_adopted_server_may_be_deleted(self, stage: Stage) -> None:
        server = stage.plant("old-worker")
        for _ in range(2):
            stage.provider.mark(server, mark("n1"))
        row = row_of(stage.provider.instances(), server)
        assert row is not None
        assert row.mark == mark("n1")
        stage.provider.delete(server, expected=mark("n1"))
        assert stage.provider.instances().servers == ()

    def test_a_disowned_server_may_not_be_deleted(self, stage: Stage) -> None:
        server = stage.plant("n1", mark=mark("n1"))
        for _ in range(2):
            stage.provider.mark(server, None)
        with pytest.raises(Breach):
            stage.provider.delete(server, expected=mark("n1"))

    @pytest.mark.parametrize("new", [None, mark("n1")], ids=["disown", "adopt"])
    def test_another_s_mark_is_never_touched(self, stage: Stage, new: Mark | None) -> None:
        server = stage.plant("theirs", mark=mark("theirs", estate="other"))
        with pytest.raises(Breach):
            stage.provider.mark(server, new)
        row = row_of(stage.provider.instances(), server)
        assert row is not None
        assert row.mark == mark("theirs", estate="other")

    def test_marking_what_is_not_there_is_gone_and_an_empty_id_refused(self, stage: Stage) -> None:
        with pytest.raises(Gone):
            stage.provider.mark("no-such-server", mark("n1"))
        with pytest.raises(Refused):
            stage.provider.mark("", None)


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
        stage.provider.delete(made.id, expected=mark("n1"))
        told = [event.kind for event in stage.provider.signals("").lifecycle if event.server == made.id]
        assert told == [LifecycleKind.CREATED, LifecycleKind.DELETED]

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
