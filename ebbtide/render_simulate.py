"""What a hunt found, as text or as a document. Pure: values in, lines or a document out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ebbtide.text import Paint, columns, count, date_clock, listed, span, wrapped
from simulation.check_reading import Broken
from simulation.hunt import Outcome, Shrunk, Tally

SHOWN = 10
"""Commands of further seeds that failed; `--output json` has them all."""


@dataclass(frozen=True, slots=True)
class Told:
    """One broken promise: the history in which it was found, the small one, and where its story lies."""

    failed: Outcome
    shrunk: Shrunk
    story: str


@dataclass(frozen=True, slots=True)
class HuntView:
    """A hunt that is over. `wall_s` is what a person waited for it, shrinking apart."""

    title: str
    tally: Tally
    causes: Sequence[Told]
    jobs: int
    wall_s: float


def as_text(view: HuntView, paint: Paint) -> list[str]:
    """What ran, how fast, and for each broken promise the command that repeats it and the smallest one."""
    tally = view.tally
    speed = f"{tally.days / view.wall_s:.2f} simulated days a second" if view.wall_s else ""
    took = span(round(view.wall_s * 1000))
    ran = f"{count(tally.histories, 'history', 'histories')}, {tally.days:g} region-days in {took}"
    side = f" in {view.jobs} processes" if view.jobs > 1 else ""
    happened = listed((f"{number:,} {name}" for name, number in tally.counts.items()), most=6)
    switched = sum(tally.faults.values())
    lines = [
        paint.bold(f"simulate  {view.title}"),
        f"  ran       {ran}: {speed}{side}",
        *([f"  happened  {happened}"] if happened else []),
        f"  faults    {count(switched, 'fault')} of {count(len(tally.faults), 'kind')}",
    ]
    if not tally.failing:
        return [*lines, f"  promises  {paint.good('all held')}"]
    failing = f"broken in {len(tally.failing)} of {count(tally.histories, 'history', 'histories')}"
    lines.append(f"  promises  {paint.bad(failing)}")
    for cause in view.causes:
        lines += ["", *_cause(cause, paint)]
    told = {cause.failed.question for cause in view.causes}
    rest = [one for one in tally.failing if one.question not in told]
    if rest:
        lines += ["", f"  failed too ({listed(_checkers(rest))}):"]
        lines += [f"    {one.question.command}" for one in rest[:SHOWN]]
        lines += [f"    and {len(rest) - SHOWN} more"] if len(rest) > SHOWN else []
    return lines


def _checkers(outcomes: Sequence[Outcome]) -> list[str]:
    return sorted({broken.checker for one in outcomes for broken in one.first})


def _cause(cause: Told, paint: Paint) -> list[str]:
    failed, shrunk = cause.failed, cause.shrunk
    reduced = shrunk.reduced
    what = f"{shrunk.faults} faults to {len(reduced.faults)} in {count(reduced.runs, 'run')}"
    end = "none of them can be left out" if reduced.minimal else "the runs were used up"
    return [
        f"  {paint.bad(shrunk.broken.checker)}  seed {failed.question.seed}, {date_clock(shrunk.broken.at)}",
        *wrapped(shrunk.broken.sentence, indent="    "),
        f"    repeat  {failed.question.command}",
        *([f"    shrunk  {paint.bold(shrunk.question.command)}", f"            {what}; {end}"] if reduced.runs else []),
        f"    story   {cause.story}",
    ]


def as_document(view: HuntView) -> dict[str, object]:
    """The same, with every failing seed."""
    tally = view.tally
    return {
        "title": view.title,
        "histories": tally.histories,
        "region_days": tally.days,
        "breaches": tally.breaches,
        "seconds": round(view.wall_s, 2),
        "processor_seconds": round(tally.seconds, 2),
        "days_per_second": round(tally.days / view.wall_s, 3) if view.wall_s else None,
        "jobs": view.jobs,
        "counts": dict(tally.counts),
        "faults": dict(tally.faults),
        "failing": [
            {"seed": one.question.seed, "command": one.question.command, "broken": [_broken(b) for b in one.first]}
            for one in tally.failing
        ],
        "causes": [
            {
                "seed": cause.failed.question.seed,
                "repeat": cause.failed.question.command,
                "shrunk": cause.shrunk.question.command,
                "faults": list(cause.shrunk.reduced.faults),
                "days": cause.shrunk.reduced.days,
                "runs": cause.shrunk.reduced.runs,
                "minimal": cause.shrunk.reduced.minimal,
                "broken": _broken(cause.shrunk.broken),
                "story": cause.story,
            }
            for cause in view.causes
        ],
    }


def _broken(broken: Broken) -> dict[str, object]:
    return {"checker": broken.checker, "at": broken.at, "sentence": broken.sentence}


def faults_text(kinds: Mapping[str, str], paint: Paint) -> list[str]:
    """The kinds of faults, each with its sentence."""
    head = f"{count(len(kinds), 'kind')} of faults; --faults takes kinds, and KIND#N for the Nth that a seed draws"
    return [paint.bold(head), *columns(sorted(kinds.items()), "<<", indent="  ")]


def faults_document(kinds: Mapping[str, str]) -> dict[str, object]:
    """The same for machines."""
    return {"faults": [{"kind": kind, "told": told} for kind, told in sorted(kinds.items())]}
