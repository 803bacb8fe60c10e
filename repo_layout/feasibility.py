"""Layer 2: what the platform cannot honour although every file is well formed, as one table of rules.

`check` runs the table over an estate; each rule is a pure function from the estate to findings with the numbers in
them. A rule names the kinds of files it compares: where one of them lost a file to an error of form, the rule is not
asked, because it would blame others for the gap. A new rule is a line here and a function in a module beside.

A shared rule weighs what several people wrote, the calendar or what was observed, and attributes what it finds. Told
what a change touches, `check` refuses that change only for findings that rest on it; all others become warnings, so
that a merged estate never turns invalid by itself and nobody is stopped by what they did not touch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from contracts.findings import Finding, Severity, in_order, listed
from repo_layout import (
    deadlines,
    joins,
    known_names,
    losses,
    membership,
    observed,
    partition_room,
    people_and_money,
    room_for_floors,
    spread_reachable,
    sums,
    terms,
    units,
    wave,
)
from repo_layout.blame import Attributed, Changes
from repo_layout.codes import FEASIBILITY
from repo_layout.layout import Kind
from repo_layout.model import Estate
from repo_layout.reach import Ground


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule across files; `needs` are the kinds that have to be whole before it says anything.

    A rule that is `shared` attributes every finding; the others are refused whoever changed what.
    """

    code: str
    title: str
    check: Callable[[Ground], Iterable[Finding | Attributed]]
    needs: frozenset[Kind]
    shared: bool = False


def _rule(code: str, check: Callable[[Estate], Iterable[Finding]], *needs: Kind) -> Rule:
    """A rule of one file against what it names, refused whoever changed what."""
    return Rule(code, FEASIBILITY[code], lambda ground: check(ground.estate), frozenset({Kind.SETTINGS, *needs}))


def _said(code: str, check: Callable[[Ground], Iterable[Finding]], *needs: Kind) -> Rule:
    """What is said beside: warnings and notes."""
    return Rule(code, FEASIBILITY[code], check, frozenset({Kind.SETTINGS, *needs}))


def _shared(code: str, check: Callable[[Ground], Iterable[Attributed]], *needs: Kind) -> Rule:
    """A rule that weighs other people's files, the calendar or what was observed."""
    return Rule(code, FEASIBILITY[code], check, frozenset({Kind.SETTINGS, *needs}), shared=True)


_SPREAD = (Kind.POOL, Kind.CORRELATION_GROUP, Kind.WAIVER)
_JOINS = (Kind.POOL, Kind.CONTRACT, Kind.JOIN_PROFILE)

MOST_NAMED = 4
"""Things of a change that a finding names as its cause; it says how many more there are."""

RULES: tuple[Rule, ...] = (
    _shared("EBT-201", spread_reachable.drains_fit, *_SPREAD),
    _shared("EBT-202", spread_reachable.bounds_reachable, *_SPREAD),
    _shared("EBT-203", room_for_floors.floors_fit, Kind.POOL),
    _rule("EBT-204", people_and_money.people_known, Kind.DIRECTORY),
    _rule("EBT-205", people_and_money.teams_allow),
    _rule("EBT-206", known_names.names_known, Kind.POOL, Kind.CONTRACT),
    _shared("EBT-207", spread_reachable.checkpoints_fit, *_SPREAD),
    _shared("EBT-208", spread_reachable.kinds_offer_enough, Kind.CORRELATION_GROUP, Kind.WAIVER),
    _shared("EBT-209", spread_reachable.units_fit_somewhere, Kind.POOL),
    _rule("EBT-210", room_for_floors.rows_fit_hosts),
    _rule("EBT-211", people_and_money.restarts_have_checkpoints),
    _rule("EBT-212", people_and_money.one_currency),
    _said("EBT-213", spread_reachable.waivers_needed, Kind.CONTRACT),
    _rule("EBT-214", known_names.families_have_factors),
    _shared("EBT-215", wave.gateways_carry_waves, *_SPREAD),
    _shared("EBT-216", sums.teams_within_limits),
    _shared("EBT-217", sums.authorities_suffice, Kind.DIRECTORY),
    _rule("EBT-218", deadlines.deadlines_can_be_met),
    _shared("EBT-219", observed.tolerances_hold, Kind.HISTORY, *_SPREAD),
    _said("EBT-220", losses.losses_shown, *_SPREAD),
    _shared("EBT-221", terms.terms_hold, *_SPREAD),
    _said("EBT-222", terms.terms_ending, *_SPREAD),
    _shared("EBT-223", membership.groups_hold_domains, Kind.POOL, Kind.CORRELATION_GROUP),
    _shared("EBT-224", units.gangs_come_whole, *_SPREAD),
    _shared("EBT-225", units.gpus_have_a_family),
    _shared("EBT-226", partition_room.partitions_carry, Kind.POOL, Kind.DIRECTORY),
    _rule("EBT-230", joins.profiles_known, Kind.POOL, Kind.JOIN_PROFILE),
    _rule("EBT-231", joins.profiles_join, *_JOINS),
    _rule("EBT-232", joins.templates_whole, Kind.JOIN_PROFILE),
    _rule("EBT-233", joins.no_secret("EBT-233"), Kind.JOIN_PROFILE),
    _rule("EBT-234", joins.no_secret("EBT-234"), Kind.JOIN_PROFILE),
    _rule("EBT-235", joins.no_secret("EBT-235"), Kind.JOIN_PROFILE),
    _rule("EBT-236", joins.no_secret("EBT-236"), Kind.JOIN_PROFILE),
    _rule("EBT-237", joins.user_data_fits, *_JOINS),
    _rule("EBT-238", joins.payloads_fit, Kind.CONTRACT),
    _rule("EBT-239", joins.templates_readable, Kind.JOIN_PROFILE),
)


def check(
    estate: Estate, *, broken: frozenset[Kind] = frozenset(), changed: frozenset[str] | None = None
) -> tuple[Finding, ...]:
    """Every finding of every rule that can be asked, in order.

    `broken` are the kinds that lost a file. `changed` are the keys (as in `Estate.sources`) of what differs from the
    estate before, things that are gone included; None is a first look, in which everything counts as changed.
    """
    ground = Ground(estate)
    changes = None if changed is None else Changes.of(changed, estate)
    return in_order(
        _weighed(found, changes) for rule in RULES if not rule.needs & broken for found in rule.check(ground)
    )


def _weighed(found: Finding | Attributed, changes: Changes | None) -> Finding:
    """The finding: an error that this change did not cause as a warning, one that it did with its cause in the hint."""
    if isinstance(found, Finding):
        return found
    finding = found.finding
    if changes is None or finding.severity is not Severity.ERROR:
        return finding
    if not changes.cause(found):
        return replace(finding, severity=Severity.WARNING)
    touched = changes.behind(found)
    if not touched:
        return finding
    because = f"this change touches what it rests on: {listed(touched, MOST_NAMED)}"
    return replace(finding, hint=f"{finding.hint}; {because}" if finding.hint else because)
