"""Planners side by side on one trace. Pure: values in, text or a document out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ebbtide.text import Paint, columns, count, wrapped
from simulation.replay import Plan, Summary, regret
from simulation.replay_score import Score


@dataclass(frozen=True, slots=True)
class ReplayView:
    """The trace, what was asked, every score and their summaries."""

    trace: str
    source: str
    plan: Plan
    scores: Sequence[Score]
    summaries: Sequence[Summary]


def as_text(view: ReplayView, paint: Paint) -> list[str]:
    """A table for each kind of prices, and the regret where hindsight was asked for."""
    plan = view.plan
    lines = [
        paint.bold(f"replay  {view.trace}"),
        *wrapped(view.source, indent="  "),
        f"  {plan.days} days scored after {plan.warm_up_days} days of learning; {count(len(plan.seeds), 'seed')}",
    ]
    for prices in dict.fromkeys(row.prices for row in view.summaries):
        found = [row for row in view.summaries if row.prices == prices]
        head = ("", "wasted", "lost/h", "placed", "net", "short", "longest", "fall/bound", "several")
        rows = [tuple(paint.bold(text) for text in head), *(_row(row) for row in found)]
        lines += ["", paint.bold(f"prices {prices}"), *columns(rows, "<>>>>>>>>", indent="  ")]
        lines += _regret(found)
    return [
        *lines,
        "",
        *wrapped(
            "wasted: redone and restarting over useful time; lost/h: losses per placed node-hour; placed: of what was "
            "wanted; net: saving of the guaranteed value; short and longest: minutes of shortfall of strict tiers; "
            "fall/bound: the largest part of its bound that a workload lost in one place within 180 s, at most 1 where "
            "the bound holds; several: windows in which a workload lost units in more than one hall",
            indent="",
        ),
    ]


def _row(row: Summary) -> tuple[str, ...]:
    return (
        row.policy,
        f"{row.wasted_pct:.2f} %",
        f"{row.loss_pct:.3f} %",
        f"{row.placed_pct:.1f} %",
        f"{row.net_saving_pct:.1f} %",
        f"{row.shortfall_minutes:,.0f}",
        f"{row.longest_shortfall_minutes:,.0f}",
        f"{row.worst_share_over_bound:.2f}",
        f"{row.several:,.0f}",
    )


def _regret(found: Sequence[Summary]) -> list[str]:
    by_name = {row.policy: row for row in found}
    if not by_name.keys() >= {"ebbtide", "price-first", "hindsight"}:
        return []
    wasted = [by_name[name].wasted_pct for name in ("ebbtide", "price-first", "hindsight")]
    lost = [by_name[name].loss_pct for name in ("ebbtide", "price-first", "hindsight")]
    told = [
        f"{name} {value:.2f}"
        for name, value in (("wasted work", regret(*wasted)), ("losses", regret(*lost)))
        if value is not None
    ]
    return [f"  regret against hindsight: {', '.join(told)}"] if told else []


def as_document(view: ReplayView) -> dict[str, object]:
    """Every score and summary for machines."""
    return {
        "trace": view.trace,
        "source": view.source,
        "days": view.plan.days,
        "warm_up_days": view.plan.warm_up_days,
        "seeds": list(view.plan.seeds),
        "summaries": [asdict(row) for row in view.summaries],
        "scores": [asdict(row) for row in view.scores],
    }
