"""A stand-in for the simulated region: it draws faults and breaks by a rule that can be seen at a glance.

Seeds divisible by five fail when a crash and a stale listing meet; seeds divisible by seven fail by themselves at
eighteen o'clock. Each fault has an act of its own, so that a story has something to tell.
"""

from __future__ import annotations

from collections.abc import Mapping

from simulation.check_reading import Broken
from simulation.chronicle import Act, Call, Chronicle, Led, Look
from simulation.faults import Fault, chosen
from simulation.hunt import DAY_MS, Histories, History, Question

BEGAN = 1_767_225_600_000
HOUR = 3_600_000
KINDS = {"crash": "a replica dies", "listing_stale": "a listing is old", "reclaim": "hosts are taken back"}
COST = 200
"""Rounds of arithmetic in each history, so that processes have something to do."""


def drawn(question: Question) -> tuple[Fault, ...]:
    last = int(question.days * 8)
    return tuple(
        Fault(kind, number, BEGAN + number * 2 * HOUR + place, BEGAN + number * 2 * HOUR + HOUR, target=f"h{number}")
        for place, kind in enumerate(KINDS)
        for number in range(1, last + 1)
    )


class StandIn:
    """`Histories` by rule."""

    def kinds(self) -> Mapping[str, str]:
        return KINDS

    def live(self, question: Question) -> History:
        faults = chosen(",".join(question.faults), drawn(question))
        end = BEGAN + int(question.lasts * DAY_MS)
        broken = [one for one in _broken(question, faults) if one.at <= end]
        acts = [
            Act(fault.at, "replica-1", 1, Call.CREATE, f"eb-north-1-{number:06d}", f"server-{number}", "project",
                f"pool-{fault.target}", "forecast", 1, "reclaimable")
            for number, fault in enumerate(faults, start=1)
            if fault.at < end
        ]  # fmt: skip
        looks = [
            Look(BEGAN + minute * 60_000, "replica-1", 1, leads=True, whole=frozenset({"project"}), listed_at=BEGAN,
                 told=True, silent=frozenset(), git=True, clock=True, disk=True, pending=0, stopped="")
            for minute in range(1, 60, 5)
        ]  # fmt: skip
        chronicle = Chronicle(faults=faults, acts=acts, looks=looks, led=[Led(BEGAN, "replica-1", 1)], end=end)
        return History(question, BEGAN, chronicle, tuple(broken), {"cycles": int(question.lasts * 288)})


def _broken(question: Question, faults: tuple[Fault, ...]) -> list[Broken]:
    names = {fault.name: fault for fault in faults}
    found = []
    if question.seed % 5 == 0 and {"crash#2", "listing_stale#1"} <= names.keys():
        found.append(Broken(names["crash#2"].at + 60_000, "bounds", "eb-north-1-000002: 9 of 40, 6 are allowed"))
    if question.seed % 7 == 0:
        found.append(Broken(BEGAN + 18 * HOUR, "liveness", "forecast has 3 of 40 units after 12 cycles"))
    return found


def stand_in() -> Histories:
    return StandIn()
