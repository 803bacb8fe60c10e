"""The rule about deadlines: the work fits the time, although units are interrupted as often as the contract tolerates.

Called from the table in `repo_layout.feasibility`. It takes the most favourable case (every unit of the maximum from
the first second on), so that what it refuses cannot be met by any plan. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from contracts.findings import Finding
from contracts.model import Contract
from contracts.values import format_duration
from pools.kinds import Assumptions, kind_of, useful_share
from repo_layout.known_names import at
from repo_layout.model import Estate

A_DAY_S = 86_400
"""A time of day comes round after a day: more time than that no submission has."""


def deadlines_can_be_met(estate: Estate) -> Iterator[Finding]:
    """Useful unit-hours until the deadline, at the maximum and the tolerated rate, are at least the work stated.

    Floors are not interrupted. What is useful of the others' time is `pools.kinds.useful_share`, the formula by which
    pools are ranked.
    """
    for contract in estate.contracts:
        deadline = contract.deadline
        given_s = deadline.after if deadline.after is not None else A_DAY_S if deadline.at is not None else None
        if deadline.work is None or given_s is None:
            continue
        share = useful_share(kind_of(contract, Assumptions()), float(contract.tolerance))
        useful = contract.floor + (contract.maximum - contract.floor) * share
        if deadline.work > useful * given_s / 3600:
            yield _too_short(estate, contract, given_s, share)


def _too_short(estate: Estate, contract: Contract, given_s: int, share: float) -> Finding:
    work = contract.deadline.work or 0
    above = contract.maximum - contract.floor
    useful = contract.floor + above * share
    floor = f"{contract.floor} on the floor and " if contract.floor else ""
    when = "before the deadline" if contract.deadline.after is not None else "from one deadline to the next"
    message = (
        f"{work} unit-hours are to be done in the {format_duration(given_s)} {when}, and {contract.maximum} units do "
        f"{useful * given_s / 3600:.1f}: {floor}{above} that are interrupted {contract.tolerance} times an hour, as "
        f"tolerated, work {100 * share:.1f} % of their time for good"
    )
    most = int(useful * given_s / 3600)
    expected = f"work: {most}" if most else "interruptions that leave time to work"
    if contract.deadline.after is not None and useful > 0:
        expected = f"at least {format_duration(math.ceil(work * 60 / useful) * 60)}, or at most {most} unit-hours"
    place = at(estate, f"contract/{contract.name}/deadline")
    seen = f"work: {work}"
    hint = "tolerate fewer interruptions, take checkpoints more often, raise the maximum or allow more time"
    return Finding("EBT-218", place, message, seen, expected, hint)
