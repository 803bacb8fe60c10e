"""Recorded losses under our planner and its rivals: wasted work, regret, bounds, saving; JSON on the last line.

`EBBTIDE_TRACES=FOLDER python -m benchmarks.replay [--seeds N] [--days D] [--only-record]` replays the cluster failure
trace, and with few seeds the region model of the same machine and other rules. The default is the whole figure: 20
seeds, 90 days of warm-up, 90 scored, in five windows. docs/replay.md says what it means.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.region_model_memory import present_as
from benchmarks.region_model_record import failure_trace
from simulation.region_model import sample, topology_of
from simulation.region_parameters import packaged
from simulation.replay import Cell, Plan, Replayer, Summary, cells, regret, summaries
from simulation.replay_policies import VIEWS
from simulation.replay_quality import Quality, quality
from simulation.replay_score import Score
from simulation.replay_window import DAY_MS, Rules
from simulation.replay_work import Prices
from simulation.trace import Trace

MODEL_SEEDS = 2
"""Seeds of the comparison on the region model: it only shows whether planners rank alike."""

OTHER_RULES = (
    Rules(no_notice_share=0.0),
    Rules(no_notice_share=0.5),
    Rules(least_outage_s=600),
)
"""Replayed with `MODEL_SEEDS` seeds, beside the stated rule."""

RULED = Plan(policies=("ebbtide", "price-first", "hindsight"), prices=(Prices.NEUTRAL,))


@dataclass(frozen=True, slots=True)
class Job:
    """One part of the benchmark: a trace under one plan."""

    label: str
    modelled: bool
    plan: Plan


_REPLAYERS: dict[str, Replayer] = {}
"""One per process: a window is dear to make and shared by the cells of a seed."""


def trace_of(job: Job) -> Trace:
    """The record, or a model of the same machine whose nodes join as the record's do."""
    record = failure_trace()
    if not job.modelled:
        return record
    days = (record.ends_at - record.starts_at) // DAY_MS
    drawn = sample(packaged(), topology_of(record), start=record.starts_at, days=int(days), seed=1)
    return present_as(drawn, record)


def run_seed(job: Job, todo: Sequence[Cell]) -> tuple[Score, ...]:
    """The scores of one seed's cells, in a process that keeps the trace and its windows."""
    if job.label not in _REPLAYERS:
        _REPLAYERS[job.label] = Replayer(trace_of(job), job.plan)
    return tuple(_REPLAYERS[job.label].run(cell) for cell in todo)


def scores_of(job: Job, pool: ProcessPoolExecutor) -> tuple[Score, ...]:
    """All scores of a job, seed by seed over the processes, with progress on standard error."""
    todo: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells(trace_of(job), job.plan):
        todo.setdefault((cell.score_at, cell.seed), []).append(cell)
    began = time.perf_counter()
    found: list[Score] = []
    for done, scores in enumerate(pool.map(partial(run_seed, job), todo.values()), start=1):
        found += scores
        sys.stderr.write(f"{job.label}: {done} of {len(todo)} seeds, {time.perf_counter() - began:.0f} s\n")
    return tuple(found)


def table(label: str, rows: Sequence[Summary]) -> str:
    """The summaries as text."""
    head = (
        f"{label}\n{'prices':8} {'policy':14} {'wasted%':>8} {'loss%/h':>8} {'placed%':>8} {'saving%':>8}"
        f" {'short min':>9} {'longest':>8} {'bound':>6} {'several':>8} {'worst%':>7} {'moved':>7}"
    )
    lines = [
        f"{r.prices:8} {r.policy:14} {r.wasted_pct:8.3f} {r.loss_pct:8.3f} {r.placed_pct:8.2f} {r.net_saving_pct:8.2f}"
        f" {r.shortfall_minutes:9.0f} {r.longest_shortfall_minutes:8.0f} {r.worst_share_over_bound:6.2f}"
        f" {r.several:8.0f} {r.worst_several_pct:7.1f} {r.moved:7.0f}"
        for r in rows
    ]
    return "\n".join([head, *lines])


def figures(rows: Sequence[Summary], prices: str) -> dict[str, float | None]:
    """The figures of one kind of prices."""
    by = {r.policy: r for r in rows if r.prices == prices}
    ours, cheap = by["ebbtide"], by["price-first"]
    patient = by.get("price-first-patient", cheap)
    found: dict[str, float | None] = {
        "wasted_pct": round(ours.wasted_pct, 3),
        "price_first_wasted_pct": round(cheap.wasted_pct, 3),
        "wasted_ratio": round(ours.wasted_pct / cheap.wasted_pct, 3),
        "wasted_ratio_patient": round(ours.wasted_pct / patient.wasted_pct, 3),
        "loss_pct": round(ours.loss_pct, 3),
        "price_first_loss_pct": round(cheap.loss_pct, 3),
        "placed_pct": round(ours.placed_pct, 2),
        "worst_share_over_bound": round(ours.worst_share_over_bound, 3),
        "shortfall_minutes": round(ours.shortfall_minutes, 1),
        "net_saving_pct": round(ours.net_saving_pct, 2),
    }
    for name, key in (("hindsight", "regret"), ("hindsight-72h", "regret_72h")):
        if name in by:
            best = by[name]
            found[key] = _rounded(regret(ours.wasted_pct, cheap.wasted_pct, best.wasted_pct))
            found[f"{key}_loss"] = _rounded(regret(ours.loss_pct, cheap.loss_pct, best.loss_pct))
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def quality_text(found: Quality) -> str:
    """The ranker's own figures."""
    rows = [
        f"  decile {i}: predicted {p:.5f}, seen {s:.5f} losses per node-hour"
        for i, (p, s) in enumerate(found.deciles, start=1)
    ]
    head = (
        f"next hour: error {found.error:.4f} losses a pool-hour, same as the last hour {found.last_error:.4f};"
        f" squared {found.squared:.3f} against {found.last_squared:.3f};"
        f" coverage of the strict quantile {found.coverage:.4f}, of the last hour's rate {found.last_coverage:.4f}"
    )
    return "\n".join([head, *rows])


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--only-record", action="store_true", help="leave out the model and the other rules")
    chosen = parser.parse_args(argv)
    if not os.environ.get("EBBTIDE_TRACES"):
        sys.stderr.write("error: EBBTIDE_TRACES must name the folder of recorded traces\n")
        return 2
    seeds = tuple(range(1, chosen.seeds + 1))
    few = seeds[:MODEL_SEEDS]
    plan = Plan(policies=tuple(VIEWS), seeds=seeds, days=chosen.days)
    jobs = [Job("record", modelled=False, plan=plan)]
    if not chosen.only_record:
        jobs.append(Job("region model", modelled=True, plan=Plan(seeds=few, days=chosen.days)))
        jobs += [
            Job(rules.describe(), modelled=False, plan=replace(RULED, seeds=few, days=chosen.days, rules=rules))
            for rules in OTHER_RULES
        ]
    by_job: dict[str, tuple[Summary, ...]] = {}
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for job in jobs:
            by_job[job.label] = summaries(scores_of(job, pool))
            sys.stdout.write(table(job.label, by_job[job.label]) + "\n\n")
            sys.stdout.flush()
    record = Replayer(trace_of(jobs[0]), plan)
    ranker = quality(record.window(cells(trace_of(jobs[0]), plan)[0].score_at))
    sys.stdout.write(quality_text(ranker) + "\n")
    neutral, adverse = (figures(by_job["record"], prices) for prices in ("neutral", "adverse"))
    line = {"bench": "replay", "trace": "g5k06", "seeds": chosen.seeds, "days": chosen.days, **neutral}
    line["coverage"] = round(ranker.coverage, 4)
    line["persistence_coverage"] = round(ranker.last_coverage, 4)
    line["adverse"] = adverse
    if "region model" in by_job:
        line["ranks_alike"] = ranks(by_job["record"]) == ranks(by_job["region model"])
    line["runs"] = chosen.seeds * 2
    sys.stdout.write(json.dumps(line) + "\n")
    return 0


def ranks(rows: Sequence[Summary]) -> dict[str, list[str]]:
    """For each kind of prices the three planners that know no future, least wasted work first."""
    known = [r for r in rows if not r.policy.startswith("hindsight")]
    return {
        prices: [r.policy for r in sorted(known, key=lambda r: r.wasted_pct) if r.prices == prices]
        for prices in {r.prices for r in known}
    }


if __name__ == "__main__":
    sys.exit(main())
