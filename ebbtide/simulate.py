"""`ebbtide simulate`: histories of a region with faults, hunted by seed for one in which a promise breaks.

Exit codes: 0 when every promise held, 1 when one broke, 2 when something could not run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter

from contracts.errors import Refused
from ebbtide.advice import Advice
from ebbtide.histories import region_histories
from ebbtide.hunting import Cause, Hunters, hunters
from ebbtide.render_simulate import HuntView, Told, as_document, as_text, faults_document, faults_text
from ebbtide.terminal import Terminal
from ebbtide.text import count
from simulation.check_reading import Broken
from simulation.hunt import FULL, Outcome, Question, corpus, tally, to_shrink

FOLDER = Path(".simulate")
FAULTS_LISTED = "ebbtide simulate --list-faults names what there is"


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when every promise held, 1 when one broke."""
    if args.list_faults:
        return _list_faults(terminal)
    if args.scenario is not None:
        from ebbtide import absence  # noqa: PLC0415 - a hunt needs none of it

        return absence.run(args, terminal)
    if args.region and args.size != FULL:
        raise Advice("a small region has no name of its own to choose", hint="add --size full, or leave --region out")
    try:
        return _hunt(args, terminal)
    except Advice:
        raise
    except Refused as error:
        raise Advice(str(error), hint=FAULTS_LISTED) from error


def _list_faults(terminal: Terminal) -> int:
    kinds = region_histories().kinds()
    if terminal.as_json:
        terminal.document(faults_document(kinds))
    else:
        terminal.lines(faults_text(kinds, terminal.paint))
    return 0


def _hunt(args: argparse.Namespace, terminal: Terminal) -> int:
    questions = _questions(args)
    jobs = min(args.jobs, len(questions))
    began = perf_counter()
    with hunters(region_histories, jobs=jobs) as hunting:
        outcomes = _outcomes(hunting, questions, terminal, first=args.first)
        hunted = perf_counter() - began
        summed = tally(outcomes)
        causes = _causes(hunting, to_shrink(summed.failing), args.shrink, terminal)
        told = [_told(args, cause, number) for number, cause in enumerate(causes)]
        if args.transcript is not None and not told:
            _write(Path(args.transcript), hunting.story(questions[0]))
    view = HuntView(
        title=_title(args, questions),
        tally=summed,
        causes=tuple(told),
        jobs=jobs,
        wall_s=hunted,
    )
    if terminal.as_json:
        terminal.document(as_document(view))
    else:
        terminal.lines(as_text(view, terminal.paint))
    return 1 if summed.failing else 0


def _questions(args: argparse.Namespace) -> list[Question]:
    if args.corpus:
        return [kept.question for kept in corpus()]
    seeds = args.seeds if args.seeds is not None else (args.seed,)
    if args.until > args.days:
        raise Advice(
            f"--until {args.until:g} lies beyond --days {args.days:g}", hint="leave --until out to see the whole"
        )
    until = args.until if args.until < args.days else 0.0
    return [Question(seed, args.days, args.faults, args.size, args.region, until) for seed in seeds]


def _title(args: argparse.Namespace, questions: list[Question]) -> str:
    if args.corpus:
        return f"the corpus, {count(len(questions), 'history', 'histories')}"
    seeds = f"seed {args.seed}" if args.seeds is None else f"seeds {args.seeds[0]}-{args.seeds[-1]}"
    where = args.region or f"{args.size} region"
    return f"{seeds}, {args.days:g} days each, faults {','.join(args.faults)}, {where}"


def _outcomes(hunting: Hunters, questions: list[Question], terminal: Terminal, *, first: bool) -> list[Outcome]:
    done = broken = 0
    with terminal.bars(("simulate",)) as bars:

        def heard(one: Outcome) -> None:
            nonlocal done, broken
            done += 1
            broken += not one.clean
            bars.show(0, done / len(questions), f"{done} of {len(questions)}, {broken} failed")

        return hunting.outcomes(questions, heard, until=(lambda one: not one.clean) if first else None)


def _causes(
    hunting: Hunters, failed: tuple[tuple[Outcome, Broken], ...], budget: int, terminal: Terminal
) -> list[Cause]:
    if not failed:
        return []
    terminal.say(f"{count(len(failed), 'promise')} broken; making each history small in at most {budget} runs")
    with terminal.bars(("shrink",)) as bars:
        told = f"of {len(failed)}"
        return hunting.causes(failed, budget=budget, told=lambda n: bars.show(0, n / len(failed), f"{n} {told}"))


def _told(args: argparse.Namespace, cause: Cause, number: int) -> Told:
    """A cause whose story lies on disk."""
    seed, checker = cause.failed.question.seed, cause.shrunk.broken.checker
    if args.transcript is not None and number == 0:
        path = Path(args.transcript)
    else:
        FOLDER.mkdir(exist_ok=True)
        FOLDER.joinpath(".gitignore").write_text("*\n", encoding="utf-8")
        path = FOLDER / f"seed-{seed}-{checker.replace(' ', '-')}.txt"
    _write(path, cause.story)
    return Told(cause.failed, cause.shrunk, str(path))


def _write(path: Path, story: list[str] | tuple[str, ...]) -> None:
    path.write_text("\n".join(story) + "\n", encoding="utf-8")
