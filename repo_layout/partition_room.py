"""The rule about a region's partitions: the floors and the spending limits of each fit its share.

Called from the table in `repo_layout.feasibility`. Floors are placed on a share of each aggregate's hosts, whole ones,
as those of a whole region are placed on all of them. That the shares sum to at most the whole is EBT-171's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from contracts.findings import Finding
from contracts.model import Contract
from contracts.values import Money
from repo_layout.blame import Attributed, fields_of
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.partitions import narrowed, share_in
from repo_layout.reach import Ground
from repo_layout.room_for_floors import FLOOR_BY, floors_without_room
from repo_layout.sums import fallback_limit


def partitions_carry(ground: Ground) -> Iterator[Attributed]:
    """The floors of each partition fit its share of the committed hosts, and its spending limits its authority."""
    for region in ground.estate.settings.regions:
        for n, one in enumerate(region.partitions):
            yield from _floors(ground.estate, region, n, one.name)
            yield from _limits(ground.estate, region, n, one.name)


def _floors(estate: Estate, region: RegionEntry, n: int, name: str) -> Iterator[Attributed]:
    own, percent = narrowed(estate, region.name, name), share_in(estate, region.name, name).committed
    short = floors_without_room(own, region, percent=percent)
    if not short:
        return
    missing = ", ".join(f"{units} of {contract.floor} of {contract.name}" for contract, units in short)
    message = (
        f"the floors of partition {name} do not fit its {percent} % of the committed hosts of {region.name}: "
        f"{missing} find no room"
    )
    place = at(estate, f"region/{region.name}/partitions/{n}")
    hint = "lower a floor, or give the partition a larger committedShare"
    found = Finding("EBT-226", place, message, str(percent), "a share that holds the floors", hint)
    yield Attributed(found, _rests_on(region, own.contracts_of(region.name)) | {f"aggregate/{region.name}"})


def _limits(estate: Estate, region: RegionEntry, n: int, name: str) -> Iterator[Attributed]:
    own = narrowed(estate, region.name, name)
    answers: dict[str, list[Contract]] = defaultdict(list)
    for contract in own.contracts_of(region.name):
        answers[contract.fallback.authority or ""].append(contract)
    for entry in own.directory:
        authority = entry.spend_authority_per_day
        limits = [fallback_limit(contract, estate.settings.currency) for contract in answers[entry.id]]
        total = _total([limit for limit in limits if limit is not None])
        if authority is None or total is None or total.currency != authority.currency or total <= authority:
            continue
        percent = share_in(estate, region.name, name).authority
        message = (
            f"the contracts of partition {name} may spend {total} a day in the name of {entry.id}, and its {percent} % "
            f"of that person's authority are {authority}"
        )
        place = at(estate, f"region/{region.name}/partitions/{n}")
        hint = "lower a limit a day, or give the partition a larger authorityShare"
        found = Finding("EBT-226", place, message, str(percent), f"a share of at least {total}", hint)
        yield Attributed(found, _rests_on(region, answers[entry.id]) | {f"directory/{entry.id}/spendAuthorityPerDay"})


def _total(limits: Sequence[Money]) -> Money | None:
    total = None
    for limit in limits:
        total = limit if total is None else total + limit
    return total


def _rests_on(region: RegionEntry, contracts: Sequence[Contract]) -> frozenset[str]:
    """The contracts of the partition by what the rule weighs of them, and how the region is divided."""
    keys = {key for contract in contracts for key in fields_of(contract, (*FLOOR_BY, "fallback"))}
    return frozenset(keys | {f"region/{region.name}/partitions"})
