"""Gathers a report's data: from what a run holds in its hands, or from the state directory that it left.

`ebbtide demo` assembles after its books are closed, `ebbtide.report_picture` gathers later. It wires and copies; it
computes nothing itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from ebbtide.ending import costs_of, spooled_events
from ebbtide.estate import estate_of
from ebbtide.grammar import DEFAULT_STATE
from ebbtide.report_data import PolicyDay, ReportData
from ebbtide.report_losses import paid_ids
from ebbtide.state import PolicyRecord, RunRecord, State
from repo_layout.losses import losses_under_waivers
from repo_layout.model import Estate

OURS, PEER = "ebbtide", "price-first"


def gathered(state: State) -> ReportData:
    """All that the report of this state's day is made from; raises `Advice` without a whole run, or a busy ledger."""
    record = state.read()
    estate, _ = estate_of(str(state.estate), commit=record.commit)
    days = {policy.summary.policy: policy for policy in record.policies}
    ours, peer = (_day(state, days[name], record) for name in (OURS, PEER))
    return assembled(state, record, estate, ours=ours, peer=peer, costs=costs_of(state, paid_ids(ours.events)))


def assembled(
    state: State, record: RunRecord, estate: Estate, *, ours: PolicyDay, peer: PolicyDay, costs: Mapping[str, int]
) -> ReportData:
    """The report's data; `costs` are ticks by event id, for `paid_ids` of our events."""
    return ReportData(
        title=record.title,
        source=record.source,
        recorded=record.recorded,
        zone=str(estate.region(record.region).time_zone),
        commit=record.commit,
        hall_of={pool.name: pool.hall for pool in estate.pools_of(record.region)},
        tier_of={contract.name: contract.tier.value for contract in estate.contracts_of(record.region)},
        ours=ours,
        peer=peer,
        costs=costs,
        waived=losses_under_waivers(estate, record.region),
        options="" if str(state.folder) == DEFAULT_STATE else f"--state {shlex.quote(str(state.folder))}",
    )


def _day(state: State, policy: PolicyRecord, record: RunRecord) -> PolicyDay:
    name = policy.summary.policy
    with state.ledger(name) as ledger:
        return PolicyDay(
            summary=policy.summary,
            moments=policy.moments,
            events=tuple(spooled_events(state, name)),
            waste=ledger.waste(record.period),
            reconciliation=ledger.reconcile_invoice(record.period),
        )
