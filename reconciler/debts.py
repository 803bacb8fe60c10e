"""What a change of one instance owes, and what it pays: a debt is replaced once, by whoever stands in its place.

Pure; called by `census` for each instance that it looked at.
"""

from __future__ import annotations

from contracts.frozen import replace
from ledger.causes import Cause
from reconciler.fleet import Debt, Instance, Phase

REPLACING = frozenset({Cause.NOTICE, Cause.LOST_AFTER_NOTICE, Cause.LOST_WITHOUT_NOTICE, Cause.ENDED_BEFORE_ITS_TIME})
"""Causes of an instance that was asked for in another's place: when its boot fails, that debt stands again."""


def reckon(debts: dict[str, Debt], before: Instance, after: Instance, *, answered_until: int, second: bool) -> Instance:
    """The instance, once what this change owes or pays is in `debts`. Where a `second` server has its key nothing is
    owed: that one steps in. Who stands after all in place of what failed or went pays what is still owed there, and
    owes it again if its boot fails.
    """
    name = after.name
    itself = after.supply and after.server == before.server
    if before.phase is Phase.FAILED and (itself or after.phase is Phase.DRAINING):
        debts.pop(name, None)  # it came after all, and paid what it was bought for
    elif after.server != before.server and after.supply and not before.supply:
        debt = debts.pop(name, None)
        return after if debt is None else replace(after, cause=debt.cause, cause_event=debt.cause_event)
    owed = None if second else _owed(before, after)
    if owed is not None and (after.phase is Phase.FAILED or after.missing_since > answered_until):
        debts.setdefault(name, owed)
    return after


def _owed(before: Instance, after: Instance) -> Debt | None:
    """What has to be replaced because of this change; a noticed instance owes since its notice."""
    if after.phase is before.phase or before.released or before.noticed:
        return None
    lost = after.phase is Phase.GONE and before.phase is not Phase.FAILED
    broke = after.phase is Phase.FAILED and before.supply and not before.starting
    if lost or broke:
        return Debt(after.workload, after.name, after.cause, after.cause_event, after.paid)
    if after.phase is Phase.FAILED and before.cause in REPLACING:
        return Debt(after.workload, after.name, before.cause, before.cause_event, after.paid)
    return None
