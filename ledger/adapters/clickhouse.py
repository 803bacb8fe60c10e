"""The ledger in ClickHouse: events go in once in effect, reports come out as values.

The shell that owns the spool appends here, `ebbtide savings` and `explain` read. The packaged SQL makes all
sums; `ledger.net_saving` is the twin that they are held against.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from contracts.errors import Breach, Refused
from ledger.adapters import engine
from ledger.adapters.engine import Engine, Row, Value, whole
from ledger.causes import Cause
from ledger.delivery import Appended
from ledger.events import Event, EventType, to_line
from ledger.reports import NUMBERS, Behind, Disagreement, InvoiceLine, NetSaving, Period, Reconciliation, Waste
from ledger.story import Chain

COLUMNS = (
    "v", "id", "occurred_at", "recorded_at", "type", "cause", "caused_by", "region", "workload", "pool", "instance",
    "commit", "actor", "epoch", "data",
)  # fmt: skip
"""The envelope, as tables and lines name it."""

LONGEST_CHAIN = 64
"""A chain of causes is a handful of events; a longer one is a loop that somebody's ids made."""

MOST_LISTED = 1_000_000
"""Events that one question may return before it is a mistake; sums are made inside ClickHouse."""


class ClickHouseLedger:
    """Events and reports of one database. Not for several threads at once. Errors are those of `Engine`."""

    def __init__(self, database: Engine) -> None:
        self._engine = database
        self.history = History(database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.close()

    def append(self, events: Iterable[Event]) -> Appended:
        """Store events once in effect; repeating a batch, or a part of it, changes nothing."""
        return self.append_lines([to_line(event) for event in events])

    def append_lines(self, lines: Sequence[bytes]) -> Appended:
        """Store canonical lines, as the spool holds them, once in effect: the `Sink` of `ledger.delivery`."""
        if not lines:
            return Appended()
        self._engine.run("TRUNCATE TABLE arrivals")
        self._engine.insert("arrivals", COLUMNS, lines)
        new = whole(self._engine.query(_COUNT_NEW, {})[0]["n"])
        self._engine.run(_STORE_NEW)
        conflicts = tuple(str(row["id"]) for row in self._engine.query(_CONFLICTS, {}))
        self._engine.run("TRUNCATE TABLE arrivals")
        return Appended(new=new, repeated=len(lines) - new, conflicts=conflicts)

    def savings(self, period: Period) -> tuple[NetSaving, ...]:
        """The net saving by region and workload; raises `Refused` when the events mix currencies."""
        self.currency(period)
        return tuple(
            NetSaving(
                region=str(row["region"]), workload=str(row["workload"]), **{name: whole(row[name]) for name in NUMBERS}
            )
            for row in self._engine.report("net_saving", period)
        )

    def currency(self, period: Period) -> str:
        """The one currency of all rates and amounts, empty without any; raises `Refused` for more than one."""
        names = [str(row["currency"]) for row in self._engine.report("currencies", period)]
        if len(names) > 1:
            raise Refused(f"the events mix currencies: {', '.join(names)}")
        return names[0] if names else ""

    def waste(self, period: Period) -> tuple[Waste, ...]:
        """Payments that bought no lasting work, by workload, pool, kind and cause, dearest first."""
        return tuple(
            Waste(
                region=str(row["region"]),
                workload=str(row["workload"]),
                pool=str(row["pool"]),
                kind=str(row["kind"]),
                cause=str(row["cause"]),
                ns=whole(row["ns"]),
                paid=whole(row["paid"]),
                events=whole(row["events"]),
            )
            for row in self._engine.report("waste", period)
        )

    def waste_by_root(self, period: Period) -> tuple[tuple[str, int], ...]:
        """`(event id, ticks)`: what each root of a chain of causes (a notice, a claim) wasted, dearest first."""
        return tuple((str(row["root"]), whole(row["paid"])) for row in self._engine.report("waste_by_root", period))

    def invoice(self, period: Period) -> tuple[InvoiceLine, ...]:
        """What the provider charges, by instance, from starts and ends at the rates in force."""
        return tuple(
            InvoiceLine(
                instance=str(row["instance"]),
                region=str(row["region"]),
                workload=str(row["workload"]),
                pool=str(row["pool"]),
                paid=str(row["paid"]),
                holds=whole(row["holds"]),
                billed_ms=whole(row["billed_ms"]),
                priced_ms=whole(row["priced_ms"]),
                ticks=whole(row["ticks"]),
            )
            for row in self._engine.report("invoice", period)
        )

    def reconcile_invoice(self, period: Period) -> Reconciliation:
        """Hold the terms of the net saving, which come from usage, against the invoice, which does not."""
        rows = self.savings(period)
        disagreements = (
            Disagreement(
                instance=str(row["instance"]),
                invoice_ticks=whole(row["invoice_ticks"]),
                usage_ticks=whole(row["usage_ticks"]),
                billed_unit_ms=whole(row["billed_unit_ms"]),
                used_unit_ms=whole(row["used_unit_ms"]),
                unpriced_ms=whole(row["unpriced_ms"]),
            )
            for row in self._engine.report("reconcile", period)
        )
        return Reconciliation(
            invoice_ticks=sum(line.ticks for line in self.invoice(period)),
            terms_ticks=sum(row.paid for row in rows),
            states_ticks=sum(row.useful_paid + row.wasted_paid for row in rows),
            disagreements=tuple(disagreements),
            unpriced_losses=tuple(str(row["id"]) for row in self._engine.report("unpriced_losses", period)),
        )

    def ids_behind(self, number: Behind, period: Period) -> tuple[str, ...]:
        """The ids of the events behind one number of a report, rates last, each group in the order of time."""
        parameters: dict[str, Value] = {
            "region": number.region,
            "workloads": [number.workload, ""] if number.shared else [number.workload],
            "types": [kind.value for kind in number.types],
            "uses": [use.value for use in number.uses],
            "paid": [paid.value for paid in number.paid],
            "pool": number.pool,
            "cause": number.cause,
        }
        return tuple(str(row["id"]) for row in self._engine.report("behind", period, parameters))


class History:
    """Single events and their chains of causes, for `explain`."""

    def __init__(self, database: Engine) -> None:
        self._engine = database

    def events(self, ids: Iterable[str]) -> tuple[Event, ...]:
        """Events by id, in the order of time; ids that the ledger does not hold are left out."""
        return self._where("id IN {ids:Array(String)}", {"ids": list(ids)})

    def events_of_instance(self, instance: str) -> tuple[Event, ...]:
        """Everything about one instance, in the order of time."""
        return self._where("instance = {instance:String}", {"instance": instance})

    def events_of_workload(self, workload: str, period: Period) -> tuple[Event, ...]:
        """What befell a workload in a period, usage left out, in the order of time."""
        return self._where(f"workload = {{name:String}} AND {_NO_USAGE}", {"name": workload, **_bounds(period)})

    def pool_history(self, pool: str, period: Period) -> tuple[Event, ...]:
        """What befell a pool in a period, usage left out: rates, notices, losses, exclusions, probes."""
        return self._where(f"pool = {{name:String}} AND {_NO_USAGE}", {"name": pool, **_bounds(period)})

    def chain_up(self, event_id: str) -> tuple[Event, ...]:
        """The event and all that caused it, root first; empty for an unknown id. A chain without end is a `Breach`."""
        return self._walk(event_id, "id IN (SELECT caused_by FROM events WHERE id IN {ids:Array(String)})")

    def chain_down(self, event_id: str) -> tuple[Event, ...]:
        """The event and all that it led to, in the order of time; empty for an unknown id."""
        return self._walk(event_id, "caused_by IN {ids:Array(String)}")

    def chain(self, event_id: str) -> Chain:
        """Both at once, with what each event cost: what `explain` tells as a story."""
        up, down = self.chain_up(event_id), self.chain_down(event_id)
        return Chain(event_id=event_id, up=up, down=down, costs=self.costs(event.id for event in (*up, *down)))

    def costs(self, ids: Iterable[str]) -> dict[str, int]:
        """What was paid, in ticks, for the events that money follows from: usage, lost work, charges."""
        everything = Period(0, 2**62)
        rows = self._engine.report("costs", everything, {"ids": list(ids)})
        return {str(row["id"]): whole(row["paid"]) for row in rows}

    def _walk(self, event_id: str, step: str) -> tuple[Event, ...]:
        found = {event.id: event for event in self.events([event_id])}
        edge = list(found)
        for _ in range(LONGEST_CHAIN):
            if not edge:
                return tuple(sorted(found.values(), key=lambda event: (event.occurred_at, event.id)))
            following = {event.id: event for event in self._where(step, {"ids": edge})}
            edge = [name for name in following if name not in found]
            found.update(following)
        raise Breach(f"the causes of event {event_id!r} go on beyond {LONGEST_CHAIN} steps")

    def _where(self, condition: str, parameters: Mapping[str, Value]) -> tuple[Event, ...]:
        rows = self._engine.query(
            f"SELECT {_NAMES} FROM events FINAL WHERE {condition} "  # noqa: S608 - conditions of this module
            f"ORDER BY occurred_at, id LIMIT {MOST_LISTED}",
            parameters,
        )
        return tuple(_event(row) for row in rows)


def embedded(directory: Path, *, database: str = "ebbtide") -> ClickHouseLedger:
    """A ledger on the in-process engine, in a directory that is made when it is missing; see `engine.embedded`."""
    return ClickHouseLedger(engine.embedded(directory, database=database))


_NAMES = ", ".join(COLUMNS)
_UNSEEN = "id NOT IN (SELECT id FROM events WHERE id IN (SELECT id FROM arrivals))"
_COUNT_NEW = f"SELECT uniqExact(id) AS n FROM arrivals WHERE {_UNSEEN}"  # noqa: S608 - constants
_STORE_NEW = (
    f"INSERT INTO events ({_NAMES}) SELECT {_NAMES} FROM arrivals WHERE {_UNSEEN} "  # noqa: S608 - constants
    "ORDER BY id, digest DESC LIMIT 1 BY id"
)
_CONFLICTS = (
    "SELECT DISTINCT arrivals.id AS id FROM arrivals INNER JOIN (SELECT id, digest FROM events FINAL "
    "WHERE id IN (SELECT id FROM arrivals)) AS there ON arrivals.id = there.id "
    "WHERE arrivals.digest != there.digest ORDER BY id"
)
_NO_USAGE = (
    "type != 'usage.recorded' AND occurred_at >= {start:Int64} AND occurred_at < {end:Int64} "
    "AND recorded_at <= {known_by:Int64}"
)


def _bounds(period: Period) -> dict[str, Value]:
    return {"start": period.from_ms, "end": period.to_ms, "known_by": period.known_by}


def _event(row: Row) -> Event:
    return Event(
        id=str(row["id"]),
        occurred_at=whole(row["occurred_at"]),
        recorded_at=whole(row["recorded_at"]),
        type=EventType(row["type"]),
        cause=Cause(row["cause"]),
        caused_by=str(row["caused_by"]),
        region=str(row["region"]),
        workload=str(row["workload"]),
        pool=str(row["pool"]),
        instance=str(row["instance"]),
        commit=str(row["commit"]),
        actor=str(row["actor"]),
        epoch=whole(row["epoch"]),
        data=json.loads(str(row["data"])),
    )
