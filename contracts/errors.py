"""Errors grouped by what the caller must do about them.

Every package raises these; no client library's exception leaves an adapter. Which group an error falls into is decided
where the cause is known, never guessed by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass


class EbbtideError(Exception):
    """Root of all errors that Ebbtide raises on purpose."""


class Refused(EbbtideError):  # noqa: N818 - named for what the caller must do
    """A person has to change a file, a limit or a permission; trying again changes nothing."""


class Transient(EbbtideError):  # noqa: N818 - the same
    """The same call may succeed later; `retry_after_s` says when, where the other side told us."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Gone(EbbtideError):  # noqa: N818 - the same
    """What was to be removed is not there: the caller counts it as success. Unknown is never gone."""


class Breach(EbbtideError):  # noqa: N818 - the same
    """An invariant of the design was found broken: hold still and call a person."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a reviewed file something stands; `line` and `column` count from 1, 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`file:line:column`, as editors and code hosts understand it."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file
