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
    listed = (_above(server.mark, owner, epoch, known) for server in servers if server.id)
    told_from = epoch if begins else epoch + 1
    told = (_above(said.mark, owner, told_from, known) for said in signals.lifecycle)
    return max(chain(listed, told), default=0)


def _above(mark: Mark | None, owner: tuple[str, str, str], epoch: int, known: Container[str]) -> int:
    """The mark's epoch where another leader of this partition made it, in `epoch` or later; else 0."""
    if mark is None or mark.epoch < epoch or (mark.epoch == epoch and mark.name in known):
        return 0
    return mark.epoch if mark.owner == owner else 0
