"""Authority (DESIGN 12): nobody's money is spent in the name of a person whose authority has run out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from ledger.events import Event, EventType
from simulation.check_reading import Checker
from simulation.check_scene import Scene


class Valid(Checker):
    """Each reservation names an authority that holds on its day, UTC, by the newest reviewed estate that knows it or by
    one before, as each may hold.
    """

    name = "check_authority.Valid"
    hears = frozenset({EventType.FALLBACK_RESERVED})

    def __init__(self) -> None:
        self._told: set[str] = set()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """One reservation more; its day is the world's own, whatever the clock of its leader says."""
        if event.type is not EventType.FALLBACK_RESERVED or event.id in self._told:
            return
        self._told.add(event.id)
        today = dt.datetime.fromtimestamp(scene.now / 1000, tz=dt.UTC).date()
        who = str(event.data["authority"])
        entries = [r.estate.directory_by_id[who] for r in scene.reviewed if who in r.estate.directory_by_id]
        ends = [entry.valid_until for entry in entries]
        last = max((end for end in ends if end is not None), default=None)
        if ends and None not in ends and last is not None and today > last:
            yield f"money is reserved for {who} on {today}, whose authority ended on {last} ({event.id})"
