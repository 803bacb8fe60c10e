"""The true state of a region while a chronicle is read: which servers stand where, whose they are, and who looked.

Kept by `simulation.check_reading`, read by every checker. All of it follows from the world's own account; nothing here
knows what a planner thinks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from ledger.events import Event, EventType
from simulation.check_ground import Ground
from simulation.check_wants import Wants
from simulation.chronicle import Act, Call, Chronicle, Look, Reviewed

EARLIER = 16
"""So many looks of each replica are remembered: a call takes effect long before there are as many."""

IMPROBABLE_FLOOR = 4
"""Fewer servers than this that a listing hides stop nothing: one loss of a tiny fleet is already a large share."""

LATE_MS = 20 * 60_000
"""What is still open so shortly before a history ends is not judged: it had no four cycles to be settled in."""

SETTLED_LOOKS = 12
"""Clear looks of a leader in a row within which what can be put right is put right: four while limits grow back, a
boot and a join, and as many again for what fails once."""


@dataclass(slots=True)
class Stand:
    """One server with our mark, as it is. `by` is the (replica, epoch) that created or adopted it; `notices` holds the
    end of each notice that stands and when it was said; `agreed` is the end of an agreed return, `asked_at` when that
    was asked for; `drained` the outcome of its last drain, `drained_at` when that had ended, and `undrained_at` when a
    notice was taken back after that. Times are 0 where a thing has not happened.
    """

    server: str
    name: str
    project: str
    workload: str
    units: int
    paid: str
    created_at: int
    by: tuple[str, int]
    places: list[tuple[int, str]]
    joined_at: int = 0
    covered: bool = False
    bare_since: int = 0
    notices: dict[str, tuple[int, int]] = field(default_factory=dict)
    asked_at: int = 0
    agreed: int = 0
    drained: str = ""
    drained_at: int = 0
    undrained_at: int = 0
    ended_at: int = 0
    disowned: bool = False

    @property
    def pool(self) -> str:
        """Where it runs now; empty where the provider does not say."""
        return self.places[-1][1]

    def places_since(self, at: int) -> set[str]:
        """Every pool in which it ran at `at` or later."""
        later = {pool for since, pool in self.places if since > at}
        before = [pool for since, pool in self.places if since <= at]
        return later | set(before[-1:])

    def noticed_by(self, at: int) -> bool:
        """Whether a notice that stands now was said at `at` or earlier."""
        return any(said <= at for said, _ in self.notices.values())


class Scene:
    """Everything true now.

    `standing` are our servers that are there, `servers` all that ever were, `namesakes` those of each name, and
    `departed` those that ended, in order. `closing` says of a reclaim and a domain since when and until when it holds.
    `silent_ends` are names of servers that vanished, and nothing says so, with who led then; `unwitnessed` those of
    them of which the ledger had no loss before another replica, which never knew them, led: nobody can tell of these.
    `looks` are the last one of each replica, `earlier` those before it, newest last.
    `told` is when the event with an id first became durable; `requests` and `releases` are what was written down of
    each instance before it was done, `asked` the requests of the last minutes, and `lost` and `failed` the instances of
    which the ledger says so; `given_up` since when it last told one as lost that it did not tell as found again, and
    `heard` the reclaims of each instance that it told and did not tell as withdrawn. `unnamed` are servers of which no
    answer spoke, and that no listing showed a leader.
    """

    def __init__(self, region: str) -> None:
        self.region = region
        self.now = 0
        self.chronicle = Chronicle()
        self.grounds: dict[str, Ground] = {}
        self.reviewed: list[Reviewed] = []
        self.servers: dict[str, Stand] = {}
        self.standing: dict[str, Stand] = {}
        self.by_workload: dict[str, dict[str, Stand]] = defaultdict(dict)
        self.by_name: dict[str, dict[str, Stand]] = defaultdict(dict)
        self.namesakes: dict[str, list[Stand]] = defaultdict(list)
        self.departed: list[Stand] = []
        self.wants = Wants()
        self.looks: dict[str, Look] = {}
        self.earlier: dict[str, list[Look]] = defaultdict(list)
        self.led_look: Look | None = None
        self.told_at = 0
        self.epochs: dict[tuple[str, int], int] = {}
        self.requests: dict[str, Event] = {}
        self.asked: list[tuple[int, Event]] = []
        self.releases: dict[str, Event] = {}
        self.events: dict[str, Event] = {}
        self.told: dict[str, int] = {}
        self.lost: set[str] = set()
        self.failed: set[str] = set()
        self.given_up: dict[str, int] = {}
        self.heard: dict[str, set[str]] = defaultdict(set)
        self.unnamed: set[str] = set()
        self.closing: dict[tuple[str, str], tuple[int, int]] = {}
        self.room: tuple[int, dict[str, int]] = (0, {})
        self.excluded: set[str] = set()
        self.silent_ends: dict[str, str] = {}
        self.unwitnessed: set[str] = set()

    @property
    def streamed(self) -> frozenset[str]:
        """The ids that notices have of which the provider's stream said anything, and be it that they are withdrawn."""
        about = (f"{self.region}/{notice.id}/{notice.name}" for _, notice in self.chronicle.given)
        return frozenset(f"{EventType.NOTICE_RECEIVED.value}/{subject}" for subject in about)

    @property
    def ground(self) -> Ground:
        """The newest reviewed estate."""
        return self.grounds[self.reviewed[-1].commit]

    def ground_of(self, commit: str) -> Ground:
        """The estate of a commit, the newest one where nobody reviewed it."""
        return self.grounds.get(commit) or self.ground

    @property
    def estate(self) -> str:
        """The estate's id, which stands on every mark of ours."""
        return self.ground.estate.settings.estate

    def trouble(self, look: Look) -> str:
        """Why this look is no ground to change anything on, by the world's account; empty for a clear one."""
        return next(self._troubles(look), "")

    def _troubles(self, look: Look) -> Iterator[str]:
        limit = self.chronicle.spool_limit
        missing = sorted(self.ground.projects - look.whole)
        reasons = {
            "it does not hold the lease": not look.leads,
            f"it is stopped ({look.stopped})": look.stopped,
            "its clock is wrong": not look.clock,
            "its journal cannot be written": not look.disk,
            f"the listing of {', '.join(missing)} is not whole": missing,
            f"{len(look.hidden)} servers are not shown": self.improbable(look),
            "no signals came": not look.told,
            f"{', '.join(sorted(look.silent))} does not answer": look.silent,
            "the desired state is not verified": not look.git,
            f"{look.pending} bytes wait in its spool": limit and look.pending >= limit,
        }
        yield from (reason for reason, holds in reasons.items() if holds)

    def improbable(self, look: Look) -> bool:
        """Whether the look's listing, called whole, hides what may be called an improbable share of what stands
        (DESIGN 10). That a server is gone which its provider gave notice for, or which was asked back, needs no other
        explanation.
        """
        return at_once(self, look, len(unexplained(self, look)))

    def known(self, stand: Stand, look: Look, by: tuple[str, int]) -> bool:
        """Whether who acts under `look` can know that the server is there: it listed it, or asked for it itself; what a
        listing hid may be held to be gone. Of two servers under one key the answer told of the last.
        """
        asked = stand.by == by and self.namesakes[stand.name][-1:] == [stand]
        return (stand.created_at < look.listed_at or asked) and stand.server not in look.hidden

    def supply(self, workload: str, at: int) -> int:
        """Units of the workload that stand and neither drain nor are under a notice said by `at`."""
        return sum(
            s.units
            for s in self.by_workload[workload].values()
            if not s.asked_at and not s.drained and not s.noticed_by(at)
        )

    def departed_since(self, workload: str, at: int) -> int:
        """Units of the workload that ended after `at`."""
        units = 0
        for stand in reversed(self.departed):
            if stand.ended_at <= at:
                break
            units += stand.units if stand.workload == workload else 0
        return units

    def claims(self, workload: str) -> frozenset[int]:
        """Every total claim, in units, that a leader may go by now under the newest estate."""
        return frozenset(self.ground.claim(workload, units) for units in self.wants.believable(workload))

    def look_of(self, act: Act) -> Look | None:
        """What who acts saw last when the call went out: one that takes effect late rests on an earlier look."""
        look = self.looks.get(act.replica)
        if look is None or not act.sent_at or look.at <= act.sent_at:
            return look
        return next((one for one in reversed(self.earlier[act.replica]) if one.at <= act.sent_at), None)

    def decided_at(self, act: Act) -> int:
        """When what the act does was written down as about to be done; the time of the act where it never was. A return
        counts by the decision that the call carries: another one of the same node, before it, is none of this.
        """
        if act.for_ in self.told:
            return self.told[act.for_]
        event = (self.requests if act.call is Call.CREATE else self.releases).get(act.name)
        return self.told[event.id] if event is not None else act.at

    def pays_debt(self, name: str) -> bool:
        """Whether the instance was asked for to replace one that was noticed or lost."""
        request = self.requests.get(name)
        cause = self.events.get(request.caused_by) if request else None
        return cause is not None and cause.type in DEBTS


def unexplained(scene: Scene, look: Look) -> list[Stand]:
    """The servers that the look's listing hides and whose end was neither noticed nor asked for."""
    hidden = (scene.servers[server] for server in look.hidden if server in scene.servers)
    return [stand for stand in hidden if not (0 < stand.asked_at < look.at or stand.noticed_by(look.at))]


def at_once(scene: Scene, look: Look, missing: int) -> bool:
    """Whether so many are an improbable share of what stood at the look."""
    return missing >= IMPROBABLE_FLOOR and missing * 100 > scene.ground.limits.improbable_share * stood(scene, look.at)


def stood(scene: Scene, at: int) -> int:
    """How many stood when a cycle looked at `at`: what it ended and made since, at once or later, changes no share of
    what it saw.
    """
    made = sum(stand.created_at >= at for stand in scene.standing.values())
    ended = takewhile(lambda stand: stand.ended_at >= at, reversed(scene.departed))
    return len(scene.standing) - made + sum(stand.created_at < at for stand in ended)


def term_of(scene: Scene, epoch: int) -> tuple[int, int]:
    """The newest term of an epoch, and when it began: where a site was lost with its store, an epoch may serve again,
    and who leads in it knows nothing of the term before (docs/state.md).
    """
    return epoch, max((at for (_, number), at in scene.epochs.items() if number == epoch), default=0)


def slipped(scene: Scene, act: Act) -> bool:
    """Whether the act is the call that a deposed leader had in flight when another term began (DESIGN 9)."""
    began = scene.epochs.get((act.replica, act.epoch), act.at)
    next_term = min((at for at in scene.epochs.values() if at > began), default=0)
    return 0 < act.sent_at < next_term


def behind(scene: Scene, look: Look) -> str:
    """Why this look is no ground to reach what is reviewed now: its trouble, or the older commit that Git offers. Who
    is offered that one cannot tell that a newer one was merged.
    """
    newest = scene.reviewed[-1].commit if scene.reviewed else ""
    held = look.commit if look.commit != newest else ""
    return scene.trouble(look) or (held and f"Git offers {held}, and {newest} is merged")


DEBTS = frozenset({EventType.NOTICE_RECEIVED, EventType.INSTANCE_LOST, EventType.INSTANCE_FAILED})
"""Events that leave a hole which a replacement fills."""
