"""Lets histories pass in processes of their own, and makes the broken ones small there too.

Used by `ebbtide simulate` and the benchmark. Results do not depend on how many processes there are: a history is a
function of its question. When the work is left early, by an interrupt or an error, no process of ours stays.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from time import process_time

from simulation.check_reading import Broken
from simulation.hunt import Histories, Outcome, Question, Shrunk, outcome, smallest
from simulation.transcript import transcript

Make = Callable[[], Histories]
"""Travels to another process: a function at the top of a module."""

_histories: list[Histories] = []
"""One a process: it keeps the estate that it has read."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A failing history, as small as it could be made, and the story of that small one."""

    failed: Outcome
    shrunk: Shrunk
    story: tuple[str, ...]


class Hunters:
    """`jobs` processes that let histories pass; with one job, this process."""

    def __init__(self, make: Make, pool: ProcessPoolExecutor | None) -> None:
        self._make = make
        self._pool = pool

    def outcomes(
        self,
        questions: Sequence[Question],
        told: Callable[[Outcome], None],
        *,
        until: Callable[[Outcome], bool] | None = None,
    ) -> list[Outcome]:
        """The outcome of each question in their order; `told` hears of each as soon as it is there. With `until`, those
        up to the first in order that it holds for: the same, however many processes there are.
        """
        found: list[Outcome] = []
        for one in self._each(questions, told):
            found.append(one)
            if until is not None and until(one):
                break
        return found

    def _each(self, questions: Sequence[Question], told: Callable[[Outcome], None]) -> Iterator[Outcome]:
        """Outcomes in order; of what is not asked for any more nothing new begins."""
        if self._pool is None:
            _ready(self._make, here=True)
            for question in questions:
                done = _outcome(question)
                told(done)
                yield done
            return
        waiting = [self._pool.submit(_outcome, question) for question in questions]
        try:
            numbers = {future: number for number, future in enumerate(waiting)}
            ready: dict[int, Outcome] = {}
            following = 0
            for future in as_completed(waiting):
                ready[numbers[future]] = future.result()
                told(future.result())
                while following in ready:
                    yield ready.pop(following)
                    following += 1
        finally:
            for future in waiting:
                future.cancel()

    def causes(
        self, failed: Sequence[tuple[Outcome, Broken]], *, budget: int, told: Callable[[int], None]
    ) -> list[Cause]:
        """Each failing history made small, for one promise that it breaks; `told` hears how many are done."""
        if self._pool is None:
            _ready(self._make, here=True)
            found = []
            for one, broken in failed:
                found.append(_cause(one, broken, budget))
                told(len(found))
            return found
        waiting = [self._pool.submit(_cause, one, broken, budget) for one, broken in failed]
        for done, _ in enumerate(as_completed(waiting), start=1):
            told(done)
        return [one.result() for one in waiting]

    def story(self, question: Question) -> list[str]:
        """The story of one history; it runs again, here."""
        _ready(self._make, here=True)
        return transcript(_histories[0].live(question))


@contextlib.contextmanager
def hunters(make: Make, *, jobs: int) -> Iterator[Hunters]:
    """Processes that are there for the block and end with it."""
    if jobs == 1:
        try:
            yield Hunters(make, None)
        finally:
            _histories.clear()
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_ready, initargs=(make,)) as pool:
        try:
            yield Hunters(make, pool)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():  # a history takes long, and nobody waits for it any more
                process.terminate()
            raise
        finally:
            _histories.clear()


def _ready(make: Make, *, here: bool = False) -> None:
    if not here:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts every process; ours decides
    if not _histories:
        _histories.append(make())


def _outcome(question: Question) -> Outcome:
    began = process_time()
    history = _histories[0].live(question)
    return outcome(history, seconds=process_time() - began)


def _cause(failed: Outcome, broken: Broken, budget: int) -> Cause:
    shrunk = smallest(_histories[0], failed, broken, budget=budget)
    history = _histories[0].live(shrunk.question)
    return Cause(failed, shrunk, tuple(transcript(history, first=shrunk.broken)))
