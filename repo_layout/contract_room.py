"""How much room one contract has: its spread, its part of the wave, its money, and how near each limit is.

`ebbtide explain contract` shows it beside `contract_facts`. Every number comes from what the rules themselves count, so
that the limit named here is the one that refuses. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Context, Decimal

from contracts.model import Contract
from contracts.values import format_duration
from correlation_groups.spread import limit, pools_required
from pools.eligibility import checkpoint_on_notice
from pools.kinds import Assumptions, kind_of, useful_share
from repo_layout.contract_facts import TimeLine
from repo_layout.deadlines import A_DAY_S
from repo_layout.losses import LargestLoss, largest_loss
from repo_layout.model import Estate
from repo_layout.observed import Seen, instances_of_a_gang, seen_of
from repo_layout.reach import Ground, Reach
from repo_layout.room_for_floors import floors_fit
from repo_layout.sums import fallback_limit, gpu_factors, milli_ncu
from repo_layout.wave import Wave, about, waves_of


@dataclass(frozen=True, slots=True)
class Scope:
    """Domains or groups of one kind: how many the contract reaches, how many it needs, units in one at most."""

    kind: str
    there: int
    asked: int
    allowed: int
    percent: float


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread at the maximum: `desired` interruptible units over its scopes, and the worst single loss.

    `most` is the largest count up to which the eligible pools spread every count as promised; `short` says why the
    contract's own maximum cannot be, where it cannot.
    """

    desired: int
    waived: bool
    scopes: tuple[Scope, ...]
    loss: LargestLoss
    most: int
    short: str = ""


@dataclass(frozen=True, slots=True)
class WaveShare:
    """The heaviest wave that the contract writes in: its own bytes, all bytes, and seconds at the gateway."""

    wave: Wave
    own: int
    gateway: int


@dataclass(frozen=True, slots=True)
class History:
    """What the eligible pools were observed to do: how many did more than tolerated for sure, and the worst of them.

    `least` is the lowest tolerance at which the spread would still hold.
    """

    since: str
    until: str
    observed: int
    worse: tuple[str, ...]
    worst: str
    worst_rate: float
    least: float


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: the code that would refuse, what is used of what is allowed (in `unit`), and what that leaves."""

    code: str
    what: str
    used: Decimal
    allowed: Decimal
    unit: str
    leaves: str

    @property
    def share(self) -> Decimal:
        """The part that is used; more than one is refused."""
        return self.used / self.allowed if self.allowed else Decimal(1 if self.used <= self.allowed else 2)


@dataclass(frozen=True, slots=True)
class Room:
    """Everything of the above that there is for one contract."""

    spread: Spread | None
    wave: WaveShare | None
    history: History | None
    limits: tuple[Limit, ...]


def room_of(estate: Estate, contract: Contract, lines: tuple[TimeLine, ...]) -> Room:
    """The contract's room in its estate; `lines` are its notices."""
    ground = Ground(estate)
    reach = next((one for one in ground.reaches if one.contract.name == contract.name), None)
    spread = _spread(ground, reach) if reach is not None and reach.usable.fitting else None
    wave = _wave(ground, reach) if reach is not None else None
    history = _history(estate, reach) if reach is not None else None
    found = [
        *_notice(contract, lines),
        *_reachable(spread, contract),
        *_floor(estate, contract),
        *_gateway(wave),
        *_team(estate, contract),
        *_money(estate, contract),
        *_deadline(contract),
        *_tolerance(contract, history),
    ]
    return Room(spread, wave, history, tuple(sorted(found, key=lambda one: (-one.share, one.code, one.what))))


def _spread(ground: Ground, reach: Reach) -> Spread:
    field, shares, desired = reach.field_of(reach.usable.fitting), reach.usable.shares, reach.interruptible
    quantum = field.largest_quantum
    scopes = [
        Scope(
            "capacity domain",
            len(field.domains),
            pools_required(desired, quantum, shares.pools),
            limit(shares.pool_permille, desired, quantum),
            shares.pool_permille / 10,
        )
    ]
    most_in_group = limit(shares.group_permille, desired, quantum)
    scopes += [
        Scope(kind, len(groups), -(-desired // most_in_group), most_in_group, shares.group_permille / 10)
        for kind, groups in field.kinds.items()
    ]
    short = reach.first_shortfall(reach.usable.fitting)
    said = f"{short.desired} units: {short.offered} of {short.asked} in {short.scope}" if short is not None else ""
    most = _most_spread(reach, sum(domain.capacity for domain in field.domains))
    return Spread(desired, reach.usable.waived, tuple(scopes), largest_loss(ground, reach), most, said)


def _most_spread(reach: Reach, capacity: int) -> int:
    """The largest count up to which every count can be spread; more than the empty hosts hold cannot be."""
    held, fails = 0, capacity + 1
    tried = reach.interruptible
    while fails - held > 1:
        tried = min(max(tried, held + 1), fails - 1)
        short = reach.usable.first_shortfall(reach.usable.fitting, tried)
        if short is None:
            held, tried = tried, tried * 2
        else:
            fails = short.desired
            tried = (held + fails) // 2
    return held


def _wave(ground: Ground, reach: Reach) -> WaveShare | None:
    size = checkpoint_on_notice(reach.contract)
    if not size:
        return None
    shares = [
        WaveShare(wave, own, reach.region.checkpoint_gateway)
        for wave in waves_of(ground, reach.region.name)
        if reach.contract.drain.budget <= wave.due_s and (own := reach.most_in(wave.together.domains) * size)
    ]
    return max(shares, key=lambda one: (one.wave.pressure, one.wave.together.name), default=None)


def _history(estate: Estate, reach: Reach) -> History | None:
    history = next((one for one in estate.history if one.region == reach.region.name), None)
    if history is None:
        return None
    pools = {pool.name: pool for pool in reach.usable.fitting}
    seen = {row.pool: seen_of(row) for row in history.rows if row.pool in pools}
    rates = {name: one.least * instances_of_a_gang(reach.contract, pools[name]) for name, one in seen.items()}
    worst = max(seen, key=lambda name: (rates[name], name), default="")
    worse = tuple(sorted(name for name, rate in rates.items() if rate > float(reach.contract.tolerance)))
    rate = _mean(seen, worst)
    least = _lowest_tolerance(reach, rates)
    return History(str(history.since), str(history.until), len(seen), worse, worst, rate, least)


def _mean(seen: dict[str, Seen], name: str) -> float:
    return seen[name].mean if name else 0.0


def _lowest_tolerance(reach: Reach, rates: dict[str, float]) -> float:
    """The rate of the worst pool that the spread cannot do without."""
    out: set[str] = set()
    for name in sorted(rates, key=lambda one: (-rates[one], one)):
        out.add(name)
        left = tuple(pool for pool in reach.usable.fitting if pool.name not in out)
        if not left or reach.first_shortfall(left) is not None:
            return rates[name]
    return 0.0


# --------------------------------------------------------------------------------------------------------------- limits


def _notice(contract: Contract, lines: tuple[TimeLine, ...]) -> Iterator[Limit]:
    if lines and contract.maximum > contract.floor:
        line = next((one for one in lines if one.spare_s >= 0), lines[-1])
        used = line.window_s - line.spare_s
        leaves = f"{line.spare_s} s to spare" if line.spare_s >= 0 else f"{-line.spare_s} s too long"
        yield Limit("EBT-201", "notice window", Decimal(used), Decimal(line.window_s), "s", leaves)


def _reachable(spread: Spread | None, contract: Contract) -> Iterator[Limit]:
    if spread is not None:
        most = contract.floor + spread.most
        leaves = f"may grow to {most}" if most >= contract.maximum else f"at most {most} can be spread"
        yield Limit("EBT-202", "units spread", Decimal(spread.desired), Decimal(spread.most), "units", leaves)


def _floor(estate: Estate, contract: Contract) -> Iterator[Limit]:
    """The largest floor that its region's committed capacity still holds beside all others."""
    if not contract.floor:
        return
    low, high = contract.floor, contract.maximum
    if not _floor_holds(estate, contract, low):
        yield Limit("EBT-203", "floor", Decimal(low), Decimal(low - 1), "units", "it finds no room")
        return
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _floor_holds(estate, contract, middle) else (low, middle - 1)
    leaves = "may grow to the maximum" if low == contract.maximum else f"may grow to {low}"
    yield Limit("EBT-203", "floor in committed capacity", Decimal(contract.floor), Decimal(low), "units", leaves)


def _floor_holds(estate: Estate, contract: Contract, floor: int) -> bool:
    changed = contract.model_copy(update={"floor": floor})
    region = estate.region_of_cluster.get(contract.cluster)
    beside = (changed if one.name == contract.name else one for one in estate.contracts_of(region or ""))
    tried = replace(estate, contracts=tuple(beside))
    return not any(floors_fit(Ground(tried)))


def _gateway(wave: WaveShare | None) -> Iterator[Limit]:
    if wave is not None:
        used, allowed = wave.wave.needs_s(wave.gateway), wave.wave.due_s
        leaves = f"{about(max(0, wave.gateway * allowed - wave.wave.amount))} to spare"
        what = f"gateway, {wave.wave.together.kind} {wave.wave.together.name} gone"
        yield Limit("EBT-215", what, Decimal(used), Decimal(allowed), "s", leaves)


def _team(estate: Estate, contract: Contract) -> Iterator[Limit]:
    team = estate.team_by_name.get(contract.team)
    if team is None:
        return
    of_team = [one for one in estate.contracts if one.team == contract.team]
    factors = gpu_factors(estate)
    used = Decimal(sum(one.maximum * milli_ncu(one, factors) for one in of_team)) / 1000
    one_unit = Decimal(milli_ncu(contract, factors)) / 1000
    leaves = f"{max(0, int((team.ncu_limit - used) / one_unit))} units more"
    yield Limit("EBT-216", f"NCU of team {team.name}", used, Decimal(team.ncu_limit), "NCU", leaves)
    ceiling = team.spend_ceiling_per_day
    spent = sum(_limits(of_team, ceiling.currency), Decimal(0))
    if spent:
        what = f"fallback of team {team.name}"
        yield Limit("EBT-216", what, spent, ceiling.amount, f"{ceiling.currency} a day", _left(ceiling.amount - spent))


def _money(estate: Estate, contract: Contract) -> Iterator[Limit]:
    back = contract.fallback
    entry = estate.directory_by_id.get(back.authority or "")
    own = entry.spend_authority_per_day if entry is not None else None
    if not back.allowed or own is None or entry is None:
        return
    answers = _limits([one for one in estate.contracts if one.fallback.authority == entry.id], own.currency)
    spent = sum(answers, Decimal(0))
    what = f"{entry.id} answers for, {len(answers)} contract{'s' if len(answers) != 1 else ''}"
    yield Limit("EBT-217", what, spent, own.amount, f"{own.currency} a day", _left(own.amount - spent))


def _limits(contracts: Sequence[Contract], currency: str) -> list[Decimal]:
    """What those of them that pay in a currency may spend a day."""
    return [limit.amount for one in contracts if (limit := fallback_limit(one, currency)) is not None]


def _left(amount: Decimal) -> str:
    return f"{amount:.2f} a day left" if amount >= 0 else f"{-amount:.2f} a day too much"


def _deadline(contract: Contract) -> Iterator[Limit]:
    due = contract.deadline
    if due.work is None:
        return
    given_s = due.after if due.after is not None else A_DAY_S
    share = useful_share(kind_of(contract, Assumptions()), float(contract.tolerance))
    useful = (contract.floor + (contract.maximum - contract.floor) * share) * given_s / 3600
    leaves = f"in {format_duration(given_s)}, interrupted as tolerated"
    yield Limit("EBT-218", "work until the deadline", Decimal(due.work), Decimal(round(useful)), "unit-hours", leaves)


def _tolerance(contract: Contract, history: History | None) -> Iterator[Limit]:
    if history is not None and history.observed:
        # up, so that the tolerance that is named does hold
        least = Context(prec=2, rounding=ROUND_UP).create_decimal(Decimal(history.least))
        yield Limit(
            "EBT-219", "interruptions observed", least, contract.tolerance, "an hour", f"may go down to {least:f}"
        )
