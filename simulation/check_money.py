"""Money (DESIGN 12, 14): each paid hour is used once and paid once, what the ledger bills is the provider's invoice
to the last digit, and fallback never exceeds the authority that stands behind it.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from zoneinfo import ZoneInfo

from ledger.events import Event, EventType
from simulation.check_reading import Checker
from simulation.check_scene import Scene, term_of
from simulation.chronicle import Act, Call, Ended, Look
from simulation.cloud_model import InvoiceLine

HOUR_MS = 3_600_000
GRACE_MS = 20 * 60_000
"""A paid hour may be renewed, or its instance be drained and gone, so much later: four cycles."""

MICRO = 1_000_000

STREAM_FAULTS = ("signals_", "api_")
"""Kinds of faults during which the provider's word of an end may come late, or never."""


def told_in_time(scene: Scene, ended: Ended) -> bool:
    """Whether the stream told this end at once. Where it does not, the bill ends by our own time (DESIGN 14)."""
    hurt = (f for f in scene.chronicle.faults if f.kind.startswith(STREAM_FAULTS))
    return ended.told and not any(fault.at <= ended.at + GRACE_MS and ended.at <= fault.until for fault in hurt)


class Ends:
    """Until when the ledger bills each server: the first end told of it that no later word took back."""

    hears = frozenset({EventType.INSTANCE_ENDED, EventType.INSTANCE_FOUND})

    def __init__(self) -> None:
        self._told: dict[str, list[int]] = defaultdict(list)
        self._void: set[tuple[str, int]] = set()

    def hear(self, event: Event) -> None:
        """An end, or that a server which was held to be gone ran on."""
        if event.type is EventType.INSTANCE_ENDED:
            self._told[event.instance].append(event.occurred_at)
        elif event.type is EventType.INSTANCE_FOUND:
            self._void.add((event.instance, int(event.data["to_ms"])))

    def standing(self) -> dict[str, int]:
        """The end of each server that has one."""
        ends = {name: [at for at in told if (name, at) not in self._void] for name, told in self._told.items()}
        return {name: told[0] for name, told in ends.items() if told}


class Usage(Checker):
    """The usage of an instance covers each slot of its billed time exactly once, under one payment."""

    name = "check_money.Usage"
    hears = frozenset({EventType.USAGE, EventType.INSTANCE_STARTED}) | Ends.hears

    def __init__(self) -> None:
        self._lines: dict[str, list[Event]] = defaultdict(list)
        self._bill: dict[str, tuple[int, str]] = {}
        self._ends = Ends()
        self._told: set[str] = set()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Gather one instance's lines; judge them when its bill is closed and the books are."""
        if event.id in self._told:
            return
        self._told.add(event.id)
        if event.type is EventType.USAGE:
            self._lines[event.instance].append(event)
        elif event.type is EventType.INSTANCE_STARTED:
            self._bill.setdefault(event.instance, (event.occurred_at, str(event.data["paid"])))
        self._ends.hear(event)
        yield from ()

    def close(self, scene: Scene) -> Iterator[str]:
        """Lay out every instance's slots; when one ended that the stream did not tell in time is anybody's guess."""
        silent = {ended.name for ended in scene.chronicle.ended if not told_in_time(scene, ended)}
        silent |= {stand.name for stand in scene.servers.values() if stand.disowned}  # the stream tells of none
        told = self._ends.standing()
        gone = {ended.name: ended.at for ended in scene.chronicle.ended} | told
        for name, lines in self._lines.items():
            bill = self._bill.get(name)
            if bill is None and min(int(line.data["from_ms"]) for line in lines) > scene.now - GRACE_MS:
                continue  # whoever tells starts had no time yet
            if bill is None:
                yield f"{name} was used, and the ledger has no start of its bill"
                continue
            started, paid = bill
            strange = {str(line.data["paid"]) for line in lines} - {paid}
            if strange:
                yield f"{name} is billed as {paid} and used as {', '.join(sorted(strange))}"
            twinned = len(scene.namesakes.get(name, ())) > 1  # of twins each had its own time, and one key names both
            ended = gone.get(name, scene.now)
            yield from _gaps(name, lines, started, ended, silent=name in silent, twinned=twinned)
        for name in self._bill.keys() - self._lines.keys():
            if told.get(name, scene.now) > self._bill[name][0]:
                yield f"{name} is billed from {self._bill[name][0]}, and nothing says what it did"


def _gaps(
    name: str, lines: list[Event], started: int, ended: int, *, silent: bool, twinned: bool = False
) -> Iterator[str]:
    """Where the slots of one instance are used twice, or not at all; of twins, only the latter can be told."""
    slots: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for line in lines:
        first = int(line.data["slot"])
        for slot in range(first, first + int(line.data["units"])):
            slots[slot].append((int(line.data["from_ms"]), int(line.data["to_ms"])))
    for slot in range(int(lines[0].data["of_units"])):
        upto = started
        for begins, ends in sorted(slots[slot]):
            if begins > upto or (begins != upto and not twinned):
                what = "twice" if begins < upto else "never"
                yield f"{name}: slot {slot} is used {what} between {min(begins, upto)} and {max(begins, upto)}"
            upto = max(upto, ends)
        if not silent and (upto < ended or (upto != ended and not twinned)):
            yield f"{name}: slot {slot} is used until {upto}, billed until {ended}"


class Invoice(Checker):
    """What the ledger's events say that a server cost is what the provider bills, to the last digit, wherever the
    stream told its end and every rate of its time became known. Where nobody lived to tell an end, its loss is one.
    """

    name = "check_money.Invoice"
    hears = frozenset(
        {
            EventType.INSTANCE_STARTED,
            EventType.INSTANCE_ENDED,
            EventType.INSTANCE_LOST,
            EventType.INSTANCE_FOUND,
            EventType.INSTANCE_MOVED,
            EventType.RATE_KNOWN,
        }
    )

    def __init__(self) -> None:
        self._starts: dict[str, Event] = {}
        self._told = Ends()
        self._ends: dict[str, int] = {}
        self._lost: dict[str, int] = {}
        self._found: dict[str, int] = {}
        self._moves: dict[str, dict[int, str]] = defaultdict(dict)
        self._rates: dict[str, dict[int, Decimal]] = defaultdict(dict)

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Gather bills and rates."""
        self._told.hear(event)
        if event.type is EventType.INSTANCE_STARTED:
            self._starts.setdefault(event.instance, event)
        elif event.type is EventType.INSTANCE_LOST:
            self._lost[event.instance] = max(event.occurred_at, self._lost.get(event.instance, 0))
        elif event.type is EventType.INSTANCE_FOUND:
            self._found[event.instance] = max(event.occurred_at, self._found.get(event.instance, 0))
        elif event.type is EventType.INSTANCE_MOVED:
            self._moves[event.instance][event.occurred_at] = event.pool
        elif event.type is EventType.RATE_KNOWN:
            self._rates[event.pool][int(event.data["effective_from"])] = Decimal(str(event.data["rate"]))
        yield from ()

    def close(self, scene: Scene) -> Iterator[str]:
        """Compare line by line."""
        self._ends = self._told.standing()
        for name, at in self._lost.items():
            if at > self._found.get(name, 0):
                self._ends.setdefault(name, at)
        silent = {ended.server for ended in scene.chronicle.ended if not told_in_time(scene, ended)}
        for line in scene.chronicle.invoice:
            stand = scene.servers.get(line.server)
            if stand is None or len(scene.namesakes[stand.name]) > 1 or line.server in silent:
                continue
            if stand.disowned:
                continue  # it runs on for somebody else
            yield from self._line(scene, line)

    def _line(self, scene: Scene, line: InvoiceLine) -> Iterator[str]:
        start = self._starts.get(line.name)
        until = scene.now if line.ended is None else line.ended
        if start is None:
            if until - line.started > GRACE_MS:
                yield f"{line.name} is billed from {line.started}, and the ledger has no start"
            return
        told = start.occurred_at, self._ends.get(line.name)
        lagging = line.ended is not None and told[1] is None and scene.now - line.ended < GRACE_MS
        if told != (line.started, line.ended) and not lagging:
            yield f"{line.name} is billed from {line.started} to {line.ended}, the ledger has {told[0]} to {told[1]}"
        elif not lagging and self._rates_known(line):
            owed = self._owed(line.name, start, until)
            if owed != line.owed_ms:
                yield f"{line.name} costs {owed / HOUR_MS} by the ledger and {line.owed_ms / HOUR_MS} by the invoice"

    def _rates_known(self, line: InvoiceLine) -> bool:
        """Whether each rate of the bill was told, from no later than it was billed. A rate that comes back while the
        card is silent, and goes again, nobody hears: that the same one was told before another says nothing of it.
        """
        return all(
            any(
                period.before <= since <= period.start and rate == period.rate
                for since, rate in self._rates[pool].items()
            )
            and not any(period.start < since < period.end for since in self._rates[pool])
            for pool, period in line.periods
        )

    def _owed(self, name: str, start: Event, until: int) -> Decimal:
        """Currency x milliseconds per hour, by the events alone."""
        places = sorted({start.occurred_at: start.pool, **self._moves[name]}.items())
        ends = [at for at, _ in places[1:]] + [until]
        owed = Decimal(0)
        for (came, pool), left in zip(places, ends, strict=True):
            rates = sorted(self._rates[pool].items())
            nexts = [at for at, _ in rates[1:]] + [left]
            for (since, rate), next_ in zip(rates, nexts, strict=True):
                owed += rate * max(0, min(left, max(next_, since)) - max(came, since))
        return owed


class Authority(Checker):
    """The reservations of a day never exceed what a named person may spend in it, alone or summed over their contracts,
    nor what a contract may; by the ledger, and by the store. Each counts in the day of its own hour, as far as the
    estate lets a clock be wrong.
    """

    name = "check_money.Authority"
    hears = frozenset({EventType.FALLBACK_RESERVED})

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        self._told: set[str] = set()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """One reservation more."""
        if event.type is not EventType.FALLBACK_RESERVED or event.id in self._told:
            return
        self._told.add(event.id)
        region = scene.ground.estate.region(scene.region)
        day, wrong_ms = str(event.data["day"]), region.guard.listing_age * 1000
        dates = {_date(scene.now + off_ms, region.time_zone) for off_ms in (-wrong_ms, wrong_ms)}
        if day not in dates:
            yield f"{event.id} is reserved on {day} at {scene.now}, which is {' or '.join(sorted(dates))}"
        for who in (str(event.data["authority"]), event.workload):
            self._spent[day, who] += Decimal(str(event.data["amount"]))
            limit = _limit(scene, who)
            if self._spent[day, who] > limit:
                yield f"{self._spent[day, who]} are reserved for {who} on {day}, {limit} are allowed ({event.id})"

    def on_reserved(self, scene: Scene, day: str, totals: dict[str, int]) -> Iterator[str]:
        """The store's totals."""
        for who, micro in totals.items():
            limit = _limit(scene, who)
            if micro > limit * MICRO:
                yield f"the store has {Decimal(micro) / MICRO} reserved for {who} on {day}, {limit} are allowed"


def _date(at: int, zone: str) -> str:
    return dt.datetime.fromtimestamp(at / 1000, tz=ZoneInfo(zone)).date().isoformat()


def _limit(scene: Scene, who: str) -> Decimal:
    """What an authority or a contract may spend a day: the most that any reviewed estate says, as each may hold."""
    limits = [Decimal(0)]
    for reviewed in scene.reviewed:
        entry = reviewed.estate.directory_by_id.get(who)
        contract = reviewed.estate.contract_by_name.get(who)
        if entry is not None and entry.spend_authority_per_day is not None:
            limits.append(entry.spend_authority_per_day.amount)
        if contract is not None and contract.fallback.allowed and contract.fallback.limit_per_day is not None:
            limits.append(contract.fallback.limit_per_day.amount)
    return max(limits)


class Covered(Checker):
    """What runs as fallback is covered: its hour is reserved at its rate while it stands, and what the ledger tells as
    reserved stood in the store before. Time without a leader that may act and reserve is reserved late, by the first
    clear look of the next one that the store answers; so the second such look is judged. Whoever buys, however clear
    its look, has reserved before.
    """

    name = "check_money.Covered"
    hears = frozenset({EventType.RATE_KNOWN, EventType.FALLBACK_RESERVED})

    def __init__(self) -> None:
        self._clear: tuple[tuple[int, int], int] = ((0, 0), 0)
        self._reserved: dict[str, list[tuple[int, Decimal]]] = defaultdict(list)
        self._rates: dict[str, Decimal] = {}
        self._told: dict[tuple[str, str], dict[str, Decimal]] = defaultdict(dict)
        self._stored: dict[str, dict[str, int]] = {}

    def on_reserved(self, scene: Scene, day: str, totals: dict[str, int]) -> Iterator[str]:
        """The most that the store ever had, by day and name."""
        stored = self._stored.setdefault(day, {})
        for who, micro in totals.items():
            stored[who] = max(micro, stored.get(who, 0))
        yield from ()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Reservations, and the rates they are made at."""
        if event.type is EventType.RATE_KNOWN:
            self._rates[event.pool] = Decimal(str(event.data["rate"]))
        if event.type is not EventType.FALLBACK_RESERVED:
            return
        amount = Decimal(str(event.data["amount"]))
        self._reserved[event.workload].append((scene.now, amount))
        day = str(event.data["day"])
        told = self._told[day, event.workload]
        told[event.id] = amount
        stored = self._stored.get(day, {}).get(event.workload, 0)
        if self._stored and max(self._stored) <= day and sum(told.values()) * MICRO > stored:
            yield (
                f"{sum(told.values())} are told as reserved for {event.workload} on {day}, and the store never had "
                f"more than {Decimal(stored) / MICRO} ({event.id})"
            )

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """What is bought as fallback now."""
        if act.call is not Call.CREATE or not act.fresh or act.paid != "fallback":
            return
        cost, paid = self._rates.get(act.pool, Decimal(0)), self._paid(scene, act.workload)
        if paid < cost:
            yield f"{act.name} is bought as fallback of {act.workload} for {cost} an hour, {paid} are reserved"

    def on_look(self, scene: Scene, look: Look) -> Iterator[str]:
        """What stands as fallback now, by workload."""
        if not look.leads:
            return
        clear = look.store and not scene.trouble(look)
        term = term_of(scene, look.epoch)
        before, self._clear = self._clear, (term, look.at) if clear else ((0, 0), 0)
        if not clear or before[0] != term or look.at - before[1] > GRACE_MS or look.at == before[1]:
            return
        hourly: dict[str, Decimal] = defaultdict(Decimal)
        for stand in scene.standing.values():
            if stand.paid == "fallback" and not stand.asked_at and stand.created_at < scene.now - GRACE_MS:
                hourly[stand.workload] += self._rates.get(stand.pool, Decimal(0))
        for workload, cost in hourly.items():
            paid = self._paid(scene, workload)
            if paid < cost:
                yield f"fallback of {workload} costs {cost} an hour, {paid} are reserved at {scene.now}"

    def _paid(self, scene: Scene, workload: str) -> Decimal:
        """What was reserved for the hour in hand."""
        since = scene.now - HOUR_MS - GRACE_MS
        return sum((amount for at, amount in self._reserved[workload] if at > since), Decimal(0))
