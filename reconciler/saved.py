"""What a reconciler's journal holds, and its text: memory, lessons, steps about to go out, events about to be told.

Pure; used by `logbook`. A snapshot and its intents, written whole each time (ADR 0019). The text begins with a line
that names format, version and checksum, so that a file that is torn, damaged or of another version is refused and never
read as an empty disk. `placement` is left out of the memory: it only spares planning the same problem twice, and an
equal problem has an equal plan.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace

from contracts.errors import Refused
from ledger.events import Event
from reconciler.cycle import Memory
from reconciler.fleet import Fleet, Instance
from reconciler.lessons import Lessons
from reconciler.plain import Member, Plain, form_of, members, record, to_text
from reconciler.steps import Step

FORMAT = "ebbtide-saved"
VERSION = 1
REMEDY = (
    "restore the file, or move it away: the reconciler then starts as on an empty disk, "
    "and docs/state.md says what is lost with it"
)


@dataclass(frozen=True, slots=True)
class Saved:
    """One entry of the journal, which replaces the one before.

    Written `at` this time under `commit`, when the spool stood at `position`: `events` are in it only if it has grown
    since. `intents` may or may not have been carried out. `lineage` names the memory among those of other replicas.
    """

    at: int = 0
    commit: str = ""
    position: int = 0
    lineage: str = ""
    memory: Memory = field(default_factory=Memory)
    lessons: Lessons = field(default_factory=Lessons)
    intents: tuple[Step, ...] = ()
    events: tuple[Event, ...] = ()


_OUTER = members(Saved, without=frozenset({"memory", "lessons"}))
_LESSONS = members(Lessons)
_MEMORY = members(Memory, without=frozenset({"fleet", "placement"}))
_FLEET = members(Fleet, without=frozenset({"instances"}))
_INSTANCE = form_of(Instance)
_READ_MEMORY = record(Memory, without=frozenset({"fleet", "placement"}))
_READ_FLEET = record(Fleet, without=frozenset({"instances"}))
_READ_OUTER = record(Saved, without=frozenset({"memory", "lessons"}))
_READ_LESSONS = form_of(Lessons)


class Writer:
    """Writes one entry after the other: what did not change since the last one is not put into words again.

    The bytes depend on the entry alone, never on what was written before.
    """

    def __init__(self) -> None:
        self._instances: dict[str, tuple[Instance, str]] = {}
        self._values: dict[str, tuple[object, str]] = {}

    def encode(self, saved: Saved) -> bytes:
        """The entry's bytes; instances keep their order, which is part of what the next cycle decides by."""
        fleet = saved.memory.fleet
        body = "".join(
            (
                '{"saved":',
                self._object("saved", _OUTER, saved),
                ',"lessons":',
                self._object("lessons", _LESSONS, saved.lessons),
                ',"memory":',
                self._object("memory", _MEMORY, saved.memory),
                ',"fleet":',
                self._object("fleet", _FLEET, fleet),
                ',"instances":[',
                ",\n".join(self._listed(fleet)),
                "]}\n",
            )
        ).encode("ascii")
        return b"%s %d %s\n%s" % (FORMAT.encode(), VERSION, _digest(body), body)

    def _object(self, where: str, parts: tuple[Member, ...], value: object) -> str:
        said = []
        for part in parts:
            held = getattr(value, part.name)
            if part.needed or (held is not part.default and held != part.default):
                said.append(f'"{part.name}":{self._text(f"{where}.{part.name}", part, held)}')
        return "{" + ",\n".join(said) + "}"

    def _text(self, where: str, part: Member, held: object) -> str:
        last = self._values.get(where)
        if last is None or last[0] is not held:
            last = self._values[where] = (held, to_text(part.form.dump(held)))
        return last[1]

    def _listed(self, fleet: Fleet) -> list[str]:
        before, kept = self._instances, {}
        for name, instance in fleet.instances.items():
            entry = before.get(name)
            if entry is None or entry[0] is not instance:
                entry = (instance, to_text(_INSTANCE.dump(instance)))
            kept[name] = entry
        self._instances = kept
        return [text for _, text in kept.values()]


def encode(saved: Saved) -> bytes:
    """The bytes of one entry on its own."""
    return Writer().encode(saved)


def decode(content: bytes) -> Saved:
    """The entry behind some bytes. Raises `Refused`, with what to do, for anything that no writer of ours left."""
    head, _, body = content.partition(b"\n")
    words = head.split(b" ")
    if len(words) != 3 or words[0] != FORMAT.encode():
        raise Refused(f"the journal is damaged: its first line is {head[:40]!r}; {REMEDY}")
    if words[1] != b"%d" % VERSION:
        raise Refused(f"the journal has version {words[1][:10]!r}, this release reads {VERSION}; {REMEDY}")
    if words[2] != _digest(body):
        raise Refused(f"the journal is damaged: {len(body)} bytes do not have their checksum; {REMEDY}")
    try:
        document = json.loads(body)
        return _saved(document)
    except (Refused, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Refused(f"the journal cannot be read: {error}; {REMEDY}") from None


def _saved(document: Plain) -> Saved:
    if type(document) is not dict or document.keys() != {"saved", "lessons", "memory", "fleet", "instances"}:
        raise Refused("it has other parts than a journal")
    rows = document["instances"]
    if type(rows) is not list:
        raise Refused("its instances are no list")
    instances: dict[str, Instance] = {}
    for row in rows:
        instance = _INSTANCE.load(row)
        if not isinstance(instance, Instance) or instance.name in instances:
            raise Refused("two of its instances have one name")
        instances[instance.name] = instance
    outer, lessons = _READ_OUTER.load(document["saved"]), _READ_LESSONS.load(document["lessons"])
    memory, fleet = _READ_MEMORY.load(document["memory"]), _READ_FLEET.load(document["fleet"])
    if not (isinstance(outer, Saved) and isinstance(lessons, Lessons)):
        raise TypeError("a form read another type than its own")
    if not (isinstance(memory, Memory) and isinstance(fleet, Fleet)):
        raise TypeError("a form read another type than its own")
    return replace(outer, lessons=lessons, memory=replace(memory, fleet=replace(fleet, instances=instances)))


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode("ascii")
