"""The lease of a partition: its record, when it may be taken, and when whoever holds it must stop.

Pure: values in, values out. Used by `leadership`, which talks to the store and reads the clock. The scheme is that of
Kubernetes' leader election (client-go, `tools/leaderelection`): no two clocks are compared; a replica judges by its own
monotonic clock how long the record has stood still since it first saw it so. It bears any difference between clocks,
and clocks that run at different rates as far as the term is longer than the deadline.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring_ascii

from contracts.errors import Refused
from contracts.frozen import quick, replace

LONGEST_RECORD = 1024
"""Bytes of a record; ours have about a hundred and fifty, and a longer one was not written by us."""

LONGEST_HOLDER = 253
"""Characters of a holder's name: those of a host name."""

LONGEST_TERM_MS = 3_600_000
"""A record that asks its successors to wait longer than an hour is damaged."""

LARGEST = 2**53
"""Epochs and beats stay below what every reader of JSON keeps exact."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a lease lasts, all in milliseconds.

    `term`: a record that stood still for so long is nobody's. `renew`: its holder writes it anew so often. `deadline`:
    without a confirmed renewal for so long its holder stops. `call`: a call that went out before has had its effect
    after so long, or never will. Two renewals are due before the deadline, so one may fail. What a holder began by its
    deadline is over after 50 s of its clock, and its successor begins after 60 s of its own: clocks may differ by a
    fifth in their rates. Raises `Refused` for times that would let two lead.
    """

    term: int = 30_000
    renew: int = 10_000
    deadline: int = 20_000
    call: int = 30_000

    def __post_init__(self) -> None:
        if not 0 < self.renew < self.deadline < self.term <= LONGEST_TERM_MS or self.call < 0:
            raise Refused(
                f"a lease is renewed every {self.renew} ms, given up after {self.deadline} ms and free after"
                f" {self.term} ms: each must be longer than the one before, and none longer than {LONGEST_TERM_MS} ms"
            )


TERMS = Terms()


@quick
@dataclass(frozen=True, slots=True)
class Lease:
    """Who leads (empty: nobody, its last holder gave it up), under which epoch, for which term, at which beat.

    The beat counts renewals, so that each is another record.
    """

    holder: str
    epoch: int
    term: int
    beat: int


NO_LEASE = Lease("", 0, 0, 0)
"""What stands where there is no record."""


def write_lease(lease: Lease) -> bytes:
    """The record as it stands in the store: one line of JSON with its keys in order."""
    holder = encode_basestring_ascii(lease.holder)
    return f'{{"beat":{lease.beat},"epoch":{lease.epoch},"holder":{holder},"term":{lease.term}}}\n'.encode()


@lru_cache(maxsize=16)  # a replica that looks on reads the same record several times a term
def read_lease(raw: bytes) -> Lease:
    """The record that was written so; `Refused` for anything else, because damage does not say that nobody leads."""
    try:
        found = json.loads(raw) if len(raw) <= LONGEST_RECORD else None
        lease = Lease(**found) if isinstance(found, dict) else NO_LEASE
    except (ValueError, TypeError, RecursionError):
        lease = NO_LEASE
    if not _sound(lease) or write_lease(lease) != raw:
        raise Refused(
            f"the lease record is damaged ({raw[:60]!r}): stop every replica of the partition, then remove the record"
        )
    return lease


def _sound(lease: Lease) -> bool:
    numbers = (lease.epoch, lease.term, lease.beat)
    return (
        isinstance(lease.holder, str)
        and len(lease.holder) <= LONGEST_HOLDER
        and all(type(number) is int and 0 <= number <= LARGEST for number in numbers)
        and lease.epoch >= 1
        and 0 < lease.term <= LONGEST_TERM_MS
    )


@quick
@dataclass(frozen=True, slots=True)
class Watch:
    """What a replica that does not lead has seen of the record: which it is, since when, and when it last looked.

    `given_up` says that it saw a leader give the lease up: its name went, its epoch stayed. `older` says that the
    record once went back: what stands in the store now is a copy of earlier days, or a new beginning.
    """

    lease: Lease
    revision: str
    since: int
    looked: int
    given_up: bool = False
    older: bool = False


def watched(before: Watch | None, lease: Lease, revision: str, now: int, terms: Terms) -> Watch:
    """What is known after the record was read at `now` (own monotonic clock, read after the answer).

    Who has not looked for a term has not watched: the record may have been replaced and restored meanwhile.
    """
    if before is None or now - before.looked > terms.term:
        older = before is not None and (before.older or _earlier(lease, before.lease))
        return Watch(lease, revision, now, now, older=older)
    if (before.revision, before.lease) == (revision, lease):
        return replace(before, looked=now)
    return Watch(
        lease,
        revision,
        now,
        now,
        given_up=not lease.holder and bool(before.lease.holder) and lease.epoch == before.lease.epoch,
        older=before.older or _earlier(lease, before.lease),
    )


def _earlier(lease: Lease, than: Lease) -> bool:
    return (lease.epoch, lease.beat) < (than.epoch, than.beat)


def free_at(watch: Watch, terms: Terms) -> int:
    """From when (own monotonic clock) the lease may be taken and acted under.

    At once where its holder was seen giving it up. Otherwise its holder had its last renewal confirmed no later than
    this replica saw it, stops within its own deadline, and a call that went out before is over one call's limit later.
    An empty place and a name that is our own are no exception: a holder may outlive its record, and its namesake.
    """
    return watch.since if watch.given_up else watch.since + max(terms.term, watch.lease.term) + terms.call


@quick
@dataclass(frozen=True, slots=True)
class Tenure:
    """A term of office: its epoch, the record that its holder last wrote, and the time that its confirmation counts
    from, which is when it was sent.
    """

    epoch: int
    beat: int
    revision: str
    renewed: int


def lapsed(tenure: Tenure, now: int, terms: Terms) -> bool:
    """Whether its holder must stop: no renewal was confirmed in time, for whatever reason."""
    return now - tenure.renewed >= terms.deadline
