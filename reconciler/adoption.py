"""Existing servers that a reviewed file hands over to us, and adopted ones whose file is gone.

Pure; called by `cycle` once a cycle. A server is adopted only by a file of the estate, only when it carries no mark at
all, and under its own name, which is also what its scheduler calls it. An adopted instance is one whose name we did not
give; when no file names it any more, it is disowned: our mark comes off, and the server stays as it is. What a file
names and we cannot take is quarantined, with the reason, so that a plan shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat

from ledger.causes import Cause
from ledger.events import Paid
from pools.provider import Listing, Server, Status
from reconciler.desired import Partition
from reconciler.fleet import Fleet, Instance, Phase, number_in
from reconciler.sighting import Stray
from reconciler.steps import Step, StepKind, step_of
from repo_layout.documents import AdoptionFile


def adoption_steps(
    part: Partition, listing: Listing | None, fleet: Fleet, strays: Iterable[Stray], *, projects: frozenset[str]
) -> tuple[Step, ...]:
    """ADOPT, DISOWN and QUARANTINE steps that the listing and the estate's adoptions ask for, by server."""
    files = tuple(a for a in part.estate.adoptions if a.region == part.region)
    strays = tuple(strays)
    seat = part.seat
    if not files and not strays and all(map(number_in, fleet.instances, repeat(seat))):
        return ()  # nothing is handed over and nothing ever was
    rows = {row.id: row for row in listing.servers if row.id and row.project in projects} if listing else {}
    steps = [_quarantine(stray.row, stray.reason) for stray in strays]
    taken = {instance.name for instance in fleet.alive()}
    for row in sorted(rows.values(), key=lambda row: row.id):
        named = [file for file in files if names(file, row)]
        if row.mark is None and named and row.status is not Status.BUILDING:  # billed from when it runs, not before
            steps.append(_adopt(part, row, named, taken))
            taken.add(row.name)
    for instance in fleet.instances.values():
        row_of = rows.get(instance.server)
        if row_of is not None and _is_orphan(instance, row_of, files, seat):
            steps.append(step_of(StepKind.DISOWN, instance, Cause.DISOWNED_BY_REVIEW))
    return tuple(steps)


def names(file: AdoptionFile, row: Server) -> bool:
    """Whether the file names the server: by id, or by every tag of its selector."""
    if file.servers:
        return row.id in file.servers
    tags: Mapping[str, str] = dict(row.tags)
    return bool(file.selector) and all(tags.get(key) == value for key, value in file.selector.items())


def _is_orphan(instance: Instance, row: Server, files: tuple[AdoptionFile, ...], seat: str) -> bool:
    """Whether the instance was adopted, is still ours, and no file names it any more."""
    adopted = number_in(instance.name, seat) == 0 and instance.phase is not Phase.GONE
    return adopted and row.mark is not None and not any(names(file, row) for file in files)


def _adopt(part: Partition, row: Server, named: list[AdoptionFile], taken: set[str]) -> Step:
    """The step that takes the server over, or the one that says why it cannot be."""
    file = named[0]
    pool, contract = part.pool_by_name.get(file.pool), part.contract_by_name.get(file.workload)
    units = part.units.get((file.workload, file.pool), 0)
    reason = ""
    if len(named) > 1:
        reason = f"adopted by {', '.join(sorted(f.name for f in named))} at once"
    elif pool is None or contract is None:
        reason = f"adoption {file.name}: no pool {file.pool!r} or no workload {file.workload!r} in {part.region}"
    elif row.status not in (Status.ACTIVE, Status.MOVED):
        reason = f"adoption {file.name}: the server is {row.status.value}"
    elif row.pool not in ("", file.pool):
        reason = f"adoption {file.name} says pool {file.pool}, the provider says {row.pool}"
    elif units < 1:
        reason = f"adoption {file.name}: an instance of {file.pool} holds no unit of {file.workload}"
    elif not row.name or row.name in taken:
        reason = f"adoption {file.name}: its name {row.name!r} is empty or taken"
    if reason or pool is None:
        return _quarantine(row, reason)
    return Step(
        kind=StepKind.ADOPT,
        workload=file.workload,
        pool=file.pool,
        project=row.project,
        instance=row.name,
        units=units,
        paid=Paid.FLOOR if pool.committed else Paid.RECLAIMABLE,
        cause=Cause.ADOPTION_REVIEWED,
        server=row.id,
        detail=f"adoption {file.name}",
    )


def _quarantine(row: Server, reason: str) -> Step:
    mark = row.mark
    return Step(
        kind=StepKind.QUARANTINE,
        workload=mark.workload if mark else "",
        pool=row.pool,
        project=row.project,
        instance=mark.name if mark else row.name,
        units=mark.units if mark else 0,
        paid=Paid.RECLAIMABLE,
        cause=Cause.NOT_OURS,
        server=row.id,
        detail=reason,
    )
