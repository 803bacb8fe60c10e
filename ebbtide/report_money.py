"""The report's sections on money: the net saving step by step, its events, and the dearest losses with their chains.

Pure; called by `ebbtide.report`. Every amount is rounded once, from the ledger's exact ticks; every number of the
waterfall links to the events that it sums.
"""

from __future__ import annotations

import shlex
from functools import partial

from ebbtide.report_charts_money import Bar, WasteBar, amount, wasted, waterfall
from ebbtide.report_data import Behind, Findings, ReportData
from ebbtide.report_html import Markup, command, details, join, link, picture, section, table, tag
from ebbtide.report_losses import Loss, span
from ebbtide.report_reading import Fate
from ebbtide.report_sections import TIERS
from ebbtide.report_svg import clock, figure
from ledger.money import TICKS
from ledger.reports import NetSaving, hours, percent

STEPS = (
    ("useful_value", "value of useful hours", 1),
    ("reclaimable_paid", "reclaimable payments", -1),
    ("floor_paid", "floor payments", -1),
    ("fallback_paid", "fallback payments", -1),
    ("headroom_paid", "idle headroom", -1),
    ("storage", "checkpoint storage", -1),
    ("footprint", "Ebbtide's own footprint", -1),
)
"""The terms of the net saving in the order of the waterfall, with their sign."""

STATES = (
    ("redone_paid", "redone work", "redone_ns"),
    ("restarting_paid", "restarting", "restarting_ns"),
    ("idle_paid", "idle", "idle_ns"),
    ("draining_paid", "draining", "draining_ns"),
)
"""The cut of the same payments by what they bought no work with."""

LEAST_SHOWN = TICKS // 100
"""A hundredth of the currency: smaller kinds of waste stand in `ebbtide savings`."""


ENDS = {Fate.RETURNED: "given back early", Fate.ENDED: "at the notice's end", Fate.UNNOTICED: "without notice"}
"""How an instance ended, short enough for a column."""


def money(data: ReportData, found: Findings) -> Markup:
    """Section 5: from the guaranteed value of useful hours to the net saving."""
    total, currency = data.ours.summary.money.total, data.ours.summary.money.currency
    bars = [Bar(("less " if sign < 0 else "") + words, sign * getattr(total, term)) for term, words, sign in STEPS]
    bars[0] = Bar(STEPS[0][1], total.useful_value, total=True)
    bars.append(Bar("net saving", total.net, total=True))
    waste = [WasteBar(kind, cause, ticks) for kind, cause, ticks in found.wasted if ticks >= LEAST_SHOWN]
    lead = (
        "Every useful hour counts at the guaranteed rate; every payment, the checkpoints' storage and Ebbtide's own "
        f"cost are taken off. What is left, {amount(total.net, currency)}, is {percent(total.share_ppm)} of the "
        "guaranteed value of interruptible useful hours. Amounts link to the events behind them."
    )
    return section(
        "money",
        "Net saving",
        lead,
        picture(
            "waterfall-picture", partial(waterfall, bars, currency), "Each step starts where the one before ended."
        ),
        _terms(data, found),
        _invoice(data),
        tag("h3", "By tier"),
        _tiers(data),
        tag("h3", "Wasted work"),
        tag(
            "p",
            "These payments are part of those above, cut by what they bought no lasting work with. They "
            "are not subtracted again.",
        ),
        picture(
            "waste-picture",
            partial(wasted, waste, total.paid, currency),
            f"The {len(waste)} dearest kinds and causes. Idle slots (lighter) wait for work or for a whole "
            "instance to be given back.",
        ),
        _states(data, found),
        _behind(data, found),
    )


def _terms(data: ReportData, found: Findings) -> Markup:
    ours, peer = data.ours.summary.money.total, data.peer.summary.money.total
    rows: list[tuple[str, ...]] = []
    for term, words, sign in STEPS:
        one = found.behind[term]
        mine = link(f"behind-{term}", amount(sign * getattr(ours, term)))
        rows.append((words, mine, amount(sign * getattr(peer, term)), figure(one.count)))
    rows.append(("net saving", amount(ours.net), amount(peer.net), ""))
    rows.append(("share of interruptible value", percent(ours.share_ppm), percent(peer.share_ppm), ""))
    head = ("term", f"Ebbtide, {data.ours.summary.money.currency}", "price-first", "events")
    return table("The terms of the net saving", head, rows, columns="lrrr", foot=2)


def _invoice(data: ReportData) -> Markup:
    one, currency = data.ours.reconciliation, data.ours.summary.money.currency
    invoice, terms = amount(one.invoice_ticks, currency, places=6), amount(one.terms_ticks, currency, places=6)
    said = (
        f"The provider's invoice, reckoned from starts and ends of instances alone, is {invoice}; the "
        f"payments above sum to {terms}. "
    )
    if one.consistent:
        return tag(
            "p", said, "They agree to the last digit: every paid second is accounted for exactly once.", kind="proof"
        )
    names = ", ".join(d.instance for d in one.disagreements[:5])
    count = len(one.disagreements) + len(one.unpriced_losses)
    return tag(
        "p",
        said,
        tag(
            "strong",
            f"They do not agree: {figure(count)} entries differ, terms less invoice is "
            f"{amount(one.difference, currency, places=6)}.",
        ),
        f" First instances: {names}." if names else "",
        kind="proof",
    )


def _tiers(data: ReportData) -> Markup:
    mine, theirs = data.ours.summary.money.tiers, data.peer.summary.money.tiers
    order = [tier for tier in (*TIERS, *(t for t in mine if t not in TIERS)) if tier in mine]
    rows = [_tier(tier or "shared", mine[tier], theirs.get(tier)) for tier in order]
    rows.append(_tier("all", data.ours.summary.money.total, data.peer.summary.money.total))
    head = (
        "tier",
        "value",
        "paid",
        "storage, footprint",
        "net",
        "net share",
        "price-first",
        "wasted time",
        "price-first",
    )
    return table(
        f"Net saving by tier, {data.ours.summary.money.currency}", head, rows, columns="lrrrrrrrr", foot=1, kind="lines"
    )


def _tier(name: str, mine: NetSaving, theirs: NetSaving | None) -> tuple[str, ...]:
    return (
        name,
        amount(mine.useful_value),
        amount(mine.paid),
        amount(mine.storage + mine.footprint),
        amount(mine.net),
        percent(mine.share_ppm),
        percent(theirs.share_ppm) if theirs else "",
        percent(mine.wasted_ppm, places=2),
        percent(theirs.wasted_ppm, places=2) if theirs else "",
    )


def _states(data: ReportData, found: Findings) -> Markup:
    ours, peer = data.ours.summary.money.total, data.peer.summary.money.total
    rows: list[tuple[str, ...]] = []
    for term, words, ns in STATES:
        mine = link(f"behind-{term}", amount(getattr(ours, term)))
        rows.append(
            (
                words,
                f"{hours(getattr(ours, ns)):,f}".replace(",", "\u202f"),
                mine,
                amount(getattr(peer, term)),
                figure(found.behind[term].count),
            )
        )
    rows.append(
        ("all payments", f"{hours(ours.paid_ns):,f}".replace(",", "\u202f"), amount(ours.paid), amount(peer.paid), "")
    )
    head = ("state", "instance-hours", f"Ebbtide, {data.ours.summary.money.currency}", "price-first", "events")
    return table("Payments without lasting work", head, rows, columns="lrrrr", foot=1)


def _behind(data: ReportData, found: Findings) -> Markup:
    names = {term: words for term, words, _ in (*STEPS, *STATES)}
    parts = [_behind_one(names[term], found.behind[term], data.options) for term in names]
    return join([tag("h3", "The events behind each number"), tag("div", *parts, kind="columns")])


def _behind_one(words: str, one: Behind, options: str) -> Markup:
    items = tag("ol", *(tag("li", tag("code", name)) for name in one.ids), kind="ids")
    more = (
        f"The first {len(one.ids)} of {figure(one.count)}. All of them: "
        if one.count > len(one.ids)
        else "The same on the screen: "
    )
    every = tag("p", more, command(_line("savings", "--behind", one.term, options=options)))
    return details(f"{words}: {figure(one.count)} events", items, every, ident=f"behind-{one.term}")


def _line(*arguments: str, options: str) -> str:
    return " ".join(["ebbtide", *(shlex.quote(argument) for argument in arguments), *([options] if options else [])])


def losses(data: ReportData, found: Findings) -> Markup:
    """Section 7: the ten dearest losses, and how each came about."""
    lead = (
        "What one loss cost: work that is done again, slots that drained, and boots and loading of what took its "
        "place. Each opens to its chain, from the notice to the money, and to the command that tells it from the "
        "ledger, with times in UTC."
    )
    if not found.losses:
        return section("losses", "The dearest losses", "The provider took no instance back on this day.")
    rows = [
        (
            link(f"loss-{number}", f"{number}"),
            clock(one.taking.at, data.zone, seconds=True),
            one.taking.workload,
            data.tier_of.get(one.taking.workload, ""),
            link(f"loss-{number}", one.taking.instance),
            ENDS[one.taking.fate],
            *(amount(ticks, places=4) for ticks in (one.redone, one.restarting, one.draining, one.ticks)),
        )
        for number, one in enumerate(found.losses, 1)
    ]
    head = ("", "time", "workload", "tier", "instance", "how it ended", "redone", "restarting", "draining", "all")
    caption = f"The dearest losses, {data.ours.summary.money.currency}"
    chains = [_chain(number, one, data) for number, one in enumerate(found.losses, 1)]
    return section(
        "losses",
        "The ten dearest losses",
        lead,
        table(caption, head, rows, columns="rlllllrrrr", kind="lines"),
        *chains,
    )


def _chain(number: int, one: Loss, data: ReportData) -> Markup:
    currency = data.ours.summary.money.currency
    rows = [
        (
            clock(step.at, data.zone, seconds=True),
            step.step,
            join([step.what, Markup("<br>"), tag("code", step.event_id, kind="id")]),
            "" if step.ticks is None else amount(step.ticks, places=4),
        )
        for step in one.chain
    ]
    summary = (
        f"{number}. {one.taking.instance} of {one.taking.workload}: {amount(one.ticks, currency, places=4)}, "
        f"{span(one.redone_unit_ms)} of unit work done again"
    )
    told = table(
        f"Chain of loss {number}",
        ("time", "step", "what happened, and its event", currency),
        rows,
        columns="lllr",
        foot=0,
    )
    follow = tag("p", "Follow it: ", command(_line("explain", "action", one.taking.cause_id, options=data.options)))
    return details(summary, told, follow, ident=f"loss-{number}")
