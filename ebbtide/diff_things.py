"""What changes beside contracts: pools, groups, settings, people, waivers, approvals, adoptions. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from ebbtide.diff_rows import Row, Section, first
from ebbtide.diff_view import DiffView
from ebbtide.diff_words import values
from ebbtide.text import count
from repo_layout.change import ThingChange, Turn
from repo_layout.change_fields import FieldChange
from repo_layout.model import Estate

MOST_ROWS = 25

_SIGNS = {Turn.ADDED: "+", Turn.REMOVED: "-", Turn.CHANGED: "~"}
_KINDS = {"directory": "person", "gpu": "GPU factor", "settings": "settings"}
_WORDS: Mapping[tuple[str, str], str] = {
    ("pool", "noticeWindow"): "what the provider promises between a notice and the end",
    ("pool", "hosts.count"): "hosts",
    ("pool", "committed"): "true holds floors and fallback, false is lent and taken back",
    ("pool", "domain"): "the capacity domain over which spread is counted",
    ("group", "members"): "what falls together",
    ("group", "bounding"): "whether spread is bounded by it",
    ("settings", "pauses"): "while it is paused nothing is acquired or released there",
    ("settings", "bounds.pools"): "capacity domains that a workload is spread over at least",
    ("settings", "bounds.poolShare"): "the most of a workload in one capacity domain, in percent",
    ("settings", "bounds.groupShare"): "the most of a workload in one group, in percent",
    ("settings", "bounds.boundingKinds"): "kinds of group that bound spread",
    ("region", "noticeWindow"): "the notice of every pool that names none",
    ("region", "verificationMargin"): "kept of every notice to see the node empty",
    ("region", "checkpointGateway"): "what all checkpoints of a region write through in a second",
    ("region", "partitions"): "who leads which clusters, and with which share",
    ("directory", "spendAuthorityPerDay"): "what the person may answer for a day",
    ("directory", "validUntil"): "until when the entry holds",
    ("team", "ncuLimit"): "what the team's contracts may want together",
    ("team", "spendCeilingPerDay"): "what the team's fallback may cost a day",
    ("team", "tiers"): "tiers that its contracts may have",
    ("team", "weight"): "its share when capacity is short",
}


def other_things(view: DiffView) -> Section:
    """Everything declared that differs and is no contract; things that change alike stand in one row."""
    alike: dict[tuple[str, Turn, tuple[FieldChange, ...], str], list[str]] = defaultdict(list)
    phrases: dict[tuple[Turn, str], Mapping[str, str]] = {}
    for thing in view.effects.things:
        if thing.kind == "contract":
            continue
        if (thing.turn, thing.kind) not in phrases:
            phrases[thing.turn, thing.kind] = _phrases_of(view, thing)
        told = phrases[thing.turn, thing.kind].get(thing.key, "")
        alike[thing.kind, thing.turn, thing.fields, told].append("" if thing.kind == "settings" else thing.name)
    rows: list[Row] = []
    for (kind, turn, fields, told), names in alike.items():
        about = f"{_KINDS.get(kind, kind)} {first(names)}".strip()
        if turn is not Turn.CHANGED:
            rows.append(Row(_SIGNS[turn], about, "", told))
        rows += [Row("~", about, f"{one.path} {values(one)}", _WORDS.get((kind, one.path), "")) for one in fields]
    if len(rows) > MOST_ROWS:
        rows = [*rows[:MOST_ROWS], Row(" ", f"and {len(rows) - MOST_ROWS} more")]
    return Section("", "other changes", "", tuple(rows))


def _phrases_of(view: DiffView, thing: ThingChange) -> Mapping[str, str]:
    """What things of that kind that came or went say, in a phrase each, by key."""
    estate = view.after if thing.turn is Turn.ADDED else view.before
    return dict(_phrases(estate, thing.kind)) if estate is not None and thing.turn is not Turn.CHANGED else {}


def _phrases(estate: Estate, kind: str) -> Iterator[tuple[str, str]]:
    """Every thing of a kind with its phrase."""
    match kind:
        case "pool":
            for pool in estate.pools:
                rate = "committed" if pool.committed else "reclaimable"
                hosts = count(pool.hosts.count, "host")
                yield f"pool/{pool.name}", f"{rate}, {hosts} in {pool.hall}, {pool.attributes.architecture}"
        case "group":
            for group in estate.groups:
                told = f"{count(len(group.members), 'capacity domain')} fall together ({group.falls_with})"
                yield f"group/{group.region}/{group.name}", told + ("" if group.bounding else ", not bounding")
        case "waiver":
            for waiver in estate.waivers:
                told = (
                    f"{waiver.pools} pools, at most {waiver.pool_share} % in one and {waiver.group_share} % in a group"
                )
                yield f"waiver/{waiver.region}/{waiver.eligibility_class}", f"{told}, until {waiver.expires}"
        case _:
            yield from _records(estate)
            yield from _people(estate)


def _records(estate: Estate) -> Iterator[tuple[str, str]]:
    for approval in estate.approvals:
        key = approval.key
        yield key, f"asked by {approval.requester}, until {approval.expires}"
    for adoption in estate.adoptions:
        servers = count(len(adoption.servers), "server") if adoption.servers else "servers by selector"
        told = f"{servers} for {adoption.workload} in {adoption.pool}"
        yield f"adoption/{adoption.region}/{adoption.name}", told


def _people(estate: Estate) -> Iterator[tuple[str, str]]:
    for entry in estate.directory:
        own = entry.spend_authority_per_day
        yield f"directory/{entry.id}", f"{entry.kind}, may spend {own if own is not None else 'nothing'} a day"
    for team in estate.settings.teams:
        yield f"team/{team.name}", f"at most {team.ncu_limit:,} NCU and {team.spend_ceiling_per_day} a day of fallback"
