"""What one changed field, pool or sum means, in plain words. Pure: values in, one phrase out.

`ebbtide.diff_story` puts the phrases in order; every form of output shows the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from contracts.model import Contract
from contracts.values import format_duration, format_size
from ebbtide.text import count
from repo_layout.change_fields import FieldChange
from repo_layout.change_pools import Changer, PoolCause, PoolMove
from repo_layout.change_spread import DOMAINS, SlackChange

Words = Callable[[Contract, Contract], str]


def _floor(before: Contract, after: Contract) -> str:
    more = after.floor - before.floor
    if more > 0:
        return f"{count(more, 'unit')} more always on committed capacity"
    return f"{count(-more, 'unit')} fewer on committed capacity; they may be taken back"


def _minimum(_: Contract, after: Contract) -> str:
    return f"at risk below {count(after.minimum, 'running unit')}"


def _maximum(before: Contract, after: Contract) -> str:
    more = after.maximum - before.maximum
    return f"may run {count(more, 'unit')} more" if more > 0 else f"{count(-more, 'unit')} drain where they run"


def _tier(before: Contract, after: Contract) -> str:
    order = "earlier" if after.tier.rank < before.tier.rank else "later"
    return f"served {order} when capacity is short; what the file leaves out follows the tier"


def _tolerance(before: Contract, after: Contract) -> str:
    return f"a unit may be interrupted {_often(after.tolerance)}, was {_often(before.tolerance)}"


def _often(tolerance: Decimal) -> str:
    if not tolerance:
        return "never"
    hours = float(1 / tolerance)
    return f"once in {hours:,.0f} h" if hours >= 100 else f"once in {hours:.3g} h"


def _budget(before: Contract, after: Contract) -> str:
    more = after.drain.budget - before.drain.budget
    return f"needs {format_duration(abs(more))} {'more' if more > 0 else 'less'} of the notice to end"


def _interval(before: Contract, after: Contract) -> str:
    was, now = before.checkpoint.interval, after.checkpoint.interval
    if now is None:
        return "no periodic checkpoint any more"
    told = f"loses at most {format_duration(now)} of work without notice"
    return told + (f", was {format_duration(was)}" if was is not None else "")


def _mode(_: Contract, after: Contract) -> str:
    return {
        "none": "takes no checkpoint any more",
        "periodic": "checkpoints by the clock only",
        "on-notice": "checkpoints when capacity is taken back only",
        "both": "checkpoints by the clock and when capacity is taken back",
    }[after.checkpoint.mode]


def _size(_: Contract, after: Contract) -> str:
    size = after.checkpoint.size
    return f"all units at once write {format_size(size * after.maximum)}" if size else ""


def _restart(_: Contract, after: Contract) -> str:
    return {
        "from-scratch": "lost work begins again from nothing",
        "from-checkpoint": "lost work goes on from its last checkpoint",
        "requeue": "a lost job is queued again",
        "never": "stands on the floor only",
    }[after.restart]


def _allowed(_: Contract, after: Contract) -> str:
    return "may buy guaranteed capacity" if after.fallback.allowed else "buys no guaranteed capacity any more"


def _limit(before: Contract, after: Contract) -> str:
    was, now = before.fallback.limit_per_day, after.fallback.limit_per_day
    if now is None:
        return ""
    who = after.fallback.authority or "nobody"
    if was is None or was.currency != now.currency:
        return f"may spend so much a day on guaranteed capacity; {who} answers for it"
    more = now - was
    amount = f"{more} a day more" if more.amount > 0 else f"{-more} a day less"
    return f"{amount} for guaranteed capacity; {who} answers for it"


def _authority(_: Contract, after: Contract) -> str:
    return f"{after.fallback.authority or 'nobody'} answers for the money"


def _approver(_: Contract, after: Contract) -> str:
    return f"{after.fallback.approver or 'nobody'} approves what exceeds the authority"


def _vcpu(before: Contract, after: Contract) -> str:
    was, now = (contract.unit.vcpu * contract.maximum for contract in (before, after))
    return f"{now:,} vCPU at the maximum, was {was:,}"


def _memory(before: Contract, after: Contract) -> str:
    was, now = (format_size(contract.unit.memory * contract.maximum) for contract in (before, after))
    return f"{now} at the maximum, was {was}"


def _gpu(before: Contract, after: Contract) -> str:
    was, now = (contract.unit.gpu * contract.maximum for contract in (before, after))
    return f"{now:,} GPUs at the maximum, was {was:,}"


def _deadline(_: Contract, after: Contract) -> str:
    due = after.deadline
    if due.at is None and due.after is None:
        return "due at no time any more"
    return f"due at {due.at}" if due.at is not None else f"due {format_duration(due.after or 0)} after submission"


def _said(text: str) -> Words:
    return lambda _before, _after: text


_WORDS: Mapping[str, Words] = {
    "team": lambda _, after: f"counts in the limits of {after.team}, and {after.team} answers for it",
    "owner": lambda _, after: f"{after.owner} is asked about it",
    "contact": lambda _, after: f"{after.contact} is paged",
    "tier": _tier,
    "maximum": _maximum,
    "floor": _floor,
    "minimum": _minimum,
    "tolerance": _tolerance,
    "restart": _restart,
    "expectedRun": _said("changes what an interruption is expected to cost"),
    "drain.budget": _budget,
    "drain.how": _said("another way to end the work in a drain"),
    "drain.command": _said("another command ends the work in a drain"),
    "checkpoint.mode": _mode,
    "checkpoint.interval": _interval,
    "checkpoint.size": _size,
    "checkpoint.bucket": _said("what was written before is not found there"),
    "checkpoint.startUp": _said("changes what an interruption is expected to cost"),
    "fallback.allowed": _allowed,
    "fallback.limitPerDay": _limit,
    "fallback.authority": _authority,
    "fallback.approver": _approver,
    "unit.vcpu": _vcpu,
    "unit.memory": _memory,
    "unit.gpu": _gpu,
    "eligibility.gang": _said("units that are useful together only"),
    "eligibility.gang.size": lambda _, after: f"{count(after.gang_size, 'unit')} are useful together only",
    "runsOn.kubernetes": _said("admitted by another scheduler: what runs now drains"),
    "runsOn.slurm": _said("admitted by another scheduler: what runs now drains"),
    "runsOn.kubernetes.cluster": _said("admitted in another cluster: what runs now drains"),
    "runsOn.slurm.cluster": _said("admitted in another cluster: what runs now drains"),
    "runsOn.kubernetes.namespace": _said("other pods count as this workload"),
    "runsOn.kubernetes.selector": _said("other pods count as this workload"),
    "runsOn.slurm.partition": _said("other jobs count as this workload"),
    "runsOn.slurm.account": _said("other jobs count as this workload"),
}


def meaning(change: FieldChange, before: Contract, after: Contract) -> str:
    """What a changed field of a contract means; empty where the values say it, or its pools do."""
    if change.path.startswith("deadline."):
        return _deadline(before, after)
    words = _WORDS.get(change.path)
    return words(before, after) if words else ""


def values(change: FieldChange) -> str:
    """Both values of a field; of a list what came and what left."""
    if not change.of_list:
        return f"{change.before} -> {change.after}"
    parts = [f"{sign} {text}" for sign, text in (("+", change.after), ("-", change.before)) if text != "none"]
    return "; ".join(parts)


def why(move: PoolMove, *, gained: bool) -> str:
    """Why a workload gained or lost a pool, without the pool's name."""
    asked, offered = move.fits if gained else move.fails
    match move.cause:
        case PoolCause.THERE:
            return "the pool is new" if gained else "the pool is gone"
        case PoolCause.REGION if move.changer is Changer.CONTRACT:
            return f"the workload is in {asked} now"
        case PoolCause.REGION:
            return f"the pool is in {offered} now"
        case PoolCause.RATE_CLASS:
            return f"the pool is {offered} now"
        case PoolCause.CHECKPOINT:
            return f"the checkpoints of an instance are {asked}, and it is sure to write {offered} in time"
        case _:
            return (_gained if gained else _lost)(move, asked, offered)


def _lost(move: PoolMove, asked: str, offered: str) -> str:
    by_contract = move.changer is Changer.CONTRACT
    match move.cause:
        case PoolCause.HALL:
            return (
                f"hall {offered} is avoided now" if by_contract else f"the pool is in hall {offered}, which is avoided"
            )
        case PoolCause.NOTICE if move.changer is Changer.POOL:
            return f"its notice fell from {move.fits[1]} to {offered}, less than a drain needs"
        case PoolCause.NOTICE:
            return f"a drain needs {asked} now, and its notice is {offered}"
        case PoolCause.UNIT if by_contract:
            return f"a unit needs {asked} now, and its instance is {offered}"
        case PoolCause.UNIT:
            return f"its instance is {offered} now, and a unit needs {asked}"
        case _ if by_contract:
            return f"{move.cause.value}: {asked} is asked for now, and it offers {offered}"
        case _:
            return f"{move.cause.value}: it offers {offered} now, and {asked} is asked for"


def _gained(move: PoolMove, asked: str, offered: str) -> str:
    by_contract = move.changer is Changer.CONTRACT
    match move.cause:
        case PoolCause.HALL:
            return f"hall {offered} is avoided no longer" if by_contract else f"the pool is in hall {offered} now"
        case PoolCause.NOTICE if move.changer is Changer.POOL:
            return f"its notice rose from {move.fails[1]} to {offered}, as much as a drain needs"
        case PoolCause.NOTICE:
            return f"a drain needs {asked} now, and its notice is {offered}"
        case PoolCause.UNIT:
            return f"a unit of {asked} fits its instance of {offered} now"
        case _ if by_contract:
            return f"{move.cause.value}: {asked} is asked for now"
        case _:
            return f"{move.cause.value}: it offers {offered} now"


def scope(name: str, number: int) -> str:
    """A number of capacity domains, or of groups of a kind."""
    return count(number, DOMAINS) if name == DOMAINS else count(number, f"{name} group")


def tightness(change: SlackChange) -> str:
    """How tight a bound became, or how much it can spare again."""
    after, before = change.after, change.before
    told = f"{scope(change.scope, after.there)}, and {after.needed} are needed"
    if change.tight:
        return f"{told}: none can be spared, {before.spare} could"
    return f"{told}: {after.spare} can be spared, none could"


def joined(names: Iterable[str], last: str = "and") -> str:
    """Names in a sentence."""
    every = list(names)
    return ", ".join(every) if len(every) < 2 else f"{', '.join(every[:-1])} {last} {every[-1]}"
