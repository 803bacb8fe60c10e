"""Reading one part of a listing page by page, with the proof that it was read to its end.

Adapters call it with a function that fetches one page. It must not know any client; what it cannot prove complete it
says is incomplete, and what it saw until then it returns all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.errors import Transient
from pools.provider import Part, Server

ATTEMPTS = 3
"""Tries for one page: a cycle of seconds has no room for more, and the next cycle asks again."""

MOST_PAGES = 200
"""Pages of one part: 200,000 servers at 1,000 each, far over the 5,000 a partition may list."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows and the marker of the next page, "" at the end."""

    servers: tuple[Server, ...]
    next: str = ""


def read_part(
    name: str, fetch: Callable[[str], Page], *, attempts: int = ATTEMPTS, most_pages: int = MOST_PAGES
) -> tuple[tuple[Server, ...], Part]:
    """All rows of one part and whether that is all of it.

    A page is tried `attempts` times while it raises `Transient`. A server that appears twice, because the list moved
    between two pages, counts once with its later row; rows without an id are all kept. Raises whatever else `fetch`
    does.
    """
    rows: dict[str, Server] = {}
    nameless: list[Server] = []
    marker, seen = "", {""}
    for number in range(1, most_pages + 1):
        page = _fetch(fetch, marker, attempts)
        if isinstance(page, Transient):
            return _rows(rows, nameless), Part(name, complete=False, reason=f"page {number}: {page}")
        for row in page.servers:
            if row.id:
                rows[row.id] = row
            else:
                nameless.append(row)
        marker = page.next
        if not marker:
            return _rows(rows, nameless), Part(name, complete=True)
        if marker in seen:
            return _rows(rows, nameless), Part(name, complete=False, reason=f"page {number} leads back to {marker!r}")
        seen.add(marker)
    return _rows(rows, nameless), Part(name, complete=False, reason=f"more than {most_pages} pages")


def _fetch(fetch: Callable[[str], Page], marker: str, attempts: int) -> Page | Transient:
    """The page, or the last reason why there is none."""
    last = Transient("never tried")
    for _ in range(attempts):
        try:
            return fetch(marker)
        except Transient as error:
            last = error
    return last


def _rows(rows: dict[str, Server], nameless: list[Server]) -> tuple[Server, ...]:
    return (*rows.values(), *nameless)
