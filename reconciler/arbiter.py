"""When to buy guaranteed capacity beyond the floor, how much of whose money, and when to give it back.

Pure. A workload is at risk while it runs fewer units than its minimum, or than it claims if that is less. After a wait
the missing units are granted on committed capacity, within what is left of the authority's limit for the day; they are
returned when reclaimable capacity has held for a while. Money is reserved an hour at a time before it is spent, in
millionths of the currency; without a known rate nothing is bought.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from contracts.model import Contract
from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.claims import Claim
from reconciler.drafts import Scribe

ENTRY_WAIT_MS = 300_000
"""A shortfall that heals within five minutes (a replacement boots in less) buys nothing."""

EXIT_HOLD_MS = 1_800_000
"""Fallback goes back when the minimum has been carried without it for half an hour."""

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Risk:
    """One workload's state: short since, healthy since, units granted, and until when they are paid."""

    short_since: int = 0
    healthy_since: int = 0
    granted: int = 0
    paid_until: int = 0
    since_event: str = ""


@dataclass(frozen=True, slots=True)
class Wallet:
    """What each authority has reserved in its day (`day` is a local date as text), in 1e-6 of the currency."""

    day: str = ""
    reserved_micro: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """What one workload has now: running units in all, and those that stand on fallback."""

    running: int
    on_fallback: int
    unit_hour_micro: int | None


@dataclass
class Ruling:
    """Grants in units by workload, the new state, and the events that explain them."""

    granted: dict[str, int]
    risks: dict[str, Risk]
    wallet: Wallet
    events: list[Event]
    paged: list[str]


def rule(
    contracts: tuple[Contract, ...],
    *,
    claims: Mapping[str, Claim],
    standings: Mapping[str, Standing],
    risks: Mapping[str, Risk],
    wallet: Wallet,
    limits_micro: Mapping[str, int],
    day: str,
    scribe: Scribe,
) -> Ruling:
    """Decide every contract's fallback, strictest tier first; `limits_micro` is each authority's limit for one day."""
    if wallet.day != day:
        wallet = Wallet(day)
    ruling = Ruling({}, {}, wallet, [], [])
    for contract in sorted(contracts, key=lambda c: (c.tier.rank, c.name)):
        risk = risks.get(contract.name, Risk())
        standing = standings.get(contract.name, Standing(0, 0, None))
        minimum = min(contract.minimum, claims[contract.name].total)
        risk = _watch(ruling, contract, risk, standing, minimum, scribe)
        if contract.fallback.allowed:
            risk = _buy(ruling, contract, risk, standing, minimum, limits_micro=limits_micro, scribe=scribe)
        if risk != Risk():
            ruling.risks[contract.name] = risk
        if risk.granted:
            ruling.granted[contract.name] = risk.granted
    return ruling


def _watch(ruling: Ruling, contract: Contract, risk: Risk, standing: Standing, minimum: int, scribe: Scribe) -> Risk:
    """Notice when a shortfall begins and ends."""
    short = standing.running < minimum
    if short and not risk.short_since:
        event = scribe.event(
            EventType.SHORTFALL_BEGAN,
            f"{contract.name}/{scribe.now}",
            Cause.SHORTFALL,
            workload=contract.name,
            data={"missing_units": minimum - standing.running},
        )
        ruling.events.append(event)
        return replace(risk, short_since=scribe.now, healthy_since=0, since_event=event.id)
    if not short and risk.short_since:
        ruling.events.append(
            scribe.event(
                EventType.SHORTFALL_ENDED,
                f"{contract.name}/{risk.short_since}",
                Cause.RESTORED,
                caused_by=risk.since_event,
                workload=contract.name,
            )
        )
        return replace(risk, short_since=0)
    return risk


def _buy(
    ruling: Ruling,
    contract: Contract,
    risk: Risk,
    standing: Standing,
    minimum: int,
    *,
    limits_micro: Mapping[str, int],
    scribe: Scribe,
) -> Risk:
    """Grant, renew or return one contract's fallback."""
    now = scribe.now
    without = standing.running - standing.on_fallback
    if risk.granted and without >= minimum:
        since = risk.healthy_since or now
        if now - since >= EXIT_HOLD_MS:
            return _give_back(ruling, contract, risk, Cause.RECLAIMABLE_HELD, scribe)
        risk = replace(risk, healthy_since=since)
    elif risk.healthy_since:
        risk = replace(risk, healthy_since=0)
    missing = max(risk.granted, minimum - without) if risk.short_since or risk.granted else 0
    waited = risk.granted or (risk.short_since and now - risk.short_since >= ENTRY_WAIT_MS)
    if not missing or not waited or (missing == risk.granted and now < risk.paid_until):
        return risk
    return _reserve(
        ruling,
        contract,
        risk,
        missing,
        unit_hour_micro=standing.unit_hour_micro,
        limits_micro=limits_micro,
        scribe=scribe,
    )


def _reserve(
    ruling: Ruling,
    contract: Contract,
    risk: Risk,
    units: int,
    *,
    unit_hour_micro: int | None,
    limits_micro: Mapping[str, int],
    scribe: Scribe,
) -> Risk:
    """Reserve the next hour for `units`, or what the authority still allows of them."""
    authority = contract.fallback.authority or ""
    renewing = risk.granted > 0 and scribe.now < risk.paid_until
    fresh = units - risk.granted if renewing else units
    own = contract.fallback.limit_per_day
    ceiling = limits_micro.get(authority, 0)
    if own is not None:
        ceiling = min(ceiling, int(own.amount * 1_000_000))
    left = ceiling - ruling.wallet.reserved_micro.get(authority, 0)
    affordable = 0 if not unit_hour_micro else max(0, left) // unit_hour_micro
    bought = min(fresh, affordable)
    if bought < fresh:
        ruling.paged.append(contract.name)
    if bought == 0:
        return risk if renewing else _give_back(ruling, contract, risk, Cause.AUTHORITY_SPENT, scribe)
    amount = bought * (unit_hour_micro or 0)
    spent = dict(ruling.wallet.reserved_micro)
    spent[authority] = spent.get(authority, 0) + amount
    ruling.wallet = replace(ruling.wallet, reserved_micro=spent)
    ruling.events.append(
        scribe.event(
            EventType.FALLBACK_RESERVED,
            f"{contract.name}/{scribe.now}",
            Cause.SHORTFALL,
            caused_by=risk.since_event,
            workload=contract.name,
            data={"amount": micro_text(amount), "currency": _currency(contract), "authority": authority},
        )
    )
    granted = risk.granted + bought if renewing else bought
    until = risk.paid_until if renewing else scribe.now + HOUR_MS
    return replace(risk, granted=granted, paid_until=until)


def _give_back(ruling: Ruling, contract: Contract, risk: Risk, cause: Cause, scribe: Scribe) -> Risk:
    if risk.granted:
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
    return replace(risk, granted=0, paid_until=0, healthy_since=0)


def _currency(contract: Contract) -> str:
    limit = contract.fallback.limit_per_day
    return limit.currency if limit else ""


def micro_text(amount_micro: int) -> str:
    """Millionths of a currency as exact decimal text."""
    sign = "-" if amount_micro < 0 else ""
    whole, part = divmod(abs(amount_micro), 1_000_000)
    return f"{sign}{whole}.{part:06d}"
