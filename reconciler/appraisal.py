"""Throwaway stand-in."""

from __future__ import annotations
from dataclasses import dataclass
from collections.abc import Mapping
from typing import TYPE_CHECKING
from reconciler.problem import Offers, Resources
from ledger.events import Event, EventType
from ledger.causes import Cause


@dataclass(frozen=True)
class Appraisal:
    offers: Mapping[str, Offers]
    room: Mapping[str, Resources]
    admitted: Mapping[str, int]
    move_cost_micro: Mapping[str, int]
    guaranteed_micro: Mapping[str, int]
    events: tuple[Event, ...]


class Appraiser:
    def __init__(self):
        self.known = {}

    def acquisition_failed(self, pool, workload, cause, now):
        pass

    def appraise(self, part, counted, seen, scribe):
        rates = seen.rates.rates
        g = seen.rates.guaranteed
        offers = {}
        gm = {}
        for c in part.contracts:
            rows = []
            for p in part.pools:
                u = part.eligible_units.get((c.name, p.name), 0)
                if u and p.name in rates:
                    r = g[p.name] if p.committed else rates[p.name]
                    rows.append((p.name, u, int(r * 1000000) // u))
                    if p.committed:
                        gm[c.name] = int(g[p.name] * 1000000) // u
            offers[c.name] = Offers(tuple(r[0] for r in rows), tuple(r[1] for r in rows), tuple(r[2] for r in rows))
        room = {f.domain: Resources(f.vcpu, f.memory >> 20, f.gpu, 1000000) for f in seen.forward.domains}
        ev = []
        for p in part.pools:
            k = (rates[p.name], seen.rates.effective_from[p.name])
            if self.known.get(p.name) != k:
                self.known[p.name] = k
                ev.append(
                    scribe.event(
                        EventType.RATE_KNOWN,
                        f"{p.name}/{k[1]}",
                        Cause.RATE_CHANGED,
                        at=k[1],
                        pool=p.name,
                        data={
                            "rate": str(rates[p.name]),
                            "guaranteed": str(g[p.name]),
                            "currency": "EUR",
                            "effective_from": k[1],
                        },
                    )
                )
        return Appraisal(offers, room, {}, {c.name: 100000 for c in part.contracts}, gm, tuple(ev))
