"""Which servers a leader has to miss: those that a listing hides, that it can know of, and that nothing explains.

Written from the fail-static table (DESIGN 10) and docs/guard.md alone. `Scene.improbable` says more: that a look may be
no ground to change anything on. What is asked of who acts on it is asked of what it could tell.
"""

from __future__ import annotations

from simulation.check_scene import Scene, Stand, at_once, unexplained
from simulation.chronicle import Look

UNLISTED_MS = 60_000
"""Providers list a new server seconds after they made it: what is younger by the listing's time may be absent."""


def improbable(scene: Scene, look: Look) -> bool:
    """Whether an improbable share of what stands has to be missed at once."""
    return at_once(scene, look, len(missed_in(scene, look)))


def missed_in(scene: Scene, look: Look) -> list[Stand]:
    """The servers whose absence from the look's listing nothing explains, and that can be known to stand."""
    return [
        stand for stand in unexplained(scene, look) if not _let_go(scene, stand, look) and _known(scene, stand, look)
    ]


def _let_go(scene: Scene, stand: Stand, look: Look) -> bool:
    """Whether its leader counts on it no more, by the ledger: its release was written down, it failed, a notice was
    heard and nothing of its withdrawal, or it was told as lost before this look.
    """
    name, release = stand.name, scene.releases.get(stand.name)
    if release is not None and scene.told[release.id] < look.at:
        return True
    return name in scene.failed or bool(scene.heard.get(name)) or scene.given_up.get(name, look.at) < look.at


def _known(scene: Scene, stand: Stand, look: Look) -> bool:
    """Whether it is there for all that the look shows beside the listing. No other server of its key is shown: nobody
    can tell a second one from the same one listed twice, with an id or without. A row that has its mark and no id says
    by itself that it is there; else it is old enough to be listed, somebody ever named it, and no second source bears
    the listing out.
    """
    others = scene.by_name[stand.name].values()
    if any(one.server not in look.hidden and one.created_at <= look.listed_at for one in others):
        return False
    if stand.name in look.half_shown:
        return True
    request = scene.requests.get(stand.name)
    asked_at = max(stand.created_at, request.occurred_at if request else 0)
    if not stand.joined_at and asked_at > look.listed_at - UNLISTED_MS:
        return False
    if stand.server in scene.unnamed:
        return False
    return not _borne_out(scene, stand, look)


def _borne_out(scene: Scene, stand: Stand, look: Look) -> bool:
    """Whether its scheduler, which answers, shows the node no more, or its domain is warned of and no scheduler shows
    the node.
    """
    if stand.joined_at and stand.name in look.unseen:
        return True
    contract = scene.ground.contracts.get(stand.workload)
    speaks = stand.joined_at and contract is not None and contract.cluster not in look.silent
    return not speaks and _advised(scene, stand, look)


def _advised(scene: Scene, stand: Stand, look: Look) -> bool:
    """Whether the provider warns of its domain now."""
    pool = scene.ground.pools.get(stand.pool)
    warned = [
        fault.target
        for fault in scene.chronicle.faults
        if fault.kind == "false_advisory" and fault.at <= look.at <= fault.until
    ]
    return pool is not None and pool.domain in warned
