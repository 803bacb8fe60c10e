"""Bounds at each placement (DESIGN 8): no act of ours creates or enlarges an excess, and no shortage ends in few pools.

D is the workload's desired interruptible units, by what it wants and never by what runs. A server counts where it
stands by the world's account, as far as who acted could know of it; one whose pool the provider does not say counts in
every scope. Gangs are the quantum of every bound, and a workload of one gang is exempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ledger.causes import Cause
from ledger.events import Event, EventType
from simulation.check_ground import Ground, allowed, quantum
from simulation.check_reading import Checker
from simulation.check_scene import Scene, Stand, slipped, term_of
from simulation.chronicle import Act, Call, Look


class _Moves:
    """Who takes over from whom, as the ledger has it: both count once, however long a stop, a limit or an unverified
    desired state keeps the one that is relieved where it is.
    """

    def __init__(self) -> None:
        self._takers: dict[str, str] = {}
        self._agreed: set[str] = set()

    def hear(self, event: Event) -> None:
        """Somebody is asked for in another's place, or who is relieved was asked back."""
        source = event.data.get("takes_over")
        if event.type is EventType.INSTANCE_REQUESTED and source:
            self._takers[str(source)] = event.instance
        elif event.type is EventType.RELEASE_ASKED and event.cause is Cause.REBALANCE:
            self._agreed.add(event.instance)

    def keep(self, stands: list[Stand], coming: Iterable[str] = ()) -> list[Stand]:
        """Those of the `stands` that nobody relieves. Who takes over has to stand among them or be `coming`: where it
        does not, the other one stays after all.
        """
        names = {stand.name for stand in stands}.union(coming)
        return [s for s in stands if s.name not in self._agreed and self._takers.get(s.name) not in names]


class Placements(Checker):
    """At each fresh reclaimable server: at most max(1 quantum, ceil(15 % of D)) in its domain and 30 % in each of its
    groups, or what a waiver says; and as long as fewer domains are used than D can fill (8 at most), the units that
    are needed to reach them are kept for them. What a deposed leader had in flight is `check_fencing`'s alone: others
    decided since then what is desired and where it goes, and the list that the call was part of ended with it.
    """

    name = "check_bounds.Placements"
    hears = frozenset({EventType.INSTANCE_REQUESTED, EventType.RELEASE_ASKED})

    def __init__(self) -> None:
        self._moves = _Moves()

    def on_event(self, scene: Scene, event: Event) -> Iterator[str]:
        """Follow the moves."""
        self._moves.hear(event)
        yield from ()

    def on_act(self, scene: Scene, act: Act) -> Iterator[str]:
        """Judge what was added under the estate that the act was asked for under."""
        request = scene.requests.get(act.name)
        if act.call not in (Call.CREATE, Call.MARK) or not act.fresh or act.paid != "reclaimable":
            return
        ground = scene.ground_of(request.commit if request else "")
        contract, look = ground.contracts.get(act.workload), scene.look_of(act)
        if contract is None or act.pool not in ground.pools or look is None or slipped(scene, act):
            return
        claims = {ground.interruptible(act.workload, units) for units in scene.wants.believable(act.workload)}
        gang, most = contract.gang_size, max(claims)
        if most <= gang > 1:
            return
        ours = [
            stand
            for stand in scene.by_workload[act.workload].values()
            if stand.paid == "reclaimable" and scene.known(stand, look, (act.replica, act.epoch))
        ]
        share = ground.shares[act.workload]
        lot = quantum(act.units, gang)
        scopes = [(stand.units, _scopes(stand, ground, look)) for stand in ours]
        for scope in ground.scopes[act.pool]:
            bound = allowed(share.domain if scope[0] == "domain" else share.group, most, lot)
            units = sum(held for held, everywhere in scopes if all(scope in one for one in everywhere))
            if units > bound:
                yield (
                    f"{act.name}: {act.workload} has {units} units in {' '.join(scope)}, "
                    f"{bound} of {most} desired are allowed"
                )
        yield from _few_domains(scene, act, look, ours, claims, self._moves)


def _scopes(stand: Stand, ground: Ground, look: Look) -> list[tuple[tuple[str, str], ...]]:
    """The scopes of each pool in which, of late, the server may be known to be: it counts in those that are in all. One
    whose pool the provider does not say is in every scope.
    """
    return [ground.scopes.get(pool, ()) for pool in stand.places_since(look.listed_at) if pool]


def _few_domains(
    scene: Scene, act: Act, look: Look, ours: list[Stand], claims: set[int], moves: _Moves
) -> Iterator[str]:
    """One more in a used domain, although what is left of D would no longer reach the domains that are asked for.

    The units of instances that are about to be relieved are counted once.
    """
    request = scene.requests.get(act.name)
    ground = scene.ground_of(request.commit if request else "")
    here = ground.pools[act.pool].domain
    staying = [s for s in ours if not (s.asked_at or s.drained or s.noticed_by(look.at))]
    # what was given up or relieved goes, if only its turn has to come
    staying = [s for s in staying if s.name not in scene.failed and not _let_go(scene, s, act, look)]
    # another domain may be on the same list, whether or not it gave what it was asked for
    listed = {
        ground.pools[event.pool].domain
        for at, event in scene.asked
        if at >= look.at
        and event.workload == act.workload
        and event.instance != act.name
        and event.pool in ground.pools
    }
    gang = ground.contracts[act.workload].gang_size
    # where all that stands is about to leave, one more is the domain's first
    if here not in _domains(_serving(moves.keep(staying), act, ground), act, ground, look) | listed or act.units < gang:
        return
    domains = _domains([s for s in ours if not _bare(s, act, ground, look)], act, ground, look) | listed
    share = ground.shares[act.workload]
    lots = ground.lot_sizes(act.workload) or {quantum(act.units, gang)}

    def strands(units: int, used: int) -> bool:
        needs = [(desired, lot, max(1, min(share.domains, desired // lot))) for desired in claims for lot in lots]
        return all(used < least and units + (least - used) * lot > desired for desired, lot, least in needs)

    # what got no answer may come or not: who acts may go by either, with its domain, its units and whom it relieves
    coming = _coming(scene, act, look, ground)
    units = sum(stand.units for stand in _serving(moves.keep(staying), act, ground))
    kept = _serving(moves.keep(staying, (event.instance for event in coming)), act, ground)
    then = sum(stand.units for stand in kept) + sum(int(str(event.data["units"])) for event in coming)
    reached = domains | {ground.pools[event.pool].domain for event in coming}
    if strands(units, len(domains)) and strands(then, len(reached)):
        yield (
            f"{act.name}: {act.workload} has {units} of {max(claims)} desired units in {len(domains)} domains, "
            f"and another one went to {here}: {share.domains} domains can no longer be reached"
        )


def _serving(staying: list[Stand], act: Act, ground: Ground) -> list[Stand]:
    """Those that are capacity: of a strict tier not what no notice would reach, and of two under one key one."""
    strict = ground.strict(act.workload)
    return list({s.name: s for s in staying if not strict or s.covered or not s.joined_at}.values())


def _coming(scene: Scene, act: Act, look: Look, ground: Ground) -> list[Event]:
    """What who acts asked for in this term before it looked, and nobody made: until the ledger says that it failed, the
    answer may only be late. What another term asked for, who leads in this one may not know.
    """
    epoch, began = term_of(scene, act.epoch)
    over = (scene.failed, scene.lost, scene.releases, scene.namesakes)
    return [
        event
        for at, event in scene.asked
        if began <= at < look.at
        and (event.epoch, event.workload) == (epoch, act.workload)
        and event.data.get("paid") == "reclaimable"
        and event.pool in ground.pools
        and not any(event.instance in names for names in over)
    ]


def _bare(stand: Stand, act: Act, ground: Ground, look: Look) -> bool:
    """Whether who looked could see that no notice would reach the node: where only such stand, a strict tier uses no
    pool.
    """
    heard = ground.contracts[act.workload].cluster not in look.silent
    return ground.strict(act.workload) and heard and 0 < stand.bare_since <= look.at


def _let_go(scene: Scene, stand: Stand, act: Act, look: Look) -> bool:
    """Whether its release stands on the list that is being carried out, where its turn may come behind what is added,
    or was decided in this term: whoever asked believes that its node heard, and asks again.
    """
    release = scene.releases.get(stand.name)
    if release is None:
        return False
    told, (epoch, began) = scene.told[release.id], term_of(scene, act.epoch)
    return told >= look.at or (release.epoch == epoch and told >= began)


def _domains(stands: list[Stand], act: Act, ground: Ground, look: Look) -> set[str]:
    """The domains in which these servers stand, but for the one that the act made."""
    return {
        ground.pools[pool].domain
        for stand in stands
        if stand.server != act.server
        for pool in stand.places_since(look.listed_at)
        if pool in ground.pools
    }
