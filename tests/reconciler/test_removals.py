"""Commits that take a large part of the desired units away wait for a person, and nothing else does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.approval import Approval, SignedApproval, read_approval, write_approval
from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.fake import Room
from reconciler.desired import Partition, partition
from reconciler.drafts import Scribe
from reconciler.removals import REMEMBERED, Approved, Baseline, Judgement, judge, told
from reconciler.steps import StepKind
from reconciler.wallets import read_wallet
from repo_layout.documents import ApprovalFile
from repo_layout.model import Estate
from tests.reconciler.builders import ESTATE, FORECAST, HINDCAST, HOUR, MINUTE, REGION, START, Region, estate, of_kind
from tests.trust.signers import private

DAY = dt.datetime.fromtimestamp(START / 1000, tz=dt.UTC).date()
WHO = "head-of-cloud"
FIRST, SECOND, THIRD = "a" * 40, "b" * 40, "c" * 40


def wanting(units: Mapping[str, int], *approvals: ApprovalFile, key: str | None = None) -> Estate:
    """The minimal estate with these contracts at these maxima, and no others."""
    before = estate()
    people = tuple(
        entry.model_copy(update={"approval_key": key}) if entry.id == WHO else entry for entry in before.directory
    )
    contracts = tuple(c.model_copy(update={"maximum": units[c.name]}) for c in before.contracts if c.name in units)
    return replace(before, contracts=contracts, approvals=(*before.approvals, *approvals), directory=people)


def part(units: Mapping[str, int], *approvals: ApprovalFile, key: str | None = None) -> Partition:
    return partition(wanting(units, *approvals, key=key), REGION)


def approval(subject: str = "removal", *, commit: str | None = None, **changes: object) -> ApprovalFile:
    made = ApprovalFile(
        api_version="ebbtide/v1",
        kind="Approval",
        subject=subject,
        statement="The tides move to another region.",
        approver=WHO,
        requester="tides-lead",
        granted=DAY,
        expires=DAY + dt.timedelta(days=7),
        commit=commit,
    )
    return made.model_copy(update=changes)


def signed(commit: str, *, by: str = "head", who: str = WHO, region: str = REGION, ends: int = HOUR) -> SignedApproval:
    said = Approval(ESTATE, region, commit, who, "the code host is down", START, START + ends)
    return read_approval(write_approval(said, lambda data: private(by).sign(data).signature))


HEX = bytes(private("head").verify_key).hex()
BOTH = {FORECAST: 40, HINDCAST: 24}
BASE = judge(part(BOTH), FIRST, Baseline(), now=START).baseline


def judged(units: Mapping[str, int], *approvals: ApprovalFile, before: Baseline = BASE) -> Judgement:
    return judge(part(units, *approvals), SECOND, before, now=START)


def test_the_first_contact_is_the_baseline() -> None:
    assert (BASE.commit, BASE.units) == (FIRST, BOTH)


@pytest.mark.parametrize(("hindcast", "waits"), [(24, False), (18, False), (17, True), (0, True)])
def test_more_than_a_tenth_of_the_desired_units_waits(hindcast: int, waits: bool) -> None:
    """6 of 64 are 9.4 %, 7 are 10.9 %."""
    found = judged({FORECAST: 40, HINDCAST: hindcast})
    assert (found.waiting is not None) is waits


def test_the_share_is_a_setting_of_the_region() -> None:
    estate_ = wanting({FORECAST: 40, HINDCAST: 20})
    region = estate_.settings.regions[0]
    strict = region.model_copy(update={"guard": region.guard.model_copy(update={"removal_share": 5})})
    changed = replace(estate_, settings=estate_.settings.model_copy(update={"regions": (strict,)}))
    assert judge(partition(changed, REGION), SECOND, BASE, now=START).waiting is not None


def test_many_small_removals_are_one_large_one_and_what_is_added_elsewhere_makes_up_for_nothing() -> None:
    first = judged({FORECAST: 40, HINDCAST: 20})
    assert first.waiting is None
    second = judge(part({FORECAST: 44, HINDCAST: 16}), THIRD, first.baseline, now=START)
    assert second.waiting is not None
    assert second.waiting.taken == {HINDCAST: 8}
    assert second.waiting.before == 44 + 24


def test_what_is_put_back_waits_for_nobody() -> None:
    waiting = judged({FORECAST: 40})
    assert waiting.waiting is not None
    assert judge(part(BOTH), THIRD, waiting.baseline, now=START).waiting is None


def test_an_approval_that_comes_with_the_commit_lets_it_go_once() -> None:
    found = judged({FORECAST: 40}, approval())
    assert found.waiting is None
    assert found.approved is not None
    assert (found.approved.approver, found.approved.taken, found.approved.before) == (WHO, 24, 64)
    again = judge(part({FORECAST: 20}, approval()), THIRD, found.baseline, now=START)
    assert again.waiting is not None
    assert again.approved is None


def test_an_approval_speaks_of_the_commit_that_brought_it_and_of_nothing_that_came_after() -> None:
    """Both came between two looks: the one that it came with was never desired here."""
    late = judge(part({}, approval()), THIRD, BASE, came_with={approval().key: SECOND}, now=START)
    assert (late.waiting is not None, late.approved) == (True, None)
    seen = judged({FORECAST: 40})
    late = judge(part({}, approval()), THIRD, seen.baseline, came_with={approval().key: SECOND}, now=START)
    assert late.approved is not None
    assert late.waiting is not None
    assert late.waiting.taken == {FORECAST: 40}
    with_it = judge(part({}, approval()), THIRD, BASE, came_with={approval().key: THIRD}, now=START)
    assert with_it.waiting is None


@pytest.mark.parametrize(
    "no",
    [
        approval("removal-south"),
        approval(FORECAST),
        approval(expires=DAY - dt.timedelta(days=1), granted=DAY - dt.timedelta(days=3)),
        approval(granted=DAY + dt.timedelta(days=1)),
        approval(approver="nobody"),
        approval(commit=THIRD),
    ],
    ids=["another region", "another subject", "expired", "not yet", "unknown person", "a commit never seen"],
)
def test_an_approval_of_something_else_approves_nothing(no: ApprovalFile) -> None:
    assert judged({FORECAST: 40}, no).waiting is not None


def test_an_approval_that_names_a_commit_covers_that_commit_and_no_later_removal() -> None:
    waiting = judged({FORECAST: 40})
    more = part({FORECAST: 20}, approval(f"removal-{REGION}", commit=SECOND))
    found = judge(more, THIRD, waiting.baseline, now=START)
    assert found.approved is not None
    assert found.approved.commit == SECOND
    assert found.waiting is not None
    assert found.waiting.taken == {FORECAST: 20}


def test_a_signed_statement_counts_where_the_directory_has_its_key() -> None:
    removed = {FORECAST: 40}
    for key, statement, counts in (
        (HEX, signed(SECOND), True),
        (None, signed(SECOND), False),
        (HEX, signed(SECOND, by="somebody"), False),
        (HEX, signed(SECOND, who="tides-lead"), False),
        (HEX, signed(SECOND, region="south"), False),
        (HEX, signed(FIRST), False),
        (HEX, replace(signed(SECOND), approval=replace(signed(SECOND).approval, commit=THIRD)), False),
    ):
        found = judge(part(removed, key=key), SECOND, BASE, signed=(statement,), now=START)
        assert (found.waiting is None) is counts
    late = judge(part(removed, key=HEX), SECOND, BASE, signed=(signed(SECOND),), now=START + HOUR)
    assert late.waiting is not None


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_without_an_approval_no_sequence_of_commits_takes_more_than_the_share(steps: list[tuple[int, int]]) -> None:
    baseline, most = BASE, dict(BOTH)
    for number, (forecast, hindcast) in enumerate(steps):
        units = {FORECAST: forecast, HINDCAST: hindcast}
        found = judge(part_of(units), f"{number:040d}", baseline, now=START)
        most = {name: max(most[name], count) for name, count in units.items()}
        taken = sum(most[name] - count for name, count in units.items())
        assert (found.waiting is None) is (taken * 10 <= sum(most.values()))
        assert len(found.baseline.pending) <= REMEMBERED
        baseline = found.baseline


PARTS: dict[tuple[int, int], Partition] = {}


def part_of(units: Mapping[str, int]) -> Partition:
    key = units[FORECAST], units[HINDCAST]
    if key not in PARTS:
        whole = part(BOTH)
        contracts = tuple(c.model_copy(update={"maximum": units[c.name]}) for c in whole.contracts)
        PARTS[key] = replace(whole, contracts=contracts)
    return PARTS[key]


# -- in the loop ------------------------------------------------------------------------------------------------------


def reviewed(region: Region, estate_: Estate, commit: str) -> None:
    region.desired.estate, region.desired.commit = estate_, commit


@pytest.fixture
def removed() -> Region:
    """A settled region whose hindcast lost its contract; its nodes are idle."""
    region = Region().settled(10, 12)
    for node in region.ours(HINDCAST):
        region.schedulers.occupy(node.name, 0)
    reviewed(region, wanting({FORECAST: 40}), SECOND)
    return region


def test_a_removed_contract_keeps_its_instances_until_somebody_approves_and_then_goes_at_pace(removed: Region) -> None:
    for _ in range(30):
        decision = removed.cycle()
        assert not of_kind(decision, StepKind.RELEASE)
    assert removed.supply(HINDCAST) == 12
    refused = {r.cause for r in decision.refused}
    assert refused == {Cause.REMOVAL_UNAPPROVED}
    assert len(removed.told(EventType.BREAKER_TRIPPED)) == 1
    reviewed(removed, wanting({FORECAST: 40}, approval(commit=SECOND)), THIRD)
    first = removed.cycle()
    assert len(of_kind(first, StepKind.RELEASE)) == 1  # 5 % of 22
    (event,) = removed.told(EventType.REMOVAL_APPROVED)
    assert event.id.endswith(f"/{event.epoch}")
    assert (event.data["approver"], event.data["taken_units"], event.data["before_units"]) == (WHO, 24, 64)
    for _ in range(60):
        removed.cycle(300)
        for name in list(removed.nodes.asked):
            if name in removed.schedulers.nodes:
                removed.nodes.finish(name)
    assert removed.supply(HINDCAST) == 0


def test_two_leaders_that_count_an_approval_by_their_own_baselines_tell_two_events() -> None:
    """The second began without a memory, so the same word took less away in its eyes."""
    first, second = (
        told(Approved("removal", WHO, SECOND, taken, 64), Scribe(REGION, START, SECOND, epoch))
        for taken, epoch in ((24, 2), (12, 3))
    )
    assert [e.id for e in (*first, *second)] == [f"removal.approved/{REGION}/removal/{epoch}" for epoch in (2, 3)]


def test_meanwhile_the_rest_grows_and_is_replaced(removed: Region) -> None:
    removed.schedulers.want(FORECAST, 20)
    lost = removed.busy()
    removed.cloud.lose(removed.server_id(lost), reason="host failed")
    kinds = set()
    for _ in range(15):
        kinds |= {step.kind for step in removed.cycle().allowed}
        removed.join()
    assert {StepKind.REPLACE, StepKind.ACQUIRE} <= kinds
    assert removed.supply() >= 19  # the pool of the loss may be excluded for a while
    assert removed.supply(HINDCAST) == 12


def test_what_waits_survives_a_restart_with_its_baseline(removed: Region) -> None:
    removed.cycle()
    removed.reconciler = removed.leader(removed.reconciler.memory)
    decision = removed.cycle()
    assert {r.cause for r in decision.refused} == {Cause.REMOVAL_UNAPPROVED}


def test_a_contract_that_only_shrank_still_follows_its_demand() -> None:
    region = Region().settled(20, 10)
    for node in region.ours(HINDCAST):
        region.schedulers.occupy(node.name, 0)
    reviewed(region, wanting({FORECAST: 40, HINDCAST: 8}), SECOND)
    region.cycles(15)
    assert region.supply(HINDCAST) == 10
    region.schedulers.want(HINDCAST, 2)
    causes = set()
    for _ in range(40):
        causes |= {s.cause for s in of_kind(region.cycle(), StepKind.RELEASE)}
    assert causes == {Cause.CLAIM_SHRANK}
    assert region.supply(HINDCAST) < 10


# -- fallback ----------------------------------------------------------------------------------------------------------


def bought(region: Region) -> int:
    return sum(one.units for one in region.ours() if one.paid is Paid.FALLBACK and one.supply)


@pytest.fixture
def short() -> Region:
    """A region whose forecast lost all that was lent to it, and has four units of fallback for an hour instead."""
    region = Region().settled(12, 12)
    for pool in region.part.pools:
        if not pool.committed:
            region.cloud.capacity[pool.domain] = Room(0, 0, 0)
    for lent in region.ours(FORECAST):
        if lent.paid is Paid.RECLAIMABLE:
            region.cloud.lose(lent.server, reason="host failed")
    region.cycles(8)
    assert bought(region) == 4
    return region


@pytest.mark.parametrize("memory", [True, False], ids=["who bought it", "a leader without memory"])
def test_fallback_of_a_removed_contract_stays_while_its_hour_is_paid_and_no_longer(
    short: Region, *, memory: bool
) -> None:
    """No commit says whose money would renew it."""
    (end,) = read_wallet(short.store.values[f"reservations/{REGION}"].value).paid[FORECAST]
    reviewed(short, wanting({HINDCAST: 24}), SECOND)
    if not memory:
        short.reconciler = short.leader()
    while short.now < int(end) - MINUTE:
        short.cycle()
        assert bought(short) == 4
    short.cycles(3)
    assert bought(short) == 0


def test_fallback_stays_while_only_a_removal_that_waits_makes_it_superfluous(short: Region) -> None:
    """Of a maximum of four the floor alone is the whole claim."""
    reviewed(short, wanting({FORECAST: 4, HINDCAST: 24}), SECOND)
    short.cycles(60)
    assert bought(short) == 4
    reviewed(short, wanting({FORECAST: 4, HINDCAST: 24}, approval(commit=SECOND)), THIRD)
    short.cycles(60)
    assert bought(short) == 0


# -- when nobody remembers ---------------------------------------------------------------------------------------------


@pytest.fixture
def forgotten(removed: Region) -> Region:
    """The same after the store and every disk were lost: the present commit is all that is known."""
    removed.cycle()
    removed.store.values.clear()
    removed.journal.content = None
    removed.reconciler = removed.leader()
    return removed


def test_what_a_removal_left_before_anybody_remembers_waits_whatever_its_share(forgotten: Region) -> None:
    for node in forgotten.servers(HINDCAST)[1:]:
        del forgotten.cloud.servers[node.id]
        forgotten.schedulers.leave(node.name)
    for _ in range(8):
        decision = forgotten.cycle()
        assert not of_kind(decision, StepKind.RELEASE)
    assert forgotten.supply(HINDCAST) == 1
    assert {r.cause for r in decision.refused} == {Cause.REMOVAL_UNAPPROVED}
    assert "nobody remembers" in next(r.message for r in decision.refused)


def test_once_somebody_approves_it_goes_and_waits_no_more(forgotten: Region) -> None:
    forgotten.cycles(3)
    reviewed(forgotten, wanting({FORECAST: 40}, approval(commit=SECOND)), THIRD)
    released = 0
    for _ in range(30):
        decision = forgotten.cycle()
        released += len(of_kind(decision, StepKind.RELEASE))
        assert Cause.REMOVAL_UNAPPROVED not in {r.cause for r in decision.refused}
    assert released > 1
    (event,) = forgotten.told(EventType.REMOVAL_APPROVED)
    assert event.data["taken_units"] == 12
