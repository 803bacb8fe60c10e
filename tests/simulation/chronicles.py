"""Histories made by hand for the checkers: a region of the minimal estate, told act by act.

`Story` writes a chronicle as a world would; every method tells one thing, and a test leaves out or adds the thing that
breaks a promise. Nothing here runs the product.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from decimal import Decimal

from ledger.causes import Cause
from ledger.events import Event, EventType
from pools.provider import Mark, Notice, NoticeKind, Reclaim
from repo_layout.model import Estate
from simulation.check_reading import Broken
from simulation.checking import Checks
from simulation.chronicle import Act, Call, Chronicle, Ended, Led, Look, Node, NodeWord, Reviewed
from simulation.cloud_model import EndCause, InvoiceLine, RatePeriod
from tests.reconciler.builders import ESTATE, FORECAST, HOUR, KEPT, MINUTE, PROJECT, REGION, START, estate

RATE = "0.100000"
DOMAINS = tuple(f"h{hall}-general-{row}-4x16" for hall in (1, 2, 3, 4) for row in "ab")
REPLICA = "a"
TIMED = ("acts", "looks", "led", "nodes", "moved", "ended", "reviewed", "stops")
"""The lists of a chronicle whose entries carry their time."""


class Stage:
    """Time, reviewed files, leaders, demand and looks; `at` is the present, `epoch` the leader's."""

    def __init__(self, *swaps: tuple[str, str, str]) -> None:
        self.at = START
        self.epoch = 1
        self.told = Chronicle(term_ms=15_000, call_ms=10_000, quiet_from=START)
        self.looking = Look(
            at=START,
            replica=REPLICA,
            epoch=1,
            leads=True,
            whole=frozenset({PROJECT}),
            listed_at=START,
            told=True,
            silent=frozenset(),
            git=True,
            clock=True,
            disk=True,
            pending=0,
            stopped="",
        )
        self.review(estate(*swaps), "c1")
        for pool in (*DOMAINS, KEPT):
            self.event(
                EventType.RATE_KNOWN,
                f"{pool}/{START}",
                cause=Cause.RATE_CHANGED,
                pool=pool,
                data={"rate": RATE, "guaranteed": "0.400000", "currency": "EUR", "effective_from": START},
            )
        self.lead(REPLICA, 1)

    def wait(self, ms: int) -> Stage:
        """Time passes."""
        self.at += ms
        return self

    def review(self, made: Estate, commit: str, *, approved: bool = False) -> None:
        """A commit is merged."""
        version = 1 + len({r.commit for r in self.told.reviewed})
        self.told.reviewed.append(Reviewed(self.at, commit, version, made, approved))

    def lead(self, replica: str, epoch: int, *, renewed: bool = False) -> None:
        """The store names a leader."""
        self.epoch = epoch
        self.told.led.append(Led(self.at, replica, epoch, renewed))

    def want(self, units: int, workload: str = FORECAST) -> None:
        """Demand changes, and the ledger has it."""
        self.told.wanted.append((self.at, workload, units))
        self.event(
            EventType.CLAIM_CHANGED,
            f"{workload}/{self.at}",
            cause=Cause.CLAIM_GREW,
            workload=workload,
            data={"units": units},
        )
        self.claim = f"claim.changed/{REGION}/{workload}/{self.at}"

    def event(self, type_: EventType, subject: str, *, who: str = REPLICA, **more: object) -> Event:
        """An event becomes durable."""
        actor = "reconciler" if who else "node"
        fields: dict[str, object] = {
            "cause": Cause.ACCOUNTING,
            "occurred_at": self.at,
            "commit": "c1",
            "actor": actor,
            "epoch": self.epoch,
        }
        made = Event(
            id=f"{type_.value}/{REGION}/{subject}",
            recorded_at=self.at,
            type=type_,
            region=REGION,
            **(fields | more),  # type: ignore[arg-type]  # the dataclass checks the names
        )
        self.told.events.setdefault(who, []).append(made)
        return made

    def look(self, **changes: object) -> Look:
        """The replica looks, and sees everything unless told otherwise."""
        self.looking = replace(self.looking, **({"at": self.at, "listed_at": self.at, "epoch": self.epoch} | changes))  # type: ignore[arg-type]  # the dataclass checks the names
        self.told.looks.append(self.looking)
        shown = self.looking
        self.looking = replace(shown, leads=True, whole=frozenset({PROJECT}), told=True, silent=frozenset(), git=True)
        self.looking = replace(
            self.looking, clock=True, disk=True, pending=0, stopped="", hidden=frozenset(), store=True, told_at=0
        )
        self.looking = replace(self.looking, unseen=frozenset(), half_shown=frozenset())
        return shown

    def looks(self, count: int, **changes: object) -> None:
        """One look every five minutes."""
        for _ in range(count):
            self.wait(5 * MINUTE)
            self.room()
            self.look(**changes)

    def room(self, **pools: int) -> None:
        """How much room there is: plenty unless told otherwise."""
        self.told.room.append((self.at, pools or dict.fromkeys((*DOMAINS, KEPT), 8)))


class Deeds(Stage):
    """What is done to servers, and what becomes of their nodes."""

    def request(self, name: str, pool: str, *, paid: str = "reclaimable", **more: object) -> None:
        """What is about to be created is written down."""
        self.event(
            EventType.INSTANCE_REQUESTED,
            name,
            **({"cause": Cause.CLAIM_GREW, "caused_by": self.claim, "workload": FORECAST} | more),  # type: ignore[arg-type]  # the dataclass checks the names
            pool=pool,
            instance=name,
            data={"units": 1, "paid": paid},
        )

    def act(self, call: Call, name: str, **more: object) -> None:
        """A call takes effect."""
        fields: dict[str, object] = {
            "replica": REPLICA,
            "epoch": self.epoch,
            "server": f"s-{name}",
            "project": PROJECT,
            "stood": None if call is Call.CREATE else self.mark(name),
        }
        self.told.acts.append(Act(at=self.at, call=call, name=name, **(fields | more)))  # type: ignore[arg-type]  # the dataclass checks the names

    def mark(self, of: str, /, **changes: object) -> Mark:
        """Our sign on a server."""
        return replace(Mark(ESTATE, REGION, of, self.epoch, FORECAST, 1, "reclaimable"), **changes)  # type: ignore[arg-type]  # the dataclass checks the names

    def create(self, name: str, pool: str, *, paid: str = "reclaimable", server: str = "") -> None:
        """A server is created."""
        self.act(Call.CREATE, name, server=server or f"s-{name}", pool=pool, workload=FORECAST, units=1, paid=paid)

    def buy(self, name: str, pool: str, *, paid: str = "reclaimable", **more: object) -> None:
        """Requested, and created."""
        self.request(name, pool, paid=paid, **more)
        self.create(name, pool, paid=paid)

    def started(self, name: str, pool: str, paid: str = "reclaimable") -> None:
        """Its bill begins."""
        asked = f"instance.requested/{REGION}/{name}"
        data: dict[str, str | int] = {"units": 1, "paid": paid}
        self.event(
            EventType.INSTANCE_STARTED, name, caused_by=asked, workload=FORECAST, pool=pool, instance=name, data=data
        )

    def node(self, name: str, word: NodeWord, **more: object) -> None:
        """Something happens on a node."""
        self.told.nodes.append(Node(self.at, f"s-{name}", name, word, **more))  # type: ignore[arg-type]  # the dataclass checks the names

    def settle(self, *names: str) -> None:
        """Servers become covered nodes, and their bills begin."""
        self.wait(MINUTE)
        for name in names:
            self.started(name, self.pool_of(name), self.paid_of(name))
            self.node(name, NodeWord.JOINED)
            self.node(name, NodeWord.COVERED)

    def pool_of(self, name: str) -> str:
        return next(act.pool for act in self.told.acts if act.name == name and act.call is Call.CREATE)

    def paid_of(self, name: str) -> str:
        return next(act.paid for act in self.told.acts if act.name == name and act.call is Call.CREATE)

    def reclaim(self, *domains: str, hold: int = HOUR) -> None:
        """A reclaim opens."""
        self.told.reclaims.append((self.at, Reclaim("rc", "needed", domains, self.at, self.at + hold)))


class Story(Deeds):
    """One whole history: notices, drains, ends, and what the checkers say of it."""

    def notice(self, name: str, pool: str, *, seconds: int = 120, reclaim: str = "rc") -> Notice:
        """The provider says that one goes; the ledger has it."""
        ends_at = self.at + seconds * 1000
        said = Notice(f"{reclaim}/s-{name}", f"s-{name}", name, pool, reclaim, NoticeKind.RECLAIM, self.at, ends_at)
        self.told.given.append((self.at, said))
        return said

    def heard(self, said: Notice) -> str:
        """The ledger has a notice; the id of the event."""
        return self.event(
            EventType.NOTICE_RECEIVED,
            f"{said.id}/{said.name}",
            cause=Cause.NOTICE,
            workload=FORECAST,
            pool=said.pool,
            instance=said.name,
            data={"reclaim": said.reclaim, "kind": said.kind.value, "ends_at": said.ends_at},
        ).id

    def drain(self, name: str, caused_by: str, ends_at: int, *, took: int = 20_000, outcome: str = "verified") -> None:
        """A node hears, drains and says how it ended, and the ledger has both."""
        kind, _, subject = caused_by.partition(f"/{REGION}/")
        notice = subject.removesuffix(f"/{name}") if kind == EventType.NOTICE_RECEIVED.value else ""
        self.node(name, NodeWord.HEARD, ends_at=ends_at, notice=notice)
        self.node(name, NodeWord.DRAINING, ends_at=ends_at)
        began = self.event(
            EventType.DRAIN_STARTED,
            f"{name}/{self.at}",
            who="",
            caused_by=caused_by,
            instance=name,
            data={"ends_at": ends_at},
        )
        self.wait(took)
        self.node(name, NodeWord(outcome))
        self.event(
            EventType.DRAIN_ENDED,
            f"{name}/{self.at}",
            who="",
            caused_by=began.id,
            instance=name,
            data={"outcome": outcome},
        )

    def gone(self, name: str, cause: EndCause, caused_by: str, said: Notice | None = None) -> None:
        """A server ends; its bill and, if we did not delete it, its loss are told."""
        self.told.ended.append(Ended(self.at, f"s-{name}", name, self.mark(name), cause, said))
        self.node(name, NodeWord.LEFT)
        self.event(EventType.INSTANCE_ENDED, name, caused_by=caused_by, instance=name, workload=FORECAST)
        if cause is not EndCause.DELETED:
            self.lost(name, caused_by, noticed=said is not None)

    def lost(self, name: str, caused_by: str, *, noticed: bool = False, subject: str = "") -> str:
        """A loss is told; the id of the event."""
        return self.event(
            EventType.INSTANCE_LOST,
            subject or name,
            cause=Cause.LOST_AFTER_NOTICE if noticed else Cause.LOST_WITHOUT_NOTICE,
            caused_by=caused_by,
            instance=name,
            workload=FORECAST,
            data={"noticed": int(noticed)},
        ).id

    def give_back(self, name: str, cause: Cause = Cause.CLAIM_SHRANK, *, took: int = 20_000) -> None:
        """An agreed return: told, asked, drained, deleted."""
        asked = self.event(
            EventType.RELEASE_ASKED, name, cause=cause, caused_by=self.claim, instance=name, workload=FORECAST
        )
        ends_at = self.at + 120_000
        self.act(Call.ASK_RETURN, name, server="", project="", stood=None, ends_at=ends_at)
        self.drain(name, asked.id, ends_at, took=took)
        self.look()
        self.act(Call.DELETE, name)
        self.gone(name, EndCause.DELETED, asked.id)

    def close_books(self) -> None:
        """Usage and the invoice, as they follow from what was started and ended."""
        self.told.end = self.at
        ends = {e.instance: e.occurred_at for e in self.all_events() if e.type is EventType.INSTANCE_ENDED}
        lines = []
        for start in [e for e in self.all_events() if e.type is EventType.INSTANCE_STARTED]:
            name, until = start.instance, ends.get(start.instance, self.at)
            if until == start.occurred_at:
                continue
            data = {
                "from_ms": start.occurred_at,
                "to_ms": until,
                "slot": 0,
                "units": 1,
                "of_units": 1,
                "use": "serving",
            }
            self.event(
                EventType.USAGE,
                f"{name}/0",
                who="",
                caused_by=start.id,
                workload=FORECAST,
                pool=start.pool,
                instance=name,
                data={**data, "paid": start.data["paid"]},
            )
            period = RatePeriod(start.occurred_at, until, Decimal(RATE))
            lines.append(
                InvoiceLine(f"s-{name}", name, PROJECT, start.occurred_at, ends.get(name), ((start.pool, period),))
            )
        self.told.invoice = tuple(lines)
        gone = {ended.server for ended in self.told.ended}
        made = {act.server for act in self.told.acts if act.call is Call.CREATE}
        self.told.known = frozenset(made - gone)

    def all_events(self) -> list[Event]:
        """Every event, by who told it."""
        return [event for events in self.told.events.values() for event in events]

    def broken(self, *, closed: bool = True) -> list[Broken]:
        """What all checkers say at the end of this history."""
        if closed:
            self.close_books()
        return Checks(REGION).close(self.told)

    def breaks(self, *, since: int = 0) -> set[str]:
        """Names of the checkers that found something, at `since` or later."""
        return {found.checker for found in self.broken() if found.at >= since}

    def until(self, at: int) -> Chronicle:
        """The chronicle as it stood at that time."""
        shown = copy(self.told)
        for name in TIMED:
            setattr(shown, name, [thing for thing in getattr(shown, name) if thing.at <= at])
        for name in ("given", "wanted", "reclaims", "room"):
            setattr(shown, name, [row for row in getattr(shown, name) if row[0] <= at])
        shown.events = {who: [e for e in events if e.recorded_at <= at] for who, events in shown.events.items()}
        return shown


def grown(*swaps: tuple[str, str, str]) -> Story:
    """A region in which forecast has its floor of four and eight lent units in eight domains, all of them nodes."""
    story = Story(*swaps)
    story.want(12)
    story.room()
    story.look()
    names = []
    for number in range(4):
        names.append(f"f{number}")
        story.buy(f"f{number}", KEPT, paid="floor", cause=Cause.FLOOR)
    for number, pool in enumerate(DOMAINS):
        names.append(f"r{number}")
        story.buy(f"r{number}", pool)
    story.settle(*names)
    story.looks(4)
    return story


def eventful(*swaps: tuple[str, str, str]) -> Story:
    """The same after a notice that was answered and a return that was agreed, four hours old; nothing is broken."""
    story = grown(*swaps)
    said = story.notice("r0", DOMAINS[0])
    story.reclaim("h1-general-a")
    story.look()
    event = story.heard(said)
    story.buy("r8", DOMAINS[2], cause=Cause.NOTICE, caused_by=event)
    story.drain("r0", event, said.ends_at)
    story.wait(100_000)
    story.gone("r0", EndCause.RECLAIMED, event, said)
    story.settle("r8")
    story.looks(2)
    story.want(11)
    story.looks(6)
    story.give_back("r8")
    story.looks(12)
    return story


def without(story: Story, type_: EventType, instance: str) -> Story:
    """The same history without these events of an instance."""
    for who, events in story.told.events.items():
        story.told.events[who] = [e for e in events if (e.type, e.instance) != (type_, instance)]
    return story


def found(story: Story, type_: EventType, instance: str) -> Event:
    """The first event of this type about an instance."""
    return next(e for e in story.all_events() if (e.type, e.instance) == (type_, instance))


def asked_back(story: Story, name: str) -> int:
    """A node is asked to give itself back, and has not begun; the end that was agreed."""
    story.event(EventType.RELEASE_ASKED, name, caused_by=story.claim, instance=name, workload=FORECAST)
    story.act(Call.ASK_RETURN, name, server="", project="", ends_at=story.at + 120_000)
    return story.at + 120_000
