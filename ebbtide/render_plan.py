"""One cycle's decision like a diff: what comes, what goes, why, what the guard holds back, what does not fit. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from correlation_groups.spread import limit, lot
from ebbtide.text import Paint, columns, count, listed, words, wrapped
from ledger.events import Paid
from pools.ranking import Drop
from reconciler.cycle import Decision
from reconciler.desired import Partition
from reconciler.fleet import Phase
from reconciler.problem import BoundState, Scope, Shortfall
from reconciler.steps import ADDS, Refusal, Step, StepKind
from repo_layout.losses import LargestLoss, losses_under_waivers

MOST_LINES = 40
MOST_SHORT = 12
MOST_WAIVED = 5


@dataclass(frozen=True, slots=True)
class PlanView:
    """A decision, whose it is, and the moment it was made for; not `dry` when it was carried out."""

    part: Partition
    estate: str
    commit: str
    when: str
    title: str
    decision: Decision
    dry: bool = True


@dataclass(frozen=True, slots=True)
class Alike:
    """Steps that differ in nothing but the instance."""

    kind: str
    workload: str
    pool: str
    units: int
    paid: str
    cause: str
    names: tuple[str, ...]
    details: tuple[str, ...]


def alike(steps: Iterable[Step]) -> list[Alike]:
    """The steps in bundles, in the order of their first one."""
    bundles: dict[tuple[object, ...], list[Step]] = defaultdict(list)
    for step in steps:
        bundles[step.kind, step.workload, step.pool, step.units, step.paid, step.cause].append(step)
    return [
        Alike(
            first.kind.value,
            first.workload,
            first.pool,
            first.units,
            first.paid.value,
            first.cause.value,
            tuple(step.instance for step in bundle),
            tuple(step.detail for step in bundle if step.detail),
        )
        for bundle in bundles.values()
        for first in bundle[:1]
    ]


# What is not here is housekeeping: servers that are empty already, nodes that are gone.
SIGNS = {**dict.fromkeys((kind.value for kind in ADDS), "+"), StepKind.RELEASE.value: "-"}


def as_text(view: PlanView, paint: Paint) -> list[str]:
    """The diff, then what stands in its way."""
    decision = view.decision
    lines = [*_head(view, paint), "", *_steps(decision.allowed, paint)]
    for part in (_refusals(decision.refused, paint), _shortfalls(decision.placement.shortfalls, paint)):
        lines += ["", *part] if part else []
    lines += ["", *_bounds(view, paint)]
    lines += ["", *part] if (part := _waived(losses_under_waivers(view.part.estate, view.part.region), paint)) else []
    return [*lines, "", *_summary(view, paint)]


def _head(view: PlanView, paint: Paint) -> list[str]:
    fleet = view.decision.memory.fleet
    phases = Counter(i.phase for i in fleet.instances.values() if i.phase is not Phase.GONE)
    noticed = sum(i.noticed for i in fleet.instances.values() if i.phase is Phase.DRAINING)
    told = ", ".join(f"{number} {phase.value}" for phase, number in sorted(phases.items(), key=lambda p: -p[1]))
    closed = {domain for reclaim in view.decision.memory.reclaims.values() for domain in reclaim.domains}
    lines = [
        paint.bold(f"plan  {view.part.region}, {view.when}"),
        f"  {view.title}; {view.estate}",
        f"  stands: {told or 'nothing'}; {noticed} under notice; {len(view.decision.unexplained)} missing unexplained",
    ]
    if closed:
        lines += wrapped(f"closed by an open reclaim: {listed(sorted(closed))}", indent="  ")
    return lines


def _steps(steps: Sequence[Step], paint: Paint) -> list[str]:
    """What comes, then what goes, then what is only tidied up."""
    if not steps:
        return ["  nothing to do: what stands is what is wanted"]
    bundles = sorted(alike(step for step in steps if step.kind.value in SIGNS), key=lambda b: SIGNS[b.kind] != "+")
    if len(bundles) > MOST_LINES:
        lines = [*_by_workload(bundles, paint), paint.dim("  summed by workload; --output json lists every step")]
    else:
        lines = columns([_row(bundle, paint) for bundle in bundles], "<<>><<<")
    tidied = Counter((step.kind.value, step.cause.value) for step in steps if step.kind.value not in SIGNS)
    return lines + [
        paint.dim(f"~ {kind}  {count(number, 'instance')}: {words(cause)}") for (kind, cause), number in tidied.items()
    ]


def _row(bundle: Alike, paint: Paint) -> tuple[str, ...]:
    sign = SIGNS[bundle.kind]
    colour = paint.good if sign == "+" else paint.bad
    kind = "" if bundle.paid == Paid.RECLAIMABLE.value else f" ({bundle.paid})"
    return (
        colour(f"{sign} {bundle.kind}"),
        words(bundle.cause),
        f"{len(bundle.names)} x",
        count(bundle.units, "unit"),
        bundle.workload,
        bundle.pool + kind,
        paint.dim(listed(bundle.details, most=1)),
    )


def _by_workload(bundles: Iterable[Alike], paint: Paint) -> list[str]:
    """A line for each kind, cause and workload; the pools only counted."""
    sums: dict[tuple[str, str, str, str], list[Alike]] = defaultdict(list)
    for bundle in bundles:
        sums[bundle.kind, bundle.cause, bundle.paid, bundle.workload].append(bundle)
    rows = []
    for (kind, cause, paid, workload), found in sums.items():
        sign = SIGNS[kind]
        colour = paint.good if sign == "+" else paint.bad
        instances = sum(len(bundle.names) for bundle in found)
        units = sum(len(bundle.names) * bundle.units for bundle in found)
        pools = len({bundle.pool for bundle in found})
        rows.append(
            (
                colour(f"{sign} {kind}"),
                words(cause) + ("" if paid in (Paid.RECLAIMABLE.value, cause) else f" ({paid})"),
                count(instances, "instance"),
                count(units, "unit"),
                workload,
                f"in {count(pools, 'pool')}",
            )
        )
    return columns(rows, "<<>><<")


def _refusals(refused: Sequence[Refusal], paint: Paint) -> list[str]:
    if not refused:
        return []
    lines = [paint.bold("the guard holds back") + f"  {count(len(refused), 'step')}"]
    by_cause: dict[str, list[Refusal]] = defaultdict(list)
    for refusal in refused:
        by_cause[refusal.cause.value].append(refusal)
    for cause, found in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        kinds = Counter(refusal.step.kind.value for refusal in found)
        told = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
        workloads = Counter(refusal.step.workload for refusal in found)
        lines.append(f"  {paint.warn(words(cause))}: {told}; {found[0].message}")
        lines.append(f"    of {listed(name for name, _ in workloads.most_common())}")
    return lines


def _shortfalls(found: Sequence[Shortfall], paint: Paint) -> list[str]:
    if not found:
        return []
    units = sum(short.units + short.floor_units for short in found)
    rows = [
        (
            short.workload,
            f"{short.units + short.floor_units} units",
            f"{short.floor_units} of its floor" if short.floor_units else "",
            ", ".join(words(lack.value) for lack in short.lacks),
        )
        for short in sorted(found, key=lambda s: (-s.floor_units, -s.units, s.workload))
    ]
    lines = [paint.bold("does not fit") + f"  {count(units, 'unit')} of {count(len(found), 'workload')}; they wait"]
    lines += columns(rows[:MOST_SHORT], "<><<", indent="  ")
    if len(rows) > MOST_SHORT:
        lines.append(paint.dim(f"  and {count(len(rows) - MOST_SHORT, 'workload')} more"))
    return lines


def not_offered(decision: Decision, workload: str) -> dict[str, str]:
    """The pools that the workload's contract may use and that are not offered to it now, each with the reason."""
    ranking = decision.appraisal.ranking
    rows = ranking.rows(workload) if ranking is not None else ()
    return {row.pool: row.reason.value for row in rows if row.reason not in (None, Drop.NOT_ELIGIBLE)}


def tight(view: PlanView) -> list[BoundState]:
    """Places that the plan fills to their bound, and inherited excesses that still stand after it."""
    return [state for state in _states(view) if state.used >= state.bound > 0]


def _states(view: PlanView) -> list[BoundState]:
    part = view.part
    units: Counter[tuple[str, str]] = Counter()
    largest: dict[tuple[str, str], int] = {}
    scope: dict[tuple[str, str], Scope] = {}
    for placed in view.decision.placement.counts:
        pool = part.pool_by_name.get(placed.pool)
        if pool is None or pool.committed or placed.workload in view.decision.placement.exempt:
            continue
        each = part.units[placed.workload, placed.pool]
        gang = part.contract_by_name[placed.workload].gang_size
        for name in (pool.domain, *part.groups.get(pool.domain, ())):
            key = placed.workload, name
            units[key] += each * placed.instances
            largest[key] = max(largest.get(key, 0), lot(each, gang).units)
            scope[key] = Scope.DOMAIN if name == pool.domain else Scope.GROUP
    found = []
    for (workload, name), used in sorted(units.items()):
        shares = part.shares[workload]
        permille = shares.pool_permille if scope[workload, name] is Scope.DOMAIN else shares.group_permille
        desired = view.decision.memory.claims[workload].desired
        bound = limit(permille, desired, largest[workload, name])
        found.append(BoundState(workload, scope[workload, name], name, used, bound))
    return found


def _bounds(view: PlanView, paint: Paint) -> list[str]:
    full = tight(view)
    over = view.decision.placement.excesses
    by_place = Counter(state.name for state in full)
    lines = [
        paint.bold("tight bounds")
        + f"  {count(len(full), 'place')} filled to the bound, for "
        + count(len({state.workload for state in full}), "workload")
    ]
    if by_place:
        most = (f"{name} ({number} workloads)" for name, number in by_place.most_common(3))
        lines += wrapped(f"most often {listed(most, most=3)}", indent="  ")
    if over:
        worst = max(over, key=lambda state: (state.used * 1000 // max(1, state.bound), state.workload))
        lines += wrapped(
            f"{count(len(over), 'inherited excess', 'inherited excesses')} leave at their pace; the largest: "
            f"{worst.workload} has {worst.used} in {worst.name}, bound {worst.bound}",
            indent="  ",
        )
    return lines


def _waived(losses: Sequence[LargestLoss], paint: Paint) -> list[str]:
    """What waivers put at stake, the largest share first."""
    if not losses:
        return []
    ordered = sorted(losses, key=lambda loss: (-loss.permille, loss.workload))
    lines = [paint.bold("waivers") + f"  widen the bounds of {count(len(losses), 'workload')}"]
    lines += [line for loss in ordered[:MOST_WAIVED] for line in wrapped(loss.sentence, indent="  ")]
    if len(ordered) > MOST_WAIVED:
        lines.append(paint.dim(f"  and {count(len(ordered) - MOST_WAIVED, 'workload')} more"))
    return lines


def _summary(view: PlanView, paint: Paint) -> list[str]:
    decision = view.decision
    kinds = Counter(step.kind.value for step in decision.allowed)
    parts = [f"{number} to {kind}" for kind, number in kinds.most_common()]
    held = f", {len(decision.refused)} held back" if decision.refused else ""
    cost = decision.placement.cost_micro / 1_000_000
    currency = view.part.estate.settings.currency
    touched = "nothing was touched" if view.dry else "carried out"
    return [
        paint.bold(f"{', '.join(parts) or 'nothing to do'}{held}: {touched}"),
        f"what would stand is expected to cost {cost:,.2f} {currency} an hour (placed by: {decision.placement.mode})",
    ]


def as_document(view: PlanView) -> dict[str, object]:
    """Every step, refusal, shortfall and tight bound for machines."""
    decision = view.decision
    return {
        "region": view.part.region,
        "when": view.when,
        "title": view.title,
        "commit": view.commit,
        "steps": [_step(step) for step in decision.allowed],
        "refused": [
            {**_step(refusal.step), "refused_for": refusal.cause.value, "message": refusal.message}
            for refusal in decision.refused
        ],
        "shortfalls": [
            {
                "workload": short.workload,
                "units": short.units,
                "floor_units": short.floor_units,
                "lacks": [lack.value for lack in short.lacks],
                "not_offered": not_offered(decision, short.workload),
            }
            for short in decision.placement.shortfalls
        ],
        "tight_bounds": [_state(state) for state in tight(view)],
        "waived_losses": [loss.document() for loss in losses_under_waivers(view.part.estate, view.part.region)],
        "excesses": [_state(state) for state in decision.placement.excesses],
        "cost_micro_per_hour": decision.placement.cost_micro,
        "unexplained": list(decision.unexplained),
    }


def _step(step: Step) -> dict[str, object]:
    return {
        "kind": step.kind.value,
        "instance": step.instance,
        "workload": step.workload,
        "pool": step.pool,
        "project": step.project,
        "units": step.units,
        "paid": step.paid.value,
        "cause": step.cause.value,
        "cause_event": step.cause_event,
        "detail": step.detail,
    }


def _state(state: BoundState) -> dict[str, object]:
    return {
        "workload": state.workload,
        "scope": state.scope.value,
        "place": state.name,
        "used": state.used,
        "bound": state.bound,
    }
