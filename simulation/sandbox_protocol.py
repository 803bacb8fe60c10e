"""What is said over a sandbox's socket: calls with their values, answers, and errors, as JSON lines of one version.

    {"id": 7, "call": "create", "with": [...]}
    {"id": 7, "now": 1793577600000, "answer": [...]}
    {"id": 7, "now": 1793577600000, "error": "transient", "says": "503 ...", "after": 5.0}

Client and server read each line by the same table; a line that is too long, no JSON, unknown, or carries one field more
or one type other than the seam's values have, is `Garbled`. Pure: bytes in, values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from contracts.errors import Breach, EbbtideError, Gone, Refused, Transient
from pools.provider import (
    Conflict,
    CreateRequest,
    ForwardCapacities,
    Listing,
    Mark,
    Quota,
    QuotaExhausted,
    RateCard,
    Server,
    Signals,
    VictimHint,
)
from reconciler.ports import SchedulerView

VERSION = 2
LONGEST_CALL = 2 * 2**20
"""Bytes of one call: a create carries at most 64 KiB of user data, hints go out in parts."""

LONGEST_ANSWER = 256 * 2**20
"""Bytes of one answer: a listing of a million servers stays below it."""

HINTS_IN_A_CALL = 5_000
_STRICT = ConfigDict(extra="forbid", strict=True, ser_json_bytes="base64", val_json_bytes="base64")


class Garbled(Exception):  # noqa: N818 - named for what was heard
    """A line that this version does not understand; whoever reads it closes the connection."""


@dataclass(frozen=True, slots=True)
class Hello:
    """How a server greets: what it hosts and how its time passes.

    `speed` is virtual milliseconds a millisecond: at `origin_monotonic` of this machine's monotonic clock it was
    `origin`. At speed 0 time passes by `wait` (`lockstep`) or only by `pass`.
    """

    version: int
    estate: str
    region: str
    commit: str
    speed: float
    lockstep: bool
    origin: int
    origin_monotonic: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it was read; `values` have the types that its table says."""

    id: int
    name: str
    values: tuple[object, ...]


Text = Annotated[str, Field(max_length=1024)]
_ASKED: Mapping[str, type] = {
    "hello": tuple[int, Text],
    "signals": tuple[Text],
    "rates": tuple[()],
    "forward_capacity": tuple[()],
    "instances": tuple[()],
    "create": tuple[CreateRequest],
    "delete": tuple[Text, Mark],
    "quota": tuple[()],
    "mark": tuple[Text, Mark | None],
    "publish_hints": tuple[Annotated[tuple[VictimHint, ...], Field(max_length=HINTS_IN_A_CALL)]],
    "view": tuple[()],
    "remove_node": tuple[Text],
    "ask_return": tuple[Text, int, Text],
    "clock": tuple[()],
    "wait": tuple[int],
    "pass": tuple[int],
}
_ANSWERED: Mapping[str, type] = {
    "hello": tuple[Hello],
    "signals": tuple[Signals],
    "rates": tuple[RateCard],
    "forward_capacity": tuple[ForwardCapacities],
    "instances": tuple[Listing],
    "create": tuple[Server],
    "quota": tuple[Quota],
    "view": tuple[SchedulerView],
    "clock": tuple[int],
    "wait": tuple[bool],
    "pass": tuple[int],
}
"""Calls that are absent here answer nothing."""

_ASKS: Mapping[str, TypeAdapter[tuple[object, ...]]] = {
    name: TypeAdapter(values, config=_STRICT) for name, values in _ASKED.items()
}
_ANSWERS: Mapping[str, TypeAdapter[tuple[object, ...]]] = {
    name: TypeAdapter(_ANSWERED.get(name, tuple[()]), config=_STRICT) for name in _ASKED
}

_KINDS: tuple[tuple[str, type[EbbtideError]], ...] = (
    ("quota_exhausted", QuotaExhausted),
    ("conflict", Conflict),
    ("transient", Transient),
    ("refused", Refused),
    ("gone", Gone),
    ("breach", Breach),
)
"""The most particular first: it is what an error is told as."""


def write_call(id_: int, name: str, values: tuple[object, ...]) -> bytes:
    """The line that asks. Raises `Refused` for one that no server would read."""
    said = _ASKS[name].dump_json(values)
    line = b'{"id":%d,"call":"%s","with":%s}\n' % (id_, name.encode(), said)
    if len(line) > LONGEST_CALL:
        raise Refused(f"{name} would take {len(line):,} bytes, and a call has at most {LONGEST_CALL:,}")
    return line


def read_call(line: bytes) -> Call:
    """What a line asks."""
    found = _object(line, LONGEST_CALL)
    id_, name = found.get("id"), found.get("call")
    if found.keys() != {"id", "call", "with"} or not isinstance(id_, int) or not isinstance(name, str):
        raise Garbled("a call has an id, a call and with, and nothing else")
    if name not in _ASKS:
        raise Garbled(f"there is no call {name[:40]!r}")
    return Call(id_, name, _values(_ASKS[name], found["with"], name))


def write_answer(call: Call, now: int, answer: object) -> bytes:
    """The line that answers at the sandbox's time; None where the call answers nothing."""
    values = (answer,) if call.name in _ANSWERED else ()
    return b'{"id":%d,"now":%d,"answer":%s}\n' % (call.id, now, _ANSWERS[call.name].dump_json(values))


def write_error(id_: int, now: int, error: EbbtideError) -> bytes:
    """The line that tells an error."""
    kind = next((kind for kind, type_ in _KINDS if isinstance(error, type_)), "breach")
    after = error.retry_after_s if isinstance(error, Transient) else None
    return to_json({"id": id_, "now": now, "error": kind, "says": str(error)[:1000], "after": after}) + b"\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back at the sandbox's time: a value, or an error to raise."""

    now: int
    value: object
    error: Exception | None = None


def read_answer(line: bytes, id_: int, name: str) -> Answer:
    """What a line answers to call `id_`."""
    found = _object(line, LONGEST_ANSWER)
    now = found.get("now")
    if found.get("id") != id_ or not isinstance(now, int):
        raise Garbled(str(found.get("says", "the answer is to another call")))
    if found.keys() == {"id", "now", "answer"}:
        values = _values(_ANSWERS[name], found["answer"], name)
        return Answer(now, values[0] if values else None)
    if found.keys() == {"id", "now", "error", "says", "after"}:
        return Answer(now, None, _error(found))
    raise Garbled("an answer has an id, a time and an answer, or an error with its words")


def _error(found: Mapping[str, object]) -> EbbtideError:
    kind, says, after = found["error"], found["says"], found["after"]
    type_ = dict(_KINDS).get(kind) if isinstance(kind, str) else None
    if type_ is None or not isinstance(says, str) or not (after is None or isinstance(after, int | float)):
        raise Garbled(f"there is no error {str(kind)[:40]!r}")
    return type_(says, retry_after_s=after) if issubclass(type_, Transient) else type_(says)


def _object(line: bytes, limit: int) -> dict[str, object]:
    if len(line) > limit:
        raise Garbled(f"a line has {len(line):,} bytes, and at most {limit:,} are read")
    try:
        found = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise Garbled(f"it is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Garbled("it is no object")
    return found


def _values(adapter: TypeAdapter[tuple[object, ...]], found: object, name: str) -> tuple[object, ...]:
    try:
        return adapter.validate_json(to_json(found))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise Garbled(f"{name}: {place}: {first['msg']}") from None
