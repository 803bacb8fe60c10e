"""What goes on in the simulated cloud by itself: tenants, host failures, moves, false advisories, changing rates.

Each process has a stream of its own and plans its next event when the last one happens. Called by the simulated cloud
once, at the start.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from pools.provider import NoticeKind, Status
from simulation.cloud_model import DAY_MS, HOUR_MS, HappeningKind, stream
from simulation.cloud_state import CloudState, move
from simulation.hosts import Domain, HostState
from simulation.reclaims import Taking, advise, take, tenant_arrives
from simulation.tenants import Batch, batches


def begin(state: CloudState) -> None:
    """Starts every process; tenants that are there from the start move in at once."""
    parameters = state.parameters
    for domain in state.domains.values():
        if parameters.tenants is not None and not domain.committed_only:
            source = stream(state.seed, "tenants", domain.name)
            demand = batches(parameters.tenants, hosts=len(domain.hosts), start=state.start, random_=source)
            _admit_batches(state, domain, demand, None, 0)
    for name in state.tariffs:
        _plan_rate(state, name)
    _repeat(state, parameters.silent_losses_per_day, stream(state.seed, "silent"), _silent_loss)
    _repeat(state, parameters.moves_per_day, stream(state.seed, "moves"), _random_move)
    _repeat(state, parameters.false_advisories_per_day, stream(state.seed, "false-advisories"), _false_advisory)


def _admit_batches(
    state: CloudState, domain: Domain, demand: Iterator[Batch], arrived: Batch | None, number: int
) -> None:
    """Lets in the batch that has arrived and all that are due, and plans the next one."""
    batch = arrived if arrived is not None else next(demand, None)
    while batch is not None and batch.arrives <= state.now:
        number += 1
        tenant_arrives(state, domain, batch, number)
        batch = next(demand, None)
    if batch is not None:
        state.push(batch.arrives, partial(_admit_batches, state, domain, demand, batch, number))


def _plan_rate(state: CloudState, pool: str) -> None:
    due = state.tariffs[pool].next_change
    if due is not None:
        state.push(due, partial(_change_rate, state, pool))


def _change_rate(state: CloudState, pool: str) -> None:
    change_rate(state, pool)
    _plan_rate(state, pool)


def change_rate(state: CloudState, pool: str) -> None:
    """The pool's rate changes now, if its tariff says so."""
    state.tariffs[pool].at(state.now)
    state.happen(HappeningKind.RATE_CHANGED, pool=pool)


def _repeat(
    state: CloudState, per_day: float, draw: random.Random, action: Callable[[CloudState, random.Random], None]
) -> None:
    """Plans a Poisson process of actions."""
    if per_day > 0:
        gap = int(draw.expovariate(per_day / DAY_MS)) + 1
        state.push(state.now + gap, partial(_act, state, per_day, draw, action))


def _act(
    state: CloudState, per_day: float, draw: random.Random, action: Callable[[CloudState, random.Random], None]
) -> None:
    """One action, with a generator of its own so that the times of later ones do not depend on it."""
    action(state, random.Random(draw.getrandbits(64)))
    _repeat(state, per_day, draw, action)


def _silent_loss(state: CloudState, draw: random.Random) -> None:
    """One host dies without a word; it is repaired later."""
    domain = state.domains[draw.choice(list(state.domains))]
    host = draw.choice(domain.hosts)
    if host.state is HostState.LENDABLE:
        until = state.now + state.parameters.repair_s * 1000
        holder = f"failure-{state.now}-{domain.name}-{host.index}"
        taking = Taking(domain, holder, "", NoticeKind.HOST_FAILURE, "host failure", until, until, noticed=False)
        take(state, taking, [host])


def _random_move(state: CloudState, draw: random.Random) -> None:
    """One active server migrates to a pool of the same shape and attributes, where there is room."""
    running = [id_ for id_, record in state.records.items() if record.server.status is Status.ACTIVE]
    if not running:
        return
    server = draw.choice(running)
    here = state.records[server].pool
    alike = [
        pool.name
        for pool in state.pools.values()
        if pool.instance == here.instance and pool.attributes == here.attributes and pool.committed == here.committed
    ]
    move(state, server, draw.choice(alike))


def _false_advisory(state: CloudState, draw: random.Random) -> None:
    """A warning that nothing follows."""
    advise(state, draw.choice(list(state.domains)), state.now + HOUR_MS)
