"""How much of a domain's announced capacity may be counted on.

Called by the appraisal once a cycle. Pure and frozen. A domain's total is what it is said to offer beyond what we hold,
plus what we hold; two predictors of the next total compete in every domain: the provider's latest word, and "as it was
so far" (a running level: persistence). Whichever erred less lately is used, so the announcement has to beat persistence
to be believed. What remains is discounted by its age and by how often an acquisition under it was refused.

An announcement of nothing is believed at once: that is how an open reclaim looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from contracts.frozen import quick, replace

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS

LEVEL_MS = 30 * MINUTE_MS
"""Time constant of the running level: six rankings, long enough to average out a misjudged announcement."""

ERROR_MS = 6 * HOUR_MS
"""Time constant of each predictor's remembered error."""

FORGET_MS = 24 * HOUR_MS
"""Time constant of promises kept and broken."""

PRIOR_WORTH = 10.0
"""What the provider's own confidence is worth, in acquisitions (a Beta prior of that many)."""

HALF_AGE_MS = 10 * MINUTE_MS
"""An announcement loses half of its weight in each such time, and all of it at its own end."""


@quick
@dataclass(frozen=True, slots=True)
class Room:
    """Usable capacity, in the four joint dimensions of placement."""

    vcpu: int = 0
    memory_mib: int = 0
    gpu: int = 0
    disk_gib: int = 0

    def plus(self, other: Room) -> Room:
        """The sum."""
        return Room(
            self.vcpu + other.vcpu,
            self.memory_mib + other.memory_mib,
            self.gpu + other.gpu,
            self.disk_gib + other.disk_gib,
        )


@quick
@dataclass(frozen=True, slots=True)
class Word:
    """One domain's announcement: what it offers beyond what we hold, until when, and how surely (0 to 1)."""

    offered: Room
    until: int
    confidence: float


@quick
@dataclass(frozen=True, slots=True)
class Track:
    """What is known of one domain: the last announcement and total, the running level of vCPU and memory totals, each
    predictor's error (in thousandths of the total), and promises kept and refused.
    """

    word: Word
    said_at: int
    total: Room
    level_vcpu: float
    level_memory: float
    word_error: float = 0.0
    level_error: float = 0.0
    kept: float = 0.0
    refused: float = 0.0

    @property
    def by_level(self) -> bool:
        """Whether persistence erred less lately and is used."""
        return self.level_error < self.word_error


@quick
@dataclass(frozen=True, slots=True)
class Forward:
    """All domains' tracks; `at` is when outcomes were last told."""

    tracks: Mapping[str, Track] = field(default_factory=dict)
    at: int = 0


def hear(forward: Forward, words: Mapping[str, Word], held: Mapping[str, Room], *, as_of: int) -> Forward:
    """After an announcement for every domain; a domain that it lacks offers nothing known and is forgotten.

    The same announcement heard twice changes nothing.
    """
    tracks = {}
    for name, word in words.items():
        total = word.offered.plus(held.get(name, Room()))
        old = forward.tracks.get(name)
        if old is None:
            tracks[name] = Track(word, as_of, total, float(total.vcpu), float(total.memory_mib))
        elif as_of <= old.said_at:
            tracks[name] = old
        else:
            tracks[name] = _moved(old, word, total, as_of)
    return replace(forward, tracks=tracks)


def outcomes(forward: Forward, kept: Mapping[str, int], refused: Mapping[str, int], *, now: int) -> Forward:
    """After acquisitions that the domains granted (`kept`) or refused for want of a host."""
    keep = math.exp(-max(0, now - forward.at) / FORGET_MS) if forward.at else 1.0
    tracks = {
        name: replace(
            track, kept=track.kept * keep + kept.get(name, 0), refused=track.refused * keep + refused.get(name, 0)
        )
        for name, track in forward.tracks.items()
    }
    return Forward(tracks, now)


def usable(forward: Forward, held: Mapping[str, Room], *, now: int) -> dict[str, Room]:
    """What may be taken in each domain beyond what we hold now."""
    return {name: _usable(track, held.get(name, Room()), now) for name, track in forward.tracks.items()}


def reliability(track: Track) -> float:
    """Posterior mean of "promised and got": Beta with the provider's confidence as its prior."""
    return (track.word.confidence * PRIOR_WORTH + track.kept) / (PRIOR_WORTH + track.kept + track.refused)


def _moved(old: Track, word: Word, total: Room, as_of: int) -> Track:
    gone = as_of - old.said_at
    forget, follow = math.exp(-gone / ERROR_MS), 1 - math.exp(-gone / LEVEL_MS)
    scale = 1000 / max(1, total.vcpu)
    word_miss, level_miss = abs(old.total.vcpu - total.vcpu) * scale, abs(old.level_vcpu - total.vcpu) * scale
    return replace(
        old,
        word=word,
        said_at=as_of,
        total=total,
        level_vcpu=old.level_vcpu + follow * (total.vcpu - old.level_vcpu),
        level_memory=old.level_memory + follow * (total.memory_mib - old.level_memory),
        word_error=old.word_error * forget + word_miss * (1 - forget),
        level_error=old.level_error * forget + level_miss * (1 - forget),
    )


def _usable(track: Track, held: Room, now: int) -> Room:
    offered = track.word.offered
    if now >= track.word.until or not (offered.vcpu and offered.memory_mib):
        return Room()
    weight = reliability(track) * 0.5 ** (max(0, now - track.said_at) / HALF_AGE_MS)
    if track.by_level:
        vcpu, memory = track.level_vcpu - held.vcpu, track.level_memory - held.memory_mib
    else:
        vcpu, memory = float(track.total.vcpu - held.vcpu), float(track.total.memory_mib - held.memory_mib)
    gpu = track.total.gpu - held.gpu
    return Room(
        vcpu=max(0, int(vcpu * weight)),
        memory_mib=max(0, int(memory * weight)),
        # a GPU is whole: rounding down a discount would hide the last one
        gpu=max(0, round(gpu * weight)),
        disk_gib=offered.disk_gib,
    )
