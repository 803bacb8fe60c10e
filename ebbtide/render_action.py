"""A lost instance as a story that a stranger can follow, and any chain of causes as a tree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ebbtide.story import Life, Replacement
from ebbtide.text import Paint, clock, columns, count, date_clock, day_clock, euros, span, words, wrapped
from ledger.events import Event, EventType
from ledger.story import Step, sentence

MOST_RESTORES = 4


def as_text(life: Life, *, currency: str, tier: str, paint: Paint, options: str = "") -> list[str]:
    """The whole life, then what its end cost; `options` end every command that it names."""
    lines = _head(life, tier, currency, paint)
    if life.taken or life.drains or life.work_lost:
        lines += ["", paint.bold("what happened") + paint.dim(f"  (UTC, {date_clock(_moment(life))[:10]})")]
        lines += columns(_happened(life, currency, paint), "<<<", indent="  ")
    if life.taken or life.work_lost:
        lines += ["", *_cost(life, currency, paint)]
    lines += ["", *_next(life, options)]
    return lines


def _moment(life: Life) -> int:
    """When the end began, or the beginning was."""
    for event in (*life.notices, life.lost, life.released, life.requested):
        if event is not None:
            return event.occurred_at
    return 0


def _head(life: Life, tier: str, currency: str, paint: Paint) -> list[str]:
    asked = life.requested or life.started
    units = f", {asked.data['units']} units paid as {asked.data['paid']}" if asked else ""
    lines = [
        paint.bold(life.instance) + f"  of {life.workload}{f' ({tier})' if tier else ''}{units}",
        f"  in {life.pool}",
    ]
    if life.requested is not None:
        lines += wrapped(_why(life), indent="  ")
    if life.started is not None:
        joined = f", joined after {span(life.joined.occurred_at - life.started.occurred_at)}" if life.joined else ""
        until = f"ended {_at(life.ended, life)}" if life.ended else "stood at the end of the record"
        lines.append(f"  started {date_clock(life.started.occurred_at)} UTC{joined}; {until}")
    if life.failed is not None:
        lines.append(
            f"  never came: {words(life.failed.cause.value)}: {life.failed.data['error'] or 'no reason given'}"
        )
    if life.uses:
        parts = (
            f"{name} {span(use.unit_ms)}, {euros(use.ticks, currency, places=4)}" for name, use in life.uses.items()
        )
        lines += wrapped("its slots: " + "; ".join(parts), indent="  ")
    return lines


def _why(life: Life) -> str:
    asked = life.requested
    if asked is None:
        return ""
    above = [event for event in life.root if event.id != asked.id]
    because = f", because {sentence(above[-1])}" if above else ""
    return f"asked for {date_clock(asked.occurred_at)} UTC, cause {asked.cause.value}{because}"


def _at(event: Event, life: Life) -> str:
    return day_clock(event.occurred_at, _moment(life))


Row = tuple[str, str, str]


def _happened(life: Life, currency: str, paint: Paint) -> list[Row]:
    rows: list[tuple[int, Row]] = []

    def add(event: Event, what: str, text: str, ticks: int | None = None) -> None:
        money = f": {euros(ticks, currency, places=4)}" if ticks else ""
        rows.append((event.occurred_at, (clock(event.occurred_at, millis=True), paint.bold(what), text + money)))

    for notice in life.notices:
        length = span(int(notice.data["ends_at"]) - notice.occurred_at)
        add(notice, "notice", f"{notice.data['kind']} {notice.data['reclaim']}: goes in {length}")
    for back in life.withdrawn:
        add(back, "withdrawn", f"{back.data['reclaim']} is taken back")
    if life.released is not None:
        add(life.released, "release", f"asked by us: {words(life.released.cause.value)}")
    for drain in life.drains:
        units = drain.began.data.get("units", "?")
        add(drain.began, "drain", f"begins, {units} units to end by {clock(int(drain.began.data['ends_at']))}")
        if drain.ended is not None:
            add(drain.ended, "drain", _drained(drain.began, drain.ended))
    for work in life.work_lost:
        redone = int(work.data["unit_ms"])
        text = f"{span(redone)} of unit time to do again" if redone else "nothing to do again: all of it was saved"
        add(work, "work", text, life.costs.get(work.id, 0))
    gone = life.lost or life.ended
    if gone is not None:
        returned = life.lost is None and bool(life.drains)
        add(gone, "gone", "returned to the provider" if returned else words(gone.cause.value))
    for other in life.replacements:
        add(other.requested, "replaced", _replacement(other))
    rows += _joined(life, paint)
    rows += _restored(life, paint)
    return [row for _, row in sorted(rows, key=lambda item: item[0])]


def _drained(began: Event, ended: Event) -> str:
    left = int(began.data["ends_at"]) - ended.occurred_at
    late = f"; slow: {ended.data['slow_unit']}" if ended.data.get("slow_unit") else ""
    return f"{ended.data['outcome']} after {span(ended.occurred_at - began.occurred_at)}, {span(left)} to spare{late}"


def _replacement(other: Replacement) -> str:
    text = f"by {other.requested.instance} in {other.requested.pool}"
    if other.joined is not None:
        return text
    return f"{text}, which never came" if other.started is None else f"{text}, booting at the end"


def _joined(life: Life, paint: Paint) -> list[tuple[int, Row]]:
    """The moments from which replacements took work."""
    rows = []
    for other in life.replacements:
        if other.joined is not None:
            at = other.joined.occurred_at
            text = f"{other.requested.instance} takes work, {span(at - _moment(life))} after {_beginning(life)}"
            rows.append((at, (clock(at, millis=True), paint.bold("joined"), text)))
    return rows


def _beginning(life: Life) -> str:
    return "the notice" if life.notices else "the loss"


def _restored(life: Life, paint: Paint) -> list[tuple[int, Row]]:
    """Restores, one line for each instance that took units over."""
    by_place: dict[str, list[Event]] = {}
    for event in life.restores:
        by_place.setdefault(event.instance, []).append(event)
    rows = []
    for place, events in sorted(by_place.items(), key=lambda item: item[1][0].occurred_at)[:MOST_RESTORES]:
        longest = max(int(event.data["duration_ms"]) for event in events)
        loads = f", state loaded in {span(longest)}" if longest else ""
        at = events[0].occurred_at
        text = f"{count(len(events), 'unit')} again on {place}{loads}"
        rows.append((at, (clock(at, millis=True), paint.bold("restored"), text)))
    return rows


def _cost(life: Life, currency: str, paint: Paint) -> list[str]:
    cost = life.cost
    rows = [
        ("work done again", euros(cost.redone, currency, places=4)),
        ("slots that drained", euros(cost.draining, currency, places=4)),
        ("slots that booted or loaded elsewhere", euros(cost.restarting, currency, places=4)),
        (paint.bold("in all"), paint.bold(euros(cost.total, currency, places=4))),
    ]
    return [paint.bold("what its end cost"), *columns(rows, "<>", indent="  ")]


def _next(life: Life, options: str) -> list[str]:
    rows = [(f"ebbtide explain action {life.instance} --tree{options}", "every event, each below its cause")]
    if life.notices:
        rows.append((f"ebbtide explain drain {life.instance}{options}", "what the node saw and did, step by step"))
    rows.append((f"ebbtide explain workload {life.workload}{options}", "its contract, its pools, where it stands"))
    return [f"{'next  ' if number == 0 else '      '}{line}" for number, line in enumerate(columns(rows, "<<"))]


def tree(steps: Sequence[Step], *, currency: str, asked: str, paint: Paint) -> list[str]:
    """Every event below its cause, usage of one cause and use told as one line."""
    lines = []
    for step in merged(steps):
        money = "" if not step.ticks else f"  {euros(step.ticks, currency, places=4)}"
        mark = paint.bold("> ") if step.event.id == asked else "  "
        lines.append(f"{mark}{date_clock(step.event.occurred_at)}  {'  ' * step.depth}{step.what}{money}")
        lines.append(f"  {' ' * 21}{'  ' * step.depth}{paint.dim(step.event.cause.value + '  ' + step.event.id)}")
    return lines


def merged(steps: Iterable[Step]) -> list[Step]:
    """The steps with neighbouring usage of one cause, instance and use told once."""
    kept: list[Step] = []
    places: dict[tuple[str, str, str], int] = {}
    sums: dict[int, tuple[int, int, int]] = {}
    for step in steps:
        event = step.event
        if event.type is not EventType.USAGE:
            kept.append(step)
            continue
        key = event.caused_by, event.instance, str(event.data["use"])
        unit_ms = (int(event.data["to_ms"]) - int(event.data["from_ms"])) * int(event.data["units"])
        if key not in places:
            places[key] = len(kept)
            kept.append(step)
        number, time, ticks = sums.get(places[key], (0, 0, 0))
        sums[places[key]] = number + 1, time + unit_ms, ticks + (step.ticks or 0)
    for place, (number, time, ticks) in sums.items():
        step = kept[place]
        told = f" in {number} lines" if number > 1 else ""
        what = f"slots of {step.event.instance} {step.event.data['use']} for {span(time)}{told}"
        kept[place] = Step(step.depth, step.event, what, ticks)
    return kept


def as_document(life: Life, *, currency: str, amounts: Mapping[str, str]) -> dict[str, object]:
    """The same for machines; `amounts` is the cost by kind as decimal text."""
    return {
        "instance": life.instance,
        "workload": life.workload,
        "pool": life.pool,
        "taken": life.taken,
        "root": [event.id for event in life.root],
        "notices": [event.id for event in life.notices],
        "drains": [
            {"began": d.began.id, "ended": d.ended.id if d.ended else "", "outcome": _outcome(d.ended)}
            for d in life.drains
        ],
        "lost": life.lost.id if life.lost else "",
        "work_lost": [{"event": event.id, "unit_ms": event.data["unit_ms"]} for event in life.work_lost],
        "replacements": [r.requested.instance for r in life.replacements],
        "restores": [event.id for event in life.restores],
        "currency": currency,
        "cost": dict(amounts),
    }


def _outcome(ended: Event | None) -> str:
    return str(ended.data["outcome"]) if ended else "unknown"
