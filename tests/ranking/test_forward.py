"""Forward capacity: believed as far as it proved right."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pools.forward import HALF_AGE_MS, MINUTE_MS, Forward, Room, Word, hear, outcomes, reliability, usable

FAR = 10**12


def word(vcpu: int, confidence: float = 1.0) -> Word:
    return Word(Room(vcpu, vcpu * 4096, 0, 100), FAR, confidence)


def test_the_word_alone_is_used_at_its_confidence() -> None:
    told = hear(Forward(), {"d": word(100, 0.9)}, {}, as_of=0)
    assert usable(told, {}, now=0) == {"d": Room(90, 90 * 4096, 0, 100)}


def test_an_announcement_ages_by_half_lives_and_ends_at_its_end() -> None:
    told = hear(Forward(), {"d": replace(word(100), until=3 * HALF_AGE_MS)}, {}, as_of=0)
    assert usable(told, {}, now=HALF_AGE_MS)["d"].vcpu == 50
    assert usable(told, {}, now=3 * HALF_AGE_MS)["d"] == Room()


def test_refusals_lower_what_is_believed_and_kept_promises_raise_it() -> None:
    told = hear(Forward(), {"d": word(100)}, {}, as_of=0)
    refused = outcomes(told, {}, {"d": 10}, now=0)
    assert reliability(refused.tracks["d"]) == pytest.approx(0.5)
    kept = outcomes(refused, {"d": 20}, {}, now=0)
    assert reliability(kept.tracks["d"]) == pytest.approx(0.75)


def test_what_we_take_is_no_error_of_the_announcement() -> None:
    told = hear(Forward(), {"d": word(100)}, {}, as_of=0)
    after = hear(told, {"d": word(60)}, {"d": Room(40, 40 * 4096)}, as_of=MINUTE_MS)
    assert after.tracks["d"].word_error == 0.0


def test_a_noisy_announcement_loses_to_persistence_and_a_trend_wins_over_it() -> None:
    drawn = random.Random(3)
    noisy, trend = Forward(), Forward()
    for step in range(200):
        at = step * 5 * MINUTE_MS
        noisy = hear(noisy, {"d": word(max(0, round(drawn.gauss(1000, 150))))}, {}, as_of=at)
        trend = hear(trend, {"d": word(1000 + 20 * step)}, {}, as_of=at)
    assert noisy.tracks["d"].by_level
    assert abs(noisy.tracks["d"].level_vcpu - 1000) < 150
    assert not trend.tracks["d"].by_level


def test_an_announcement_of_nothing_is_believed_at_once() -> None:
    told = Forward()
    for step in range(20):
        told = hear(told, {"d": word(1000)}, {}, as_of=step * MINUTE_MS)
    told = hear(told, {"d": word(0)}, {}, as_of=20 * MINUTE_MS)
    assert usable(told, {}, now=20 * MINUTE_MS)["d"] == Room()


def test_the_same_announcement_heard_twice_changes_nothing() -> None:
    told = hear(Forward(), {"d": word(100)}, {}, as_of=5)
    assert hear(told, {"d": word(70)}, {}, as_of=5) == told


def test_a_domain_that_is_no_longer_named_offers_nothing() -> None:
    told = hear(Forward(), {"d": word(100)}, {}, as_of=0)
    assert usable(hear(told, {}, {}, as_of=1), {}, now=1) == {}
