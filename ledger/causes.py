"""Why something happened: the closed list that events, plan steps and conditions choose from.

No adapter invents a reason of its own; a new cause is a line here, in `docs/causes.md` and in a test.
"""

from __future__ import annotations

import enum


class Cause(enum.Enum):
    """One reason, shared by plan steps, guard verdicts, conditions and ledger events."""

    __hash__ = object.__hash__  # a member is itself, and looked up in tables all day

    # what people and their work ask for
    CLAIM_GREW = "claim_grew"
    CLAIM_SHRANK = "claim_shrank"
    FLOOR = "floor"
    REBALANCE = "rebalance"
    ADOPTION_REVIEWED = "adoption_reviewed"
    DISOWNED_BY_REVIEW = "disowned_by_review"
    # what the provider does
    NOTICE = "notice"
    NOTICE_WITHDRAWN = "notice_withdrawn"
    LOST_AFTER_NOTICE = "lost_after_notice"
    LOST_WITHOUT_NOTICE = "lost_without_notice"
    ENDED_BEFORE_ITS_TIME = "ended_before_its_time"
    CREATE_FAILED = "create_failed"
    QUOTA_EXHAUSTED = "quota_exhausted"
    ALLOCATION_CONFLICTS = "allocation_conflicts"
    NEVER_JOINED = "never_joined"
    LEFT_SCHEDULER = "left_scheduler"
    FOUND_AGAIN = "found_again"
    RECLAIM_OPEN = "reclaim_open"
    ADVISORY = "advisory"
    RATE_CHANGED = "rate_changed"
    MIGRATED = "migrated"
    TWIN = "twin"
    # what the ranking and the exclusion decide
    RECLAIM_BURST = "reclaim_burst"
    SHORT_NOTICE = "short_notice"
    MISSING_NOTICE = "missing_notice"
    FAILED_ACQUISITIONS = "failed_acquisitions"
    PROBE_DUE = "probe_due"
    PROBE_SUCCEEDED = "probe_succeeded"
    # what the guard says
    LISTING_INCOMPLETE = "listing_incomplete"
    LISTING_STALE = "listing_stale"
    SIGNALS_SILENT = "signals_silent"
    IMPROBABLE_LOSS = "improbable_loss"
    BLAST_RADIUS = "blast_radius"
    ACQUIRE_LIMIT = "acquire_limit"
    NOT_OURS = "not_ours"
    OUTSIDE_OWNED_PROJECT = "outside_owned_project"
    STOPPED = "stopped"
    PAUSED = "paused"
    RATE_LIMIT = "rate_limit"
    DESIRED_STATE_UNVERIFIED = "desired_state_unverified"
    SCHEDULER_SILENT = "scheduler_silent"
    LEASE_TAKEN = "lease_taken"
    LEASE_LOST = "lease_lost"
    CLOCK_JUMPED = "clock_jumped"
    SPOOL_FULL = "spool_full"
    REMOVAL_UNAPPROVED = "removal_unapproved"
    RAMP = "ramp"
    BOUND = "bound"
    # what the node and the workload do
    BUDGET_EXCEEDED = "budget_exceeded"
    DRAINED = "drained"
    RESTORED = "restored"
    # what money does
    SHORTFALL = "shortfall"
    AUTHORITY_SPENT = "authority_spent"
    RECLAIMABLE_HELD = "reclaimable_held"
    ACCOUNTING = "accounting"
