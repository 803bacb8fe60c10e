"""An expected end that a person can act on: what is wrong, and what to do next.

Commands raise it where they know the next step; `ebbtide.__main__` prints it as two lines and no traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from contracts.errors import Breach, EbbtideError, Refused, Transient


class Advice(Refused):
    """What cannot be done, and `hint`: the next thing to type or to look at."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def hint_for(error: EbbtideError, command: str) -> str:
    """The next step after an error that does not name one itself."""
    if isinstance(error, Advice):
        return error.hint
    if isinstance(error, Transient):
        after = f" in {error.retry_after_s:g} s" if error.retry_after_s else ""
        return f"nothing was changed; try again{after}"
    if isinstance(error, Breach):
        return "something that must never happen did: keep the files as they are and report it"
    return f"nothing was changed; ebbtide {command} --help says what it takes"


def unknown(kind: str, name: str, known: Iterable[str], *, lists: str) -> Advice:
    """There is no such name: the nearest ones, or the command that lists them all."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if not near:
        near = [other for other in names if name and name in other][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else lists
    return Advice(f"there is no {kind} {name!r}" + ("" if names else f", and no {kind} at all"), hint=hint)
