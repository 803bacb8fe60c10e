"""What the arbiter's word on fallback is written down as: reservations, pages to an approver, returns. Pure.

Called by `arbiter` alone, with a ruling that it adds to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contracts.model import Contract
from ledger.causes import Cause
from ledger.events import EventType
from reconciler.drafts import Scribe
from reconciler.paid_hours import at_most

if TYPE_CHECKING:
    from reconciler.arbiter import Risk, Ruling


@dataclass(frozen=True, slots=True)
class Purse:
    """What is left to reserve, what a unit-hour costs now (None: unknown), and the units of one instance."""

    left_micro: int
    unit_hour_micro: int | None
    lot: int


@dataclass(frozen=True, slots=True)
class Amount:
    """One reservation: all of it, what of it is for time that is past, and what of that time no money is left for."""

    micro: int
    late_micro: int
    unreserved_micro: int


def write_down(ruling: Ruling, contract: Contract, risk: Risk, amount: Amount, scribe: Scribe) -> None:
    """Into the wallet and into the ledger."""
    authority, wallet = contract.fallback.authority or "", ruling.wallet
    ruling.wallet = replace(
        wallet,
        reserved_micro={**wallet.reserved_micro, authority: wallet.reserved_micro.get(authority, 0) + amount.micro},
        by_workload={**wallet.by_workload, contract.name: wallet.by_workload.get(contract.name, 0) + amount.micro},
    )
    ruling.events.append(
        scribe.event(
            EventType.FALLBACK_RESERVED,
            f"{contract.name}/{scribe.now}",
            Cause.SHORTFALL,
            caused_by=risk.since_event,
            workload=contract.name,
            data={
                "amount": micro_text(amount.micro),
                "currency": _currency(contract),
                "authority": authority,
                "day": wallet.day,
                "late": micro_text(amount.late_micro),
                "unreserved": micro_text(amount.unreserved_micro),
            },
        )
    )


def page(ruling: Ruling, contract: Contract, risk: Risk, units: int, purse: Purse, scribe: Scribe) -> Risk:
    """Call the approver, once a day and workload, with the numbers."""
    if risk.paged_on == ruling.wallet.day and risk.paged_on:
        return risk
    ruling.paged.append(contract.name)
    ruling.events.append(
        scribe.event(
            EventType.GUARD_REFUSED,
            f"fallback/{contract.name}/{scribe.epoch}/{scribe.now}",
            Cause.AUTHORITY_SPENT,
            caused_by=risk.since_event,
            workload=contract.name,
            data={
                "action": "fallback",
                "units": units,
                "unit_hour": micro_text(purse.unit_hour_micro) if purse.unit_hour_micro else "",
                "left": micro_text(purse.left_micro),
                "authority": contract.fallback.authority or "",
                "approver": contract.fallback.approver or "",
                "reserved": "unknown" if ruling.wallet.closed else "known",
            },
        )
    )
    return replace(risk, paged_on=ruling.wallet.day)


def give_back(ruling: Ruling, contract: Contract, risk: Risk, cause: Cause, scribe: Scribe, *, kept: int = 0) -> Risk:
    """Grant no more than `kept` units; what stands beyond them goes back. That is told once a cycle: what was to stay
    goes as well where its hour cannot be renewed.
    """
    told = (event for event in ruling.events if event.type is EventType.FALLBACK_RETURNED)
    if risk.granted and contract.name not in {event.workload for event in told}:
        ruling.events.append(
            scribe.event(
                EventType.FALLBACK_RETURNED,
                f"{contract.name}/{scribe.now}",
                cause,
                caused_by=risk.since_event,
                workload=contract.name,
                data={"authority": contract.fallback.authority or ""},
            )
        )
    if kept:
        return replace(risk, hours=at_most(risk.hours, kept), spent=False)
    return replace(risk, hours=(), healthy_since=0, spent=cause is Cause.AUTHORITY_SPENT)


def _currency(contract: Contract) -> str:
    limit = contract.fallback.limit_per_day
    return limit.currency if limit else ""


def micro_text(amount_micro: int) -> str:
    """Millionths of a currency as exact decimal text."""
    sign = "-" if amount_micro < 0 else ""
    whole, part = divmod(abs(amount_micro), 1_000_000)
    return f"{sign}{whole}.{part:06d}"
