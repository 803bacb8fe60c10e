"""What the workloads of a simulated region do: units on slots, checkpoints, work done and work lost.

Driven by `simulation.world`; plays the schedulers' part (which unit runs where) and the applications' part (what a
checkpoint saves). It reports usage, lost work, restores and storage as ledger events, and knows no plans and no rates
but the store's.

Time is milliseconds. A slot holds one unit. A unit's progress since its last save is lost with its node, unless a
checkpoint on notice was finished by the drain; a job without checkpoints begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from contracts.model import Contract
from ledger.causes import Cause
from ledger.events import Event, EventType, Paid, Use
from reconciler.drafts import Scribe, event_id

Scribes = Callable[[int], Scribe]

KEPT_CHECKPOINTS = 2
"""The newest complete checkpoint, and the one before it until the newest is proven."""


@dataclass(slots=True)
class Slots:
    """One joined (or booting) instance as its scheduler sees it.

    `runs` holds, for each busy slot, since when its unit has been working there; `restarting` of the last ones still
    load their state until `restarted_at`. `open_since` is the start of the usage line not written yet.
    """

    name: str
    workload: str
    pool: str
    paid: Paid
    units: int
    open_since: int
    joined: bool = False
    draining: bool = False
    runs: list[int] = field(default_factory=list)
    loading: dict[int, int] = field(default_factory=dict)
    mix: tuple[int, int, int, int] = (0, 0, 0, 0)
    lines: int = 0
    notice: str = ""
    cause: Cause = Cause.CLAIM_GREW
    loading_for: str = ""
    drill: bool = False

    def now_doing(self) -> tuple[int, int, int, int]:
        """Slots serving, restarting, idle, draining."""
        if not self.joined:
            return 0, self.units, 0, 0
        loading = len(self.loading)
        serving = len(self.runs) - loading
        free = self.units - len(self.runs)
        return (serving, loading, 0, free) if self.draining else (serving, loading, free, 0)


@dataclass(frozen=True, slots=True)
class Lost:
    """What one instance's end cost its workload: unit-milliseconds to do again, and units to start again."""

    unit_ms: int
    units: int


class Workload:
    """One contract's units: how many are wanted, where they run, which wait to be restored."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.target = 0
        self.slots: dict[str, Slots] = {}
        self.to_restore: list[str] = []

    @property
    def running(self) -> int:
        """Units that sit on a node, loading ones included."""
        return sum([len(s.runs) for s in self.slots.values()])

    def unsaved_ms(self, since: int, now: int) -> int:
        """Progress of a unit that has run since `since` and would be lost without a save now."""
        checkpoint, contract = self.contract.checkpoint, self.contract
        if checkpoint.mode in ("periodic", "both") and checkpoint.interval:
            return (now - since) % (checkpoint.interval * 1000)
        if checkpoint.mode == "on-notice":
            return now - since
        return (now - since) % max(1, contract.expected_run * 1000)

    @property
    def saves_on_notice(self) -> bool:
        """Whether a drain that ends in time loses nothing."""
        return self.contract.checkpoint.mode in ("on-notice", "both")


class Work:
    """All workloads of one region. `loads_until` is told when to call `loaded` for an instance."""

    def __init__(
        self,
        contracts: Iterable[Contract],
        scribes: Scribes,
        record: Callable[[Event], None],
        loads_until: Callable[[str, int], None],
    ) -> None:
        self.workloads = {contract.name: Workload(contract) for contract in contracts}
        self.by_instance: dict[str, Slots] = {}
        self._written: dict[str, int] = {}
        self.dirty: set[str] = set()
        self._scribes = scribes
        self._record = record
        self._loads_until = loads_until

    def booted(self, name: str, *, workload: str, pool: str, paid: Paid, units: int, cause: Cause, now: int) -> None:
        """A server of ours began to be billed; until it joins, all its slots count as restarting, for its cause. The
        lines of one that has another's name, which is gone, follow on from those.
        """
        slots = Slots(name, workload, pool, paid, units, open_since=now, mix=(0, units, 0, 0), cause=cause)
        slots.lines = self._written.get(name, 0)
        self.by_instance[name] = slots

    def joined(self, name: str, now: int) -> None:
        """The instance became a node: its slots are free."""
        slots = self.by_instance[name]
        self._write_line(slots, now)
        slots.joined = True
        slots.mix = slots.now_doing()
        self.workloads[slots.workload].slots[name] = slots
        self.dirty.add(name)
        self.assign(slots.workload, now)

    def moved(self, name: str, pool: str, now: int) -> None:
        """The provider runs the instance in another pool from now on, and bills it there."""
        slots = self.by_instance.get(name)
        if slots is not None:
            self._write_line(slots, now)
            slots.pool = pool

    def want(self, workload: str, target: int, now: int) -> None:
        """The workload's demand changed to `target` units."""
        self.workloads[workload].target = target
        self.assign(workload, now)

    def assign(self, workload: str, now: int) -> None:
        """Put waiting units on free slots, or let units end where there are more than wanted."""
        work = self.workloads[workload]
        missing = work.target - work.running
        if missing > 0:
            free = [one for one in work.slots.values() if len(one.runs) < one.units and not one.draining]
            for slots in sorted(free, key=_fill_order):
                if missing <= 0:
                    break
                missing -= self._start(work, slots, min(missing, slots.units - len(slots.runs)), now)
        elif missing < 0:
            for slots in sorted(work.slots.values(), key=_empty_order):
                if missing >= 0:
                    break
                if slots.draining:
                    continue
                ended = min(-missing, len(slots.runs))
                del slots.runs[len(slots.runs) - ended :]
                slots.loading = {k: v for k, v in slots.loading.items() if k < len(slots.runs)}
                missing += ended
                self._close_line(slots, now)

    def _start(self, work: Workload, slots: Slots, count: int, now: int) -> int:
        start_up = work.contract.checkpoint.start_up * 1000
        for _ in range(count):
            begins = now
            if work.to_restore:
                caused_by = work.to_restore.pop()
                if work.contract.restart == "from-checkpoint" and start_up:
                    begins = now + start_up
                    slots.loading[len(slots.runs)] = begins
                    slots.loading_for = caused_by
                    self._loads_until(slots.name, begins)
                self._record(_restored(slots, caused_by, begins - now, self._scribes(now)))
            slots.runs.append(begins)
        self._close_line(slots, now)
        return count

    def loaded(self, name: str, now: int) -> None:
        """Slots whose state is loaded begin to serve."""
        slots = self.by_instance.get(name)
        if slots is None or not slots.loading:
            return
        slots.loading = {k: until for k, until in slots.loading.items() if until > now}
        self._close_line(slots, now)

    def drain(self, name: str, now: int, notice: str, *, drill: bool = False) -> int:
        """The instance drains: it takes no more units; how many it has to end. A drill is marked on all that follows,
        until a real notice comes.
        """
        slots = self.by_instance[name]
        drill = drill and (slots.drill or not slots.draining)
        if slots.draining and drill != slots.drill:
            self._write_line(slots, now)
        slots.drill = drill
        slots.draining = True
        slots.notice = notice
        self._close_line(slots, now)
        return len(slots.runs)

    def undrain(self, name: str, now: int) -> None:
        """The notice was withdrawn: what still runs goes on, and free slots take work again."""
        slots = self.by_instance.get(name)
        if slots is not None:
            slots.draining = False
            self._close_line(slots, now)
            slots.drill = False
            self.assign(slots.workload, now)

    def stopped(self, name: str, now: int, *, saved: bool, cause: Cause, caused_by: str) -> Lost:
        """All units of the instance ended: drained (`saved` when the drain carried a save) or lost with the node."""
        slots = self.by_instance[name]
        work = self.workloads[slots.workload]
        keeps = saved and work.saves_on_notice
        unit_ms = 0 if keeps else sum(work.unsaved_ms(since, now) for since in slots.runs if since < now)
        lost = Lost(unit_ms, len(slots.runs))
        source = caused_by
        if lost.units:
            event = self._scribes(now).event(
                EventType.WORK_LOST,
                f"{name}/{now}",
                cause,
                caused_by=caused_by,
                workload=slots.workload,
                pool=slots.pool,
                instance=name,
                data={"unit_ms": unit_ms, **marked(drill=slots.drill)},
            )
            self._record(event)
            source = event.id
        work.to_restore += [source] * lost.units
        slots.runs.clear()
        slots.loading.clear()
        slots.draining = True
        self._close_line(slots, now)
        self.assign(slots.workload, now)
        return lost

    def ended(self, name: str, now: int) -> None:
        """The server is gone and no longer billed."""
        slots = self.by_instance.pop(name, None)
        if slots is None:
            return
        self._write_line(slots, now)
        self._written[name] = slots.lines
        self.workloads[slots.workload].slots.pop(name, None)
        self.dirty.add(name)

    def close_books(self, now: int) -> None:
        """Write every open usage line, at the end of a run."""
        for slots in self.by_instance.values():
            self._write_line(slots, now)

    def _close_line(self, slots: Slots, now: int) -> None:
        self.dirty.add(slots.name)
        mix = slots.now_doing()
        if mix != slots.mix:
            self._write_line(slots, now)
            slots.mix = mix

    def _write_line(self, slots: Slots, now: int) -> None:
        """One usage event for each state the slots were in since the last line."""
        if now > slots.open_since:
            scribe = self._scribes(now)
            uses = (Use.SERVING, Use.RESTARTING, Use.IDLE, Use.DRAINING)
            slot = 0
            for use, units in zip(uses, slots.mix, strict=True):
                if units:
                    cause, caused_by = _why(slots, use, scribe.region)
                    self._record(
                        scribe.event(
                            EventType.USAGE,
                            f"{slots.name}/{slots.lines}/{use.value}",
                            cause,
                            caused_by=caused_by,
                            workload=slots.workload,
                            pool=slots.pool,
                            instance=slots.name,
                            data={
                                "from_ms": slots.open_since,
                                "to_ms": now,
                                "slot": slot,
                                "units": units,
                                "of_units": slots.units,
                                "use": use.value,
                                "paid": slots.paid.value,
                                **marked(drill=slots.drill and use is Use.DRAINING),
                            },
                        )
                    )
                slot += units
            slots.lines += 1
        slots.open_since = now


def marked(*, drill: bool) -> dict[str, int]:
    """What the data of an event carry that belongs to a drill, so that what drills cost can be told apart."""
    return {"drill": 1} if drill else {}


def _fill_order(slots: Slots) -> tuple[int, int, str]:
    """Floor first, then the fullest, so that empty instances stay empty and can go back."""
    return 0 if slots.paid is Paid.FLOOR else 1, -len(slots.runs), slots.name


def _empty_order(slots: Slots) -> tuple[int, int, str]:
    """The emptiest first, floor last."""
    return 1 if slots.paid is Paid.FLOOR else 0, len(slots.runs), slots.name


def _restored(slots: Slots, caused_by: str, duration: int, scribe: Scribe) -> Event:
    return scribe.event(
        EventType.RESTORED,
        f"{slots.name}/{len(slots.runs)}/{scribe.now}",
        Cause.RESTORED,
        caused_by=caused_by,
        workload=slots.workload,
        pool=slots.pool,
        instance=slots.name,
        data={"duration_ms": duration},
    )


def _why(slots: Slots, use: Use, region: str) -> tuple[Cause, str]:
    """Why slots were not serving: the boot's own cause, the loss that is made good, or the drain."""
    if use is Use.RESTARTING and not slots.joined:
        return slots.cause, event_id(EventType.INSTANCE_REQUESTED, region, slots.name)
    if use is Use.RESTARTING:
        return Cause.RESTORED, slots.loading_for
    if use is Use.DRAINING and slots.notice:
        return Cause.NOTICE, event_id(EventType.DRAIN_STARTED, region, slots.notice)
    return Cause.ACCOUNTING, event_id(EventType.INSTANCE_STARTED, region, slots.name)


def storage_charges(
    workloads: Iterable[Workload], scribe: Scribe, *, rate_gib_hour: Decimal, currency: str
) -> Iterator[Event]:
    """What the kept checkpoints of every running unit cost for the hour before the scribe's time."""
    for work in workloads:
        size = work.contract.checkpoint.size or 0
        gib = Decimal(size * KEPT_CHECKPOINTS * work.running) / 2**30
        amount = (gib * rate_gib_hour).quantize(Decimal("0.000001"))
        if amount:
            yield scribe.event(
                EventType.STORAGE_CHARGED,
                f"{work.contract.name}/{scribe.now}",
                Cause.ACCOUNTING,
                workload=work.contract.name,
                data={"amount": str(amount), "currency": currency},
            )
