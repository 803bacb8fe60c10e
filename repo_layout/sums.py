"""Rules about what several contracts come to together: a team's limits, and the money that one person answers for.

Called from the table in `repo_layout.feasibility`. Everything is summed at its maximum, floor included: a limit that
only holds while somebody asks for less is none. It must not know what is asked for now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from contracts.errors import Place
from contracts.findings import Finding, listed
from contracts.model import Contract
from contracts.values import Money
from repo_layout.blame import Attributed
from repo_layout.documents import TeamEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground

GIB = 2**30
HEAVIEST = 5
"""Contracts that a message names, the ones that weigh most first."""

COUNTED_BY = ("maximum", "unit", "eligibility", "team")
"""The fields of a contract that its share of a team's NCU comes from."""


def milli_ncu(unit_of: Contract, factors: Mapping[str, int]) -> int:
    """The size of one unit in thousandths of an NCU: the larger of vCPU and memory / 4 GiB, plus its GPUs at the NCU
    that `factors` has for their family.
    """
    unit = unit_of.unit
    size = max(unit.vcpu * 1000, -(-unit.memory * 1000 // (4 * GIB)))
    return size + unit.gpu * 1000 * factors.get(unit_of.eligibility.gpu_family or "", 0)


def ncu_text(milli: int) -> str:
    """Thousandths of an NCU as NCU, with the decimals that they need."""
    return f"{Decimal(milli).scaleb(-3).normalize():f}"


def gpu_factors(estate: Estate) -> Mapping[str, int]:
    """NCU of one GPU by family."""
    return {factor.family: factor.ncu for factor in estate.settings.gpu_factors}


def fallback_limit(contract: Contract, currency: str) -> Money | None:
    """What the contract may spend a day on fallback; None for nothing, and for another currency, which is EBT-212's."""
    limit = contract.fallback.limit_per_day if contract.fallback.allowed else None
    return limit if limit is not None and limit.currency == currency else None


def teams_within_limits(ground: Ground) -> Iterator[Attributed]:
    """The contracts of a team are within its NCU, and their fallback within its spend ceiling."""
    estate = ground.estate
    of_team: dict[str, list[Contract]] = defaultdict(list)
    for contract in estate.contracts:
        of_team[contract.team].append(contract)
    factors = gpu_factors(estate)
    for n, team in enumerate(estate.settings.teams):
        contracts = of_team.get(team.name, [])
        if (found := _over_ncu(team, contracts, factors, at(estate, f"settings/teams/{n}/ncuLimit"))) is not None:
            yield found
        place = at(estate, f"settings/teams/{n}/spendCeilingPerDay")
        if (found := _over_ceiling(team, _limits(estate, contracts), place)) is not None:
            yield found


def _over_ncu(
    team: TeamEntry, contracts: Sequence[Contract], factors: Mapping[str, int], place: Place
) -> Attributed | None:
    sizes = [(contract.maximum * milli_ncu(contract, factors), contract) for contract in contracts]
    total = sum(size for size, _ in sizes)
    over = total - team.ncu_limit * 1000
    if over <= 0:
        return None
    heaviest = _heaviest([_Weight(one.name, Decimal(size), f"{ncu_text(size)} NCU") for size, one in sizes])
    message = (
        f"the contracts of {team.name} ask for {ncu_text(total)} NCU at their maxima, {ncu_text(over)} above the "
        f"team's limit of {team.ncu_limit}: {heaviest}"
    )
    hint = "lower a maximum, or have the team's limit raised"
    keys = {f"contract/{one.name}/{name}" for one in contracts for name in COUNTED_BY}
    keys |= {f"gpu/{one.eligibility.gpu_family}" for one in contracts if one.unit.gpu}
    keys.add(f"team/{team.name}/ncuLimit")
    expected = f"at least {-(-total // 1000)}"
    return Attributed(Finding("EBT-216", place, message, str(team.ncu_limit), expected, hint), frozenset(keys))


def _over_ceiling(team: TeamEntry, limits: Sequence[_Limit], place: Place) -> Attributed | None:
    ceiling = team.spend_ceiling_per_day
    if not limits or limits[0].limit.currency != ceiling.currency or (total := _total(limits)) <= ceiling:
        return None
    message = (
        f"the contracts of {team.name} may spend {total} a day on fallback, above the team's ceiling of {ceiling}: "
        f"{_spenders(limits)}"
    )
    hint = "lower a limit a day, or have the team's ceiling raised"
    keys = {f"contract/{one.contract.name}/{name}" for one in limits for name in ("fallback", "team")}
    keys.add(f"team/{team.name}/spendCeilingPerDay")
    return Attributed(Finding("EBT-216", place, message, str(ceiling), f"at least {total}", hint), frozenset(keys))


def authorities_suffice(ground: Ground) -> Iterator[Attributed]:
    """The limits that one person answers for sum to at most what that person may spend; each alone is EBT-204's."""
    estate = ground.estate
    answers: dict[str, list[Contract]] = defaultdict(list)
    for contract in estate.contracts:
        if contract.fallback.allowed and contract.fallback.authority is not None:
            answers[contract.fallback.authority].append(contract)
    for entry in estate.directory:
        own = entry.spend_authority_per_day
        if own is None or own.currency != estate.settings.currency:
            continue
        limits = [one for one in _limits(estate, answers.get(entry.id, [])) if one.limit <= own]
        if len(limits) < 2 or (total := _total(limits)) <= own:
            continue
        message = (
            f"{entry.id} answers for {total} a day in {len(limits)} contracts and may spend {own}: {_spenders(limits)}"
        )
        place = at(estate, f"directory/{entry.id}/spendAuthorityPerDay")
        hint = "lower a limit a day, or name another person with the authority"
        keys = {f"contract/{one.contract.name}/fallback" for one in limits}
        keys.add(f"directory/{entry.id}/spendAuthorityPerDay")
        found = Finding("EBT-217", place, message, str(own), f"at least {total}", hint)
        yield Attributed(found, frozenset(keys))


@dataclass(frozen=True, slots=True)
class _Limit:
    contract: Contract
    limit: Money


def _limits(estate: Estate, contracts: Sequence[Contract]) -> list[_Limit]:
    """What contracts may spend a day."""
    currency = estate.settings.currency
    return [_Limit(one, limit) for one in contracts if (limit := fallback_limit(one, currency)) is not None]


def _total(limits: Sequence[_Limit]) -> Money:
    total = limits[0].limit
    for one in limits[1:]:
        total += one.limit
    return total


def _spenders(limits: Sequence[_Limit]) -> str:
    return _heaviest([_Weight(one.contract.name, one.limit.amount, str(one.limit)) for one in limits])


@dataclass(frozen=True, slots=True)
class _Weight:
    name: str
    weight: Decimal
    shown: str


def _heaviest(weights: Sequence[_Weight]) -> str:
    """`a 40 NCU, b 20 NCU and 3 more`."""
    ordered = sorted(weights, key=lambda one: (-one.weight, one.name))
    return listed([f"{one.name} {one.shown}" for one in ordered], HEAVIEST)
