"""Small pieces of HTML: sections, tables, pictures with their tables, details. All words are escaped here.

Pure; called by the `report` modules only. A cell that is `Markup` is HTML already, everything else is text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

WIDE, NARROW_WIDTH = 960, 344
"""The two widths that each picture is drawn at; the stylesheet shows the one that fits."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def words(value: str) -> Markup:
    """Text as HTML, escaped unless it is markup."""
    return value if isinstance(value, Markup) else Markup(escape(value))


def join(parts: Iterable[str]) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(words(part) for part in parts))


def tag(name: str, *inner: str, kind: str = "", ident: str = "") -> Markup:
    """An element around its parts."""
    marks = (f' id="{escape(ident)}"' if ident else "") + (f' class="{escape(kind)}"' if kind else "")
    return Markup(f"<{name}{marks}>{join(inner)}</{name}>")


def link(target: str, label: str) -> Markup:
    """A link to a place on this page."""
    return Markup(f'<a href="#{escape(target)}">{words(label)}</a>')


def command(line: str) -> Markup:
    """A command that a person can copy."""
    return tag("code", line)


def section(ident: str, title: str, lead: str, *parts: str) -> Markup:
    """A part of the report with its heading and the sentence that says what it shows."""
    return tag("section", tag("h2", title), tag("p", lead, kind="lead"), *parts, ident=ident)


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, columns: str, foot: int = 0, kind: str = ""
) -> Markup:
    """A table; `columns` holds `l` for words and `r` for numbers, `foot` counts the last rows that are sums."""
    body = [list(row) for row in rows]
    kinds = ["num" if column == "r" else "" for column in columns]
    top = tag("tr", *(Markup(f'<th scope="col" class="{k}">{words(c)}</th>') for k, c in zip(kinds, head, strict=True)))
    lines = []
    for number, row in enumerate(body):
        cells = [tag("td", cell, kind=kind) for kind, cell in zip(kinds, row, strict=True)]
        cells[0] = Markup(f'<th scope="row" class="{kinds[0]}">{words(row[0])}</th>')
        lines.append(tag("tr", *cells, kind="total" if number >= len(body) - foot else ""))
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *lines), kind=kind)
    return Markup(f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(caption)}">{whole}</div>')


def details(summary: str, *inner: str, ident: str = "") -> Markup:
    """A part that opens on request."""
    return tag("details", tag("summary", summary), *inner, ident=ident)


def picture(ident: str, draw: Callable[..., str], caption: str, *beside: str) -> Markup:
    """A picture at both widths with its caption; `draw` takes `width` and `name`."""
    wide = tag("div", Markup(draw(width=WIDE, name=f"{ident}-wide")), kind="wide")
    narrow = tag("div", Markup(draw(width=NARROW_WIDTH, name=f"{ident}-narrow")), kind="narrow")
    return tag("figure", wide, narrow, tag("figcaption", caption), *beside, ident=ident)


def page(*, title: str, style: str, body: str) -> str:
    """The whole document: one file, no script, nothing fetched."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{words(title)}</title>'
        f"<style>{style}</style></head><body><main>{words(body)}</main></body></html>\n"
    )
