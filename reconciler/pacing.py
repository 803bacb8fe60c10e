"""Token buckets per project, and the ramp after an outage: how fast allowed steps may go out.

Pure: a bucket is a frozen value, taking from it returns the next one. Buckets follow the classic token-bucket meter
(see RFC 2697 for the arithmetic) and honour Retry-After by standing empty until then.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.frozen import quick, replace


@quick
@dataclass(frozen=True, slots=True)
class Bucket:
    """`tokens_milli` thousandths of a call are left at `at`; `rate` calls a second refill it up to `burst`."""

    rate: int
    burst: int
    tokens_milli: int
    at: int
    closed_until: int = 0


def full(rate: int, burst: int, now: int) -> Bucket:
    """A full bucket."""
    return Bucket(rate=rate, burst=burst, tokens_milli=burst * 1000, at=now)


def take(bucket: Bucket, now: int) -> tuple[Bucket, bool]:
    """The bucket after trying one call at `now`, and whether the call may go out."""
    elapsed = max(0, now - bucket.at)
    # rate calls a second are rate thousandths of a call a millisecond
    tokens = min(bucket.burst * 1000, bucket.tokens_milli + elapsed * bucket.rate)
    if now < bucket.closed_until or tokens < 1000:
        return replace(bucket, tokens_milli=tokens, at=max(now, bucket.at)), False
    return replace(bucket, tokens_milli=tokens - 1000, at=max(now, bucket.at)), True


def close(bucket: Bucket, until: int) -> Bucket:
    """The bucket after the other side asked us to wait until `until`: empty, and filling from then on only."""
    until = max(bucket.closed_until, until)
    return replace(bucket, closed_until=until, tokens_milli=0, at=max(bucket.at, until))


RAMP_CYCLES = 4
"""Cycles over which limits grow back after an outage: an eighth, a quarter, a half, then all."""


def ramp_share(cycles_since_sight: int) -> float:
    """The share of the acquire and release limits that holds in the nth complete cycle after blindness, from 0."""
    return 1.0 if cycles_since_sight >= RAMP_CYCLES - 1 else 1 / 2 ** (RAMP_CYCLES - 1 - cycles_since_sight)
