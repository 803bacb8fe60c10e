"""Whether a mark on a server shows that somebody led after us: the fence that no store can take down.

Called by `loop` with each look. A lease store may be lost or brought back from earlier days; what other leaders
created still carries their epoch, and the provider's stream tells of it when it is gone again. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import chain

from pools.provider import Mark
from reconciler.cycle import Seen

NO_MARK = (0, 0)
"""No mark is above."""


@dataclass(frozen=True, slots=True)
class Later:
    """An epoch under which others led, and when its oldest mark in sight was made: who led since need not have left
    one. `at` (ms) is the provider's time, less what our clock is behind the provider's.
    """

    epoch: int
    at: int


def outdone(
    seen: Seen, *, owner: tuple[str, str, str], epoch: int, known: Container[str], begins: bool
) -> Later | None:
    """The highest epoch, from `epoch` on, on a mark of our partition (`owner`) that this replica (who knows the names
    in `known`) did not make; None where there is none. A term that is outdone has ended: the next exceeds what was
    seen, and what there was time for since.

    The stream tells again of what this term made and forgot: of its own epoch it counts while the term `begins`.
    """
    servers = seen.listing.servers if seen.listing is not None else ()
    told_from = epoch if begins else epoch + 1
    listed = _above(((row.mark, row.created_at) for row in servers if row.id), owner, epoch, known)
    told = _above(((said.mark, said.at) for said in seen.signals.lifecycle), owner, told_from, known)
    above, oldest = max(chain(listed, told), default=NO_MARK)
    if not above:
        return None
    newest = max(seen.signals.as_of, seen.listing.as_of if seen.listing is not None else 0)
    return Later(above, -oldest - max(0, newest - seen.now))


def _above(
    marks: Iterable[tuple[Mark | None, int]], owner: tuple[str, str, str], epoch: int, known: Container[str]
) -> list[tuple[int, int]]:
    """The epochs of those marks that another leader of this partition made in `epoch` or later, each with when it was
    made, negative so that the oldest is the largest. A server that was there at a time was made under its mark, or
    marked since.
    """
    return [
        (mark.epoch, -(mark.since or at))
        for mark, at in marks
        if mark is not None
        and mark.epoch >= epoch
        and (mark.epoch > epoch or mark.name not in known)
        and mark.owner == owner
    ]
