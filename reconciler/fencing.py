"""Whether a mark on a server shows that somebody led after us: the fence that no store can take down.

Called by `loop` with each listing. A lease store may be lost or brought back from earlier days; what other leaders
created still carries their epoch. Pure.
"""

from __future__ import annotations

from collections.abc import Container

from pools.provider import Listing


def outdone(listing: Listing | None, *, owner: tuple[str, str, str], epoch: int, known: Container[str]) -> int:
    """The highest epoch, from `epoch` on, on a mark of our partition (`owner`) that this replica (who knows the names
    in `known`) did not make; 0 where there is none. A term that is outdone has ended: the next exceeds what was seen.
    """
    servers = listing.servers if listing is not None else ()
    return max(
        (
            server.mark.epoch
            for server in servers
            if server.id
            and server.mark is not None
            and server.mark.epoch >= epoch
            and server.mark.owner == owner
            and (server.mark.epoch > epoch or server.mark.name not in known)
        ),
        default=0,
    )
