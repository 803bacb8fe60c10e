"""Layer 2: what the platform cannot honour although every file is well formed, as one table of rules.

`check` runs the table over an estate; each rule is a pure function from the estate to findings with the numbers in
them. A rule names the kinds of files it compares: where one of them lost a file to an error of form, the rule is not
asked, because it would blame others for the gap. A new rule is a line here and a function in a module beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from contracts.findings import Finding, in_order
from repo_layout import joins, known_names, people_and_money, room_for_floors, spread_reachable
from repo_layout.codes import FEASIBILITY
from repo_layout.layout import Kind
from repo_layout.model import Estate


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule across files; `needs` are the kinds that have to be whole before it says anything."""

    code: str
    title: str
    check: Callable[[Estate], Iterable[Finding]]
    needs: frozenset[Kind]


def _rule(code: str, check: Callable[[Estate], Iterable[Finding]], *needs: Kind) -> Rule:
    return Rule(code, FEASIBILITY[code], check, frozenset({Kind.SETTINGS, *needs}))


_SPREAD = (Kind.POOL, Kind.CORRELATION_GROUP, Kind.WAIVER)
_JOINS = (Kind.POOL, Kind.CONTRACT, Kind.JOIN_PROFILE)

RULES: tuple[Rule, ...] = (
    _rule("EBT-201", spread_reachable.drains_fit, *_SPREAD),
    _rule("EBT-202", spread_reachable.bounds_reachable, *_SPREAD),
    _rule("EBT-203", room_for_floors.floors_fit, Kind.POOL),
    _rule("EBT-204", people_and_money.people_known, Kind.DIRECTORY),
    _rule("EBT-205", people_and_money.teams_allow),
    _rule("EBT-206", known_names.names_known, Kind.POOL, Kind.CONTRACT),
    _rule("EBT-208", spread_reachable.kinds_offer_enough, Kind.CORRELATION_GROUP, Kind.WAIVER),
    _rule("EBT-209", spread_reachable.units_fit_somewhere, Kind.POOL),
    _rule("EBT-210", room_for_floors.rows_fit_hosts),
    _rule("EBT-211", people_and_money.restarts_have_checkpoints),
    _rule("EBT-212", people_and_money.one_currency),
    _rule("EBT-213", spread_reachable.waivers_needed, Kind.CONTRACT),
    _rule("EBT-214", known_names.families_have_factors),
    _rule("EBT-220", spread_reachable.losses_shown, *_SPREAD),
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


def check(estate: Estate, *, broken: frozenset[Kind] = frozenset()) -> tuple[Finding, ...]:
    """Every finding of every rule that can be asked, in order; `broken` are the kinds that lost a file."""
    return in_order(found for rule in RULES if not rule.needs & broken for found in rule.check(estate))
