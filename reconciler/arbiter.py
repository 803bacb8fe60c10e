"""When to buy guaranteed capacity beyond the floor, how much of whose money, and when to give it back.

Pure. A workload is at risk while it runs fewer units than its minimum, or than it claims if that is less. After a wait
the missing units are granted on committed capacity, within what is left of the authority's limit for the day; they are
returned when reclaimable capacity has held for a while. Money is reserved an hour at a time before it is spent, in
millionths of the currency; without a known rate nothing is bought. A paid hour is renewed ahead of its end, and what
cannot be renewed is given back ahead of it too, so that its drain is paid for.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from contracts.frozen import quick, replace
from contracts.model import Contract
from ledger.causes import Cause
from ledger.events import Event, EventType, Paid
from reconciler.claims import Claim
from reconciler.drafts import Scribe
from reconciler.fleet import Instance
from reconciler.paid_hours import HOUR_MS, Hour, Hours, at_most, due, ending, joined, renewed, units_of
from reconciler.spending import Amount, Purse, give_back, page, write_down

ENTRY_WAIT_MS = 300_000
"""A shortfall that heals within five minutes (a replacement boots in less) buys nothing."""

EXIT_HOLD_MS = 1_800_000
"""Fallback goes back when the minimum has been carried without it for half an hour."""

FRESH_LOTS = 20
"""Whole instances of new fallback that are granted in one cycle, strictest tier first: what an eighth of the provider's
burst boots before the next cycle. A wave that asks for more is restored in steps, and a laxer tier waits for its step.
"""


@quick
@dataclass(frozen=True, slots=True)
class Risk:
    """One workload's state: short since, healthy since, the hours that are paid, and the day on which its approver was
    last paged. `spent` says that what stands beyond the grant goes back because there is no money for it.
    """

    short_since: int = 0
    healthy_since: int = 0
    hours: Hours = ()
    since_event: str = ""
    paged_on: str = ""
    spent: bool = False

    @property
    def granted(self) -> int:
        """Units that may stand as fallback."""
        return units_of(self.hours)


NO_RISK = Risk()
"""That of most workloads, most of the time."""


@quick
@dataclass(frozen=True, slots=True)
class Wallet:
    """What each authority and each workload has reserved in the day (a local date as text), in 1e-6 of the currency.

    A day that is later than the one in hand is a clock that was set back: it opens no new limit. `epoch` is that of the
    leader that wrote it; on a `closed` day nothing more is bought, because nobody knows what was, until a person
    (`opened_by`, at `opened_at`) opens it. `paid` are the units of fallback by workload and by the end of their paid
    hour, as text, when money was last reserved: whoever leads next remembers no hour of its own.
    """

    day: str = ""
    reserved_micro: Mapping[str, int] = field(default_factory=dict)
    by_workload: Mapping[str, int] = field(default_factory=dict)
    epoch: int = 0
    closed: bool = False
    opened_by: str = ""
    opened_at: int = 0
    paid: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@quick
@dataclass(frozen=True, slots=True)
class Standing:
    """What one workload has now: running units in all, and those that stand on fallback.

    `lot` units come with one committed instance: money is reserved for whole ones, because whole ones are billed.
    `floor_owed` units of its floor do not run yet: they come from committed headroom, and no money is spent on them.
    `held` units of fallback run or are on their way; `failing` ones are of no use and billed until they are gone.
    """

    running: int
    on_fallback: int
    unit_hour_micro: int | None
    lot: int = 1
    floor_owed: int = 0
    held: int = 0
    failing: int = 0


@dataclass
class Ruling:
    """Grants in units by workload, the new state, and the events that explain them. `fresh` instances may be granted in
    this cycle beyond what was.
    """

    granted: dict[str, int]
    risks: dict[str, Risk]
    wallet: Wallet
    events: list[Event]
    paged: list[str]
    fresh: int = FRESH_LOTS


def recall(risks: Mapping[str, Risk], found: Iterable[Instance]) -> Mapping[str, Risk]:
    """The risks of a memory that had lost these instances: fallback that stands was granted by whoever led before. Its
    next hour is reserved at once, since nobody remembers until when it is paid.
    """
    recalled = dict(risks)
    for instance in found:
        if instance.paid is Paid.FALLBACK:
            risk = recalled.get(instance.workload, Risk())
            since = risk.since_event or instance.cause_event
            hours = joined((*risk.hours, Hour(instance.units)))
            recalled[instance.workload] = replace(risk, hours=hours, since_event=since)
    return recalled


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
    frozen: frozenset[str] = frozenset(),
    kept: frozenset[str] = frozenset(),
    money: bool = True,
) -> Ruling:
    """Decide every contract's fallback, strictest tier first; `limits_micro` is each authority's limit for one day.

    For `frozen` workloads nothing more is bought and nothing given back (the guard would let no such step out), of
    `kept` ones nothing is given back; what stands goes on being paid. Without `money` (nothing can be reserved now)
    nothing is bought or renewed; what stands stays until it can be paid, or until it has to go back so that no minute
    of it is unreserved.
    """
    if money and day > wallet.day:
        wallet = Wallet(day, epoch=wallet.epoch, paid=wallet.paid)
    ruling = Ruling({}, {}, wallet, [], [])
    unending: Container[str] = frozen if money else risks
    for contract in sorted(contracts, key=lambda c: (c.tier.rank, c.name)):
        risk = risks.get(contract.name, NO_RISK)
        standing = standings.get(contract.name) or Standing(0, 0, None)
        minimum = min(contract.minimum, claims[contract.name].total)
        risk = _watch(ruling, contract, risk, standing, minimum, scribe)
        if contract.fallback.allowed:
            risk = _buy(
                ruling,
                contract,
                risk,
                standing,
                minimum,
                limits_micro=limits_micro,
                scribe=scribe,
                frozen=contract.name in frozen,
                kept=contract.name in frozen | kept,
                money=money,
            )
        elif risk.hours:
            risk = replace(risk, hours=_still_paid(contract.name, risk, wallet, now=scribe.now, frozen=unending))
        if risk is not NO_RISK and risk != NO_RISK:
            ruling.risks[contract.name] = risk
        if risk.granted:
            ruling.granted[contract.name] = _may_stand(risk, standing, scribe.now)
    for name, risk in risks.items():
        hours = _still_paid(name, risk, wallet, now=scribe.now, frozen=unending) if name not in claims else ()
        if hours:
            ruling.risks[name], ruling.granted[name] = replace(risk, hours=hours), units_of(hours)
    if ruling.wallet is not wallet:
        ruling.wallet = replace(ruling.wallet, paid=_paid(ruling.risks))
    return ruling


def _paid(risks: Mapping[str, Risk]) -> dict[str, dict[str, int]]:
    """The units by the end of their paid hour, by workload, as a wallet says them."""
    ends: dict[str, dict[str, int]] = {}
    for name, risk in risks.items():
        for hour in risk.hours:
            if hour.until:
                of = ends.setdefault(name, {})
                of[str(hour.until)] = of.get(str(hour.until), 0) + hour.units
    return ends


def _may_stand(risk: Risk, standing: Standing, now: int) -> int:
    """The units that the placement may count on: what stands, and as much more as hours that are not over pay for. What
    failed has its hour until it is gone, and one that nobody remembers the end of buys nothing.
    """
    ahead = sum(paid.units for paid in risk.hours if now < paid.until)
    return min(risk.granted, max(standing.held, ahead - standing.failing))


def _still_paid(name: str, risk: Risk, wallet: Wallet, *, now: int, frozen: Container[str]) -> Hours:
    """The hours of a workload that lost its contract, or its leave to buy fallback. It keeps them to their end: whether
    that may go is another's to judge, and a person's to approve. Of what came back from marks the wallet says that end.
    Where it does not, that stays while all is `frozen` or nobody can read a wallet: the commit in hand may be outdated,
    and the next one that holds renews its hour.
    """
    known = [paid for paid in risk.hours if paid.until]
    unknown = units_of(risk.hours) - units_of(known)
    remembered = _paid({name: risk}).get(name, {})
    written = wallet.paid.get(name, {}).items()
    found = at_most(joined(Hour(units - remembered.get(end, 0), int(end)) for end, units in written), unknown)
    rest = Hour(unknown - units_of(found) if name in frozen else 0)
    return joined((*(paid for paid in (*known, *found) if now < paid.until), rest))


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
    frozen: bool,
    kept: bool,
    money: bool,
) -> Risk:
    """Grant, renew or return one contract's fallback."""
    now = scribe.now
    without = standing.running - standing.on_fallback
    if risk.granted and without >= minimum:
        since = risk.healthy_since or now
        risk = replace(risk, healthy_since=since)
        # what stands in for a floor's unit stays until that runs
        stays = min(risk.granted, _whole(standing.floor_owed, standing.lot))
        if now - since >= EXIT_HOLD_MS and not kept and stays < risk.granted:
            risk = give_back(ruling, contract, risk, Cause.RECLAIMABLE_HELD, scribe, kept=stays)
            if not stays:
                return risk
    elif risk.healthy_since:
        risk = replace(risk, healthy_since=0)
    if not money:
        return risk if frozen else _unrenewed(ruling, contract, risk, scribe)
    missing = _missing(risk, standing, minimum - without, now=now, fresh=ruling.fresh, frozen=frozen)
    if not missing or (missing == risk.granted and not any(due(paid, now) for paid in risk.hours)):
        return risk
    wallet, who = ruling.wallet, contract.fallback.authority or ""
    left = min(
        limits_micro.get(who, 0) - wallet.reserved_micro.get(who, 0),
        _own_limit(contract) - wallet.by_workload.get(contract.name, 0),
    )
    left = 0 if wallet.closed else max(0, left)
    return _reserve(ruling, contract, risk, missing, Purse(left, standing.unit_hour_micro, standing.lot), scribe)


def _missing(risk: Risk, standing: Standing, units: int, *, now: int, fresh: int, frozen: bool) -> int:
    """How many units to have as fallback now, of the `units` that it is short of without any.

    Ahead of the end of a paid hour only what stands is renewed: growth comes a cycle later, with an hour of its own.
    """
    waited = risk.short_since and now - risk.short_since >= ENTRY_WAIT_MS
    short = _whole(units - standing.floor_owed, standing.lot)
    # what stands is needed as long as it is short without it: an empty memory pays for it anew, without a wait
    needed = short if waited else min(short, standing.on_fallback)
    if frozen or any(due(paid, now) and now < paid.until for paid in risk.hours):
        return risk.granted
    return min(risk.granted + max(0, fresh) * standing.lot, max(risk.granted, needed))


def _whole(units: int, lot: int) -> int:
    """The units of as many whole instances as hold `units`."""
    return -(-max(0, units) // lot) * lot


def _own_limit(contract: Contract) -> int:
    own = contract.fallback.limit_per_day
    return int(own.amount * 1_000_000) if own is not None else 0


def _reserve(ruling: Ruling, contract: Contract, risk: Risk, units: int, purse: Purse, scribe: Scribe) -> Risk:
    """Reserve the next hour of what is due, and one for what is new up to `units`, or what the authority still allows.

    What stands is renewed at its last rate where none is known now: a silent rate card is no reason to let a floor go.
    """
    now, each, lot = scribe.now, purse.unit_hour_micro or 0, purse.lot
    before = risk.granted
    renewal = renewed(risk.hours, now=now, left_micro=purse.left_micro, rate_micro=purse.unit_hour_micro, lot=lot)
    left, wanted = purse.left_micro - renewal.micro, units - before
    fresh = min(wanted, left // (each * lot) * lot) if each else 0
    if renewal.short or fresh < wanted:
        risk = page(ruling, contract, risk, units, purse, scribe)
    if renewal.micro or renewal.unreserved_micro or fresh:
        amount = Amount(renewal.micro + fresh * each, renewal.late_micro, renewal.unreserved_micro)
        write_down(ruling, contract, risk, amount, scribe)
    ruling.fresh -= fresh // lot
    hours = joined((*renewal.hours, Hour(fresh, now + HOUR_MS, each)))
    dropped = units_of(renewal.hours) < before
    return _with(ruling, contract, risk, hours, scribe, spent=dropped or (risk.spent and not renewal.micro))


def _unrenewed(ruling: Ruling, contract: Contract, risk: Risk, scribe: Scribe) -> Risk:
    """Without any money now: what has to go back, so that no minute of it is unreserved, goes."""
    hours = tuple(paid for paid in risk.hours if not ending(paid, scribe.now))
    return risk if hours == risk.hours else _with(ruling, contract, risk, hours, scribe, spent=True)


def _with(ruling: Ruling, contract: Contract, risk: Risk, hours: Hours, scribe: Scribe, *, spent: bool) -> Risk:
    """The risk with these hours; where none is left of some, all goes back."""
    if risk.granted and not hours:
        return give_back(ruling, contract, risk, Cause.AUTHORITY_SPENT, scribe)
    return replace(risk, hours=hours, spent=spent)
