"""How the slots of one instance are laid out, so that usage covers each paid millisecond exactly once.

Whoever records usage (the reconciler's shell, the simulated world) calls `slots`; the ledger's arithmetic relies on
the numbering: slot `s` of `k` is charged `floor(rate * (s + 1) / k) - floor(rate * s / k)` nanos an hour, so that
the slots of an instance add up to its rate to the last nano whatever `k` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.errors import Breach
from ledger.events import Datum, Paid, Use


@dataclass(frozen=True, slots=True)
class Slots:
    """A run of neighbouring slots of one instance in the same state."""

    slot: int
    units: int
    use: Use

    def data(self, *, of_units: int, paid: Paid, from_ms: int, to_ms: int) -> dict[str, Datum]:
        """The data of the `usage.recorded` event for this run."""
        return {
            "from_ms": from_ms,
            "to_ms": to_ms,
            "slot": self.slot,
            "units": self.units,
            "of_units": of_units,
            "use": self.use.value,
            "paid": paid.value,
        }


def slots(of_units: int, used: Sequence[tuple[Use, int]]) -> tuple[Slots, ...]:
    """The slots of an instance of `of_units`, in the order given, the rest idle; raises `Breach` for more than fit."""
    runs = []
    at = 0
    for use, units in used:
        if units < 0:
            raise Breach(f"{units} units cannot be {use.value}")
        if units:
            runs.append(Slots(slot=at, units=units, use=use))
            at += units
    if at > of_units:
        raise Breach(f"{at} units used of an instance that holds {of_units}")
    if at < of_units:
        runs.append(Slots(slot=at, units=of_units - at, use=Use.IDLE))
    return tuple(runs)
