"""The rule about the wave: when a whole correlation group is told to go, every on-notice checkpoint is written at once.

Called from the table in `repo_layout.feasibility`. The worst case: every contract at its maximum, placed as unluckily
as its bounds and waivers let it, but no more units than the group's empty hosts hold, those with the heaviest
checkpoints first. The best gateway: it serves what is due first first, and nothing else. So a wave that is refused
cannot be carried in its worst case, and one that is let through may still be too slow. Pure; it must not know what
runs now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from contracts.findings import Finding, listed
from contracts.model import Contract
from contracts.values import format_size
from pools.eligibility import checkpoint_on_notice, class_of
from pools.model import Pool
from repo_layout.blame import SPREAD_BY, Attributed, fields_of
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground, Reach, Together

HEAVIEST = 5
"""Workloads that a message names, the heaviest first."""

EXACT_BITS = 256
"""Binary places that tell any two ratios of sizes apart: both terms stay below 2^100."""

Hardware = tuple[str, str]
"""Architecture and GPU family: what no two kinds of hosts share."""


@dataclass(frozen=True, slots=True)
class Load:
    """A kind of checkpoint: `size` bytes of one unit, due `due_s` after the drain begins (the budget: what is not
    written by then is lost with the node), and what a unit takes of its host.
    """

    hardware: Hardware
    due_s: int
    size: int
    vcpu: int
    memory: int
    gpu: int


@dataclass(frozen=True, slots=True)
class Room:
    """What the empty hosts of one kind of hardware hold in a group; memory in bytes."""

    vcpu: int
    memory: int
    gpu: int


@dataclass(frozen=True, slots=True)
class Wave:
    """The heaviest demand of one group on the gateway: `amount` bytes are due within `due_s`."""

    together: Together
    amount: int
    due_s: int

    def needs_s(self, gateway: int) -> int:
        """Seconds at the gateway's throughput, rounded up."""
        return -(-self.amount // gateway)

    @property
    def pressure(self) -> Fraction:
        """Bytes a second that the gateway would have to take."""
        return Fraction(self.amount, max(1, self.due_s))


def gateways_carry_waves(ground: Ground) -> Iterator[Attributed]:
    """The on-notice checkpoints of the heaviest group of a region fit its gateway before they are due."""
    for region in ground.estate.settings.regions:
        over = waves_of(ground, region.name, above=region.checkpoint_gateway)
        if over:
            worst = max(over, key=lambda wave: (wave.pressure, wave.together.name))
            writing = [reach for reach in _writing(ground, region.name) if reach.most_in(worst.together.domains)]
            writing = [reach for reach in writing if reach.contract.drain.budget <= worst.due_s]
            found = _too_much(ground.estate, region, worst, writing, len(over) - 1)
            yield Attributed(found, _rests_on(region, writing))


def waves_of(ground: Ground, region: str, *, above: int = 0) -> tuple[Wave, ...]:
    """The demand with the highest rate that each group of a region can make, of those `above` so many bytes a second.

    For every budget what is due by then is weighed together (the demand bound of processors that serve the earliest
    deadline first: Baruah, Rosier and Howell 1990), each time at its worst.
    """
    writing = [(reach, _load(reach.contract)) for reach in _writing(ground, region)]
    waves = []
    for together in ground.together(region):
        units: Counter[Load] = Counter()
        for reach, load in writing:
            units[load] += reach.most_in(together.domains)
        room = _room(ground.estate, region, together)
        found = [
            Wave(together, sum(most_written(units, due_s, hardware, had) for hardware, had in room.items()), due_s)
            for due_s, amount in _due(units)
            if amount > above * due_s  # where even hosts without end write too little, they need not be counted
        ]
        if found and (worst := max(found, key=lambda wave: wave.pressure)).amount > above * worst.due_s:
            waves.append(worst)
    return tuple(waves)


def _due(units: Mapping[Load, int]) -> Iterator[tuple[int, int]]:
    """Each budget, and all bytes that are due by then."""
    amounts: Counter[int] = Counter()
    for load, count in units.items():
        amounts[load.due_s] += load.size * count
    total = 0
    for due_s in sorted(amounts):
        total += amounts[due_s]
        yield due_s, total


def _writing(ground: Ground, region: str) -> list[Reach]:
    return [r for r in ground.reaches if r.region.name == region and checkpoint_on_notice(r.contract)]


def _load(contract: Contract) -> Load:
    hardware = contract.eligibility.architecture, contract.eligibility.gpu_family or ""
    unit = contract.unit
    return Load(hardware, contract.drain.budget, checkpoint_on_notice(contract), unit.vcpu, unit.memory, unit.gpu)


def _room(estate: Estate, region: str, together: Together) -> Mapping[Hardware, Room]:
    """The empty hosts behind the group's reclaimable rows, each aggregate once, by kind of hardware."""
    hosts: dict[str, Pool] = {}
    for pool in estate.pools_of(region):
        if pool.domain in together.domains and not pool.committed:
            hosts.setdefault(pool.aggregate, pool)
    room: dict[Hardware, Room] = {}
    for pool in hosts.values():
        kind = pool.attributes.architecture, pool.attributes.gpu_family or ""
        had, one, count = room.get(kind, Room(0, 0, 0)), pool.hosts, pool.hosts.count
        room[kind] = Room(had.vcpu + count * one.vcpu, had.memory + count * one.memory, had.gpu + count * one.gpu)
    return room


def most_written(units: Mapping[Load, int], due_s: int, hardware: Hardware, room: Room) -> int:
    """The most bytes due by then that hosts full of the heaviest checkpoints write.

    By each resource alone the heaviest go first and the last one counts in part (Dantzig 1957); the scarcest resource
    tells, which is never below the true maximum.
    """
    loads = [(load, n) for load, n in units.items() if n and load.due_s <= due_s and load.hardware == hardware]
    return min(
        _filled([(load.size, load.vcpu, n) for load, n in loads], room.vcpu),
        _filled([(load.size, load.memory, n) for load, n in loads], room.memory),
        _filled([(load.size, load.gpu, n) for load, n in loads], room.gpu),
    )


def _filled(loads: Sequence[tuple[int, int, int]], room: int) -> int:
    """Bytes that `room` of a resource writes at most, of loads as (bytes, what a unit takes, units)."""
    total = sum(size * units for size, takes, units in loads if not takes)
    taking = [load for load in loads if load[1]]
    for size, takes, units in sorted(taking, key=lambda load: ((load[0] << EXACT_BITS) // load[1], load), reverse=True):
        total += min(size * units, -(-size * room // takes))
        room = max(0, room - units * takes)
    return total


def _too_much(estate: Estate, region: RegionEntry, wave: Wave, writing: Sequence[Reach], others: int) -> Finding:
    gateway = region.checkpoint_gateway
    inside = wave.together.domains
    sized = [(r.contract.name, r.most_in(inside), checkpoint_on_notice(r.contract)) for r in writing]
    sized.sort(key=lambda part: (-part[1] * part[2], part[0]))
    told = [f"{name} {about(units * size)} ({units} x {about(size)})" for name, units, size in sized]
    also = f"; {others} more {'group asks' if others == 1 else 'groups ask'} for too much" if others else ""
    message = (
        f"when {wave.together.kind} {wave.together.name} of {region.name} is taken back, up to {about(wave.amount)} of "
        f"on-notice checkpoints are due within {wave.due_s} s and need {wave.needs_s(gateway)} s of a gateway with "
        f"{about(gateway)}/s: {listed(told, HEAVIEST)}{also}"
    )
    per_second = -(-wave.amount // max(1, wave.due_s))
    needed = -(-per_second // 2**20) * 2**20
    place = at(estate, f"region/{region.name}/checkpointGateway")
    hint = "make checkpoints smaller or periodic, lower a maximum, lengthen budgets, or widen the gateway"
    return Finding("EBT-215", place, message, format_size(gateway), f"at least {format_size(needed)}", hint)


def _rests_on(region: RegionEntry, writing: Sequence[Reach]) -> frozenset[str]:
    """What the wave rests on: what is written, how it may be spread, and the hosts of the region."""
    contracts = [reach.contract for reach in writing]
    keys = {key for contract in contracts for key in fields_of(contract, SPREAD_BY)}
    keys |= {f"waiver/{region.name}/{class_of(contract.eligibility)}" for contract in contracts}
    shelves = {f"group/{region.name}", f"aggregate/{region.name}", "settings/bounds"}
    own = {f"region/{region.name}/{name}" for name in ("checkpointGateway", "verificationMargin")}
    return frozenset(keys | shelves | own)


def about(size: int) -> str:
    """A size to one decimal of the largest unit that it reaches, for reading only."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} B"
