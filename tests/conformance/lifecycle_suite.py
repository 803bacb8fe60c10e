"""Creating and deleting, as every provider adapter must: quota, conflicts, dead on arrival, and only what is ours."""

from __future__ import annotations

import pytest

from contracts.errors import Breach, Gone, Refused, Transient
from pools.provider import (
    Conflict,
    CreateRequest,
    FaultKind,
    Mark,
    QuotaExhausted,
    Server,
    Status,
)
from pools.script import Boot
from tests.conformance.stage import (
    ELSEWHERE,
    FIRST,
    NARROW,
    ROOM_IN_NARROW,
    SECOND,
    WIDE,
    Stage,
    create,
    mark,
    row_of,
)

BOOTED_S = 300


def try_to_create(stage: Stage, name: str, pool: str, *, tries: int) -> Server | Transient:
    last = Transient("never tried")
    for _ in range(tries):
        try:
            return create(stage, name, pool)
        except Transient as error:
            last = error
    return last


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
