"""The rule about the wave: when a whole correlation group is told to go, every on-notice checkpoint is written at once.

Called from the table in `repo_layout.feasibility`. What it assumes, so that a refusal is always justified: every
contract at its maximum, placed as unluckily as its bounds and waivers let it; no more units than the group's empty
hosts hold, those with the heaviest checkpoints first; and a gateway that serves what is due first first and nothing
else. A real wave may still be slower. Pure; it must not know what runs now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from contracts.findings import Finding
from contracts.model import Contract
from pools.eligibility import checkpoint_on_notice, class_of
from pools.model import Pool
from repo_layout.blame import Attributed
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground, Reach, Together

HEAVIEST = 5
"""Workloads that a message names, the heaviest first."""

Hardware = tuple[str, str]
"""Architecture and GPU family: what no two kinds of hosts share."""

WEIGHED_BY = ("maximum", "floor", "unit", "eligibility", "drain", "checkpoint", "runsOn")
"""The fields of a contract that its part of a wave comes from."""


@dataclass(frozen=True, slots=True)
class Writing:
    """What one contract writes when a group goes: up to `units` checkpoints of `size` bytes, due after `due_s`."""

    contract: Contract
    units: int
    size: int

    @property
    def due_s(self) -> int:
        """The drain budget: what is not written by then is lost with the node."""
        return self.contract.drain.budget

    @property
    def hardware(self) -> Hardware:
        """The kind of hosts that it stands on."""
        return self.contract.eligibility.architecture, self.contract.eligibility.gpu_family or ""


@dataclass(frozen=True, slots=True)
class Room:
    """What the empty hosts of one kind hold in a group; memory in bytes."""

    vcpu: int
    memory: int
    gpu: int


@dataclass(frozen=True, slots=True)
class Wave:
    """The heaviest demand of one group on the gateway: `amount` bytes are due within `due_s`."""

    together: Together
    amount: int
    due_s: int
    parts: tuple[tuple[Writing, int], ...]

    def needs_s(self, gateway: int) -> int:
        """Seconds at the gateway's throughput, rounded up."""
        return -(-self.amount // gateway)

    @property
    def pressure(self) -> Fraction:
        """Bytes a second that the gateway would have to take."""
        return Fraction(self.amount, max(1, self.due_s))


def gateways_carry_waves(ground: Ground) -> Iterator[Attributed]:
    """The on-notice checkpoints of the heaviest group of a region fit its gateway before they are due."""
    estate = ground.estate
    for region in estate.settings.regions:
        reaches = [reach for reach in ground.reaches if reach.region is region and checkpoint_on_notice(reach.contract)]
        waves = [
            wave
            for together in ground.together(region.name)
            if (wave := heaviest_wave(estate, reaches, together)) is not None
        ]
        over = [wave for wave in waves if wave.amount > wave.due_s * region.checkpoint_gateway]
        if over:
            worst = max(over, key=lambda wave: (wave.pressure, wave.together.name))
            yield Attributed(_too_much(estate, region, worst, len(over) - 1), _rests_on(region, worst))


def heaviest_wave(estate: Estate, reaches: Sequence[Reach], together: Together) -> Wave | None:
    """The demand with the highest rate that a group can make, None where nothing in it writes on notice.

    For every budget what is due by then is weighed together (the demand bound of processors that serve the earliest
    deadline first: Baruah, Rosier and Howell 1990), each time at its worst.
    """
    writings = [writing for reach in reaches if (writing := _writing(reach, together)) is not None]
    if not writings:
        return None
    room = _room(estate, reaches[0].region.name, together)
    waves = []
    for due_s in sorted({writing.due_s for writing in writings}):
        parts = _fullest([writing for writing in writings if writing.due_s <= due_s], room)
        amount = sum(written for _, written in parts)
        waves.append(Wave(together, amount, due_s, tuple(parts)))
    return max(waves, key=lambda wave: wave.pressure)


def _writing(reach: Reach, together: Together) -> Writing | None:
    units = reach.most_in(together.domains)
    return Writing(reach.contract, units, checkpoint_on_notice(reach.contract)) if units else None


def _room(estate: Estate, region: str, together: Together) -> Mapping[Hardware, Room]:
    """The empty hosts behind the group's reclaimable rows, each aggregate once, by kind of hardware."""
    hosts: dict[str, Pool] = {}
    for pool in estate.pools_of(region):
        if pool.domain in together.domains and not pool.committed:
            hosts.setdefault(pool.aggregate, pool)
    room: dict[Hardware, Room] = {}
    for pool in hosts.values():
        kind = pool.attributes.architecture, pool.attributes.gpu_family or ""
        had = room.get(kind, Room(0, 0, 0))
        count = pool.hosts.count
        room[kind] = Room(
            had.vcpu + count * pool.hosts.vcpu, had.memory + count * pool.hosts.memory, had.gpu + count * pool.hosts.gpu
        )
    return room


def _fullest(writings: Sequence[Writing], room: Mapping[Hardware, Room]) -> list[tuple[Writing, int]]:
    """What each contract writes where the hosts are full of the heaviest checkpoints.

    Per kind of hardware and resource the heaviest by that resource go first and the last one counts in part (Dantzig
    1957); the scarcest resource tells, which is never below the true maximum.
    """
    by_kind: dict[Hardware, list[Writing]] = {}
    for writing in writings:
        by_kind.setdefault(writing.hardware, []).append(writing)
    parts: list[tuple[Writing, int]] = []
    for kind, group in by_kind.items():
        had = room.get(kind, Room(0, 0, 0))
        fills = [
            _filled(group, [one.contract.unit.vcpu for one in group], had.vcpu),
            _filled(group, [one.contract.unit.memory for one in group], had.memory),
        ]
        if kind[1]:
            fills.append(_filled(group, [one.contract.unit.gpu for one in group], had.gpu))
        parts += min(fills, key=lambda fill: sum(written for _, written in fill))
    return parts


def _filled(writings: Sequence[Writing], takes: Sequence[int], room: int) -> list[tuple[Writing, int]]:
    order = sorted(
        zip(writings, takes, strict=True),
        key=lambda pair: (-Fraction(pair[0].size, pair[1]) if pair[1] else Fraction(-(2**62)), pair[0].contract.name),
    )
    filled = []
    for writing, each in order:
        units = Fraction(writing.units) if not each else min(Fraction(writing.units), Fraction(room, each))
        room -= int(units * each)
        if units > 0:
            filled.append((writing, -int(-units * writing.size // 1)))
    return filled


def _too_much(estate: Estate, region: RegionEntry, wave: Wave, others: int) -> Finding:
    gateway = region.checkpoint_gateway
    heaviest = sorted(wave.parts, key=lambda part: (-part[1], part[0].contract.name))
    listed = ", ".join(
        f"{writing.contract.name} {about(written)} ({-(-written // writing.size)} x {about(writing.size)})"
        for writing, written in heaviest[:HEAVIEST]
    )
    more = f" and {len(heaviest) - HEAVIEST} more" if len(heaviest) > HEAVIEST else ""
    also = f"; {others} more groups ask for too much" if others else ""
    message = (
        f"when {wave.together.kind} {wave.together.name} of {region.name} is taken back, up to {about(wave.amount)} of "
        f"on-notice checkpoints are due within {wave.due_s} s and need {wave.needs_s(gateway)} s of a gateway with "
        f"{about(gateway)}/s: {listed}{more}{also}"
    )
    needed = -(-wave.amount // max(1, wave.due_s) // 2**20) * 2**20
    place = at(estate, f"region/{region.name}/checkpointGateway")
    hint = "make checkpoints smaller or periodic, lower a maximum, lengthen budgets, or widen the gateway"
    return Finding("EBT-215", place, message, f"{about(gateway)}/s", f"at least {about(needed)}/s", hint)


def _rests_on(region: RegionEntry, wave: Wave) -> frozenset[str]:
    """What the wave rests on: what is written, how it may be spread, and the hosts of the region."""
    contracts = [writing.contract for writing, _ in wave.parts]
    keys = {f"contract/{contract.name}/{name}" for contract in contracts for name in WEIGHED_BY}
    keys |= {f"waiver/{region.name}/{class_of(contract.eligibility)}" for contract in contracts}
    shelves = {f"group/{region.name}", f"aggregate/{region.name}", "settings/bounds"}
    return frozenset(keys | shelves | {f"region/{region.name}/checkpointGateway"})


def about(size: int) -> str:
    """A size to one decimal of the largest unit that it reaches, for reading only."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} B"
