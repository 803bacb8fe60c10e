"""The page of each finding code, as `docs/refusals.md` has it: title, what it means and what to do.

Formats that carry their rules with them ask for it. The document is the one source; it ships as data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_HEADING = re.compile(r"^(#{2,3}) (?:(EBT-\d{3}): )?(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """A code's title, its text in Markdown, and the chapter it stands in."""

    title: str
    text: str
    chapter: str


@cache
def pages() -> Mapping[str, Page]:
    """Every page by its code, in the order of codes."""
    document = files("ebbtide").joinpath("data", "refusals.md").read_text(encoding="utf-8")
    return MappingProxyType(dict(sorted(read(document).items())))


def read(document: str) -> dict[str, Page]:
    """The pages of a document: below a chapter (`## ...`), `### CODE: title` and paragraphs."""
    found: dict[str, Page] = {}
    chapter = ""
    headings = list(_HEADING.finditer(document))
    ends = [heading.start() for heading in headings[1:]] + [len(document)]
    for heading, end in zip(headings, ends, strict=True):
        level, code, title = heading.groups()
        if level == "##":
            chapter = title
        elif code:
            found[code] = Page(title, document[heading.end() : end].strip(), chapter)
    return found
