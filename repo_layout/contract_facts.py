"""One contract as it holds: every value with where it is from and what it comes to, and a notice second by second.

`ebbtide explain contract` shows it. Pure: an estate in, facts out. What rules refuse is the rules' to say; the room
that a contract has before they do is `contract_room`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from contracts.errors import Place
from contracts.model import Contract
from contracts.values import format_duration, format_size
from pools.eligibility import (
    REACTION_S,
    RELAY_S,
    checkpoint_fits,
    checkpoint_on_notice,
    class_of,
    drain_fits,
    drain_needs_s,
    eligible,
    memory_suffices,
    network_suffices,
    units_per_instance,
    written_on_notice,
)
from pools.kinds import Assumptions, kind_of, useful_share
from pools.model import Pool
from repo_layout.documents import RegionEntry
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.source import Places
from repo_layout.spread_reachable import shape_text
from repo_layout.sums import gpu_factors, milli_ncu, ncu_text

PRESET = frozenset({"drain", "checkpoint", "restart", "tolerance", "expectedRun"})
"""The promises that a tier fills in whole."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its name and text as files write them, what it comes to, and where it is from.

    `place` is the line that holds it; None where no line does, and `source` says what does instead.
    """

    name: str
    text: str
    means: str
    source: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """A step of a drain: `at_s` seconds after the provider's word."""

    at_s: int
    what: str


@dataclass(frozen=True, slots=True)
class TimeLine:
    """A notice in the pools with one window: the steps, and the seconds left at the end (negative: too few)."""

    window_s: int
    pools: int
    moments: tuple[Moment, ...]
    spare_s: int


@dataclass(frozen=True, slots=True)
class PoolVerdict:
    """One pool of the region: units in an instance, and why the contract may not use it (empty: it may)."""

    pool: Pool
    units: int
    reasons: tuple[str, ...]


def values_of(estate: Estate, contract: Contract) -> tuple[Value, ...]:
    """Every promise and size, in the order of the format."""
    return tuple(_Values(estate, contract).all())


class _Values:
    def __init__(self, estate: Estate, contract: Contract) -> None:
        self._estate = estate
        self._contract = contract

    def all(self) -> Iterator[Value]:
        """In the order of the format."""
        yield from self._sizes()
        yield from self._drain_and_checkpoint()
        yield from self._rates()
        yield from self._counts()
        yield from self._terms()

    def _value(self, name: str, text: str, means: str = "") -> Value:
        key = f"contract/{self._contract.name}/{name.replace('.', '/')}"
        promise = name.partition(".")[0]
        if self._is_written(key):
            return Value(name, text, means, "written", at(self._estate, key))
        if promise in PRESET and not self._is_written(f"contract/{self._contract.name}/{promise}"):
            return Value(name, text, means, f"tier {self._contract.tier.value}")
        return Value(name, text, means, "default")

    def _is_written(self, key: str) -> bool:
        sources = self._estate.sources
        return isinstance(sources, Places) and sources.written(key)

    def _sizes(self) -> Iterator[Value]:
        contract, unit = self._contract, self._contract.unit
        milli = milli_ncu(contract, gpu_factors(self._estate))
        yield self._value("unit", shape_text(unit), f"{ncu_text(milli)} NCU")
        yield self._value("maximum", str(contract.maximum), f"{ncu_text(milli * contract.maximum)} NCU in all")
        wants = contract.eligibility
        told: list[str] = [wants.architecture]
        told += [f"GPU {wants.gpu_family}"] if wants.gpu_family else []
        told += [f"network {wants.network} or faster"] if wants.network != "any" else []
        told += [f"at least {format_size(wants.memory_per_vcpu)} a vCPU"] if wants.memory_per_vcpu else []
        told += [f"not in {', '.join(wants.avoid_halls)}"] if wants.avoid_halls else []
        told += [f"gangs of {wants.gang.size} within one {wants.gang.within}"] if wants.gang else []
        yield self._value("eligibility", ", ".join(told), f"class {class_of(wants)}")

    def _drain_and_checkpoint(self) -> Iterator[Value]:
        drain, keep = self._contract.drain, self._contract.checkpoint
        how = f"runs {' '.join(drain.command)}" if drain.command else ""
        yield self._value("drain.budget", format_duration(drain.budget), f"{drain.budget} s from first action to empty")
        yield self._value("drain.how", drain.how, how)
        yield self._value("checkpoint.mode", keep.mode)
        if keep.interval is not None and keep.mode in ("periodic", "both"):
            means = f"{keep.interval} s; half is lost without a notice"
            yield self._value("checkpoint.interval", format_duration(keep.interval), means)
        if keep.size is not None:
            each = checkpoint_on_notice(self._contract)
            on_notice = ", also on notice" if each else ""
            yield self._value("checkpoint.size", format_size(keep.size), f"{keep.size:,} B a unit{on_notice}")
        if keep.mode != "none":
            means = f"{keep.start_up} s to load before work goes on"
            yield self._value("checkpoint.startUp", format_duration(keep.start_up), means)

    def _rates(self) -> Iterator[Value]:
        contract = self._contract
        yield self._value("restart", contract.restart)
        rate = contract.tolerance
        above = contract.maximum - contract.floor
        every = f"one in {_short(1 / rate)} h a unit, {_short(rate * above)} an hour in all" if rate else "none"
        useful = 100 * useful_share(kind_of(contract, Assumptions()), float(rate))
        yield self._value("tolerance", str(rate), f"{every}; {useful:.1f} % useful then")

    def _counts(self) -> Iterator[Value]:
        contract = self._contract
        floor = f"{contract.floor} units on committed capacity at all times" if contract.floor else "nothing guaranteed"
        yield self._value("floor", str(contract.floor), floor)
        risk = f"fewer than {contract.minimum} running: at risk" if contract.minimum else "never at risk by its count"
        yield self._value("minimum", str(contract.minimum), risk)

    def _terms(self) -> Iterator[Value]:
        contract, due, back = self._contract, self._contract.deadline, self._contract.fallback
        if due.at is not None:
            yield self._value("deadline.at", str(due.at), "every day")
        elif due.after is not None:
            yield self._value("deadline.after", format_duration(due.after), f"{due.after} s from submission")
        else:
            yield self._value("deadline", "none")
        if due.work is not None:
            yield self._value("deadline.work", str(due.work), "unit-hours until then")
        if back.allowed:
            yield self._value("fallback.authority", str(back.authority), "answers for the money")
            yield self._value("fallback.limitPerDay", str(back.limit_per_day), "the most it may cost a day")
            yield self._value("fallback.approver", back.approver or "nobody", "decides beyond the limit")
        else:
            yield self._value("fallback", "not allowed", "nothing is bought beyond the floor")
        run = contract.expected_run
        yield self._value("expectedRun", format_duration(run), f"{run} s of one uninterrupted run")


def _short(number: Decimal) -> str:
    """At most three decimals."""
    return f"{round(number, 3).normalize():f}"


# ----------------------------------------------------------------------------------------------------- notice and pools


def time_lines(contract: Contract, region: RegionEntry, verdicts: tuple[PoolVerdict, ...]) -> tuple[TimeLine, ...]:
    """A notice against each window of the reclaimable pools with the right hardware, the shortest window first."""
    counts: dict[int, int] = {}
    for verdict in verdicts:
        if verdict.units and not verdict.pool.committed:
            counts[verdict.pool.notice_window_s] = counts.get(verdict.pool.notice_window_s, 0) + 1
    acts = RELAY_S + REACTION_S
    empty = acts + contract.drain.budget
    done = empty + region.verification_margin
    steps = (
        Moment(0, "the provider's word"),
        Moment(RELAY_S, f"the node has heard it (relay {RELAY_S} s)"),
        Moment(acts, f"first action (reaction {REACTION_S} s)"),
        Moment(empty, f"the work is gone (drain {contract.drain.budget} s, {contract.drain.how})"),
        Moment(done, f"seen to be empty (margin {region.verification_margin} s)"),
    )
    return tuple(TimeLine(window, count, steps, window - done) for window, count in sorted(counts.items()))


def verdicts(contract: Contract, region: RegionEntry, pools: tuple[Pool, ...]) -> tuple[PoolVerdict, ...]:
    """Every pool of the region with the reasons that keep the contract out of it; eligible ones have none."""
    found = []
    for pool in pools:
        fits = _hardware(contract, pool)
        units = 0 if fits else units_per_instance(contract, pool)
        reasons = tuple(fits) or tuple(_timely(contract, region, pool))
        if not reasons and not eligible(contract, pool, verification_margin_s=region.verification_margin):
            reasons = ("it is not eligible",)  # a rule that this module does not know yet
        found.append(PoolVerdict(pool, units, reasons))
    return tuple(found)


def _hardware(contract: Contract, pool: Pool) -> list[str]:
    wants, has, room = contract.eligibility, pool.attributes, pool.instance
    told = []
    if has.architecture != wants.architecture:
        told.append(f"it is {has.architecture}")
    if has.gpu_family != wants.gpu_family:
        told.append(f"its GPUs are {has.gpu_family}" if has.gpu_family else "it has no GPU")
    if not network_suffices(wants, pool):
        told.append(f"its network is {has.network}")
    if pool.hall in wants.avoid_halls:
        told.append(f"it stands in {pool.hall}")
    if not memory_suffices(wants, pool):
        told.append(f"it offers {format_size(room.memory // room.vcpu)} a vCPU")
    if units_per_instance(contract, pool) < 1:
        told.append("no instance holds a unit")
    return told


def _timely(contract: Contract, region: RegionEntry, pool: Pool) -> Iterator[str]:
    if pool.committed:
        return
    if not drain_fits(contract, pool, verification_margin_s=region.verification_margin):
        needs = drain_needs_s(contract, verification_margin_s=region.verification_margin)
        yield f"its notice of {pool.notice_window_s} s is shorter than {needs} s"
    if not checkpoint_fits(contract, pool):
        seconds = -(-written_on_notice(contract, pool) // pool.checkpoint_throughput)
        yield f"an instance's checkpoints take {seconds} s of a budget of {contract.drain.budget} s"
