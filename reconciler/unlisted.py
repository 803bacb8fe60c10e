"""Servers of ours that somebody else shows, and neither memory nor a whole listing does: absences of the forgotten.

Pure; called by `census` once a cycle. A leader with an empty memory cannot miss what it never knew, and would take half
a listing for the whole. Three others know better: the provider's stream (it began, and no end was said), schedulers
(their nodes are ours), and rows that have our mark and no id. What one of them shows is unexplained, like any server
that is missing, until a listing shows it, its end is told, its scheduler says otherwise, or a person accepts the
listing. Nothing else follows: it comes back from its mark alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pools.provider import Lifecycle, Server
from reconciler.billing import ENDS
from reconciler.doubts import UNSEEN_MS
from reconciler.fleet import Instance, Unlisted
from reconciler.passed_by import Others
from reconciler.ports import NodeView
from reconciler.sight import Sight


def unlisted(
    before: Mapping[str, Unlisted], instances: Mapping[str, Instance], beyond: Others, sight: Sight
) -> dict[str, Unlisted]:
    """What others show now or showed before, and nobody contradicts; `since` is set once a whole listing lacks it.
    `beyond` is what was not passed by: a row without an id and a node that nobody remembers never are.
    """
    broken = dict(rows_without_ids(beyond.rows, sight))
    found: dict[str, Unlisted] = {}
    for name, one in (*before.items(), *broken.items(), *_begun(sight), *_nodes(beyond.nodes)):
        if name not in instances:
            found.setdefault(name, one)
    shown = _shown(found, sight)
    known = {name: one for name, one in found.items() if name not in shown}
    ended = {(end.name, end.server) for end in sight.signals.lifecycle if end.kind in ENDS}
    return {
        name: _lacked(one, sight)
        for name, one in known.items()
        if name in broken or not (_told_over(name, one, ended) or _contradicted(name, one, sight))
    }


def standing(known: Mapping[str, Unlisted], sight: Sight) -> dict[str, int]:
    """How many of each workload's stand somewhere, for all that we know: all but those whose lack a person accepted.
    Of nodes that nobody else speaks of no workload is known.
    """
    accepted = sight.accepted_at
    return Counter(one.workload for one in known.values() if one.workload and not 0 < one.since <= accepted)


def counted(known: Mapping[str, Unlisted], sight: Sight) -> list[str]:
    """The names of those that a whole listing lacks now, and nobody accepted that."""
    return [name for name, one in known.items() if one.since > sight.accepted_at and _whole_for(one, sight)]


def _shown(names: Mapping[str, Unlisted], sight: Sight) -> set[str]:
    """Those of the names that a row is called by, or marked with; of a large fleet nearly all rows are others."""
    rows = [row for row in sight.listing.servers if row.id] if sight.listing and names else []
    called = {row.name for row in rows if row.name in names}
    return called | {row.mark.name for row in rows if row.mark is not None and row.mark.name in names}


def rows_without_ids(rows: Iterable[Server], sight: Sight) -> Iterator[tuple[str, Unlisted]]:
    """By whose name rows that lack an id are marked, and what they say of it: no word that it is gone."""
    for row in rows:
        mark = row.mark
        if not row.id and mark and mark.owner == sight.owner:
            yield mark.name, Unlisted(row.created_at, project=row.project, workload=mark.workload)


def _begun(sight: Sight) -> Iterator[tuple[str, Unlisted]]:
    """What the stream says of a server that has not ended by what it says now."""
    ended = {end.server for end in sight.signals.lifecycle if end.kind in ENDS}
    for one in sorted(sight.signals.lifecycle, key=lambda said: said.at):
        if one.mark and one.server not in ended and _ours(one, sight):
            yield one.name, Unlisted(one.at, one.server, project=one.project, workload=one.mark.workload)


def _ours(one: Lifecycle, sight: Sight) -> bool:
    mark = one.mark
    ours = mark is not None and (mark.owner, mark.name) == (sight.owner, one.name)
    return ours and one.project in sight.projects


def _nodes(nodes: Mapping[str, NodeView]) -> Iterator[tuple[str, Unlisted]]:
    for name, view in nodes.items():
        yield name, Unlisted(view.joined_at)


def _told_over(name: str, one: Unlisted, ended: set[tuple[str, str]]) -> bool:
    """Whether the stream says that it ended; of a node whose server nobody knows, any end under its name counts."""
    return (name, one.server) in ended if one.server else any(end == name for end, _ in ended)


def _contradicted(name: str, one: Unlisted, sight: Sight) -> bool:
    """Whether its scheduler, which answers, says that it may well be gone: its drain is over, or it shows no such node
    though it had the time to become one.
    """
    view = sight.nodes.get(name)
    if view is not None:
        return bool(view.drained) or 0 < view.draining_until <= sight.now
    silent = one.workload in sight.silent_workloads if one.workload else bool(sight.silent_workloads)
    return not silent and sight.now - one.born_at > sight.join_timeout_s * 1000


def _whole_for(one: Unlisted, sight: Sight) -> bool:
    return one.project in sight.complete if one.project else sight.whole


def _lacked(one: Unlisted, sight: Sight) -> Unlisted:
    """The same, with the time of the first whole listing that lacks it; one may be too young to be listed."""
    lacks = _whole_for(one, sight) and sight.listed_at - one.born_at >= UNSEEN_MS
    return replace(one, since=sight.listed_at) if lacks and not one.since else one
