"""Which pools take no new placement for now, because they misbehaved, and how they come back.

Called by the appraisal on every cycle, apart from the ranking: evidence of one call excludes in that call. Pure; frozen
state in, frozen state and changes out. It never moves what runs: it says only how many more instances a pool may take.

A pool row is one flavor of one aggregate, and that is all a failure marks: not the other flavors of the aggregate, not
the other pools of the class. Quota says nothing about a pool and never gets here as a failure that counts.

    free --evidence--> excluded --back-off over--> probing (1) --success--> 2, 4, 8 ... --> free
                          ^------------ evidence or a failed probe, back-off doubled --+
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contracts.frozen import quick, replace
from ledger.causes import Cause
from pools.gamma import poisson_tail

MINUTE_MS = 60_000
HOUR_MS = 3_600_000

BURST_WINDOW_MS = 10 * MINUTE_MS
LEAST_BURST = 2
"""One loss is never a burst, however calm the pool was."""

FALSE_ALARMS_PER_DAY = 0.1
"""Exclusions a day and region that pure Poisson noise may cause: one in ten days. The threshold of one test is this
over pools and windows of a day (Bonferroni); a test runs only when a loss is told, so that sliding adds little."""

FAILURES = 3
FAILURE_WINDOW_MS = 30 * MINUTE_MS
"""Failed acquisitions without a success between them that exclude; one alone is ordinary."""

CONFLICTS_LAST_MS = 45_000
LEAST_CONFLICTS = 3
"""Conflicts are common where many boot at once: only those that outlast this without one success count, so that a pool
is excluded within a minute of the first."""

NOTICE_SLACK_MS = 5_000
"""A notice this much shorter than promised is still what was promised: clocks and relays differ."""

FIRST_BACK_OFF_MS = 5 * MINUTE_MS
LONGEST_BACK_OFF_MS = 4 * HOUR_MS
JITTER_PERCENT = 25
FORGIVEN_MS = 6 * HOUR_MS
"""A pool that behaved this long is excluded for half as long the next time."""

FREE_AT = 16
"""A pool whose probe has doubled this far is free."""

COUNTING = frozenset({Cause.CREATE_FAILED, Cause.NEVER_JOINED})


class Standing(enum.Enum):
    """How a pool stands."""

    FREE = "free"
    EXCLUDED = "excluded"
    PROBING = "probing"


@dataclass(frozen=True, slots=True)
class Failed:
    """An acquisition in the pool failed."""

    pool: str
    cause: Cause
    at: int


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An instance of the pool was or will be taken: `given_ms` from notice to end, None for none at all; `promised_ms`
    what the pool promises. `told` when the same interruption was told before, as a notice that was then cut short.
    Maintenance and drills are not told here.
    """

    pool: str
    at: int
    given_ms: int | None
    promised_ms: int
    told: bool = False


@dataclass(frozen=True, slots=True)
class Warned:
    """The provider expects to reclaim the pool until then."""

    pool: str
    until: int


@dataclass(frozen=True, slots=True)
class Signs:
    """What happened since the last call.

    `hazard` is the upper estimate of each pool's rate per instance-hour, `alive` its instances at risk now, `accepted`
    when the provider last gave a server there, `joined` how many became nodes since the last call, `starting` how many
    are asked for or boot now.
    """

    failed: tuple[Failed, ...] = ()
    interrupted: tuple[Interrupted, ...] = ()
    warned: tuple[Warned, ...] = ()
    hazard: Mapping[str, float] = field(default_factory=dict)
    alive: Mapping[str, int] = field(default_factory=dict)
    accepted: Mapping[str, int] = field(default_factory=dict)
    joined: Mapping[str, int] = field(default_factory=dict)
    starting: Mapping[str, int] = field(default_factory=dict)


@quick
@dataclass(frozen=True, slots=True)
class Record:
    """What is held against one pool. `level` counts exclusions on top of each other, `since` is when the standing
    began, `until` when an exclusion ends, `allowance` what a probe may take and `proved` what of it became nodes.
    """

    standing: Standing = Standing.FREE
    level: int = 0
    since: int = 0
    until: int = 0
    cause: Cause | None = None
    allowance: int = 0
    proved: int = 0
    starting: int = 0
    losses: tuple[int, ...] = ()
    failures: tuple[int, ...] = ()
    conflicts: tuple[int, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class State:
    """All pools that something is held against; `seed` makes the jitter differ between regions."""

    seed: str
    pools: int
    records: Mapping[str, Record] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """A pool's standing changed; `until` is 0 unless it is excluded."""

    pool: str
    standing: Standing
    cause: Cause
    until: int = 0


def update(state: State, signs: Signs, now: int) -> tuple[State, tuple[Change, ...]]:
    """The state after what happened, and what changed, by name of pool."""
    told: dict[str, Record] = dict(state.records)
    for name in _touched(signs):
        told.setdefault(name, Record())
    changes = []
    kept = {}
    for name in sorted(told):
        record, change = _judge(state, name, told[name], signs, now)
        if change is not None:
            changes.append(change)
        if record != Record():
            kept[name] = record
    return replace(state, records=kept), tuple(changes)


def admitted(state: State, pool: str, now: int) -> int | None:
    """How many more instances the pool may take now; None for no limit."""
    record = state.records.get(pool)
    if record is None or record.standing is Standing.FREE:
        return None
    if record.standing is Standing.EXCLUDED and now < record.until:
        return 0
    return max(0, max(1, record.allowance) - record.proved - record.starting)


def back_off_ms(seed: str, pool: str, level: int, at: int) -> int:
    """How long the `level`-th exclusion (from 1) lasts: doubling up to a cap, lengthened by up to a quarter by a hash
    of who and when, so that pools excluded together do not come back together.
    """
    base = min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS << min(level - 1, 30))
    drawn = int.from_bytes(hashlib.sha256(f"{seed}/{pool}/{level}/{at}".encode()).digest()[:4]) / 2**32
    return base + int(base * JITTER_PERCENT / 100 * drawn)


def burst_threshold(pools: int) -> float:
    """The probability below which a burst is no chance: the region's false alarms spread over its pools and windows."""
    return FALSE_ALARMS_PER_DAY / max(1, pools) / (24 * HOUR_MS / BURST_WINDOW_MS)


def _touched(signs: Signs) -> Iterable[str]:
    for told in (signs.failed, signs.interrupted, signs.warned):
        yield from (sign.pool for sign in told)


def _judge(state: State, name: str, record: Record, signs: Signs, now: int) -> tuple[Record, Change | None]:
    record = _remember(name, _not_ahead(record, now), signs, now)
    cause, least = _verdict(state, name, record, signs, now)
    if cause is not None:
        return _exclude(state, name, record, cause, least=least, now=now)
    if record.standing is Standing.EXCLUDED and now >= record.until:
        opened = replace(record, standing=Standing.PROBING, since=now, until=0, allowance=1, proved=0)
        return opened, Change(name, Standing.PROBING, Cause.PROBE_DUE)
    if record.standing is Standing.PROBING:
        return _probe(name, record, signs, now)
    if record.standing is Standing.FREE and record.level and now - record.since >= FORGIVEN_MS:
        record = replace(record, level=record.level - 1, since=now, cause=None)
    if record.standing is Standing.FREE and not record.level:
        record = replace(record, since=0, cause=None)
    return record, None


def _not_ahead(record: Record, now: int) -> Record:
    """The record of a clock that once ran ahead: what began later than now began now, and lasts no longer for it."""
    ahead_ms = record.since - now
    if ahead_ms <= 0:
        return record
    until = record.until if record.cause is Cause.ADVISORY else max(0, record.until - ahead_ms)
    return replace(record, since=now, until=until)


def _remember(name: str, record: Record, signs: Signs, now: int) -> Record:
    """Recent losses, failures and conflicts; a node that joined clears failures, a server that was given clears
    conflicts from before it.
    """
    losses = (*record.losses, *(i.at for i in signs.interrupted if i.pool == name and not i.told))
    failures = record.failures if not signs.joined.get(name) else ()
    conflicts = record.conflicts
    for failed in signs.failed:
        if failed.pool == name and failed.cause in COUNTING:
            failures = (*failures, failed.at)
        elif failed.pool == name and failed.cause is Cause.ALLOCATION_CONFLICTS:
            conflicts = (*conflicts, failed.at)
    accepted = signs.accepted.get(name, -1)
    return replace(
        record,
        losses=tuple(min(at, now) for at in losses if now - at <= BURST_WINDOW_MS),
        failures=tuple(min(at, now) for at in failures if now - at <= FAILURE_WINDOW_MS),
        conflicts=tuple(min(at, now) for at in conflicts if at > accepted and now - at <= FAILURE_WINDOW_MS),
        starting=signs.starting.get(name, 0),
    )


def _verdict(state: State, name: str, record: Record, signs: Signs, now: int) -> tuple[Cause | None, int]:
    """Why the pool is to be excluded now, if it is, and until when at least."""
    warned = max((w.until for w in signs.warned if w.pool == name and w.until > now), default=0)
    mine = [i for i in signs.interrupted if i.pool == name]
    if mine and _burst(state, name, record, signs):
        return Cause.RECLAIM_BURST, warned
    if any(i.given_ms is None for i in mine):
        return Cause.MISSING_NOTICE, warned
    if any(i.given_ms is not None and i.given_ms < i.promised_ms - NOTICE_SLACK_MS for i in mine):
        return Cause.SHORT_NOTICE, warned
    conflicts = record.conflicts
    if len(conflicts) >= LEAST_CONFLICTS and conflicts[-1] - conflicts[0] >= CONFLICTS_LAST_MS:
        return Cause.ALLOCATION_CONFLICTS, warned
    failed_now = any(f.pool == name and f.cause in COUNTING for f in signs.failed)
    if len(record.failures) >= FAILURES or (failed_now and record.standing is Standing.PROBING):
        return Cause.FAILED_ACQUISITIONS, warned
    if warned > record.until or (warned and record.standing is not Standing.EXCLUDED):
        return Cause.ADVISORY, warned
    return None, 0


def _burst(state: State, name: str, record: Record, signs: Signs) -> bool:
    """Whether so many losses in the window are less likely than the threshold at the pool's own upper rate."""
    count = len(record.losses)
    if count < LEAST_BURST:
        return False
    at_risk = signs.alive.get(name, 0) + count
    expected = signs.hazard.get(name, 0.0) * at_risk * BURST_WINDOW_MS / HOUR_MS
    return poisson_tail(count, expected) < burst_threshold(state.pools)


def _exclude(
    state: State, name: str, record: Record, cause: Cause, *, least: int, now: int
) -> tuple[Record, Change | None]:
    """The pool excluded. More of the same while it is excluded lengthens nothing: that is one misbehaviour. An advisory
    is a kindness and raises no level.
    """
    already = record.standing is Standing.EXCLUDED and now < record.until
    clean = replace(record, failures=(), conflicts=())
    if already:
        until = max(record.until, least)
        longer = replace(clean, until=until)
        return longer, Change(name, Standing.EXCLUDED, cause, until) if until > record.until else None
    kind = cause is Cause.ADVISORY
    level = record.level if kind else record.level + 1
    until = least if kind else max(least, now + back_off_ms(state.seed, name, level, now))
    after = replace(
        clean, standing=Standing.EXCLUDED, level=level, since=now, until=until, cause=cause, allowance=0, proved=0
    )
    return after, Change(name, Standing.EXCLUDED, cause, until)


def _probe(name: str, record: Record, signs: Signs, now: int) -> tuple[Record, Change | None]:
    """A probe that became nodes is doubled; one that has doubled far enough frees the pool."""
    proved = record.proved + signs.joined.get(name, 0)
    if proved < record.allowance:
        return replace(record, proved=proved), None
    wider = record.allowance * 2
    if wider >= FREE_AT:
        free = replace(record, standing=Standing.FREE, since=now, until=0, allowance=0, proved=0)
        return free, Change(name, Standing.FREE, Cause.PROBE_SUCCEEDED)
    return replace(record, allowance=wider, proved=0), Change(name, Standing.PROBING, Cause.PROBE_SUCCEEDED)
