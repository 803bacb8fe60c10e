"""Which server is the node of its key, and what its end is told as, whatever whoever leads believes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.fleet import Instance
from simulation.cloud_model import EndCause, Happening, HappeningKind
from simulation.nodes import SimulatedNodes
from simulation.site import JOIN_MS, Site, Surroundings
from simulation.work import Work
from tests.reconciler.builders import FORECAST, MINUTE, REGION, START, contract, scribe
from tests.reconciler.test_census import booting

STARTED, LOST = EventType.INSTANCE_STARTED, EventType.INSTANCE_LOST


class Place:
    """One site whose leader believes in `known`, and whose provider has the servers that are `there`."""

    def __init__(self, known: Instance, *there: str) -> None:
        self.now = START
        self.told: list[Event] = []
        self.timers: list[Callable[[], None]] = []
        self.name = known.name
        work = Work([contract()], scribe, self.told.append, lambda _, __: None)
        self.site = Site(
            region=REGION,
            seed=0,
            nodes=SimulatedNodes(seed=0, gateway_bytes_s=2**30),
            work=work,
            world=Surroundings(
                now=lambda: self.now,
                at=lambda _, do: self.timers.append(do),
                emit=self.told.append,
                scribe=scribe,
                instance=lambda _: known,
                stands=lambda server: server in there,
                poke=lambda: None,
            ),
        )
        self.site.joins = lambda _: True

    def happens(self, kind: HappeningKind, server: str, cause: EndCause | None = None) -> None:
        self.site.on_cloud(Happening(self.now, kind, server, self.name, booting().pool, cause=cause))

    def joined(self) -> None:
        self.now += JOIN_MS[1]
        for do in self.timers:
            do()

    @property
    def nodes(self) -> set[str]:
        return set(self.site.view().nodes)


@pytest.mark.parametrize(("there", "joins"), [((), True), (("answered",), False)])
def test_a_server_is_its_keys_node_unless_the_one_that_an_answer_named_is_there(
    there: tuple[str, ...], joins: bool
) -> None:
    place = Place(booting(server="answered"), *there)
    place.happens(HappeningKind.ACTIVE, "came-late")
    place.joined()
    assert (place.name in place.nodes) is joins
    assert (place.name in place.site.work.by_instance) is joins


@pytest.mark.parametrize(
    ("known", "never_booted", "cause"),
    [("s-1", "", LOST), ("", "s-0", STARTED), ("s-1", "s-0", STARTED), ("answered", "", STARTED)],
)
def test_lost_work_leads_to_the_start_where_who_tells_may_know_of_two_servers(
    known: str, never_booted: str, cause: EventType
) -> None:
    place = Place(booting(server=known))
    if never_booted:
        place.happens(HappeningKind.ENDED, never_booted, EndCause.DELETED)
    place.happens(HappeningKind.ACTIVE, "s-1")
    place.joined()
    place.site.work.want(FORECAST, 1, place.now)
    place.now += MINUTE
    place.happens(HappeningKind.ENDED, "s-1", EndCause.LOST)
    (lost,) = [event for event in place.told if event.type is EventType.WORK_LOST]
    assert (lost.cause, lost.caused_by) == (
        Cause.LOST_WITHOUT_NOTICE,
        f"{cause.value}/{REGION}/{place.name}",
    )
