"""Gathers a report's data from a state directory: the record of the run, both spools, the ledger's verdicts.

Called by `ebbtide demo` after its books are closed, and by `ebbtide.report_picture`. It wires and copies; it computes
nothing itself.
"""

from __future__ import annotations

from ebbtide.ending import spooled_events
from ebbtide.estate import estate_of
from ebbtide.report_data import PolicyDay, ReportData
from ebbtide.report_losses import paid_ids
from ebbtide.state import PolicyRecord, State
from ledger.events import Event
from ledger.reports import Period
from repo_layout.model import Estate

OURS, PEER = "ebbtide", "price-first"


def gathered(state: State) -> ReportData:
    """All that the report of this state's day is made from; raises `Advice` without a whole run, or a busy ledger."""
    record = state.read()
    estate, _ = estate_of(str(state.estate), commit=record.commit)
    days = {policy.summary.policy: policy for policy in record.policies}
    events = {name: tuple(spooled_events(state, name)) for name in (OURS, PEER)}
    with state.ledger() as ledger:
        costs = ledger.history.costs(paid_ids(events[OURS]))
    return ReportData(
        title=record.title,
        source=record.source,
        recorded=record.recorded,
        zone=estate.region(record.region).time_zone,
        commit=record.commit,
        hall_of={pool.name: pool.hall for pool in estate.pools_of(record.region)},
        tier_of=_tiers(estate, record.region),
        ours=_day(state, days[OURS], events[OURS], record.period),
        peer=_day(state, days[PEER], events[PEER], record.period),
        costs=costs,
        options="" if str(state.folder) == ".demo" else f"--state {state.folder}",
    )


def _tiers(estate: Estate, region: str) -> dict[str, str]:
    return {contract.name: contract.tier.value for contract in estate.contracts_of(region)}


def _day(state: State, policy: PolicyRecord, events: tuple[Event, ...], period: Period) -> PolicyDay:
    with state.ledger(policy.summary.policy) as ledger:
        return PolicyDay(
            summary=policy.summary,
            moments=policy.moments,
            events=events,
            waste=ledger.waste(period),
            reconciliation=ledger.reconcile_invoice(period),
        )
