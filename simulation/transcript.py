"""The story of one history, for a person who has been woken by it: what broke, and how it came to that.

Pure: a history in, lines of text out. What the broken promise speaks of (instances first, else workloads, pools and
replicas) is followed through the whole story and marked; everything else is told in full only shortly before the
breach, and summed up by the hour before that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from simulation.check_reading import Broken
from simulation.chronicle import Chronicle
from simulation.hunt import DAY_MS, History
from simulation.transcript_lines import DOES, Line, Weight, hhmm, lines_of, told_fault

NEAR_MS = 45 * 60_000
"""Told in full before the breach: nine cycles, the longest notice and its drain."""

AFTER_MS = 10 * 60_000
"""Told after it: two cycles, in which one sees whether it heals."""

HOUR_MS = 3_600_000
TOGETHER_MS = 2_000
"""What one replica does in one cycle is one line."""

NAMED = 4
"""Names of a folded line."""

MOST_BROKEN = 12
"""Sentences in the head; more of them say the same."""

WHO = 10


def transcript(history: History, *, first: Broken | None = None) -> list[str]:
    """The whole story; of a history in which nothing broke, its end in full. It is told about `first` where that is
    among what broke, else about what broke first.
    """
    broken = sorted(history.broken, key=lambda one: (one != first, one.at, one.checker))
    chronicle = history.chronicle
    pivot = broken[0].at if broken else chronicle.end
    lines = lines_of(chronicle)
    subjects = subjects_of(broken[:1], lines)
    told = [line for line in lines if line.at <= pivot + AFTER_MS or (line.weight is Weight.TURN and line.at <= pivot)]
    return [
        *_head(history, broken),
        "",
        *_cast(chronicle, history.began, pivot),
        "",
        f"the story; '>' marks {_listed(_shown(subjects))}" if subjects else "the story",
        *_story(told, broken, subjects, began=history.began, pivot=pivot),
        *_tail(chronicle, history.began, pivot, bool(broken)),
    ]


def _head(history: History, broken: Sequence[Broken]) -> list[str]:
    question = history.question
    where = f"region {question.region}" if question.region else f"a {question.size} region"
    faults = len(history.chronicle.faults)
    head = [
        f"seed {question.seed}: {question.days:g} days of {where}, {faults} fault{'' if faults == 1 else 's'}",
        f"repeat  {question.command}",
    ]
    if not broken:
        return [*head, "broken  nothing"]
    for one in broken[:MOST_BROKEN]:
        head += [f"broken  {one.checker}, {moment(one.at, history.began)}", f"        {one.sentence}"]
    more = len(broken) - MOST_BROKEN
    return [*head, f"        and {more} sentences more"] if more > 0 else head


def _cast(chronicle: Chronicle, began: int, pivot: int) -> list[str]:
    begun = [fault for fault in chronicle.faults if fault.at <= pivot]
    later = len(chronicle.faults) - len(begun)
    if not chronicle.faults:
        return ["faults  none"]
    width = max((len(fault.name) for fault in begun), default=0)
    return [
        "faults that had begun",
        *(
            f"  {fault.name:{width}}  {moment(fault.at, began)} to {moment(fault.until, began)}{told_fault(fault)}"
            for fault in begun
        ),
        *([f"  and {later} later"] if later else []),
    ]


def _shown(subjects: frozenset[str]) -> list[str]:
    """Names that a person knows: ids of events are followed too, and say nothing."""
    return sorted(name for name in subjects if "/" not in name)


def moment(at: int, began: int) -> str:
    """The day of the history, from 1, and the time of day."""
    return f"day {(at // DAY_MS) - (began // DAY_MS) + 1} {hhmm(at)}"


def subjects_of(broken: Iterable[Broken], lines: Iterable[Line]) -> frozenset[str]:
    """What the sentences speak of: instances and servers they name; else workloads, pools, replicas."""
    words = {word for one in broken for word in re.findall(r"[\w.#/-]*\w", one.sentence)}
    every = list(lines)
    known = {name for line in every for name in line.about}
    named = words & known
    own = {name for line in every if line.thing for name in line.about if line.thing.split()[0] == name}
    acted = named & (own | {name for name in named if re.search(r"\d{3}", name)})
    chosen = acted or named
    beside = {  # the server of an instance, and the other way round
        name
        for line in every
        if line.verb.startswith(("ends", "gives notice", *DOES.values())) and line.about & chosen & own
        for name in line.about
        if re.search(r"\d{3}", name)
    }
    return frozenset(chosen | (beside if acted else set())) - {""}


def _story(
    lines: Sequence[Line], broken: Sequence[Broken], subjects: frozenset[str], *, began: int, pivot: int
) -> Iterator[str]:
    """The lines of the story by time, with what broke where it broke."""
    breaches = [
        Line(one.at, "BROKEN", f"{one.checker}: {one.sentence}", about=subjects if one is broken[0] else frozenset(),
             weight=Weight.TURN, order=9)
        for one in broken
    ]  # fmt: skip
    near = pivot - NEAR_MS
    kept: list[Line] = []
    summed: list[Line] = []
    for line in lines:
        important = line.weight is Weight.TURN or line.about & subjects
        (kept if important or line.at >= near else summed).append(line)
    shown = [one for one in breaches if one.at <= pivot + AFTER_MS][:MOST_BROKEN]
    everything = sorted([*kept, *_by_hour(summed), *shown], key=lambda line: (line.at, line.order))
    day = -1
    last = ""
    for line in _folded(everything, subjects):
        if line.at // DAY_MS != day:
            day = line.at // DAY_MS
            yield f"  day {day - began // DAY_MS + 1}"
        sign = ">" if line.about & subjects else " "
        at = hhmm(line.at) + f".{line.at % 1000:03d}"
        yield f"{sign} {at if at != last else ' ' * len(at)}  {line.who:{WHO}}  {line.text}"
        last = at


def _folded(lines: Sequence[Line], subjects: frozenset[str]) -> Iterator[Line]:
    """What one did to many in one moment as one line; what concerns a subject stays a line of its own."""

    def alike(line: Line) -> tuple[object, ...]:
        if line.about & subjects or not line.thing:
            return (id(line),)
        return (line.who, line.verb, line.at // TOGETHER_MS)

    for _, group in groupby(lines, key=alike):
        members = list(group)
        first = members[0]
        if len(members) == 1:
            yield first
            continue
        things = [line.thing for line in members]
        yield Line(first.at, first.who, first.verb, f"{len(things)}: {_listed(things)}", order=first.order)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _by_hour(lines: Iterable[Line]) -> Iterator[Line]:
    """Sums of what is too far from the breach to be told."""
    for hour, group in groupby(lines, key=lambda line: line.at // HOUR_MS):
        sums: Counter[str] = Counter()
        at = hour * HOUR_MS
        for line in group:
            at = max(at, line.at)
            sums[_sort(line)] += 1
        told = ", ".join(f"{number} x {what}" for what, number in sorted(sums.items(), key=lambda item: -item[1]))
        yield Line(at, "...", f"this hour besides: {told}", order=8)


def _sort(line: Line) -> str:
    """A verb without its numbers and names."""
    return f"{line.who} {line.verb.split(' (')[0].split(' for ')[0]}" if line.thing else f"{line.who} {_first(line)}"


def _first(line: Line) -> str:
    return " ".join(word for word in line.verb.split()[1:2])


def _tail(chronicle: Chronicle, began: int, pivot: int, broke: bool) -> list[str]:
    if not broke or chronicle.end <= pivot + AFTER_MS:
        return []
    return [f"  (it goes on until {moment(chronicle.end, began)})"]
