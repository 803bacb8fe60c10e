"""Bytes of one reviewed file to the text that a person sees: UTF-8, LF, spaces, nothing hidden; or findings.

`strict_yaml` calls it before any parsing, so that lines and columns mean what an editor shows. It must not know YAML
beyond the rule that tabs do not indent.
"""

from __future__ import annotations

import re
import unicodedata

from contracts.errors import Place
from contracts.findings import Finding

MAX_BYTES = 64 * 1024  # a reviewer reads the file; 64 KiB is some 2,000 lines
_BOMS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TAB_INDENT = re.compile(r"^ *\t", re.MULTILINE)


def decode(file: str, content: bytes) -> tuple[str | None, list[Finding]]:
    """The text to parse, with LF only, or None where going on would only repeat the finding."""
    if len(content) > MAX_BYTES:
        return None, [
            Finding(
                "EBT-101",
                Place(file),
                f"the file has {len(content)} bytes, more than {MAX_BYTES}",
                expected=f"at most {MAX_BYTES} bytes",
                hint="split it, or keep data files elsewhere",
            )
        ]
    for bom, encoding in _BOMS.items():
        if content.startswith(bom):
            message = f"the file starts with a byte order mark ({encoding})"
            return None, [Finding("EBT-103", Place(file, 1, 1), message, expected="UTF-8 without a byte order mark")]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, [_not_utf8(file, content, error)]
    if control := _CONTROL.search(text):
        what = "binary data" if control[0] == "\0" else "a control character"
        return None, [_odd_character(file, text, control.start(), what)]
    findings = _carriage_returns(file, content)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    odd = () if text.isascii() else enumerate(text)
    hidden = next((at for at, char in odd if not char.isascii() and _invisible(char)), None)
    if hidden is not None:
        return None, [*findings, _odd_character(file, text, hidden, "a character that cannot be seen")]
    if tab := _TAB_INDENT.search(text):
        place = _place(file, text, tab.end() - 1)
        return None, [*findings, Finding("EBT-105", place, "a tab indents this line", "\\t", "spaces")]
    return text, findings


def _not_utf8(file: str, content: bytes, error: UnicodeDecodeError) -> Finding:
    line = content.count(b"\n", 0, error.start) + 1
    column = error.start - content.rfind(b"\n", 0, error.start)
    message = f"byte {error.start + 1} of the file is not UTF-8"
    return Finding("EBT-102", Place(file, line, column), message, f"0x{content[error.start]:02x}", "UTF-8 text")


def _carriage_returns(file: str, content: bytes) -> list[Finding]:
    at = content.find(b"\r")
    if at < 0:
        return []
    line = content.count(b"\n", 0, at) + 1
    column = len(content[content.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "replace")) + 1
    count = content.count(b"\r")
    message = f"{count} lines end in CR or CRLF, the first one here"
    return [Finding("EBT-104", Place(file, line, column), message, "\\r", "LF", "save it with Unix line ends")]


def _invisible(char: str) -> bool:
    """Format characters, foreign line ends and white space other than the space; no reviewer sees them."""
    return unicodedata.category(char) in {"Cc", "Cf", "Co", "Cn", "Zl", "Zp", "Zs"}


def _odd_character(file: str, text: str, at: int, what: str) -> Finding:
    name = unicodedata.name(text[at], "without a name")
    seen = f"U+{ord(text[at]):04X} {name}"
    return Finding("EBT-106", _place(file, text, at), f"the file holds {what}, {seen}", seen, "printable text")


def _place(file: str, text: str, at: int) -> Place:
    return Place(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
