"""Replays a recorded or modelled history under several planners and scores them: the entry of `ebbtide replay`.

Pure: a trace and seeds in, scores out; the caller reads files, prints and shows progress. `cells` says what there is to
do, so that a caller may spread them over processes; `replay` does them one after the other. docs/replay.md states the
rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from contracts.errors import Refused
from simulation.replay_policies import VIEWS
from simulation.replay_run import Run
from simulation.replay_score import Score, score
from simulation.replay_window import DAY_MS, Rules, Window, window
from simulation.replay_work import Prices, work_of
from simulation.trace import Trace

POLICIES: tuple[str, ...] = ("ebbtide", "price-first", "random", "hindsight")
"""What a replay compares unless told otherwise; `hindsight-72h` is the fifth that there is."""

STATED = Rules()
"""The rules that the figures are stated under."""

OFFSETS = 5
"""Windows that seeds are spread over: of thirty days each, they cover the recorded five months in which every hall
exists."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to replay: `days` scored after `warm_up_days`, for each seed and kind of prices."""

    policies: tuple[str, ...] = POLICIES
    seeds: tuple[int, ...] = tuple(range(1, 21))
    prices: tuple[Prices, ...] = tuple(Prices)
    days: int = 90
    warm_up_days: int = 90
    rules: Rules = STATED


@dataclass(frozen=True, slots=True)
class Cell:
    """One run: a window, named by the instant from which it is scored, one seed, one kind of prices, one policy."""

    score_at: int
    seed: int
    prices: Prices
    policy: str


def whole_from(trace: Trace) -> int:
    """The first midnight of the trace from which every hall has at least half of its nodes, in milliseconds."""
    halls: dict[str, list[int]] = {}
    for node in trace.nodes:
        halls.setdefault(trace.pools[node.pool].hall, []).append(node.joined_at)
    latest = max(sorted(joined)[(len(joined) - 1) // 2] for joined in halls.values())
    return trace.starts_at - (trace.starts_at - latest) // DAY_MS * DAY_MS


def cells(trace: Trace, plan: Plan) -> tuple[Cell, ...]:
    """Every run of a plan. Seed by seed the window moves through the time in which all halls exist.

    Refused: a policy that does not exist, or a trace that is too short for warm-up and score.
    """
    for policy in plan.policies:
        if policy not in VIEWS:
            raise Refused(f"there is no policy {policy!r}; there are {', '.join(VIEWS)}")
    first = max(whole_from(trace), trace.starts_at + plan.warm_up_days * DAY_MS)
    whole_days = max(0, trace.ends_at - first) // DAY_MS
    spare = whole_days - plan.days
    if spare < 0:
        raise Refused(
            f"trace {trace.name} is too short: after the days of learning ({plan.warm_up_days}), and once every hall"
            f" has joined, its whole days are {whole_days}, and those to score {plan.days}; --days N asks for fewer"
        )
    return tuple(
        Cell(first + spare * ((seed - 1) % OFFSETS) // (OFFSETS - 1) * DAY_MS, seed, prices, policy)
        for seed in plan.seeds
        for prices in plan.prices
        for policy in plan.policies
    )


class Replayer:
    """Runs cells over one trace; it keeps the windows it has made, which are the dear part."""

    def __init__(self, trace: Trace, plan: Plan) -> None:
        self._trace = trace
        self._plan = plan
        self._windows: dict[int, Window] = {}

    def window(self, score_at: int) -> Window:
        """The window scored from there."""
        if score_at not in self._windows:
            plan = self._plan
            self._windows[score_at] = window(
                self._trace, score_at=score_at, days=plan.days, warm_up_days=plan.warm_up_days, rules=plan.rules
            )
        return self._windows[score_at]

    def run(self, cell: Cell) -> Score:
        """The score of one cell."""
        win = self.window(cell.score_at)
        work = work_of(win, seed=cell.seed, prices=cell.prices)
        view = VIEWS[cell.policy](win, work)
        record = Run(win, work, view, rules=self._plan.rules, seed=cell.seed).run()
        return score(win, work, record, policy=cell.policy, prices=cell.prices.value, seed=cell.seed)


def replay(
    trace: Trace, plan: Plan | None = None, *, progress: Callable[[int, int], None] | None = None
) -> tuple[Score, ...]:
    """Every score of a plan, in the order of `cells`; `progress` hears how many of how many are done."""
    chosen = plan or Plan()
    todo = cells(trace, chosen)
    replayer = Replayer(trace, chosen)
    found = []
    for done, cell in enumerate(todo, start=1):
        found.append(replayer.run(cell))
        if progress is not None:
            progress(done, len(todo))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy over all seeds of one kind of prices: means, and the worst where a worst is what counts."""

    policy: str
    prices: str
    runs: int
    wasted_pct: float
    loss_pct: float
    placed_pct: float
    net_saving_pct: float
    shortfall_minutes: float
    longest_shortfall_minutes: float
    worst_share_over_bound: float
    several: float
    worst_several_pct: float
    moved: float


def summaries(scores: Iterable[Score]) -> tuple[Summary, ...]:
    """One row for each policy and kind of prices, in the order in which they first appear."""
    rows: dict[tuple[str, str], list[Score]] = {}
    for one in scores:
        rows.setdefault((one.prices, one.policy), []).append(one)
    return tuple(_summary(found) for found in rows.values())


def _summary(found: Sequence[Score]) -> Summary:
    return Summary(
        policy=found[0].policy,
        prices=found[0].prices,
        runs=len(found),
        wasted_pct=fmean(s.wasted_pct for s in found),
        loss_pct=fmean(s.loss_pct for s in found),
        placed_pct=fmean(s.placed_pct for s in found),
        net_saving_pct=fmean(s.net_saving_pct for s in found),
        shortfall_minutes=fmean(s.shortfall_minutes for s in found),
        longest_shortfall_minutes=max(s.longest_shortfall_minutes for s in found),
        worst_share_over_bound=max(s.worst_share_over_bound for s in found),
        several=fmean(s.several for s in found),
        worst_several_pct=max(s.worst_several_pct for s in found),
        moved=fmean(s.moved for s in found),
    )


def regret(ours: float, price_first: float, hindsight: float) -> float | None:
    """How much of the distance from price-first to hindsight is left; None where hindsight gains nothing."""
    return (ours - hindsight) / (price_first - hindsight) if price_first > hindsight else None
