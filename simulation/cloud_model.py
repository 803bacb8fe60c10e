"""The values of the simulated cloud: what drives it, what it reports, and what it bills.

Built by the world simulator, by replays and by tests; read by `simulation.cloud`. Instants are milliseconds, durations
seconds (`_s`), money exact decimals.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal

from contracts.frozen import quick
from pools.provider import Notice, NoticeKind

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def stream(seed: int, *names: object) -> random.Random:
    """A generator of its own for each purpose, so that one process's draws never depend on another's."""
    return random.Random("/".join(str(part) for part in (seed, *names)))


@dataclass(frozen=True, slots=True)
class Wave:
    """Hosts of one domain that go away together, told from outside.

    Exactly one of `share` (0 to 1, rounded up) and `count` says how many of the hosts that are lent or free. They come
    back at `hold_until`. `notice_s` None means the notice that each pool promises. Waves with the same `reclaim` id are
    one reclaim; an empty id gets one of its own. Kinds other than RECLAIM open no reclaim.
    """

    at: int
    domain: str
    hold_until: int
    share: float | None = None
    count: int | None = None
    noticed: bool = True
    notice_s: int | None = None
    kind: NoticeKind = NoticeKind.RECLAIM
    reclaim: str = ""
    reason: str = "capacity needed"


@dataclass(frozen=True, slots=True)
class TenantParameters:
    """Guaranteed tenants of one domain: batches of whole hosts that come and go.

    `load` is the mean share of the domain's hosts they occupy; a batch has `batch_mean` hosts and stays `stay_mean_s`.
    Arrivals follow the time of day: 1 + `swing` times a cosine with its top at `peak_hour` UTC.
    """

    load: float = 0.35
    batch_mean: float = 2.0
    stay_mean_s: int = 6 * 3600
    swing: float = 0.6
    peak_hour: float = 14.0


@dataclass(frozen=True, slots=True)
class ProjectLimit:
    """A project's quota: instances, vCPU, memory in bytes."""

    instances: int
    vcpu: int
    memory: int


@dataclass(frozen=True)
class CloudParameters:
    """How the cloud behaves. `estate` is the owner whose projects and marks it serves.

    `tenants` None means that only waves take capacity. `victims` chooses the hosts to take: by `hints` (cheapest loss
    first) or by `seed` (the same hosts whatever runs on them, so that policies can be compared). Shares are 0 to 1 and
    drawn per host: taken `without_notice`, a notice `withdrawn`, a loss without notice that no lifecycle event explains
    (`unexplained`); `boot_failures` is drawn per server, `advised` per wave. `savings` fixes a pool's saving in
    percent; other pools draw theirs from 40 to 85. `quota` may be given per project.
    """

    estate: str
    currency: str = "EUR"
    tenants: TenantParameters | None = field(default_factory=TenantParameters)
    victims: Literal["hints", "seed"] = "seed"
    hold_s: int = 1800
    without_notice: float = 0.0
    unexplained: float = 0.0
    withdrawn: float = 0.0
    advised: float = 0.0
    advisory_lead_s: int = 900
    false_advisories_per_day: float = 0.0
    silent_losses_per_day: float = 0.0
    repair_s: int = 4 * 3600
    moves_per_day: float = 0.0
    boot_median_s: float = 45.0
    boot_spread: float = 0.35
    boot_failures: float = 0.0
    fail_s: int = 8
    forecast_every_s: int = 300
    forecast_horizon_s: int = 3600
    forecast_error: float = 0.15
    rate_changes_per_day: float = 0.5
    savings: Mapping[str, int] = field(default_factory=dict)
    quota: Mapping[str, ProjectLimit] = field(default_factory=dict)
    page_limit: int = 1000


class HappeningKind(enum.Enum):
    """What the simulated cloud reports to whoever drives it."""

    ACTIVE = "active"
    FAILED = "failed"
    NOTICED = "noticed"
    WITHDRAWN = "withdrawn"
    ENDED = "ended"
    MOVED = "moved"
    RECLAIM_OPENED = "reclaim_opened"
    RECLAIM_WIDENED = "reclaim_widened"
    RECLAIM_CLOSED = "reclaim_closed"
    ADVISED = "advised"
    RATE_CHANGED = "rate_changed"


class EndCause(enum.Enum):
    """Why a server ended: by our word, at the end of a notice of that kind, or (LOST) without a notice."""

    DELETED = "deleted"
    RECLAIMED = "reclaimed"
    MAINTENANCE = "maintenance"
    HOST_FAILURE = "host_failure"
    LOST = "lost"


@quick
@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened at `at`; empty where it does not apply. `notice` comes with NOTICED and WITHDRAWN,
    `cause` with ENDED, and `told` says that the stream of events has that end.
    """

    at: int
    kind: HappeningKind
    server: str = ""
    name: str = ""
    pool: str = ""
    reclaim: str = ""
    notice: Notice | None = None
    cause: EndCause | None = None
    told: bool = True


@dataclass(frozen=True, slots=True)
class RatePeriod:
    """A rate per instance-hour that held in [start, end); the one before it came into force at `before`, 0 for none."""

    start: int
    end: int
    rate: Decimal
    before: int = 0


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """What one server cost: billed in [started, ended), `ended` None while it runs; the periods cover that time, up to
    the moment of the invoice.
    """

    server: str
    name: str
    project: str
    started: int
    ended: int | None
    periods: tuple[tuple[str, RatePeriod], ...]

    @property
    def owed_ms(self) -> Decimal:
        """The exact sum in currency x milliseconds per hour: divide by 3,600,000 for money, once, at the very end."""
        return sum((period.rate * (period.end - period.start) for _, period in self.periods), Decimal(0))

    @property
    def amount(self) -> Decimal:
        """Money to a millionth, rounded half to even."""
        return (self.owed_ms / HOUR_MS).quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)


@dataclass(slots=True)
class ReclaimAccount:
    """What became of one reclaim's servers: noticed, given back before the end, taken at the end, taken without
    notice, kept after a withdrawal.
    """

    promised: int = 0
    returned: int = 0
    taken: int = 0
    unannounced: int = 0
    withdrawn: int = 0
