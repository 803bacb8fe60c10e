"""Histories that never end, for the test that interrupts them; each process leaves a sign that it began."""

from __future__ import annotations

import os
from pathlib import Path

from simulation.hunt import Histories, History, Question
from tests.hunt.stand_in import StandIn


class Slow(StandIn):
    """Never answers."""

    def live(self, question: Question) -> History:
        Path(os.environ["HUNT_SIGNS"], f"began-{os.getpid()}").touch()
        while True:
            super().live(question)


def slow() -> Histories:
    return Slow()
