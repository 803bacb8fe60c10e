"""Which unquoted YAML scalars mean the same to every reader, and what to write instead of the others.

`strict_yaml` calls it for each plain scalar. Where YAML 1.1, YAML 1.2 or a common tool would turn the text into
different values, the text is refused. It must not know where the scalar stands or what its field takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Fifteen digits survive a binary double and every JSON reader unchanged (IEEE 754: DBL_DIG).
MAX_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Why a plain scalar is refused: the rule's code and what was expected."""

    code: str
    expected: str


def _words(text: str) -> frozenset[str]:
    """YAML 1.1 takes each word in three spellings."""
    return frozenset(form for word in text.split() for form in (word, word.capitalize(), word.upper()))


_BOOLS = {"true": True, "false": False}
_BOOL_WORDS = _words("yes no on off y n true false") - _BOOLS.keys()
_NULL_WORDS = _words("null") | {"", "~"}
_INT = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+", re.ASCII)
_REFUSED = (
    (r"[-+]?0[0-9_]+", "a whole number without leading zeros, or text in quotes"),
    (r"[-+]?0[xXoObB][0-9a-fA-F_]+", "a whole number in decimal digits, or text in quotes"),
    (
        r"[-+]?[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?",
        'a duration such as 90s, a time of day such as "22:22 Europe/Berlin", or text in quotes',
    ),
    (
        r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)[eE][-+]?[0-9]+",
        "a number without an exponent, or text in quotes",
    ),
    (r"[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)", "a finite number"),
    (r"[-+]?[0-9.]*_[0-9_.]*", "a number without underscores, or text in quotes"),
    (r"-0|\+[0-9.]+", "a number without this sign, or text in quotes"),
    (r"[-+]?\.[0-9]+|[-+]?[0-9]+\.", "a decimal with digits on both sides of the point, or text in quotes"),
    (r"[-+]?0[0-9]+\.[0-9]+", "a decimal without leading zeros, or text in quotes"),
    (r"=|<<", "text in quotes"),
)
_OPENING = frozenset("0123456789-+._=<")
"""What every number and every pattern above starts with; text that starts otherwise is text, which is most of it."""

_REFUSED_PATTERNS = tuple((re.compile(pattern, re.ASCII), expected) for pattern, expected in _REFUSED)


def resolve(text: str) -> str | int | float | bool | Ambiguous:
    """The value of a plain scalar: true or false, a whole number, a decimal, text; or why it is refused."""
    if text in _BOOLS:
        return _BOOLS[text]
    if text in _BOOL_WORDS:
        return Ambiguous("EBT-116", "true or false, or text in quotes")
    if text in _NULL_WORDS:
        return Ambiguous("EBT-117", "a value, or no key at all")
    if text[0] not in _OPENING:
        return text
    if _INT.fullmatch(text) or _DECIMAL.fullmatch(text):
        if sum(char.isdigit() for char in text) > MAX_DIGITS:
            return Ambiguous("EBT-116", f"a number of at most {MAX_DIGITS} digits, or text in quotes")
        return float(text) if "." in text else int(text)
    for pattern, expected in _REFUSED_PATTERNS:
        if pattern.fullmatch(text):
            return Ambiguous("EBT-116", expected)
    return text


def refused_as_key(text: str) -> Ambiguous | None:
    """Why a plain key is refused: keys are text to every reader, so true, 5 and 1.5 need quotes as well."""
    value = resolve(text)
    if isinstance(value, Ambiguous):
        return Ambiguous("EBT-116", "a key in quotes")
    return None if isinstance(value, str) else Ambiguous("EBT-111", "a key in quotes")
