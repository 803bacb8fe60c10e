"""What a mutation is: exact text of the product, what stands there instead, and the checker that has to see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """In `file`, `old` becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """`checker` is expected to complain within `seeds` histories of `days` days with `faults`, out of those whose seed
    draws each kind that it `needs`; `A@B` is an A that begins while a B is on. They are
    histories of the small region, or of a whole `region` of the reference estate.
    """

    name: str
    promise: str
    checker: str
    edits: tuple[Edit, ...]
    faults: str = "all"
    needs: str = ""
    days: float = 0.5
    seeds: int = 40
    region: str = ""
