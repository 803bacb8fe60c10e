"""The desired state of a region from published bundles: the newest that holds, and the last that held otherwise.

`repo_layout.taking` judges each offer; this adapter fetches it, and notes what was accepted before anything acts on it:
in a file of this machine, in the store that the replicas share (the highest of both counts, so that an empty disk takes
nothing older), and whole, so that a restart while Git is away goes on from what held last. An offer that did not change
is verified once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contracts.errors import EbbtideError, Refused, Transient
from contracts.key_set import KeySet
from contracts.verify import Accepted, read_accepted, write_accepted
from pools.provider import Conflict
from reconciler.ports import Desired, Store
from repo_layout.adapters.accepted_file import AcceptedFile
from repo_layout.adapters.durable import replace_file
from repo_layout.taking import Held, Taken, take

TRIES = 3
"""Replicas that accept at the same time; each try reads what the other wrote."""

Offer = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Kept:
    """Where this machine keeps what it accepted: the versions, and the files of the last offer that held."""

    versions: AcceptedFile
    files: Path

    def save(self, offer: Offer) -> None:
        """Keep an offer, durable on return."""
        text = {name: base64.b64encode(raw).decode() for name, raw in sorted(offer.items())}
        replace_file(self.files, json.dumps(text).encode())

    def load(self) -> Offer | None:
        """The last offer that was kept, to be verified again; None where there is none that can be read."""
        try:
            text = json.loads(self.files.read_bytes())
            return {str(name): base64.b64decode(raw, validate=True) for name, raw in text.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return None


class DesiredBundle:
    """`reconciler.ports.DesiredState` over `source`, which reads a folder's or a ref's files (or raises)."""

    def __init__(
        self,
        source: Callable[[], Offer],
        *,
        region: str,
        keys: KeySet,
        kept: Kept,
        store: Store,
        clock: Callable[[], int],
    ) -> None:
        self._source, self._region, self._kept, self._store, self._clock = source, region, kept, store, clock
        self._held: Held | None = None
        self._keys = keys
        self._offer: Offer | None = None
        self._desired: Desired | None = None
        self._judged: Accepted | None = None
        self._noted: Accepted | None = None

    def look(self) -> Desired:
        """As the seam promises. Raises `Refused` or `Transient` while nothing has ever held."""
        offered = self._offered()
        now = self._clock()
        try:
            accepted = self._accepted()
        except EbbtideError as error:
            return self._still(str(error))
        # another replica may have accepted a newer one since, whatever is offered here again
        if accepted == self._judged and self._unchanged(offered, now) and self._desired is not None:
            return self._desired
        if self._held is None:
            self._begin(accepted, now)
        taken = take(offered, held=self._held, keys=self._keys, region=self._region, accepted=accepted, now=now)
        if taken.held is None:
            raise Refused(taken.problem.message if taken.problem else "no bundle was ever accepted here")
        if taken.fresh and not isinstance(offered, EbbtideError):
            try:
                self._accept(taken, offered)
            except (EbbtideError, OSError) as error:
                return self._still(f"what was offered could not be noted as accepted: {error}")
        self._keys, self._held = taken.keys, taken.held
        self._judged = _higher(accepted, self._kept.versions.read()) if taken.fresh else accepted
        self._offer = None if isinstance(offered, EbbtideError) or not taken.trusted else offered
        self._desired = _desired(taken.held, taken.problem.message if taken.problem else "", accepted)
        return self._desired

    def _offered(self) -> Offer | EbbtideError:
        try:
            return self._source()
        except EbbtideError as error:
            return error
        except OSError as error:
            return Transient(str(error))

    def _unchanged(self, offered: Offer | EbbtideError, now: int) -> bool:
        """Whether this very offer held the last time, and time alone changed nothing about it."""
        if self._held is None or self._offer is None or isinstance(offered, EbbtideError) or offered != self._offer:
            return False
        said, signers = self._held.verified.statement, self._held.verified.signers
        return said.not_before <= now < said.expires and all(self._is_valid(key, now) for key in signers)

    def _is_valid(self, key: str, now: int) -> bool:
        found = self._keys.keys.get(key)
        return found is not None and found.is_valid(now)

    def _still(self, problem: str) -> Desired:
        """What held before, not trusted. Raises `Transient` where nothing did."""
        if self._held is None:
            raise Transient(problem)
        self._offer, self._desired = None, _desired(self._held, problem, self._judged or Accepted())
        return self._desired

    def _begin(self, accepted: Accepted, now: int) -> None:
        """After a restart: what this machine kept, where it is still what was accepted."""
        offer = self._kept.load()
        if offer is not None:
            kept = take(offer, held=None, keys=self._keys, region=self._region, accepted=accepted, now=now)
            self._held, self._keys = kept.held, kept.keys

    def _accepted(self) -> Accepted:
        """The highest of what this machine and the store noted.

        Raises `Transient` while the store is silent and nothing was accepted here: nobody knows how old is too old.
        """
        here = self._kept.versions.read()
        try:
            found = self._store.get(self._key)
        except EbbtideError as error:
            if here.highest or self._noted is not None:
                return here if self._noted is None else _higher(here, self._noted)
            raise Transient(f"nobody can say what was accepted before: {error}") from error
        there = _read(found.value) if found else Accepted()
        both = _higher(here, there)
        if self._noted is not None:
            both = _higher(both, self._noted)  # what others accepted stays so where the store is set back
        self._noted = both
        if both != there:
            self._put(both)  # the store was empty, or is an older copy
        return both

    def _accept(self, taken: Taken, offered: Offer) -> None:
        if taken.held is None:
            return
        here = self._kept.versions.accept(taken.held.verified, taken.keys)
        self._kept.save(offered)
        self._put(here)

    def _put(self, accepted: Accepted) -> None:
        """Raise the store's note to this one; a silent store is raised at the next look."""
        try:
            for _ in range(TRIES):
                found = self._store.get(self._key)
                before = _read(found.value) if found else Accepted()
                after = _higher(before, accepted)
                if found is not None and after == before:
                    return
                try:
                    self._store.put(self._key, write_accepted(after), expected=found.revision if found else "")
                except Conflict:
                    continue
                self._noted = after
                return
        except EbbtideError:
            return

    @property
    def _key(self) -> str:
        return f"accepted/{self._region}"


def _desired(held: Held, problem: str, accepted: Accepted) -> Desired:
    said = held.verified.statement
    newest, _ = accepted.highest.get(str(said.subject), (0, ""))
    outdated = newest > said.version
    if outdated and not problem:
        problem = f"version {said.version} is held, {newest} was accepted"
    return Desired(held.estate, said.commit, said.version, not problem, problem, outdated)


def _read(value: bytes) -> Accepted:
    try:
        return read_accepted(value)
    except ValueError as error:
        raise Refused(f"what the store noted as accepted is damaged: {error}") from None


def _higher(one: Accepted, other: Accepted) -> Accepted:
    """The higher of both, subject by subject; of one version with two digests the first stands."""
    highest = dict(other.highest)
    for name, entry in one.highest.items():
        if name not in highest or entry[0] >= highest[name][0]:
            highest[name] = entry
    return Accepted(highest, max(one.key_set, other.key_set))
