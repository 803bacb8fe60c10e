"""What adds up over several contracts after a change: people, teams and committed capacity. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.values import Money
from ebbtide.diff_rows import Row, Section
from ebbtide.diff_view import DiffView
from repo_layout.change_sums import RoomChange, SpendChange, TeamChange, TeamTotal


def sums(view: DiffView) -> Section:
    """Every sum that differs; `!` where one is above its limit."""
    effects = view.effects
    rows = [
        *(_spend(change) for change in effects.spend),
        *(row for change in effects.teams for row in _team(change)),
        *(_room(change) for change in effects.rooms),
    ]
    return Section("", "sums and limits", "", tuple(rows))


def _spend(change: SpendChange) -> Row:
    own = _turned(_money(change.authority_before), _money(change.authority_after))
    value = _turned(str(change.before), str(change.after))
    return Row("!" if change.above else "~", change.person, value, f"answers for so much a day; may spend {own}")


def _money(money: Money | None) -> str:
    return str(money) if money is not None else "nothing"


def _team(change: TeamChange) -> Iterator[Row]:
    """NCU, then money, as far as they differ."""
    before, after = change.before, change.after
    about = f"team {change.team}"
    if before is None or after is None:
        return  # that the team came or went is told among the things
    if (before.milli_ncu, before.ncu_limit) != (after.milli_ncu, after.ncu_limit):
        limit = _turned(f"{before.ncu_limit:,}", f"{after.ncu_limit:,}")
        above = after.milli_ncu > after.ncu_limit * 1000
        value = _turned(_ncu(before), _ncu(after))
        yield Row("!" if above else "~", about, f"{value} NCU", f"with every contract at its maximum; limit {limit}")
    if (before.spend, before.ceiling) != (after.spend, after.ceiling):
        ceiling = _turned(str(before.ceiling), str(after.ceiling))
        value = _turned(str(before.spend), str(after.spend))
        yield Row("!" if after.spend > after.ceiling else "~", about, value, f"a day of fallback; ceiling {ceiling}")


def _ncu(total: TeamTotal) -> str:
    return f"{total.milli_ncu / 1000:,.3f}".rstrip("0").rstrip(".")


def _room(change: RoomChange) -> Row:
    there = _turned(f"{change.before.there:,}", f"{change.after.there:,}")
    value = f"{_turned(f'{change.before.left:,}', f'{change.after.left:,}')} {change.unit}"
    sign = "!" if change.after.left == 0 else "~"
    return Row(sign, f"{change.region} {change.kind}", value, f"of {there} committed are left after floors")


def _turned(before: str, after: str) -> str:
    """Both values, or the one that stayed."""
    return after if before == after else f"{before} -> {after}"
