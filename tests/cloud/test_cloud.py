"""The simulated cloud, one promise at a time."""

from __future__ import annotations

import math
from decimal import Decimal
from statistics import fmean

import pytest

from contracts.errors import Refused, Transient
from pools.provider import CreateRequest, FaultKind, NoticeKind, ProjectQuota, Status, VictimHint
from pools.script import Outage
from simulation.cloud_model import EndCause, HappeningKind, ProjectLimit, TenantParameters, Wave, stream
from simulation.hosts import HostState
from simulation.tenants import batches, intensity
from tests.cloud.region import CALM, DAY_MS, HOUR_MS, POOLS, Driver, with_parameters
from tests.conformance.stage import START, mark


def wave(driver: Driver, domain: str = "d0", **changes: object) -> None:
    """A wave that takes the whole domain for an hour from now unless something else is said."""
    now = driver.state.now
    given: dict[str, object] = {"share": 1.0, **changes}
    driver.cloud.schedule([Wave(at=now, domain=domain, hold_until=now + HOUR_MS, **given)])  # type: ignore[arg-type]  # by name


def test_a_noticed_wave_ends_its_servers_when_the_notice_says() -> None:
    driver = Driver()
    made = driver.run("d0-m8", 4)
    wave(driver)
    at = driver.state.now
    driver.wait(600)
    assert {happening.notice.ends_at for happening in driver.kinds(HappeningKind.NOTICED) if happening.notice} == {
        at + 120_000
    }
    ended = driver.kinds(HappeningKind.ENDED)
    assert [(happening.at, happening.cause) for happening in ended] == [(at + 120_000, EndCause.RECLAIMED)] * 4
    assert {happening.server for happening in ended} == {row.id for row in made}


def test_a_short_notice_is_as_short_as_the_wave_says() -> None:
    driver = Driver()
    driver.run("d0-m8", 1)
    wave(driver, notice_s=20)
    driver.wait(0)
    (noticed,) = driver.kinds(HappeningKind.NOTICED)
    assert noticed.notice is not None
    assert noticed.notice.ends_at - noticed.notice.issued_at == 20_000


def test_an_unnoticed_wave_takes_at_once() -> None:
    driver = Driver()
    driver.run("d0-m8", 3)
    wave(driver, noticed=False)
    driver.wait(0)
    assert [happening.cause for happening in driver.kinds(HappeningKind.ENDED)] == [EndCause.LOST] * 3
    assert driver.kinds(HappeningKind.NOTICED) == []


@pytest.mark.parametrize(("unexplained", "told"), [(0.0, 3), (1.0, 0)])
def test_a_loss_without_notice_may_stay_unexplained(unexplained: float, told: int) -> None:
    driver = Driver(with_parameters(unexplained=unexplained))
    driver.run("d0-m8", 3)
    cursor = driver.cloud.signals("").cursor
    wave(driver, noticed=False)
    driver.wait(0)
    assert len(driver.cloud.signals(cursor).lifecycle) == told
    assert driver.cloud.instances().servers == ()


def test_pages_and_the_listing_kept_from_before_say_the_same() -> None:
    driver = Driver(with_parameters(page_limit=3))
    for name in ("d0-m8", "d2-m32", "kept-m8"):
        driver.run(name, 4)
    kept = driver.cloud.instances()
    driver.state.script.fail_page("lent", 2, times=1)
    assert driver.cloud.instances() == kept
    assert len(kept.servers) == 12


def test_taken_hosts_come_back_when_the_hold_ends() -> None:
    driver = Driver()
    wave(driver)
    driver.wait(3599)
    assert driver.state.domains["d0"].free.vcpu == 0
    driver.wait(1)
    assert driver.state.domains["d0"].free.vcpu == 4 * 64


def test_waves_with_one_id_are_one_reclaim_over_their_domains() -> None:
    driver = Driver()
    wave(driver, "d0", reclaim="hall-a")
    wave(driver, "d1", reclaim="hall-a")
    driver.wait(0)
    (reclaim,) = driver.cloud.signals("").reclaims
    assert (reclaim.id, reclaim.domains) == ("hall-a", ("d0", "d1"))
    assert len(driver.kinds(HappeningKind.RECLAIM_OPENED)) == 1
    assert len(driver.kinds(HappeningKind.RECLAIM_WIDENED)) == 1
    driver.wait(3600)
    assert len(driver.kinds(HappeningKind.RECLAIM_CLOSED)) == 1


def test_a_reclaim_that_is_widened_keeps_its_longest_hold() -> None:
    driver = Driver()
    wave(driver, "d0", reclaim="hall-a")
    driver.wait(60)
    driver.cloud.schedule([Wave(driver.state.now, "d1", driver.state.now + 60_000, share=1.0, reclaim="hall-a")])
    driver.wait(1)
    assert [happening.at for happening in driver.kinds(HappeningKind.RECLAIM_WIDENED)] == [START + 60_000]
    driver.wait(3538)
    assert [reclaim.hold_until for reclaim in driver.cloud.signals("").reclaims] == [START + HOUR_MS]
    driver.wait(1)
    assert driver.cloud.signals("").reclaims == ()


def test_a_host_taken_again_after_a_withdrawal_stays_with_its_new_holder() -> None:
    driver = Driver(with_parameters(withdrawn=1.0))
    (server,) = driver.run("d1-m8", 1)
    wave(driver, "d1", share=None, count=3)
    driver.wait(120)
    assert len(driver.kinds(HappeningKind.WITHDRAWN)) == 1
    host = driver.state.records[server.id].host
    assert host is not None
    driver.delete(server.id)
    wave(driver, "d1")
    driver.wait(3500)
    assert host.state is HostState.TAKEN


def test_maintenance_gives_notice_and_opens_no_reclaim() -> None:
    driver = Driver()
    driver.run("d0-m8", 2)
    wave(driver, kind=NoticeKind.MAINTENANCE)
    driver.wait(0)
    assert driver.cloud.signals("").reclaims == ()
    driver.wait(120)
    assert [happening.cause for happening in driver.kinds(HappeningKind.ENDED)] == [EndCause.MAINTENANCE] * 2


def test_a_reclaim_never_takes_a_host_with_committed_servers() -> None:
    driver = Driver()
    driver.run("kept-m8", 5)
    wave(driver, "kept")
    driver.wait(600)
    assert driver.kinds(HappeningKind.NOTICED) == []
    assert driver.kinds(HappeningKind.ENDED) == []


def test_deleting_what_is_drained_frees_the_host_early_and_ends_its_bill() -> None:
    driver = Driver()
    (server,) = driver.run("d1-m8", 1)
    wave(driver, "d1")
    driver.wait(40)
    host = driver.state.records[server.id].host
    assert host is not None
    assert host.state.value == "closing"
    driver.delete(server.id)
    deleted_at = driver.state.now
    driver.wait(600)
    assert host.state.value == "taken"
    (line,) = driver.cloud.invoice()
    assert line.ended == deleted_at
    (account,) = driver.state.accounts.values()
    assert (account.promised, account.returned, account.taken) == (1, 1, 0)


def test_the_same_hosts_fall_whatever_runs_on_them() -> None:
    taken = []
    for count in (0, 5):
        driver = Driver(seed=8)
        driver.run("d0-m8", count)
        wave(driver, share=None, count=2, reclaim="r", noticed=False)
        driver.wait(0)
        taken.append([host.index for host in driver.state.domains["d0"].hosts if host.state is HostState.TAKEN])
    assert taken[0] == taken[1]
    assert len(taken[0]) == 2


def test_with_hints_the_cheapest_loss_is_chosen() -> None:
    driver = Driver(with_parameters(victims="hints"))
    made = driver.run("d2-m32", 10)
    hosts = driver.state.domains["d2"].hosts
    cheap = hosts[3]
    driver.cloud.publish_hints(
        tuple(VictimHint(row.id, 10 if row.id in cheap.servers else 3600, 60, 0) for row in made)
    )
    wave(driver, "d2", share=None, count=1, noticed=False)
    driver.wait(0)
    assert [host.index for host in hosts if host.state is HostState.TAKEN] == [3]


def test_an_advised_wave_is_announced_by_its_lead() -> None:
    driver = Driver(with_parameters(advised=1.0))
    at = START + HOUR_MS
    driver.cloud.schedule([Wave(at, "d0", at + HOUR_MS, share=0.5)])
    driver.wait(3600)
    advised = driver.kinds(HappeningKind.ADVISED)
    assert {(happening.at, happening.pool) for happening in advised} == {
        (at - 900_000, "d0-m8"),
        (at - 900_000, "d0-m16"),
    }


def test_a_withdrawn_notice_leaves_the_host_to_us() -> None:
    driver = Driver(with_parameters(withdrawn=1.0))
    driver.run("d0-m8", 3)
    wave(driver)
    driver.wait(600)
    assert len(driver.kinds(HappeningKind.WITHDRAWN)) == 3
    assert driver.kinds(HappeningKind.ENDED) == []
    assert len(driver.cloud.instances().servers) == 3


def test_tenants_take_empty_hosts_first_and_then_reclaim() -> None:
    parameters = with_parameters(tenants=TenantParameters(load=0.9, batch_mean=2.0, stay_mean_s=7200))
    driver = Driver(parameters, seed=2)
    for number in range(40):
        driver.create(f"n{number}", ("d0-m8", "d1-m8", "d2-m32")[number % 3])
    driver.wait(24 * 3600)
    reclaimed = [happening for happening in driver.kinds(HappeningKind.ENDED) if happening.cause is EndCause.RECLAIMED]
    assert reclaimed
    assert driver.kinds(HappeningKind.RECLAIM_OPENED)
    assert {happening.pool for happening in reclaimed}.isdisjoint({"kept-m8"})


def test_tenants_fill_their_share_of_the_hosts_and_follow_the_day() -> None:
    parameters = TenantParameters(load=0.4, batch_mean=2.0, stay_mean_s=3600, swing=0.6, peak_hour=14.0)
    hosts, days = 50, 40
    held = [0] * (24 * days)
    arrived_at_peak = arrived_at_night = 0
    for batch in batches(parameters, hosts=hosts, start=0, random_=stream(5, "tenants")):
        if batch.arrives >= days * DAY_MS:
            break
        first, last = math.ceil(batch.arrives / HOUR_MS), math.ceil(batch.leaves / HOUR_MS)
        for hour in range(first, min(last, len(held))):
            held[hour] += batch.hosts
        hour_of_day = batch.arrives // HOUR_MS % 24
        arrived_at_peak += 12 <= hour_of_day < 16
        arrived_at_night += hour_of_day < 4
    assert fmean(held) == pytest.approx(parameters.load * hosts, rel=0.1)
    assert arrived_at_peak > 2 * arrived_at_night
    assert intensity(parameters, 14 * HOUR_MS) == pytest.approx(1.6)


def test_savings_lie_between_40_and_85_percent_and_change() -> None:
    driver = Driver(with_parameters(rate_changes_per_day=24.0))
    seen: dict[str, set[Decimal]] = {pool.name: set() for pool in POOLS}
    for _ in range(48):
        driver.wait(1800)
        card = driver.cloud.rates()
        for name, rate in card.rates.items():
            saving = 1 - rate / card.guaranteed[name]
            seen[name].add(rate)
            assert name == "kept-m8" or Decimal("0.39") < saving < Decimal("0.86")
            assert card.effective_from[name] <= card.as_of
    assert seen["kept-m8"] == {driver.cloud.rates().guaranteed["kept-m8"]}
    assert all(len(rates) > 1 for name, rates in seen.items() if name != "kept-m8")


def test_a_saving_that_is_given_holds() -> None:
    driver = Driver(with_parameters(savings={"d0-m8": -3}, rate_changes_per_day=24.0))
    driver.wait(24 * 3600)
    card = driver.cloud.rates()
    assert card.rates["d0-m8"] == (card.guaranteed["d0-m8"] * Decimal("1.03")).quantize(Decimal("0.0001"))


def test_pools_of_one_domain_draw_on_the_same_hosts() -> None:
    driver = Driver()
    driver.run("d0-m16", 16)
    late = driver.create("late", "d0-m8")
    driver.wait(60)
    row = driver.state.records[late.id].server
    assert (row.status, row.fault) == (Status.ERROR, FaultKind.NO_HOST)


def test_a_failed_server_is_not_billed_but_holds_its_quota() -> None:
    limit = ProjectLimit(2, 1000, 10**15)
    driver = Driver(with_parameters(boot_failures=1.0, quota={"lent": limit}))
    driver.run("d0-m8", 1)
    left = {quota.project: quota for quota in driver.cloud.quota().projects}["lent"]
    assert left == ProjectQuota("lent", 1, 992, 10**15 - 32 * 1024**3)
    assert driver.cloud.invoice() == ()


def test_forecasts_err_but_not_by_being_asked_often() -> None:
    driver = Driver(with_parameters(forecast_error=0.3))
    first = driver.cloud.forward_capacity()
    assert driver.cloud.forward_capacity() == first
    offered = set()
    for _ in range(20):
        driver.wait(300)
        offered |= {row.vcpu for row in driver.cloud.forward_capacity().domains if row.domain == "d2"}
    assert len(offered) > 5
    assert all(0 <= vcpu <= 5 * 64 for vcpu in offered)


def test_an_outage_in_the_script_fails_the_named_calls_until_it_ends() -> None:
    driver = Driver()
    driver.state.script.outages.append(Outage(START, START + 60_000, frozenset({"create"})))
    with pytest.raises(Transient):
        driver.create("n1")
    assert driver.cloud.instances().complete
    driver.wait(60)
    assert driver.create("n1").status is Status.BUILDING


def test_latency_is_a_number_and_nobody_waits() -> None:
    driver = Driver()
    driver.state.script.latency("instances", 700)
    driver.cloud.instances()
    driver.cloud.instances()
    assert driver.state.script.spent_ms == 1400
    assert driver.state.now == START


def test_time_does_not_run_backwards() -> None:
    driver = Driver()
    driver.wait(100)
    driver.cloud.advance(START)
    assert driver.state.now == START + 100_000


@pytest.mark.parametrize(
    "bad",
    [
        Wave(START, "nowhere", START + 1, count=1),
        Wave(START, "d0", START + 1),
        Wave(START, "d0", START + 1, count=1, share=0.5),
        Wave(START, "d0", START - 1, count=1),
        Wave(START, "d0", START + 1, count=-1),
        Wave(START, "d0", START + 1, share=1.5),
    ],
)
def test_a_wave_that_makes_no_sense_is_refused(bad: Wave) -> None:
    with pytest.raises(Refused):
        Driver().cloud.schedule([bad])


def test_an_active_server_may_move_to_a_pool_of_its_shape_and_is_billed_there() -> None:
    driver = Driver(with_parameters(moves_per_day=2000.0))
    driver.run("d0-m8", 6)
    driver.wait(3600)
    moved = driver.kinds(HappeningKind.MOVED)
    assert {happening.pool for happening in moved} <= {"d0-m8", "d1-m8"}
    pools = {pool for line in driver.cloud.invoice() for pool, _ in line.periods}
    assert pools == {"d0-m8", "d1-m8"}


def test_a_region_without_tenants_and_waves_plans_nothing() -> None:
    assert Driver(CALM).cloud.next_event_at() is None


def test_a_pool_of_another_region_is_unknown() -> None:
    driver = Driver()
    with pytest.raises(Refused):
        driver.cloud.create(CreateRequest("east-m8", "lent", mark("n1")))
