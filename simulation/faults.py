"""What can go wrong in a simulated region: a seed draws a list of faults, and any part of that list is a history too.

Drawn before time begins, one stream for each kind, so that leaving one out changes no other. A kind is named as
`--faults` takes it; `KIND#3` is the third of its kind in a seed's list, so that a shrunk list can be typed again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong in [at, until): `number` counts its kind from 1, `target` and `size` say where and how
    much, in the words of its kind.
    """

    kind: str
    number: int
    at: int
    until: int
    target: str = ""
    size: int = 0

    @property
    def name(self) -> str:
        """As `--faults` takes it."""
        return f"{self.kind}#{self.number}"
