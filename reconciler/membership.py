"""What its scheduler shows of one instance: joined, busy, covered, or no longer there. Called by `census`, pure.

An instance is a node only while its scheduler shows it. A scheduler that does not answer says nothing about anybody.
"""

from __future__ import annotations

from collections.abc import Mapping

from contracts.frozen import replace
from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.billing import purpose
from reconciler.drafts import Scribe, event_id
from reconciler.fleet import Instance, Phase
from reconciler.ports import NodeView

DRAINED = ("verified", "overrun")
"""How a drain ends after which nothing runs on the node any more."""


def drained(view: NodeView, *, behind: bool) -> str:
    """How its drain ended, as far as its server may be ended for that; empty where nobody can tell. A notice can be
    taken back, and then its node works again: a view from `behind` the provider's answers is believed only of a return
    that we asked for, which binds the node.
    """
    return view.drained if view.drained in DRAINED and (not behind or _for_return(view)) else ""


def all_drained(nodes: Mapping[str, NodeView], *, behind: bool) -> dict[str, str]:
    """How each node's drain ended of which that can be told, by name."""
    said = ((name, drained(view, behind=behind)) for name, view in nodes.items() if view.drained)
    return {name: outcome for name, outcome in said if outcome}


def as_node(
    instance: Instance, view: NodeView | None, scribe: Scribe, *, silent: bool, behind: bool = False
) -> tuple[Instance, tuple[Event, ...]]:
    """The instance after what its scheduler shows, and its join when that is new; `behind` as for `drained`.

    Where a scheduler that answers (not `silent`) lacks a node that had joined, nothing runs there for all we know:
    it serves nobody, and `left_at` says since when.
    """
    if instance.phase in (Phase.GONE, Phase.FAILED):
        return instance, ()
    if view is None:
        if instance.ready and not silent:
            return replace(instance, left_at=scribe.now, busy_units=0), ()
        return instance, ()
    events = () if instance.joined_at else (_joined(instance, view, scribe),)
    if _works_again(instance, view):
        instance = replace(
            instance, phase=Phase.JOINED, released=False, release_event="", drain_asked=False, asked=0, ends_at=0
        )
    elif _drains_unasked(instance, view, scribe, behind=behind):
        instance = replace(
            instance,
            phase=Phase.DRAINING,
            released=True,
            release_event=view.draining_for or instance.cause_event,
            drain_asked=True,
            ends_at=view.draining_until or scribe.now,
            cause=Cause.DRAINED,
            cause_event=view.draining_for or instance.cause_event,
        )
    if instance.released and not instance.drain_asked and _heard(instance, view, behind=behind):
        # whatever became of the answer, and whatever end was written down before anybody asked
        instance = replace(instance, drain_asked=True, ends_at=max(instance.ends_at, view.draining_until))
    phase = instance.phase
    if instance.supply:
        phase = Phase.SERVING if view.busy_units else Phase.JOINED
    same = (instance.joined_at, instance.busy_units, instance.covered, instance.phase, instance.left_at)
    if same == (view.joined_at, view.busy_units, view.covered, phase, 0):
        return instance, events
    after = replace(
        instance,
        joined_at=view.joined_at,
        busy_units=view.busy_units,
        covered=view.covered,
        phase=phase,
        left_at=0,
    )
    return after, events


def _works_again(instance: Instance, view: NodeView) -> bool:
    """Whether what was taken back undid its drain, and nobody had agreed on its end: it was found in that drain, or its
    deletion after it was asked for and did not happen.
    """
    deleted = instance.released and not instance.release_event and instance.cause is Cause.NOTICE_WITHDRAWN
    drains = instance.noticed or view.drained in DRAINED or view.draining_until
    return (instance.seen_to_drain or deleted) and not drains


def _drains_unasked(instance: Instance, view: NodeView, scribe: Scribe, *, behind: bool) -> bool:
    """Whether a node is found in a drain, or after one, of which nothing is remembered and that no notice explains: it
    was released by a leader of before. What is drained takes no more work, whoever asked for it.
    """
    if behind or not instance.supply:  # whose drain an old view shows may have ended with another server of its key
        return False
    if view.drained in DRAINED:
        return True
    if view.draining_for:
        return view.draining_until > 0 and _for_return(view)
    return view.draining_until > 0 and not instance.joined_at and instance.epoch < scribe.epoch


def _for_return(view: NodeView) -> bool:
    """Whether what it drains or drained for is a return that we asked for."""
    return view.draining_for.startswith(f"{EventType.RELEASE_ASKED.value}/")


def _heard(instance: Instance, view: NodeView, *, behind: bool) -> bool:
    """Whether a released node is seen to have heard of it. One that drains for a notice says nothing of the release:
    it works to that notice's end, and takes work again when that is taken back.
    """
    if drained(view, behind=behind):
        return True
    return view.draining_until > 0 and (view.draining_for in ("", instance.release_event) or _for_return(view))


def asked_at(release: str, otherwise: int) -> int:
    """When a release that others decided was told, by the id of its event."""
    subject, _, at = release.rpartition("/")
    return int(at) if at.isdecimal() and subject.startswith(f"{EventType.RELEASE_ASKED.value}/") else otherwise


def _joined(instance: Instance, view: NodeView, scribe: Scribe) -> Event:
    return scribe.event(
        EventType.INSTANCE_JOINED,
        instance.name,
        purpose(instance, scribe.seat),
        at=view.joined_at,
        caused_by=event_id(EventType.INSTANCE_REQUESTED, scribe.region, instance.name),
        workload=instance.workload,
        instance=instance.name,
    )
