"""The `simulated` provider: one region's cloud as a discrete-event model, the same for the same seed.

The world simulator advances it and reads what happened; the reconciler calls it through `pools.provider.Provider`. It
knows pools and its own parameters; it must not know contracts, plans or the ledger.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from pools.model import Pool
from pools.ownership import check_create, check_delete, check_mark
from pools.paging import Page, read_part
from pools.provider import (
    CreateRequest,
    ForwardCapacities,
    ForwardCapacity,
    Listing,
    Mark,
    Part,
    ProjectQuota,
    Quota,
    QuotaExhausted,
    RateCard,
    Server,
    Signals,
    VictimHint,
)
from simulation.cloud_model import (
    CloudParameters,
    EndCause,
    Happening,
    InvoiceLine,
    Wave,
    stream,
)
from simulation.cloud_state import CloudState, admit, end, hand_over, invoice_line, ours_since
from simulation.disturbances import begin
from simulation.hosts import Domain
from simulation.reclaims import schedule_wave
from simulation.tenants import arrivals_per_ms, intensity

HINTS_LIMIT = 1_000_000
"""Hints in one call: a region's census."""


class SimulatedCloud:
    """One region's cloud at `state.now`; a `Provider`, and a clockwork for whoever drives it.

    `state.script` takes failures and latencies, `state.accounts` tells what became of each reclaim.
    """

    def __init__(
        self, pools: Iterable[Pool], *, region: str, start: int, seed: int, parameters: CloudParameters
    ) -> None:
        self.state = CloudState(pools, region=region, start=start, seed=seed, parameters=parameters)
        self._listed: tuple[int, tuple[Server, ...]] = (-1, ())
        begin(self.state)

    def advance(self, to: int) -> list[Happening]:
        """Lets time pass up to and including `to`; everything that happened since the last call, deletions and creates
        in between included, in order. A time in the past changes nothing.
        """
        state = self.state
        while state.heap and state.heap[0][0] <= to:
            at, _, action = heapq.heappop(state.heap)
            state.now = max(state.now, at)
            action()
        state.now = max(state.now, to)
        happened, state.happened = state.happened, []
        return happened

    def next_event_at(self) -> int | None:
        """When something may happen next by itself; None when nothing is planned."""
        return self.state.heap[0][0] if self.state.heap else None

    def schedule(self, waves: Iterable[Wave]) -> tuple[str, ...]:
        """Plans waves; the id of the reclaim of each. Raises `Refused` for one that says nothing sensible."""
        return tuple(schedule_wave(self.state, wave) for wave in waves)

    def invoice(self) -> tuple[InvoiceLine, ...]:
        """What every server that ever ran has cost up to now, in order of creation."""
        records = sorted((*self.state.past, *self.state.records.values()), key=lambda record: record.server.id)
        lines = (invoice_line(self.state, record) for record in records)
        return tuple(line for line in lines if line is not None)

    def signals(self, cursor: str) -> Signals:
        """As the seam promises."""
        state = self.state
        state.script.on_call("signals", state.now)
        following, notices, lifecycle = state.log.since(cursor)
        for pool in [pool for pool, advisory in state.advisories.items() if advisory.until <= state.now]:
            del state.advisories[pool]
        return Signals(
            as_of=state.now,
            cursor=following,
            notices=notices,
            reclaims=tuple(state.reclaims.values()),
            advisories=tuple(state.advisories.values()),
            lifecycle=lifecycle,
        )

    def rates(self) -> RateCard:
        """As the seam promises; every pool of the region has a rate."""
        state = self.state
        state.script.on_call("rates", state.now)
        found = {name: tariff.at(state.now) for name, tariff in state.tariffs.items()}
        return RateCard(
            as_of=state.now,
            currency=state.parameters.currency,
            rates={name: rate for name, (rate, _) in found.items()},
            guaranteed={name: tariff.guaranteed for name, tariff in state.tariffs.items()},
            effective_from={name: since for name, (_, since) in found.items()},
        )

    def forward_capacity(self) -> ForwardCapacities:
        """As the seam promises: what is free now, misjudged by a seeded factor that holds for one forecast; nothing in
        a domain under an open reclaim.
        """
        state = self.state
        state.script.on_call("forward_capacity", state.now)
        held: dict[str, int] = {}
        for reclaim in state.reclaims.values():
            for name in reclaim.domains:
                held[name] = max(held.get(name, 0), reclaim.hold_until)
        return ForwardCapacities(
            as_of=state.now,
            domains=tuple(
                ForwardCapacity(name, 0, 0, 0, held[name], 1.0) if name in held else _forecast(state, domain)
                for name, domain in state.domains.items()
            ),
        )

    def instances(self) -> Listing:
        """As the seam promises; one part per owned project, pages as long as the parameters say."""
        state = self.state
        state.script.on_call("instances", state.now)
        if state.script.pages_fail:
            return _read_pages(state)
        version, rows = self._listed
        if version != state.version:
            grouped: defaultdict[str, list[Server]] = defaultdict(list)
            for record in state.records.values():
                grouped[record.server.project].append(record.server)
            rows = tuple(row for project in state.projects for row in grouped[project])
            self._listed = (state.version, rows)
        parts = tuple(Part(project, complete=True) for project in state.projects)
        return Listing(as_of=state.now, servers=rows, parts=parts)

    def create(self, request: CreateRequest) -> Server:
        """As the seam promises; a server without room ends in ERROR, as a scheduler's "no valid host" does."""
        state = self.state
        state.script.on_call("create", state.now)
        pool = check_create(
            request,
            estate=state.parameters.estate,
            region=state.region,
            projects=state.projects,
            pools=state.pools,
        )
        known = state.by_key.get((request.project, request.mark.key))
        if known is not None and state.tokens:
            return state.records[known].server
        boot = state.script.on_create(request.pool)
        left = self._left(request.project)
        shape = pool.instance
        if left.instances < 1 or left.vcpu < shape.vcpu or left.memory < shape.memory:
            raise QuotaExhausted(f"{request.project}: {left} left, {pool.flavor} needs {shape.vcpu} vCPU")
        name = request.mark.name
        record = admit(state, pool=pool, project=request.project, name=name, mark=request.mark, boot=boot)
        state.script.on_answer("create")
        return record.server

    def delete(self, server: str, *, expected: Mark) -> None:
        """As the seam promises; at once, and what is drained early is no longer paid."""
        state = self.state
        state.script.on_call("delete", state.now)
        record = state.records.get(server)
        row = record.server if record is not None else None
        check_delete(server, row, expected=expected, estate=state.parameters.estate, projects=state.projects)
        if record is not None:
            end(state, record, EndCause.DELETED)
        state.script.on_answer("delete")

    def quota(self) -> Quota:
        """As the seam promises."""
        self.state.script.on_call("quota", self.state.now)
        return Quota(self.state.now, tuple(self._left(project) for project in self.state.projects))

    def mark(self, server: str, mark: Mark | None) -> None:
        """As the seam promises."""
        state = self.state
        state.script.on_call("mark", state.now)
        record = state.records.get(server)
        row = record.server if record is not None else None
        row = check_mark(server, row, mark=mark, estate=state.parameters.estate, projects=state.projects)
        if record is None:
            return
        if row.mark is not None:
            state.by_key.pop((row.project, row.mark.key), None)
        if mark is not None:
            state.by_key[row.project, mark.key] = server
        hand_over(record, ours_since(mark, state.now), ours=mark is not None)
        state.change(record, replace(row, mark=mark))

    def publish_hints(self, hints: tuple[VictimHint, ...]) -> None:
        """As the seam promises; hints about servers that are not there are dropped."""
        state = self.state
        state.script.on_call("publish_hints", state.now)
        for hint in hints[:HINTS_LIMIT]:
            if hint.server in state.records:
                state.hints[hint.server] = hint

    def _left(self, project: str) -> ProjectQuota:
        limit, used = self.state.limits[project], self.state.used[project]
        return ProjectQuota(project, limit.instances - used[0], limit.vcpu - used[1], limit.memory - used[2])


def _forecast(state: CloudState, domain: Domain) -> ForwardCapacity:
    """What the provider believes this domain will offer: right up to a factor drawn per domain and forecast, so that it
    does not depend on when or how often it is asked. The confidence falls with the hosts tenants are likely to take.
    """
    slot = (state.now - state.start) // (state.parameters.forecast_every_s * 1000)
    known = state.forecasts.get(domain.name)
    if known is None or known[0] != slot:
        known = state.forecasts[domain.name] = (slot, *_judge(state, domain, slot))
    _, factor, expected = known
    free, capacity = domain.free, domain.capacity
    return ForwardCapacity(
        domain=domain.name,
        vcpu=min(capacity.vcpu, int(free.vcpu * factor)),
        memory=min(capacity.memory, int(free.memory * factor)),
        gpu=min(capacity.gpu, int(free.gpu * factor)),
        until=state.now + state.parameters.forecast_horizon_s * 1000,
        confidence=round(min(0.99, max(0.05, 1.0 - expected / max(1, domain.lendable))), 4),
    )


def _judge(state: CloudState, domain: Domain, slot: int) -> tuple[float, float]:
    """The factor by which one forecast is wrong, and the hosts that tenants are expected to take within its horizon,
    by their mean intensity at the forecast's start.
    """
    parameters, tenants = state.parameters, state.parameters.tenants
    error = stream(state.seed, "forecast", domain.name, slot).gauss(0.0, parameters.forecast_error)
    if tenants is None or domain.committed_only:
        return max(0.0, 1.0 + error), 0.0
    at = state.start + slot * parameters.forecast_every_s * 1000
    arrivals = arrivals_per_ms(tenants, len(domain.hosts)) * max(0.0, intensity(tenants, at))
    return max(0.0, 1.0 + error), arrivals * parameters.forecast_horizon_s * 1000 * tenants.batch_mean


def _rows_of(state: CloudState, project: str) -> list[Server]:
    return [record.server for record in state.records.values() if record.server.project == project]


def _read_pages(state: CloudState) -> Listing:
    """The listing page by page, with the pages that fail by script; only then is it worth its time."""
    rows: list[Server] = []
    parts = []
    for project in state.projects:
        found, part = read_part(project, _pages(state, project))
        rows.extend(found)
        parts.append(part)
    return Listing(as_of=state.now, servers=tuple(rows), parts=tuple(parts))


def _pages(state: CloudState, project: str) -> Callable[[str], Page]:
    """A function that fetches one page of a project; markers are page numbers."""
    rows, limit = _rows_of(state, project), state.parameters.page_limit

    def fetch(marker: str) -> Page:
        number = int(marker or "1")
        state.script.on_page(project, number)
        more = str(number + 1) if number * limit < len(rows) else ""
        return Page(tuple(rows[(number - 1) * limit : number * limit]), more)

    return fetch
