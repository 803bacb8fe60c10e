"""How one scalar is written: without quotes where every reader takes the text for the same text, else in double quotes.

The formatter calls it; what it writes is read back by the strict reader. Pure. It must not know lines or fields.
"""

from __future__ import annotations

import re

from repo_layout.plain_scalars import resolve

_NEVER_FIRST = frozenset("-?:,[]{}#&*!|>'\"%@`")
_NOT_IN_FLOW = frozenset(",[]{}")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_MEASURE = re.compile(r"[0-9][^ ]* ", re.ASCII)
"""Money and times of day: a number, then words. They are quoted, so that nobody takes the number for the value."""


def text_of(value: str, *, as_key: bool = False, in_flow: bool = False) -> str:
    """The text as YAML writes it in one line; braces, brackets and commas need quotes inside a flow collection only."""
    if _plain(value) and (as_key or not _MEASURE.match(value)) and not (in_flow and _NOT_IN_FLOW & set(value)):
        return value
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def _plain(value: str) -> bool:
    return (
        bool(value)
        and value == value.strip(" ")
        and value[0] not in _NEVER_FIRST
        and ": " not in value
        and " #" not in value
        and not value.endswith(":")
        and value.isprintable()
        and resolve(value) == value
        and value not in ("---", "...")
    )


def below(value: str, *, indent: str, width: int) -> list[str] | None:
    """A long or many-lined text as the header behind its key and the lines below; None where no form keeps it exact.

    One paragraph is folded (`>`), several lines stand as they are (`|`); a text that ends without a line end says so.
    """
    body = value.removesuffix("\n")
    lines = body.split("\n")
    shown = all(line.replace("\t", " ").isprintable() for line in lines)
    if not shown or not lines[0].strip() or lines[0][0] in " \t" or not lines[-1].strip():
        return None
    keeps = "" if value != body else "-"
    if len(lines) > 1 or len(indent) + len(body) <= width:
        return [f"|{keeps}", *(indent + line if line else "" for line in lines)]
    if "  " in body or "\t" in body or body.endswith(" "):
        return None
    return [f">{keeps}", *_wrapped(body.split(" "), indent, width)]


def _wrapped(words: list[str], indent: str, width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in words:
        if line and len(indent) + len(line) + 1 + len(word) > width:
            lines.append(indent + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, indent + line]
