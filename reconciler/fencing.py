"""Whether a mark on a server shows that somebody led after us: the fence that no store can take down.

Called by `loop` with each look. A lease store may be lost or brought back from earlier days; what other leaders
created still carries their epoch, and the provider's stream tells of it when it is gone again. Pure.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import chain

from pools.provider import Listing, Mark, Signals


def outdone(
    listing: Listing | None,
    signals: Signals,
    *,
    owner: tuple[str, str, str],
    epoch: int,
    known: Container[str],
    begins: bool,
) -> int:
    """The highest epoch, from `epoch` on, on a mark of our partition (`owner`) that this replica (who knows the names
    in `known`) did not make; 0 where there is none. A term that is outdone has ended: the next exceeds what was seen.

    The stream tells again of what this term made and forgot: of its own epoch it counts while the term `begins`.
    """
    servers = listing.servers if listing is not None else ()
    marks = [server.mark for server in servers if server.mark is not None and server.id]
    told_from = epoch if begins else epoch + 1
    said = [one.mark for one in signals.lifecycle if one.mark is not None]
    return max(chain(_above(marks, owner, epoch, known), _above(said, owner, told_from, known)), default=0)


def _above(marks: list[Mark], owner: tuple[str, str, str], epoch: int, known: Container[str]) -> list[int]:
    """The epochs of those marks that another leader of this partition made, in `epoch` or later."""
    return [
        mark.epoch
        for mark in marks
        if mark.epoch >= epoch and (mark.epoch > epoch or mark.name not in known) and mark.owner == owner
    ]
