"""Whether a mark on a server shows that somebody led after us: the fence that no store can take down.

Called by `loop` with each look. A lease store may be lost or brought back from earlier days; what other leaders
created still carries their epoch, and the provider's stream tells of it when it is gone again. Pure.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from itertools import chain

from pools.provider import Mark
from reconciler.cycle import Seen

NO_MARK = (0, 0)
"""What `_above` says of a mark that is no sign."""


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
    listed = (_above(row.mark, owner, epoch, known, row.created_at) for row in servers if row.id)
    told = (_above(said.mark, owner, told_from, known, said.at) for said in seen.signals.lifecycle)
    above, oldest = max(chain(listed, told), default=NO_MARK)
    if not above:
        return None
    newest = max(seen.signals.as_of, seen.listing.as_of if seen.listing is not None else 0)
    return Later(above, -oldest - max(0, newest - seen.now))


def _above(
    mark: Mark | None, owner: tuple[str, str, str], epoch: int, known: Container[str], at: int
) -> tuple[int, int]:
    """The mark's epoch, and when it was made, negative so that the oldest is the largest, where another leader of this
    partition made it in `epoch` or later. A server that was there `at` a time was made under its mark, or marked since.
    """
    if mark is None or mark.epoch < epoch or (mark.epoch == epoch and mark.name in known):
        return NO_MARK
    return (mark.epoch, -(mark.since or at)) if mark.owner == owner else NO_MARK
