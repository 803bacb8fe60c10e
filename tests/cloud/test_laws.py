"""What holds in the simulated cloud whatever is asked of it: capacity, conservation, billing, determinism."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pools.provider import NoticeKind, QuotaExhausted
from simulation.cloud_model import EndCause, Happening, HappeningKind, Wave
from simulation.hosts import HostState
from tests.cloud.region import BUSY, HOUR_MS, POOLS, Driver
from tests.conformance.stage import START

POOL_NAMES = [pool.name for pool in POOLS]
DOMAINS = sorted({pool.domain for pool in POOLS})

creates = st.tuples(st.just("create"), st.sampled_from(POOL_NAMES), st.integers(1, 6))
deletes = st.tuples(st.just("delete"), st.just(""), st.integers(0, 50))
waits = st.tuples(st.just("wait"), st.just(""), st.integers(1, 7200))
waves = st.tuples(st.just("wave"), st.sampled_from(DOMAINS), st.integers(0, 10))
stories = st.lists(st.one_of(creates, deletes, waits, waves), min_size=15, max_size=50)


def play(driver: Driver, story: list[tuple[str, str, int]], *, look: bool = False) -> None:
    """Runs the story; `look` asks for everything in between."""
    for verb, where, number in story:
        if verb == "create":
            for _ in range(number):
                try:
                    driver.create(f"n{driver.state.created}", where)
                except QuotaExhausted:
                    break
        elif verb == "delete":
            alive = list(driver.state.records)
            if alive:
                driver.delete(alive[number % len(alive)])
        elif verb == "wait":
            driver.wait(number)
        else:
            now = driver.state.now
            kind = NoticeKind.MAINTENANCE if number == 10 else NoticeKind.RECLAIM
            wave = Wave(now, where, now + HOUR_MS, share=number / 10, noticed=number != 3, kind=kind)
            driver.cloud.schedule([wave])
        check_hosts(driver)
        if look:
            driver.cloud.rates()
            driver.cloud.forward_capacity()
            driver.cloud.signals("")
            driver.cloud.instances()
    driver.wait(3600)


def check_hosts(driver: Driver) -> None:
    """Every host's books agree with what runs on it, and nothing is sold twice."""
    placed: Counter[str] = Counter()
    for domain in driver.state.domains.values():
        shape = domain.pools[0].hosts
        for host in domain.hosts:
            used = sum(instance.vcpu for instance in host.servers.values())
            memory = sum(instance.memory for instance in host.servers.values())
            assert host.vcpu == shape.vcpu - used >= 0
            assert host.memory == shape.memory - memory >= 0
            assert host.state is not HostState.TAKEN or not host.servers
            placed.update(list(host.servers))
    assert all(count == 1 for count in placed.values())
    assert set(placed) <= set(driver.state.records)


@settings(max_examples=120, deadline=None)
@given(story=stories, seed=st.integers(0, 1000))
def test_capacity_is_never_exceeded_and_servers_are_never_lost_from_the_books(
    story: list[tuple[str, str, int]], seed: int
) -> None:
    driver = Driver(BUSY, seed=seed)
    play(driver, story)
    state = driver.state
    ended = [happening.server for happening in driver.kinds(HappeningKind.ENDED)]
    assert state.created == len(state.records) + len(state.past)
    assert sorted(ended) == sorted(record.server.id for record in state.past)
    assert len(set(ended)) == len(ended)
    assert {row.id for row in driver.cloud.instances().servers} == set(state.records)


@settings(max_examples=120, deadline=None)
@given(story=stories, seed=st.integers(0, 1000))
def test_each_server_is_billed_once_from_active_to_its_end_without_a_gap(
    story: list[tuple[str, str, int]], seed: int
) -> None:
    driver = Driver(BUSY, seed=seed)
    play(driver, story)
    lines = driver.cloud.invoice()
    began = {happening.server: happening.at for happening in driver.kinds(HappeningKind.ACTIVE)}
    ended = {happening.server: happening.at for happening in driver.kinds(HappeningKind.ENDED)}
    assert {line.server: line.started for line in lines} == began
    assert len(lines) == len(began)
    for line in lines:
        assert line.ended == ended.get(line.server)
        edges = [(period.start, period.end) for _, period in line.periods]
        until = line.ended if line.ended is not None else driver.state.now
        if line.started == until:
            assert edges == []
            continue
        assert edges[0][0] == line.started
        assert edges[-1][1] == until
        assert all(a[1] == b[0] for a, b in pairwise(edges))


@settings(max_examples=15, deadline=None)
@given(story=stories, seed=st.integers(0, 1000))
def test_looking_changes_nothing_and_the_same_seed_is_the_same_history(
    story: list[tuple[str, str, int]], seed: int
) -> None:
    one, two = Driver(BUSY, seed=seed), Driver(BUSY, seed=seed)
    play(one, story)
    play(two, story, look=True)
    assert one.happened == two.happened
    assert one.cloud.invoice() == two.cloud.invoice()
    assert one.cloud.signals("") == two.cloud.signals("")
    assert one.cloud.forward_capacity() == two.cloud.forward_capacity()


@settings(max_examples=15, deadline=None)
@given(step_s=st.integers(1, 4000), seed=st.integers(0, 1000))
def test_one_long_step_and_many_short_ones_give_the_same_history(step_s: int, seed: int) -> None:
    def history(steps: list[int]) -> list[Happening]:
        driver = Driver(BUSY, seed=seed)
        for number in range(12):
            driver.create(f"n{number}", POOL_NAMES[number % 4])
        for seconds in steps:
            driver.wait(seconds)
        return driver.happened

    whole, rest = divmod(20_000, step_s)
    assert history([20_000]) == history([step_s] * whole + ([rest] if rest else []))


def test_another_seed_is_another_history() -> None:
    histories = []
    for seed in (1, 2):
        driver = Driver(BUSY, seed=seed)
        play(driver, [("create", "d0-m8", 6), ("wait", "", 7200)])
        histories.append(driver.happened)
    assert histories[0] != histories[1]


def test_the_invoice_equals_the_rate_cards_read_at_every_event() -> None:
    driver = Driver(BUSY, seed=4)
    running: dict[str, str] = {}
    owed, before = Decimal(0), START
    for number in range(30):
        driver.create(f"n{number}", POOL_NAMES[number % len(POOL_NAMES)])
    while (at := driver.cloud.next_event_at()) is not None and at < START + 12 * HOUR_MS:
        rates = driver.cloud.rates().rates
        owed += sum((rates[pool] for pool in running.values()), Decimal(0)) * (at - before)
        before = at
        for happening in driver.cloud.advance(at):
            if happening.kind in (HappeningKind.ACTIVE, HappeningKind.MOVED):
                running[happening.server] = happening.pool
            elif happening.kind is HappeningKind.ENDED:
                running.pop(happening.server, None)
    assert owed > 0
    assert sum((line.owed_ms for line in driver.cloud.invoice()), Decimal(0)) == owed


def test_what_became_of_a_reclaim_sums_to_what_was_promised() -> None:
    driver = Driver(BUSY, seed=9)
    for name in ("d0-m8", "d1-m8"):
        driver.run(name, 12)
    now = driver.state.now
    driver.cloud.schedule([Wave(now, domain, now + HOUR_MS, share=1.0, reclaim="hall") for domain in ("d0", "d1")])
    driver.wait(0)
    noticed = [happening for happening in driver.kinds(HappeningKind.NOTICED) if happening.reclaim == "hall"]
    driver.wait(30)
    for happening in noticed[::2]:
        if happening.server in driver.state.records:
            driver.delete(happening.server)
    driver.wait(600)
    account = driver.state.accounts["hall"]
    assert account.promised == len(noticed) > 0
    assert account.promised == account.returned + account.taken + account.withdrawn
    assert account.returned > 0


def test_losses_without_notice_have_no_notice_before_them() -> None:
    driver = Driver(BUSY, seed=3)
    for _ in range(24):
        for name in ("d0-m8", "d1-m8"):
            driver.run(name, 4)
        driver.wait(3000)
    noticed = {happening.server for happening in driver.kinds(HappeningKind.NOTICED)}
    withdrawn = {happening.server for happening in driver.kinds(HappeningKind.WITHDRAWN)}
    lost = {happening.server for happening in driver.kinds(HappeningKind.ENDED) if happening.cause is EndCause.LOST}
    assert lost
    assert not lost & (noticed - withdrawn)
