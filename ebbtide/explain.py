"""`ebbtide explain`: why a workload, pool, drain or action is as it is, from a state directory and its estate."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from agent.transcript import tell
from ebbtide import explain_contract, render_action, render_pool, render_workload
from ebbtide.advice import Advice, unknown
from ebbtide.estate import laid
from ebbtide.state import RunRecord, State, options_of
from ebbtide.story import Life, causes_to_follow, life
from ebbtide.terminal import Terminal
from ebbtide.text import date_clock
from ledger.adapters.clickhouse import ClickHouseLedger
from ledger.events import Event, EventType
from ledger.money import rounded
from ledger.reports import Period, summed
from ledger.story import told, told_chain
from reconciler.desired import Partition, partition

ALWAYS = Period(0, 2**62)
OF_A_DRAIN = frozenset(
    {
        EventType.NOTICE_RECEIVED, EventType.NOTICE_WITHDRAWN, EventType.RELEASE_ASKED, EventType.DRAIN_STARTED,
        EventType.DRAIN_ENDED, EventType.INSTANCE_LOST, EventType.INSTANCE_ENDED, EventType.WORK_LOST,
    }
)  # fmt: skip


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it is explained; what does not exist is an error with the nearest names."""
    if args.kind == "contract":
        explain_contract.show(args, terminal)
        return 0
    state = State(Path(args.state))
    record = state.read()
    explain: dict[str, Callable[[State, RunRecord, argparse.Namespace, Terminal], None]] = {
        "workload": _workload,
        "pool": _pool,
        "drain": _drain,
        "action": _action,
    }
    explain[args.kind](state, record, args, terminal)
    return 0


def _part(state: State, record: RunRecord) -> Partition:
    estate = laid(state.estate, record.commit)
    return partition(estate, record.region)


def _action(state: State, record: RunRecord, args: argparse.Namespace, terminal: Terminal) -> None:
    with state.ledger() as ledger:
        own = ledger.history.events_of_instance(args.name)
        currency = record.policies[0].summary.money.currency
        if not own:
            _chain(ledger, record, args.name, terminal, currency)
            return
        if args.tree:
            _tree_of_instance(ledger, own, args.name, terminal, currency)
            return
        lived = _life(ledger, args.name, own)
        if terminal.as_json:
            cost = lived.cost
            amounts = {
                name: str(rounded(ticks, places=9))
                for name, ticks in (
                    ("redone", cost.redone),
                    ("draining", cost.draining),
                    ("restarting", cost.restarting),
                    ("total", cost.total),
                )
            }
            terminal.document(render_action.as_document(lived, currency=currency, amounts=amounts))
            return
        contract = _part(state, record).contract_by_name.get(lived.workload)
        tier = f"tier {contract.tier.rank}, {contract.tier.value}" if contract else ""
        lines = render_action.as_text(
            lived, currency=currency, tier=tier, paint=terminal.paint, options=options_of(state)
        )
        terminal.lines(lines)


def _life(ledger: ClickHouseLedger, instance: str, own: tuple[Event, ...]) -> Life:
    asked = next((event for event in own if event.type is EventType.INSTANCE_REQUESTED), own[0])
    after: dict[str, Event] = {}
    for cause in causes_to_follow(own):
        after.update((event.id, event) for event in ledger.history.chain_down(cause))
    costs = ledger.history.costs([event.id for event in own] + list(after))
    root = ledger.history.chain_up(asked.id)
    return life(instance, own, root=root, after=tuple(after.values()), costs=costs)


def _tree_of_instance(
    ledger: ClickHouseLedger, own: tuple[Event, ...], instance: str, terminal: Terminal, currency: str
) -> None:
    asked = next((event for event in own if event.type is EventType.INSTANCE_REQUESTED), own[0])
    every = {event.id: event for event in (*ledger.history.chain_up(asked.id), *own)}
    for cause in causes_to_follow(own):
        every.update((event.id, event) for event in ledger.history.chain_down(cause))
    steps = told(every.values(), ledger.history.costs(every))
    if terminal.as_json:
        terminal.document([_step(step.depth, step.event, step.what, step.ticks) for step in steps])
        return
    terminal.lines(render_action.tree(steps, currency=currency, asked=instance, paint=terminal.paint))


def _chain(ledger: ClickHouseLedger, record: RunRecord, name: str, terminal: Terminal, currency: str) -> None:
    """The chain through one event."""
    chain = ledger.history.chain(name)
    if not chain.down:
        names = [line.instance for line in ledger.invoice(record.period)]
        raise unknown(
            "event or instance", name, names, lists="ebbtide savings --behind redone_paid lists events with lost work"
        )
    steps = told_chain(chain)
    if terminal.as_json:
        terminal.document([_step(step.depth, step.event, step.what, step.ticks) for step in steps])
        return
    terminal.lines(render_action.tree(steps, currency=currency, asked=name, paint=terminal.paint))


def _step(depth: int, event: Event, what: str, ticks: int | None) -> dict[str, object]:
    return {
        "depth": depth,
        "id": event.id,
        "at": event.occurred_at,
        "type": event.type.value,
        "cause": event.cause.value,
        "caused_by": event.caused_by,
        "what": what,
        "paid": None if ticks is None else str(rounded(ticks, places=9)),
    }


def _drain(state: State, record: RunRecord, args: argparse.Namespace, terminal: Terminal) -> None:
    with state.ledger() as ledger:
        own = ledger.history.events_of_instance(args.name)
        if not own:
            names = [line.instance for line in ledger.invoice(record.period)]
            raise unknown("instance", args.name, names, lists=f"ebbtide explain pool NAME --state {state.folder}")
    journal = tell(state.journal_of(args.name))
    drained = [event for event in own if event.type in OF_A_DRAIN]
    if not any(event.type is EventType.DRAIN_STARTED for event in drained):
        raise Advice(
            f"{args.name} never drained in this record", hint=f"ebbtide explain action {args.name} tells its life"
        )
    steps = told(drained)
    if terminal.as_json:
        events = [_step(step.depth, step.event, step.what, step.ticks) for step in steps]
        terminal.document({"instance": args.name, "events": events, "journal": journal})
        return
    paint = terminal.paint
    first = drained[0]
    lines = [paint.bold(args.name) + f"  {first.workload}, in {first.pool}"]
    lines += [f"  {date_clock(step.event.occurred_at)}  {'  ' * step.depth}{step.what}" for step in steps]
    lines += [
        "",
        paint.bold("what the node saw and did") + paint.dim("  (seconds since it heard; -> ordered, == changed)"),
    ]
    lines += journal or ["  an agreed return: its node's journal is not kept, the events above are all there is"]
    terminal.lines(lines)


def _workload(state: State, record: RunRecord, args: argparse.Namespace, terminal: Terminal) -> None:
    part = _part(state, record)
    contract = part.contract_by_name.get(args.name)
    if contract is None:
        elsewhere = part.estate.contract_by_name.get(args.name)
        if elsewhere is not None:
            region = part.estate.region_of_cluster.get(elsewhere.cluster, "")
            raise Advice(
                f"{args.name} belongs to {region}, and this record is of {record.region}",
                hint=f"ebbtide demo --region {region} --state .demo-{region}",
            )
        lists = "the contracts lie in contracts/ of the estate"
        raise unknown("workload", args.name, part.contract_by_name, lists=lists)
    with state.ledger() as ledger:
        rows = [row for row in ledger.savings(record.period) if row.workload == args.name]
        events = ledger.history.events_of_workload(args.name, record.period)
    shown = render_workload.WorkloadView(
        contract=contract,
        place=part.estate.sources.get(f"contract/{args.name}"),
        record=record,
        part=part,
        events=events,
        saving=summed(rows, region=record.region, workload=args.name),
        options=options_of(state),
    )
    if terminal.as_json:
        terminal.document(render_workload.as_document(shown))
    else:
        terminal.lines(render_workload.as_text(shown, terminal.paint))


def _pool(state: State, record: RunRecord, args: argparse.Namespace, terminal: Terminal) -> None:
    part = _part(state, record)
    pool = part.pool_by_name.get(args.name)
    if pool is None:
        raise unknown(
            "pool", args.name, part.pool_by_name, lists=f"pools of {record.region} lie in pools/ of the estate"
        )
    with state.ledger() as ledger:
        events = ledger.history.pool_history(args.name, ALWAYS)
    shown = render_pool.PoolView(
        pool=pool,
        place=part.estate.sources.get(f"pool/{args.name}"),
        groups=part.groups.get(pool.domain, ()),
        record=record,
        events=events,
    )
    if terminal.as_json:
        terminal.document(render_pool.as_document(shown))
    else:
        terminal.lines(render_pool.as_text(shown, terminal.paint))
