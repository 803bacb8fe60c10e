"""Notices and their deadlines: many words about one end become one honest deadline.

It decides when the node's time is up, from notices that come twice, late, out of order, for an instance that is no
longer this one, or stamped by a wrong clock. `agent.drain` calls it for every notice; the agent's loop and the
simulator feed it. It must not know what a drain does, and reads no clock: instants are milliseconds handed in.

Which deadline is honest
    A notice says when the instance ends, when that was said, and how many seconds were left then. Two bounds follow:
    the end less the node's wall clock, and the remaining seconds counted from reception (a message is never received
    before it was sent). The earlier one holds. A clock that runs behind is caught by the second, a late message by the
    first. A node that is alive more than `PROVEN_WRONG_MS` after its stated end has proved its own clock wrong; then
    the second bound stands alone.
Never later
    Once known, a deadline moves earlier only. An explicit withdrawal removes the notices of its reclaim that were
    issued before it; what other reclaims said still stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from contracts.frozen import replace

Instant = int  # milliseconds since the Unix epoch, UTC

# An instance is stopped at its end; one that runs a minute later looks at a wrong clock, not at a late notice.
PROVEN_WRONG_MS: Final = 60_000
# Reclaims that one node can be under at once. More than a handful is a fault of the provider, and memory stays flat.
MAX_NOTICES: Final = 16
# Wall and monotonic progress differ by slewing and scheduling; beyond this the guest was paused or the clock stepped.
JUMP_MS: Final = 1_000
# A notice that claims more than a day is no notice; its remaining time is cut to this, so that timers stay bounded.
MAX_REMAINING_S: Final = 86_400


class NoticeKind(Enum):
    """Why the instance goes away. All kinds drain alike; only drills are marked apart in the record."""

    RECLAIM = "reclaim"
    MAINTENANCE = "maintenance"
    HOST_FAILURE = "host_failure"
    DRILL = "drill"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Notice:
    """The provider's word that `instance` ends at `ends_at`, said at `issued_at` with `remaining_s` left then.

    `withdrawn` takes the word back for this reclaim. `source` names the channel (a subject, a metadata file, a signal).
    A source that knows no reclaim leaves it empty; it then speaks for itself only.
    """

    instance: str
    reclaim: str
    kind: NoticeKind
    issued_at: Instant
    ends_at: Instant
    remaining_s: float
    source: str = "subject"
    withdrawn: bool = False

    @property
    def key(self) -> str:
        """What a withdrawal must match: the reclaim, or the source where no reclaim is named."""
        return self.reclaim or f"source:{self.source}"


class Merge(Enum):
    """What one notice did to what was known."""

    FIRST = "first"
    EARLIER = "earlier"
    REPEATED = "repeated"
    LATER = "later"
    ANOTHER = "another"
    OTHER_INSTANCE = "other_instance"
    ALREADY_WITHDRAWN = "already_withdrawn"
    TOO_MANY = "too_many"
    WITHDRAWS_PART = "withdraws_part"
    WITHDRAWS_ALL = "withdraws_all"
    WITHDRAWS_NOTHING = "withdraws_nothing"


@dataclass(frozen=True, slots=True)
class Standing:
    """One notice that stands, with the honest deadline that was worked out when it came."""

    key: str
    kind: NoticeKind
    issued_at: Instant
    deadline: Instant


@dataclass(frozen=True, slots=True)
class Notices:
    """All that is known about this instance's end.

    `withdrawn` remembers (key, issued_at), so that late copies of a withdrawn notice stay dead.
    """

    instance: str
    standing: tuple[Standing, ...] = ()
    withdrawn: tuple[tuple[str, Instant], ...] = ()

    @property
    def deadline(self) -> Instant | None:
        """The earliest honest deadline, or None when nothing stands."""
        return min((one.deadline for one in self.standing), default=None)

    @property
    def drill(self) -> bool:
        """True while every notice that stands is a drill."""
        return bool(self.standing) and all(one.kind is NoticeKind.DRILL for one in self.standing)


def honest_deadline(notice: Notice, *, now: Instant, wall: Instant) -> Instant:
    """The instant, on the axis of `now`, at which the node must count on being gone; never before `now`.

    `now` is the agent's honest time (see `Clock`), `wall` what the node's wall clock says at the same moment.
    """
    # The zero stands first, so that what is no number at all counts as no time.
    remaining = round(min(max(0.0, notice.remaining_s), MAX_REMAINING_S) * 1_000)
    by_clock = notice.ends_at - wall
    if by_clock < -PROVEN_WRONG_MS:
        return now + remaining
    return now + max(0, min(remaining, by_clock))


def merge(notices: Notices, notice: Notice, *, now: Instant, wall: Instant) -> tuple[Notices, Merge]:
    """What is known after `notice`, and what it changed. Never raises; the order of arrival does not matter."""
    if notice.instance != notices.instance:
        return notices, Merge.OTHER_INSTANCE
    if notice.withdrawn:
        return _withdraw(notices, notice)
    if any(key == notice.key and notice.issued_at <= issued for key, issued in notices.withdrawn):
        return notices, Merge.ALREADY_WITHDRAWN
    new = Standing(notice.key, notice.kind, notice.issued_at, honest_deadline(notice, now=now, wall=wall))
    for place, old in enumerate(notices.standing):
        if old.key == new.key:
            return _repeat(notices, place, new)
    return _another(notices, new)


def _repeat(notices: Notices, place: int, new: Standing) -> tuple[Notices, Merge]:
    """The same reclaim again: the earlier deadline stays, the latest issue time is remembered."""
    old = notices.standing[place]
    kept = replace(
        old,
        issued_at=max(old.issued_at, new.issued_at),
        deadline=min(old.deadline, new.deadline),
        kind=_graver(old, new),
    )
    standing = (*notices.standing[:place], kept, *notices.standing[place + 1 :])
    if new.deadline < old.deadline:
        verdict = Merge.EARLIER
    else:
        verdict = Merge.REPEATED if new.issued_at <= old.issued_at else Merge.LATER
    return replace(notices, standing=standing), verdict


def _graver(old: Standing, new: Standing) -> NoticeKind:
    """A drill that turns out to be real is real; otherwise the first word on the kind stands."""
    return new.kind if old.kind is NoticeKind.DRILL else old.kind


def _another(notices: Notices, new: Standing) -> tuple[Notices, Merge]:
    """A further reclaim of the same instance; at the limit only an earlier end is worth a place."""
    known = notices.deadline
    if known is None:
        return replace(notices, standing=(new,)), Merge.FIRST
    standing = notices.standing
    if len(standing) >= MAX_NOTICES:
        if new.deadline >= known:
            return notices, Merge.TOO_MANY
        latest = max(standing, key=lambda one: one.deadline)
        standing = tuple(one for one in standing if one is not latest)
    verdict = Merge.EARLIER if new.deadline < known else Merge.ANOTHER
    return replace(notices, standing=(*standing, new)), verdict


def _withdraw(notices: Notices, notice: Notice) -> tuple[Notices, Merge]:
    """Remove what was said under this key up to the withdrawal's issue time, and remember it against late copies."""
    kept = tuple(one for one in notices.standing if one.key != notice.key or one.issued_at > notice.issued_at)
    rest = tuple((key, issued) for key, issued in notices.withdrawn if key != notice.key)
    issued = max([notice.issued_at, *(at for key, at in notices.withdrawn if key == notice.key)])
    after = replace(notices, standing=kept, withdrawn=(*rest, (notice.key, issued))[-MAX_NOTICES:])
    if len(kept) == len(notices.standing):
        return after, Merge.WITHDRAWS_NOTHING
    return after, Merge.WITHDRAWS_PART if kept else Merge.WITHDRAWS_ALL


@dataclass(frozen=True, slots=True)
class Reading:
    """Both clocks of the node, read at one moment, in milliseconds."""

    monotonic_ms: int
    wall_ms: Instant


@dataclass(frozen=True, slots=True)
class Clock:
    """Honest time: an instant that never runs backwards and never slower than either clock of the node.

    A paused guest's monotonic clock stands still while its wall clock, once corrected, has moved on; a stepped wall
    clock moves without time passing. The node cannot tell the two apart, so the larger progress counts: in doubt the
    deadline is nearer. The last reading goes into the journal, so that a restarted agent resumes from it, after a
    reboot too (a monotonic clock that went back to zero shows no progress, and the wall clock's counts).
    """

    last: Reading
    now: Instant

    @staticmethod
    def at(reading: Reading) -> Clock:
        """A clock that starts at the node's wall time."""
        return Clock(reading, reading.wall_ms)

    def advance(self, reading: Reading) -> tuple[Clock, int]:
        """The clock after `reading`, and the jump in ms between the two clocks' progress (0 when they agree).

        A jump is a reason to ask the notice's source again.
        """
        monotonic = reading.monotonic_ms - self.last.monotonic_ms
        wall = reading.wall_ms - self.last.wall_ms
        jump = wall - monotonic
        return Clock(reading, self.now + max(monotonic, wall, 0)), jump if abs(jump) > JUMP_MS else 0
