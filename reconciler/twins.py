"""Second servers under one key: which of them are deleted, and which signals speak of them and not of the one we know.

Pure; `census` asks which may go, `cycle` has the steps made. A provider without client tokens makes two servers when a
call whose answer was lost is repeated. One of them goes, never both: it is deleted only while the other is shown by the
same whole listing, works, and was known by its id before that listing came, so that a listing from before an earlier
deletion takes nobody else with it. The one stays on which the node runs that their scheduler shows; while that one
cannot say, both stay: nobody could ask the right one to drain. Until then it is a stray that is shown to people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.causes import Cause
from ledger.events import EventType, Paid
from pools.provider import Lifecycle, LifecycleKind, Notice, Server
from reconciler.billing import ENDS
from reconciler.drafts import event_id
from reconciler.fleet import Instance, Phase
from reconciler.sight import Sight
from reconciler.sighting import GOING, PAID, Stray, Twin
from reconciler.steps import Step, StepKind


def means(said: Lifecycle | Notice, instance: Instance) -> bool:
    """Whether what the provider says under an instance's name is said of its own server, as far as that is known."""
    return not said.server or not instance.server or said.server == instance.server


def ends_told(lifecycle: Iterable[Lifecycle], instances: Mapping[str, Instance]) -> dict[str, int]:
    """What explains that an instance is missing: when the provider says now, and first, that its server ended, by name.
    One that failed before it ran stands on the provider's books until it is deleted.
    """
    ends = sorted((one for one in lifecycle if one.kind in ENDS and one.name in instances), key=lambda one: -one.at)
    return {one.name: one.at for one in ends if _ended(one, instances[one.name])}


def _ended(said: Lifecycle, instance: Instance) -> bool:
    ran = instance.started_at > 0 or said.kind is LifecycleKind.DELETED
    return ran and means(said, instance)


def sort_twins(
    twins: Iterable[Twin],
    before: Mapping[str, Instance],
    after: Mapping[str, Instance],
    sight: Sight,
    *,
    epoch: int,
) -> tuple[list[Server], list[Stray]]:
    """Twins that may be deleted, and those that may not yet; `before` and `after` are the fleet around this pass."""
    going: list[Server] = []
    waiting: list[Stray] = []
    for twin in twins:
        why = _why_not(twin, before, after, sight, epoch)
        if why:
            waiting.append(Stray(twin.row, f"a second server has the key {_key(twin.row)}: {why}"))
        else:
            going.append(twin.row)
    return going, waiting


def twin_steps(going: Iterable[Server], region: str) -> tuple[Step, ...]:
    """The deletions of twins, by server."""
    return tuple(_step(row, region) for row in sorted(going, key=lambda row: row.id))


def _why_not(
    twin: Twin, before: Mapping[str, Instance], after: Mapping[str, Instance], sight: Sight, epoch: int
) -> str:
    """Why a twin has to wait; empty when nothing speaks for it."""
    mark, name = twin.row.mark, _key(twin.row)
    known, now = before.get(name), after.get(name)
    if known is None or now is None or known.phase is Phase.GONE or known.server != twin.kept.id:
        return f"{twin.kept.id} is the one that stays, from the next listing on"
    if not now.supply or now.missing_since or twin.kept.status in GOING:
        return f"{twin.kept.id} is going away itself"
    if not {twin.row.project, twin.kept.project} <= sight.complete:
        return "the listing is not complete"
    if sight.behind or now.workload in sight.silent_workloads or (now.joined_at and name not in sight.nodes):
        return "its scheduler does not say now which of them is the node"
    if mark is None or mark.epoch > epoch or mark.paid not in PAID:
        return "its mark is none of this term's or an earlier one's"
    if twin.row.status in GOING:
        return "it is going away by itself" if twin.row.status.value == "deleting" else ""
    return ""


def _key(row: Server) -> str:
    return row.mark.name if row.mark is not None else row.name


def _step(row: Server, region: str) -> Step:
    mark = row.mark
    if mark is None:
        raise ValueError(f"{row.id} carries no mark and is nobody's twin")
    return Step(
        kind=StepKind.DELETE,
        workload=mark.workload,
        pool=row.pool,
        project=row.project,
        instance=mark.name,
        units=mark.units,
        paid=Paid(mark.paid),
        cause=Cause.TWIN,
        cause_event=event_id(EventType.INSTANCE_REQUESTED, region, mark.name),
        server=row.id,
        detail=f"a second server has the key {mark.name}",
    )
