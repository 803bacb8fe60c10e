"""One contract as people and machines read it: values and their origin, a notice, pools, spread, limits near by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from contracts.errors import Place
from contracts.findings import Finding
from contracts.model import Contract
from ebbtide.render_findings import blocks, finding_document
from ebbtide.text import Paint, columns, count, listed, share, wrapped
from repo_layout.contract_facts import PoolVerdict, TimeLine, Value
from repo_layout.contract_room import History, Limit, Room, Spread, WaveShare
from repo_layout.documents import RegionEntry
from repo_layout.wave import about

NEAREST = 8
"""Limits that a screen shows; the JSON has all."""


@dataclass(frozen=True, slots=True)
class ContractView:
    """What is known of one contract, and the findings about its file."""

    contract: Contract
    region: RegionEntry
    place: Place
    read: str
    values: tuple[Value, ...]
    lines: tuple[TimeLine, ...]
    pools: tuple[PoolVerdict, ...]
    room: Room
    findings: tuple[Finding, ...]


def as_text(view: ContractView, paint: Paint) -> list[str]:
    """The whole screen."""
    return [
        *_identity(view, paint),
        "",
        *_values(view, paint),
        "",
        *_notice(view, paint),
        "",
        *_pools(view, paint),
        "",
        *_spread(view.room, paint),
        "",
        *_limits(view.room.limits, paint),
        *(["", paint.bold("findings"), *blocks(view.findings, paint)] if view.findings else []),
    ]


def heading(contract: Contract, paint: Paint) -> str:
    """Who it is and whose."""
    told = f"  tier {contract.tier.rank}, {contract.tier.value}; team {contract.team}, owner {contract.owner}"
    return paint.bold(contract.name) + told


def where_it_runs(contract: Contract) -> str:
    """The scheduler cluster, and what of it is the contract's."""
    on = contract.runs_on
    if on.kubernetes is not None:
        labels = ",".join(f"{key}={value}" for key, value in on.kubernetes.selector.items())
        return f"Kubernetes {on.kubernetes.cluster}, namespace {on.kubernetes.namespace}, pods {labels}"
    slurm = on.slurm
    return f"Slurm {slurm.cluster}, partition {slurm.partition}, account {slurm.account}" if slurm else ""


def _identity(view: ContractView, paint: Paint) -> list[str]:
    return [
        heading(view.contract, paint),
        f"  {view.place.file} in {view.read}",
        f"  {where_it_runs(view.contract)}; region {view.region.name}",
    ]


def _values(view: ContractView, paint: Paint) -> list[str]:
    rows = [(value.name, value.text, paint.dim(_origin(value)), value.means) for value in view.values]
    told = paint.bold("what holds") + paint.dim("  (line of the file, or what fills the gap)")
    return [told, *columns(rows, "<<<<", indent="  ")]


def _origin(value: Value) -> str:
    return f"line {value.place.line}" if value.place is not None else value.source


def _notice(view: ContractView, paint: Paint) -> list[str]:
    head = paint.bold("a notice") + paint.dim("  (seconds after the provider's word)")
    if not view.lines:
        return [head, "  no reclaimable pool has the hardware: nothing here is ever interrupted"]
    lines = [head, *columns([(f"{m.at_s} s", m.what) for m in view.lines[0].moments], "><", indent="  ")]
    for line in view.lines:
        pools = count(line.pools, "pool")
        left = paint.good(f"{line.spare_s} s to spare") if line.spare_s >= 0 else paint.bad(f"{-line.spare_s} s short")
        lines.append(f"  {line.window_s} s is the end in {pools}: {left}")
    return lines


def _pools(view: ContractView, paint: Paint) -> list[str]:
    usable = [one for one in view.pools if not one.reasons and not one.pool.committed]
    committed = [one for one in view.pools if not one.reasons and one.pool.committed]
    domains = len({one.pool.domain for one in usable})
    told = f"  {len(usable)} of {len(view.pools)} of {view.region.name} are eligible, in {count(domains, 'domain')}"
    lines = [paint.bold("pools") + paint.dim(told)]
    by_size: dict[int, list[str]] = {}
    for one in usable:
        by_size.setdefault(one.units, []).append(one.pool.name)
    for units, names in sorted(by_size.items()):
        lines += _running(f"{count(units, 'unit')} an instance:", names)
    if committed:
        lines += _running("for the floor:", [one.pool.name for one in committed])
    reasons: dict[str, list[str]] = {}
    for one in view.pools:
        if one.reasons:
            reasons.setdefault("; ".join(one.reasons), []).append(one.pool.name)
    for reason, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += wrapped(f"not {count(len(names), 'pool')}: {reason} ({listed(names, most=2)})", indent="  ")
    return lines


def _running(title: str, names: Sequence[str]) -> list[str]:
    return wrapped(f"{title} {listed(names, most=8)}", indent="  ")


def _spread(room: Room, paint: Paint) -> list[str]:
    head = paint.bold("spread")
    if room.spread is None:
        return [head, "  nothing above the floor stands on reclaimable capacity", *_history(room.history)]
    spread = room.spread
    told = f"  {count(spread.desired, 'interruptible unit')} at the maximum" + (
        ", under a waiver" if spread.waived else ""
    )
    rows = [
        (
            one.kind,
            f"{one.there} there",
            f"{one.asked} needed",
            f"at most {one.allowed} units in one ({one.percent:g} %)",
        )
        for one in spread.scopes
    ]
    lines = [head + paint.dim(told), *columns(rows, "<>><", indent="  ")]
    if spread.short:
        lines.append(f"  {paint.bad('cannot be spread')} at {spread.short}")
    loss = spread.loss
    lines.append(
        f"  largest loss at once: {loss.units} of {loss.desired} units ({share(loss.units, loss.desired)}), "
        f"with {loss.scope} {loss.name}"
    )
    return [*lines, *_wave(room.wave), *_history(room.history)]


def _wave(wave: WaveShare | None) -> list[str]:
    if wave is None:
        return ["  wave: it writes nothing on a notice"]
    whole = wave.wave
    return wrapped(
        f"wave: when {whole.together.kind} {whole.together.name} goes, {about(wave.own)} of {about(whole.amount)} that "
        f"are due within {whole.due_s} s are its own ({share(wave.own, whole.amount)}); the gateway's "
        f"{about(wave.gateway)}/s need {whole.needs_s(wave.gateway)} s",
        indent="  ",
    )


def _history(history: History | None) -> list[str]:
    if history is None:
        return ["  history: the estate has none for this region"]
    worse = f"{len(history.worse)} surely did more than it tolerates" if history.worse else "none surely did more"
    worst = f"; the worst, {history.worst}, {history.worst_rate:.4g} an hour of an instance" if history.worst else ""
    return wrapped(
        f"history {history.since} to {history.until}: of {count(history.observed, 'eligible pool')} observed "
        f"{worse}{worst}",
        indent="  ",
    )


def _limits(limits: Sequence[Limit], paint: Paint) -> list[str]:
    head = paint.bold("nearest limits") + paint.dim("  (what would refuse it next; ebbtide validate judges)")
    rows = [
        (
            f"{100 * limit.share:.0f} %",
            limit.code,
            limit.what,
            f"{_number(limit.used)} of {_number(limit.allowed)} {limit.unit}",
            limit.leaves,
        )
        for limit in limits[:NEAREST]
    ]
    return [head, *columns(rows, "><<<<", indent="  ")]


def _number(value: Decimal) -> str:
    return f"{value.normalize():f}" if value != value.to_integral_value() else f"{value:.0f}"


def as_document(view: ContractView) -> dict[str, object]:
    """The same for machines; money and rates as text, times in seconds."""
    return {
        "contract": view.contract.name,
        "file": view.place.file,
        "line": view.place.line,
        "read": view.read,
        "region": view.region.name,
        "tier": view.contract.tier.value,
        "values": [
            {
                "name": value.name,
                "value": value.text,
                "means": value.means,
                "source": value.source,
                "line": value.place.line if value.place is not None else 0,
            }
            for value in view.values
        ],
        "notices": [
            {
                "window_s": line.window_s,
                "pools": line.pools,
                "spare_s": line.spare_s,
                "steps": [{"at_s": moment.at_s, "what": moment.what} for moment in line.moments],
            }
            for line in view.lines
        ],
        "pools": [
            {
                "pool": one.pool.name,
                "domain": one.pool.domain,
                "committed": one.pool.committed,
                "units": one.units,
                "eligible": not one.reasons,
                "reasons": list(one.reasons),
            }
            for one in view.pools
        ],
        "spread": _spread_document(view.room.spread),
        "wave": _wave_document(view.room.wave),
        "history": _history_document(view.room.history),
        "limits": [
            {
                "code": limit.code,
                "what": limit.what,
                "used": _number(limit.used),
                "allowed": _number(limit.allowed),
                "unit": limit.unit,
                "percent": round(float(100 * limit.share), 1),
                "leaves": limit.leaves,
            }
            for limit in view.room.limits
        ],
        "findings": [finding_document(finding) for finding in view.findings],
    }


def _spread_document(spread: Spread | None) -> dict[str, object] | None:
    if spread is None:
        return None
    return {
        "interruptible": spread.desired,
        "waived": spread.waived,
        "largest_count": spread.most,
        "short": spread.short,
        "scopes": [
            {"kind": one.kind, "there": one.there, "needed": one.asked, "units_in_one": one.allowed}
            for one in spread.scopes
        ],
        "largest_loss": {"units": spread.loss.units, "scope": spread.loss.scope, "name": spread.loss.name},
    }


def _wave_document(wave: WaveShare | None) -> dict[str, object] | None:
    if wave is None:
        return None
    return {
        "kind": wave.wave.together.kind,
        "group": wave.wave.together.name,
        "own_bytes": wave.own,
        "all_bytes": wave.wave.amount,
        "due_s": wave.wave.due_s,
        "needs_s": wave.wave.needs_s(wave.gateway),
    }


def _history_document(history: History | None) -> dict[str, object] | None:
    if history is None:
        return None
    return {
        "since": history.since,
        "until": history.until,
        "observed": history.observed,
        "worse": list(history.worse),
        "worst": history.worst,
        "worst_per_instance_hour": history.worst_rate,
        "lowest_tolerance": history.least,
    }
