"""Everything that `ebbtide diff` has to say, as one value: what was compared, what it does, who is asked.

`ebbtide.diff` makes it, the story and the document are written from it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from contracts.findings import Finding, Severity, exit_code
from repo_layout.change import Effects
from repo_layout.change_findings import findings_change
from repo_layout.compare import Compared
from repo_layout.consent import Asked, asked
from repo_layout.model import Estate
from repo_layout.owners import CodeOwners, Owned, OwnersChange

SOON_DAYS = 30
"""A month is enough to ask again for what expires."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side: as it was named, and its commit (40 hex digits, or `worktree`)."""

    named: str
    commit: str
    committed_at: int

    @property
    def shown(self) -> str:
        """The name with the commit behind it."""
        if len(self.commit) < 40:
            return f"{self.named} on disk"
        return self.named if self.commit.startswith(self.named) else f"{self.named} ({self.commit[:12]})"


@dataclass(frozen=True, slots=True)
class DiffView:
    """One comparison. `paths` are all that differ, `owners` the file that says who owns them, and
    `owners_changed` the files of HEAD that are somebody else's by its own; `note` says what else a reader has to know
    about the two sides.
    """

    where: str
    base: Side
    head: Side
    compared: Compared
    paths: tuple[str, ...]
    owners: CodeOwners | None
    note: str = ""
    seconds: float = 0.0
    owners_changed: tuple[OwnersChange, ...] = ()

    @property
    def effects(self) -> Effects:
        """What the change does, as far as it can be told."""
        return self.compared.effects or Effects()

    @property
    def before(self) -> Estate | None:
        """The estate of BASE; None where either side is not well formed."""
        return self.compared.base.estate if self.compared.effects else None

    @property
    def after(self) -> Estate | None:
        """The estate of HEAD, likewise."""
        return self.compared.head.estate if self.compared.effects else None

    @property
    def code(self) -> int:
        """0 when HEAD holds, 1 when it has errors, 2 when it could not be judged."""
        unread = any(finding.severity is Severity.UNJUDGED for finding in self.compared.base.findings)
        return 2 if unread else exit_code(self.compared.head.findings)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What HEAD is refused for."""
        return tuple(one for one in self.compared.head.findings if one.severity is Severity.ERROR)

    @property
    def standing(self) -> tuple[Finding, ...]:
        """Errors of HEAD that BASE has too."""
        new = set(findings_change(self.compared.base.findings, self.compared.head.findings).appear)
        return tuple(one for one in self.errors if one not in new)

    @property
    def owned(self) -> tuple[Owned, ...]:
        """The paths by owners."""
        return self.owners.of(self.paths) if self.owners else ()

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The people who stand behind money, waivers and approvals."""
        return asked(self.effects, self.after) if self.after else ()

    @property
    def expiring(self) -> tuple[tuple[str, date], ...]:
        """Waivers and approvals of HEAD that have expired by its commit, or do so within a month."""
        at = max(self.base.committed_at, self.head.committed_at)
        if not at or self.after is None:
            return ()
        end = datetime.fromtimestamp(at / 1000, tz=UTC).date() + timedelta(days=SOON_DAYS)
        return tuple((key, expires) for key, expires in _terms(self.after) if expires <= end)


def _terms(estate: Estate) -> Iterator[tuple[str, date]]:
    for approval in estate.approvals:
        yield approval.key, approval.expires
    for waiver in estate.waivers:
        yield f"waiver/{waiver.region}/{waiver.eligibility_class}", waiver.expires
