"""How capacity is taken back: which hosts, with or without a notice, until when, and what is withdrawn.

Waves told from outside and tenants that do not fit go the same way. A host is taken whole: first it closes, at the end
of its notices it is taken, and it returns when its holder leaves. Called by the simulated cloud only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

from contracts.errors import Refused
from pools.provider import Advisory, Notice, NoticeKind, Reclaim, VictimHint
from simulation.cloud_model import EndCause, HappeningKind, Wave, stream
from simulation.cloud_state import CloudState, Record, end
from simulation.hosts import Domain, Host, HostState
from simulation.tenants import Batch

UNHINTED_COST_S = 7200
"""What losing a server costs a reclaimer who was told nothing: more than most hints, so silence never pays."""


CAUSES = {NoticeKind.MAINTENANCE: EndCause.MAINTENANCE, NoticeKind.HOST_FAILURE: EndCause.HOST_FAILURE}
"""What the end of a notice is called; the end of every other kind is a reclaim."""


@dataclass(frozen=True, slots=True)
class Taking:
    """One act of taking hosts. `holder` is unique; it says whose a host is until it returns. `told` says whether the
    event stream explains what is lost without notice.
    """

    domain: Domain
    holder: str
    reclaim: str
    kind: NoticeKind
    reason: str
    hold_until: int
    returns_at: int
    noticed: bool = True
    notice_s: int | None = None
    told: bool = True


def schedule_wave(state: CloudState, wave: Wave) -> str:
    """Plans a wave and perhaps its advisory; the reclaim's id. Raises `Refused` for a wave that makes no sense."""
    one_of = (wave.share is None) != (wave.count is None)
    in_range = 0.0 <= (wave.share or 0.0) <= 1.0 and (wave.count or 0) >= 0
    if not (one_of and in_range) or wave.domain not in state.domains or wave.hold_until < wave.at:
        raise Refused(f"a wave needs a known domain, a share or a count, and a hold after its start: {wave}")
    number = next(state.waves)
    reclaim = wave.reclaim or f"{state.region}-r{number:06d}"
    holder = f"{reclaim}#{number}"
    state.push(wave.at, partial(_run_wave, state, wave, reclaim, holder))
    if stream(state.seed, "advised", holder).random() < state.parameters.advised:
        state.push(
            wave.at - state.parameters.advisory_lead_s * 1000, partial(advise, state, wave.domain, wave.hold_until)
        )
    return reclaim


def advise(state: CloudState, domain: str, until: int, reason: str = "demand is rising") -> None:
    """Warns of a reclaim in every reclaimable pool of the domain."""
    for pool in state.domains[domain].pools:
        if not pool.committed:
            state.advisories[pool.name] = Advisory(pool.name, state.now, until, reason)
            state.happen(HappeningKind.ADVISED, pool=pool.name)


def tenant_arrives(state: CloudState, domain: Domain, batch: Batch, number: int) -> None:
    """A tenant takes empty hosts, then lent ones; what does not fit then goes elsewhere."""
    holder = f"{state.region}-{domain.name}-t{number:06d}"
    free = [host for host in domain.takeable() if not host.servers]
    for host in free[: batch.hosts]:
        domain.turn(host, HostState.TAKEN, holder)
        state.push(batch.leaves, partial(_return, domain, host, holder))
    missing = batch.hosts - len(free)
    lent = [host for host in domain.takeable() if host.servers]
    if missing > 0 and lent:
        hold = state.now + state.parameters.hold_s * 1000
        taking = Taking(domain, holder, holder, NoticeKind.RECLAIM, "guaranteed tenant", hold, batch.leaves)
        take(state, taking, choose(state, domain, lent, missing, holder))


def choose(state: CloudState, domain: Domain, candidates: list[Host], number: int, holder: str) -> list[Host]:
    """The hosts to take: by a shuffle that depends on seed and holder only, or the cheapest by the hints."""
    order = list(range(len(domain.hosts)))
    stream(state.seed, "victims", holder).shuffle(order)
    rank = {index: position for position, index in enumerate(order)}
    by_hints = state.parameters.victims == "hints"
    chosen = sorted(candidates, key=lambda h: (loss_s(state, h) if by_hints else 0, rank[h.index]))
    return chosen[: max(0, number)]


def loss_s(state: CloudState, host: Host) -> int:
    """What taking this host would cost in seconds of work, by the latest hints."""
    return sum(_hint_cost(state.hints.get(server)) for server in host.servers)


def take(state: CloudState, taking: Taking, hosts: list[Host]) -> None:
    """Takes the hosts; a reclaim opens even when every one of them is empty."""
    if taking.kind is NoticeKind.RECLAIM:
        _open(state, taking)
    for host in hosts:
        _take_host(state, taking, host)


def _run_wave(state: CloudState, wave: Wave, reclaim: str, holder: str) -> None:
    domain = state.domains[wave.domain]
    candidates = domain.takeable()
    if wave.kind is not NoticeKind.RECLAIM:
        candidates = [host for host in domain.hosts if host.state is HostState.LENDABLE]
    number = wave.count if wave.count is not None else math.ceil((wave.share or 0.0) * len(candidates))
    taking = Taking(
        domain=domain,
        holder=holder,
        reclaim=reclaim if wave.kind is NoticeKind.RECLAIM else "",
        kind=wave.kind,
        reason=wave.reason,
        hold_until=wave.hold_until,
        returns_at=wave.hold_until,
        noticed=wave.noticed,
        notice_s=wave.notice_s,
    )
    take(state, taking, choose(state, domain, candidates, number, holder))


def _open(state: CloudState, taking: Taking) -> None:
    """Opens the reclaim, or widens the open one with this id."""
    hold = max(taking.hold_until, state.now)
    known = state.reclaims.get(taking.reclaim)
    domains = {taking.domain.name, *(known.domains if known else ())}
    state.reclaims[taking.reclaim] = Reclaim(
        id=taking.reclaim,
        reason=taking.reason,
        domains=tuple(sorted(domains)),
        opened_at=known.opened_at if known else state.now,
        hold_until=max(hold, known.hold_until) if known else hold,
    )
    state.push(hold, partial(_close, state, taking.reclaim))
    if known is None:
        state.happen(HappeningKind.RECLAIM_OPENED, reclaim=taking.reclaim)
    elif known != state.reclaims[taking.reclaim]:
        state.happen(HappeningKind.RECLAIM_WIDENED, reclaim=taking.reclaim)


def _close(state: CloudState, reclaim: str) -> None:
    known = state.reclaims.get(reclaim)
    if known is not None and known.hold_until <= state.now:
        del state.reclaims[reclaim]
        state.happen(HappeningKind.RECLAIM_CLOSED, reclaim=reclaim)


def _take_host(state: CloudState, taking: Taking, host: Host) -> None:
    """Closes or takes one host and plans its return. Draws depend on seed, holder and host only."""
    draw = stream(state.seed, "host", taking.holder, host.index)
    noticed = taking.noticed and draw.random() >= state.parameters.without_notice
    withdrawn, fraction = draw.random() < state.parameters.withdrawn, 0.1 + 0.8 * draw.random()
    back = partial(_return, taking.domain, host, taking.holder)
    told = draw.random() >= state.parameters.unexplained and taking.told
    records = [state.records[server] for server in host.servers]
    if not noticed or not records:
        taking.domain.turn(host, HostState.TAKEN, taking.holder)
        for record in records:
            if taking.kind is NoticeKind.RECLAIM:
                state.accounts[taking.reclaim].unannounced += 1
            end(state, record, EndCause.LOST, reason=f"{taking.kind.value} without notice", told=told)
        state.push(taking.returns_at, back)
        return
    taking.domain.turn(host, HostState.CLOSING, taking.holder)
    last = max(_notify(state, taking, record) for record in records)
    if withdrawn:
        state.push(state.now + int((last - state.now) * fraction), partial(withdraw, state, taking, host))
    state.push(max(last, taking.returns_at), back)


def _notify(state: CloudState, taking: Taking, record: Record) -> int:
    """Gives one server its notice; when it ends."""
    seconds = record.pool.notice_window_s if taking.notice_s is None else taking.notice_s
    ends_at = state.now + seconds * 1000
    row = record.server
    notice = Notice(
        id=f"{taking.holder}/{row.id}",
        server=row.id,
        name=row.name,
        pool=record.pool.name,
        reclaim=taking.reclaim,
        kind=taking.kind,
        issued_at=state.now,
        ends_at=ends_at,
    )
    record.notice = notice
    if taking.kind is NoticeKind.RECLAIM:
        state.accounts[taking.reclaim].promised += 1
    state.log.say(notice)
    state.happen(HappeningKind.NOTICED, record, notice=notice)
    state.push(ends_at, partial(_expire, state, row.id, notice.id))
    return ends_at


def _expire(state: CloudState, server: str, notice: str) -> None:
    """The notice has run out: the server is taken, unless it was withdrawn or is gone."""
    record = state.records.get(server)
    if record is not None and record.notice is not None and record.notice.id == notice:
        end(state, record, CAUSES.get(record.notice.kind, EndCause.RECLAIMED))


def withdraw(state: CloudState, taking: Taking, host: Host) -> None:
    """The host stays ours after all, and with it what still runs there."""
    if host.holder != taking.holder:
        return
    for server in host.servers:
        record = state.records[server]
        if record.notice is None:
            continue
        notice = replace(record.notice, withdrawn=True, withdrawn_at=state.now)
        record.notice = None
        if taking.kind is NoticeKind.RECLAIM:
            state.accounts[taking.reclaim].withdrawn += 1
        state.log.say(notice)
        state.happen(HappeningKind.WITHDRAWN, record, notice=notice)
    taking.domain.turn(host, HostState.LENDABLE)


def _return(domain: Domain, host: Host, holder: str) -> None:
    if host.holder == holder:
        domain.turn(host, HostState.LENDABLE)


def _hint_cost(hint: VictimHint | None) -> int:
    """Work lost and restart, dearer the larger the share of its workload that the server holds."""
    if hint is None:
        return UNHINTED_COST_S
    return (hint.checkpoint_age_s + hint.restart_cost_s) * (1000 + hint.workload_share_permille) // 1000
