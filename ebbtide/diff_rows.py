"""Sections and rows: the form in which the effects of a change are told before any output writes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ebbtide.text import listed

MOST_NAMES = 4
"""Names that are written out in a row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One effect: `+` comes, `-` goes, `~` changes, `!` needs a look; what it is about, both values, what it means."""

    sign: str
    about: str = ""
    value: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a title; `note` says where it stands."""

    sign: str
    title: str
    note: str
    rows: tuple[Row, ...]


def first(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    return listed(names, most=MOST_NAMES)
