"""Large removals: commits that together take away more than a share of the desired units wait for a person's approval.

Pure. Called by `cycle` once a cycle. Desired units are the contracts' maxima, as `ebbtide diff` counts them; what they
were at the last approval is the baseline, which grows with what is added and never shrinks by itself, so that many
small removals are one large one. While they wait, the guard refuses the releases of what was removed, and nothing else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contracts.approval import SignedApproval, is_approved_by
from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.desired import Partition
from reconciler.drafts import Scribe
from reconciler.steps import Refusal, Step, StepKind
from repo_layout.documents import ApprovalFile, DirectoryEntry

SUBJECT = "removal"
"""The subject of an approval file of the estate that is about removals: this, or `removal-REGION`."""

REMEMBERED = 16
"""Commits whose desired units are remembered while they wait, so that an approval can name one of them."""

DAY_MS = 86_400_000

NOTHING: Mapping[str, str] = {}
NOBODY: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Baseline:
    """What was desired when somebody last approved (or at first contact), by workload.

    `pending` are the desired units of the commits seen since, newest last; `used` names the approvals that were
    counted, so that each approves once.
    """

    commit: str = ""
    units: Mapping[str, int] = field(default_factory=dict)
    pending: tuple[tuple[str, Mapping[str, int]], ...] = ()
    used: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Removal:
    """A removal that waits: the units of the baseline and of now, and how many of which workload were taken away.

    `gone` have no contract any more; of the others in `taken` the contract's maximum is what binds.
    """

    before: int
    after: int
    share: int
    commit: str
    region: str
    taken: Mapping[str, int]
    gone: frozenset[str]

    @property
    def text(self) -> str:
        """The numbers, and what to do."""
        units = sum(self.taken.values())
        largest = sorted(self.taken.items(), key=lambda item: (-item[1], item[0]))
        shown = " + ".join(f"{count} of {name}" for name, count in largest[:4])
        rest = units - sum(count for _, count in largest[:4])
        shown += f" + {rest} of {len(largest) - 4} others" if rest else ""
        over = units * 100 > self.before * self.share
        why = f"over {self.share} %" if over else "and nobody remembers how many were desired of what has no contract"
        return (
            f"{units} of {self.before} desired units are taken away ({shown}), {why}: add an approval"
            f" with the subject {SUBJECT}-{self.region}, or ebbtide approve --commit {self.commit}"
        )


@dataclass(frozen=True, slots=True)
class Approved:
    """A removal that somebody approved: whose word, by which file or statement, for which commit."""

    key: str
    approver: str
    commit: str
    taken: int
    before: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """The baseline to remember, what waits (None: nothing), and what was approved now."""

    baseline: Baseline
    waiting: Removal | None = None
    approved: Approved | None = None


def judge(
    part: Partition,
    commit: str,
    before: Baseline,
    *,
    signed: Iterable[SignedApproval] = (),
    came_with: Mapping[str, str] = NOTHING,
    standing: Mapping[str, int] = NOBODY,
    now: int,
) -> Judgement:
    """Whether what the commits since the baseline removed may go; statements nobody could verify count for nothing.
    `came_with` names the commit that brought an approval file: it speaks of that one, and of nothing that came after.
    `standing` are the units that stand of workloads without a contract.
    """
    units = {contract.name: contract.maximum for contract in part.contracts}
    words = tuple(_words(part, signed, now))
    if not before.commit:
        before = Baseline(commit, units, used=frozenset(key for key, *_ in words))
    pending = before.pending
    if (pending[-1][0] if pending else before.commit) != commit:
        pending = (*pending, (commit, units))[-REMEMBERED:]
    approved = None
    base = before.units
    used = before.used
    at = before.commit
    for key, who, named in words:
        if key in used:
            continue
        known = dict(((before.commit, before.units), *pending, (commit, units)))
        about = named or came_with.get(key, commit)
        stood = known.get(about)
        if stood is None:
            continue  # about a commit that was never desired here
        orphans = _orphans(standing, base)
        taken = _taken(base | orphans, stood)
        approved = Approved(key, who, about, sum(taken.values()), sum(base.values())) if taken else approved
        # nothing is desired any more of what is gone: so it is known, and may go
        base, at, used = dict.fromkeys(base | orphans, 0) | stood, about, used | {key}
    base = {name: max(base.get(name, 0), units.get(name, 0)) for name in base.keys() | units.keys()}
    baseline = Baseline(at, base, pending, used)
    orphans = _orphans(standing, base)
    taken = _taken(base | orphans, units)
    share = part.estate.region(part.region).guard.removal_share
    total = sum(base.values()) + sum(orphans.values())
    if sum(taken.values()) * 100 <= total * share:
        taken = orphans  # of these nobody knows how many they were
    if not taken:
        return Judgement(baseline, None, approved)
    gone = frozenset(name for name in taken if name not in units)
    waiting = Removal(total, sum(units.values()), share, commit, part.region, taken, gone)
    return Judgement(baseline, waiting, approved)


def refuse(step: Step, removal: Removal | None, capped: frozenset[str]) -> Refusal | None:
    """The refusal of a release that is one of the removal's own; `capped` are workloads whose claim is at its maximum.

    Of a workload that only shrank these are releases of what its smaller maximum leaves over; those that follow from a
    demand below it, a move or a loss go on.
    """
    if removal is None or step.workload not in removal.taken or step.kind not in (StepKind.RELEASE, StepKind.DISOWN):
        return None
    if step.workload in removal.gone or (step.cause is Cause.CLAIM_SHRANK and step.workload in capped):
        return Refusal(step, Cause.REMOVAL_UNAPPROVED, removal.text)
    return None


def told(approved: Approved | None, scribe: Scribe) -> tuple[Event, ...]:
    """The event of a removal that somebody approved. What it took away is counted from the baseline of this term's
    leader, and another's may differ: so each term says it for itself.
    """
    if approved is None:
        return ()
    data: dict[str, str | int] = {
        "approver": approved.approver,
        "approval": approved.key,
        "commit": approved.commit,
        "taken_units": approved.taken,
        "before_units": approved.before,
    }
    subject = f"{approved.key}/{scribe.epoch}"
    return (scribe.event(EventType.REMOVAL_APPROVED, subject, Cause.REMOVAL_UNAPPROVED, data=data),)


def _orphans(standing: Mapping[str, int], base: Mapping[str, int]) -> dict[str, int]:
    """What stands of workloads that the baseline does not know."""
    return {name: units for name, units in standing.items() if name not in base}


def _taken(base: Mapping[str, int], units: Mapping[str, int]) -> dict[str, int]:
    """Units taken away by workload."""
    less = {name: count - units.get(name, 0) for name, count in base.items()}
    return {name: count for name, count in less.items() if count > 0}


def _words(part: Partition, signed: Iterable[SignedApproval], now: int) -> Iterable[tuple[str, str, str]]:
    """Every approval that holds now: its key, whose word it is, and the commit that it is about ("": the one that it
    came with).
    """
    today = dt.datetime.fromtimestamp(now / 1000, tz=dt.UTC).date()
    people = part.estate.directory_by_id
    for approval in part.estate.approvals:
        if _is_about_removals(approval, part.region) and approval.granted <= today <= approval.expires:
            who = people.get(approval.approver)
            if who is not None and not _over(who, today):
                yield approval.key, approval.approver, approval.commit or ""
    for one in signed:
        said, who = one.approval, people.get(one.approval.approver)
        here = (said.estate, said.region) == (part.estate.settings.estate, part.region)
        if who is None or who.approval_key is None or not here or _over(who, today):
            continue
        if said.granted <= now < said.expires and is_approved_by(bytes.fromhex(who.approval_key), one):
            yield f"signed/{said.approver}/{said.commit}", said.approver, said.commit


def _is_about_removals(approval: ApprovalFile, region: str) -> bool:
    return approval.subject in (SUBJECT, f"{SUBJECT}-{region}")


def _over(entry: DirectoryEntry, today: dt.date) -> bool:
    return entry.valid_until is not None and today > entry.valid_until
