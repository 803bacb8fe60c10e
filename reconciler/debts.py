"""What a change of an instance owes: another one in its place. Pure; called by `census`, once for each instance."""

from __future__ import annotations

from ledger.causes import Cause
from reconciler.fleet import Debt, Instance, Phase

REPLACING = frozenset({Cause.NOTICE, Cause.LOST_AFTER_NOTICE, Cause.LOST_WITHOUT_NOTICE, Cause.ENDED_BEFORE_ITS_TIME})
"""Causes of an instance that was asked for in another's place: when its boot fails, that debt stands again."""


def owes(before: Instance, after: Instance) -> Debt | None:
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
