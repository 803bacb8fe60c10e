"""The desired state of a region from reviewed files: a branch whose history only grows, read at its tip.

For regions that run without bundles. What was accepted last is noted here and in the store; a tip that does not descend
from both is a rewritten history, and what held goes on holding, untrusted, until somebody puts it right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from contracts.errors import EbbtideError, Refused, Transient
from reconciler.ports import Desired, Store
from repo_layout.adapters.durable import replace_file
from repo_layout.history import Followed, FollowState
from repo_layout.model import Estate


class DesiredFiles:
    """`reconciler.ports.DesiredState` over one branch.

    `follow` says where its tip is and how that relates to a commit, `estate_at` reads and checks one commit; both raise
    for what cannot be read, or is no estate. `brought` says with which commit each of some files of a tip came.
    """

    def __init__(
        self,
        *,
        region: str,
        follow: Callable[[str | None], Followed],
        estate_at: Callable[[str], Estate],
        kept: Path,
        store: Store,
        brought: Callable[[str, Iterable[str]], Mapping[str, str]] = lambda *_: {},
    ) -> None:
        self._follow, self._estate_at, self._kept, self._store = follow, estate_at, kept, store
        self._brought = brought
        self._region = region
        self._key = f"accepted-commit/{region}"
        self._held: Desired | None = None
        self._noted: tuple[str, ...] = ()

    def look(self) -> Desired:
        """As the seam promises. Raises `Refused` or `Transient` while nothing has ever held."""
        marks: tuple[str, ...] = ()
        try:
            marks = self._marks()
            tip = self._tip(marks)
            if self._held is None or tip != self._held.commit:
                self._held = self._accepted(tip)
            self._noted = ()  # the tip descends from all of them
        except (EbbtideError, OSError) as error:
            return self._still(str(error), marks)
        self._held = replace(self._held, trusted=True, problem="")
        return self._held

    def _marks(self) -> tuple[str, ...]:
        """The commits that were accepted last, here and by the store's word, now and since a tip last descended from
        all of them: a store that is set back takes none away. Raises `Transient` where nobody knows.
        """
        here = self._kept.read_text(encoding="ascii").strip() if self._kept.exists() else ""
        try:
            found = self._store.get(self._key)
        except EbbtideError as error:
            if here or self._noted:
                return _each(here, *self._noted)
            raise Transient(f"nobody can say which commit was accepted before: {error}") from error
        there = found.value.decode("ascii", "replace").strip() if found else ""
        self._noted = _each(here, there, *self._noted)
        return self._noted

    def _tip(self, marks: tuple[str, ...]) -> str:
        """The branch's tip, proven to descend from all that was accepted."""
        followed = [self._follow(mark) for mark in marks or (None,)]
        for one in followed:
            if one.state is FollowState.REWRITTEN:
                raise Refused(one.sentence)
        return followed[0].tip

    def _accepted(self, tip: str) -> Desired:
        """What the tip says, noted as accepted before anything acts on it."""
        estate = self._estate_at(tip)
        if all(one.name != self._region for one in estate.settings.regions):
            raise Refused(f"{tip} has no region {self._region}: empty it first, by a removal that is approved")
        replace_file(self._kept, tip.encode())
        try:
            found = self._store.get(self._key)
            if found is None or found.value != tip.encode():
                self._store.put(self._key, tip.encode(), expected=found.revision if found else "")
        except EbbtideError:
            pass  # noted here; whoever leads next proves its tip against the older note
        files = {f"approvals/{one.key.partition('/')[2]}.yaml": one.key for one in estate.approvals}
        came_with = {files[path]: commit for path, commit in self._brought(tip, files).items()}
        return Desired(estate, tip, came_with=came_with)

    def _still(self, problem: str, marks: tuple[str, ...]) -> Desired:
        """What held before, not trusted; after a restart the commit that was accepted last, if it can be read."""
        if self._held is None:
            if not marks:
                raise Transient(problem)
            self._held = Desired(self._estate_at(marks[0]), marks[0])
        self._held = replace(self._held, trusted=False, problem=problem)
        return self._held


def _each(*marks: str) -> tuple[str, ...]:
    """Each commit once, in order."""
    return tuple(dict.fromkeys(mark for mark in marks if mark))
