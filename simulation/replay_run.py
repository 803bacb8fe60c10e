"""One history under one planner: losses to the millisecond, a planning cycle every hour and after every event of ours.

Called by `simulation.replay`. A run walks through notices, losses, returns and releases in order of time and asks the
planner at the next cycle after anything that concerns it; between them it keeps, per node, whose work stands there and
since when it does useful work. It decides nothing: who goes where is the planner's, which free node of a pool serves is
an order drawn from the seed, as a provider would not ask us.

What a loss costs (docs/replay.md has the table): a noticed unit works until its notice and drains; without notice it
works until the end. Work since the last checkpoint, or since the run began, is redone. Its replacement is asked for at
the next cycle, takes `join_s` to work, and the contract's start-up on top.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pools.kinds import Assumptions, Kind
from reconciler.placement import place
from reconciler.problem import DomainSupply, Held, Need, Placement, PoolSupply, Problem, Resources, Team
from repo_layout.documents import Movement
from simulation.replay_policies import Told, View, move_costs
from simulation.replay_window import DAY_MS, Rules, Window, groups_of
from simulation.replay_work import Work
from simulation.trace_measures import HOUR_MS

CYCLE_MS = 30_000
"""A planning cycle runs at the next multiple of this after something happened."""

RETRY_MS = 300_000
"""While units are missing, a node's return makes a cycle at the earliest this long after the last."""

LEAST_LIFETIME_MS = Movement().minimum_lifetime * 1000
"""No unit is moved before it has stood this long: the product's own minimum lifetime, for all planners alike."""

MOST_MOVES = 150
"""Lots moved for gain in one plan: about all of them, so that no planner is held back by the hour between cycles."""

NOTICE, LOSS, RETURN, HOUR = range(4)
FREE = -1
ONE = Resources(vcpu=1)


@dataclass(frozen=True, slots=True)
class Stay:
    """One instance: `workload` in `pool` from `at` to `until`; it works in [works_from, works_until).

    `redone_ms` of that work is done again. `lost` says that the end was a loss, `noticed` that a notice came before it.
    """

    workload: int
    pool: int
    at: int
    until: int
    works_from: int
    works_until: int
    redone_ms: int
    lost: bool
    noticed: bool


@dataclass
class Record:
    """What a run leaves: every stay, and how often it planned."""

    stays: list[Stay] = field(default_factory=list)
    plans: int = 0
    moved: int = 0
    short_plans: int = 0


@dataclass(slots=True)
class _Node:
    """A node as the run sees it; `owner` is a workload or FREE."""

    pool: int
    up: bool
    owner: int = FREE
    at: int = 0
    works_from: int = 0
    noticed_at: int = -1
    leaves_at: int = -1


class Run:
    """The state of one history under one planner."""

    def __init__(self, win: Window, work: Work, view: View, *, rules: Rules, seed: int) -> None:
        self._win, self._work, self._view, self._rules = win, work, view, rules
        self._seed = seed
        self._nodes = [_Node(p, bool(u)) for p, u in zip(win.pool_of_node, win.up_at_start, strict=True)]
        self._members = _members_of_pools(self._nodes, len(win.pools))
        self._kinds: list[Kind] = [work.board.kinds[work.board.class_of[c.name]] for c in work.contracts]
        self._intervals = [(c.checkpoint.interval or 0) * 1000 for c in work.contracts]
        self._warns = [c.checkpoint.mode in ("on-notice", "both") for c in work.contracts]
        join = Assumptions().join_s
        self._boot_ms = [(join + c.checkpoint.start_up) * 1000 for c in work.contracts]
        self._join_ms = join * 1000
        self._budget_ms = [c.drain.budget * 1000 for c in work.contracts]
        self._move_costs = move_costs(win, work, waits=view.waits)
        self._groups = groups_of(win.pools) if view.shares.group_permille < 1000 else ((),) * len(win.pools)
        self._held: list[dict[int, list[int]]] = [{} for _ in work.contracts]
        self._leaving: list[tuple[int, int]] = []
        self._dirty = True
        self._retry = False
        self._short = False
        self._interrupted: list[tuple[int, int, bool]] = []
        self._planned_at = win.place_at
        self.record = Record()

    def run(self) -> Record:
        """The whole history."""
        self._plan(self._win.place_at)
        due = -1
        for at, what, which in _events(self._win, self._rules, self._seed):
            if 0 <= due < at:
                self._release(due)
                self._plan(due)
                due = -1
            self._release(at)
            self._happen(at, what, which)
            soon = self._due(at)
            due = soon if due < 0 else min(due, soon) if soon >= 0 else due
        self._close()
        return self.record

    def _due(self, at: int) -> int:
        """The next cycle that has something to plan, -1 for none."""
        if self._dirty:
            return -(-(at + 1) // CYCLE_MS) * CYCLE_MS
        if self._retry:
            return -(-max(at + 1, self._planned_at + RETRY_MS) // CYCLE_MS) * CYCLE_MS
        return -1

    def _happen(self, at: int, what: int, which: int) -> None:
        if what == HOUR:
            self._dirty = True
            return
        node = self._nodes[which]
        if what == NOTICE:
            if node.up and node.noticed_at < 0:
                node.noticed_at = at
                if node.owner != FREE:
                    self._dirty = True
                    self._interrupted.append((node.pool, at, True))
        elif what == LOSS:
            if node.owner != FREE:
                if node.noticed_at < 0:
                    self._dirty = True
                    self._interrupted.append((node.pool, at, False))
                self._end(which, at, lost=True)
            node.up, node.noticed_at = False, -1
        else:
            node.up, node.noticed_at = True, -1
            self._retry |= self._short

    def _end(self, which: int, at: int, *, lost: bool) -> None:
        """An instance ends at `at`: its stay is closed, with the work that is redone."""
        node = self._nodes[which]
        workload = node.owner
        noticed = node.noticed_at >= 0 or not lost
        begins = at
        if lost and noticed:
            begins = max(node.at, node.noticed_at)
        elif not lost:
            begins = at - self._budget_ms[workload]
        stops = max(node.works_from, begins)
        redone = self._redone(workload, stops - node.works_from, warned=noticed)
        stay = Stay(workload, node.pool, node.at, at, node.works_from, stops, redone, lost, noticed)
        self.record.stays.append(stay)
        self._held[workload][node.pool].remove(which)
        if not self._held[workload][node.pool]:
            del self._held[workload][node.pool]
        node.owner, node.leaves_at = FREE, -1

    def _redone(self, workload: int, worked_ms: int, *, warned: bool) -> int:
        kind = self._kinds[workload]
        if kind.from_scratch:
            return worked_ms % int(kind.run_h * HOUR_MS)
        if self._warns[workload] and warned:
            return 0
        interval = self._intervals[workload]
        return worked_ms % interval if interval else worked_ms

    def _release(self, at: int) -> None:
        """Moves whose replacement works by now."""
        while self._leaving and self._leaving[0][0] <= at:
            until, which = heapq.heappop(self._leaving)
            node = self._nodes[which]
            if node.owner != FREE and node.leaves_at == until:
                self._end(which, until, lost=False)

    def _plan(self, at: int) -> None:
        self._dirty = self._retry = False
        problem = self._problem(at)
        self.record.plans += 1
        placed = place(problem)
        self._short = bool(placed.shortfalls)
        self.record.short_plans += self._short
        self._carry_out(placed, at)

    def _problem(self, at: int) -> Problem:
        win, work, view = self._win, self._work, self._view
        free, in_use, closed = self._capacity()
        free_to_take = [0 if shut else count for shut, count in zip(closed, free, strict=True)]
        pools = [p.name for p in win.pools]
        held: list[Held] = []
        youngest = at - LEAST_LIFETIME_MS
        for w, by_pool in enumerate(self._held):
            name = work.contracts[w].name
            for p, members in sorted(by_pool.items()):
                nodes = [self._nodes[n] for n in members]
                leaving = sum(1 for n in nodes if n.noticed_at >= 0 or n.leaves_at >= 0)
                movable = sum(1 for n in nodes if n.noticed_at < 0 and n.leaves_at < 0 and n.works_from <= youngest)
                held.append(Held(name, pools[p], len(members), 1, movable=movable, leaving=leaving))
        offers = view.offers(at)
        for p, most in view.admits(at, self._told(at, in_use)).items():
            free_to_take[p] = min(free_to_take[p], most)
        return Problem(
            domains=tuple(DomainSupply(name, Resources(vcpu=free[i] + in_use[i])) for i, name in enumerate(pools)),
            pools=tuple(PoolSupply(name, name, self._groups[i], ONE, free_to_take[i]) for i, name in enumerate(pools)),
            teams=(Team("replay"),),
            needs=tuple(
                Need(
                    workload=c.name,
                    team="replay",
                    tier=c.tier.rank,
                    desired=work.desired[w],
                    claimed=work.desired[w],
                    floor=0,
                    offers=offers[w],
                    shares=view.shares,
                    move_cost_micro=self._move_costs[w],
                )
                for w, c in enumerate(work.contracts)
            ),
            held=tuple(held),
            horizon_h=view.horizon_h,
            max_moves=MOST_MOVES,
            tie_break=self._seed * 1000 + at // DAY_MS % 1000,
        )

    def _told(self, at: int, in_use: Sequence[int]) -> Told:
        """What our own instances met since the last plan."""
        joined: dict[int, int] = {}
        starting: dict[int, int] = {}
        for node in self._nodes:
            if node.owner == FREE:
                continue
            joins = node.at + self._join_ms
            if joins > at:
                starting[node.pool] = starting.get(node.pool, 0) + 1
            elif joins > self._planned_at:
                joined[node.pool] = joined.get(node.pool, 0) + 1
        told = Told(tuple(self._interrupted), joined, starting, {p: n for p, n in enumerate(in_use) if n})
        self._interrupted.clear()
        self._planned_at = at
        return told

    def _capacity(self) -> tuple[list[int], list[int], list[bool]]:
        """Per pool: nodes that are up, free and not about to go; nodes that we hold; whether a reclaim is open."""
        count = len(self._win.pools)
        free, in_use, closed = [0] * count, [0] * count, [False] * count
        for node in self._nodes:
            if node.owner != FREE:
                in_use[node.pool] += 1
            elif node.up and node.noticed_at < 0:
                free[node.pool] += 1
            if node.noticed_at >= 0:
                closed[node.pool] = True
        return free, in_use, closed

    def _carry_out(self, placed: Placement, at: int) -> None:
        """Acquire what is more, and let go of what is less once its replacement works."""
        names = {c.name: w for w, c in enumerate(self._work.contracts)}
        pools = {p.name: i for i, p in enumerate(self._win.pools)}
        wanted: list[dict[int, int]] = [{} for _ in names]
        for count in placed.counts:
            wanted[names[count.workload]][pools[count.pool]] = count.instances
        for w, want in enumerate(wanted):
            standing = {
                p: [n for n in members if self._nodes[n].noticed_at < 0 and self._nodes[n].leaves_at < 0]
                for p, members in self._held[w].items()
            }
            for p, members in standing.items():
                for which in _to_release(self._nodes, members, len(members) - want.get(p, 0)):
                    self._nodes[which].leaves_at = at + self._join_ms
                    heapq.heappush(self._leaving, (at + self._join_ms, which))
                    self.record.moved += 1
            for p, most in want.items():
                for _ in range(most - len(standing.get(p, ()))):
                    self._acquire(w, p, at)

    def _acquire(self, workload: int, pool: int, at: int) -> None:
        """One of the pool's free nodes, drawn: the provider chooses the host and nobody asks why."""
        nodes = self._nodes
        ready = [n for n in self._members[pool] if nodes[n].up and nodes[n].owner == FREE and nodes[n].noticed_at < 0]
        if not ready:
            raise RuntimeError(f"pool {self._win.pools[pool].name} has no free node where the plan counts one")
        which = random.Random(f"{self._seed}/{pool}/{at}/{len(ready)}").choice(ready)
        node = nodes[which]
        node.owner, node.at, node.works_from, node.leaves_at = workload, at, at + self._boot_ms[workload], -1
        self._held[workload].setdefault(pool, []).append(which)

    def _close(self) -> None:
        """Stays that last to the end of the window."""
        end = self._win.ends_at
        for node in self._nodes:
            if node.owner != FREE:
                stops = max(node.works_from, end)
                self.record.stays.append(
                    Stay(node.owner, node.pool, node.at, end, node.works_from, stops, 0, lost=False, noticed=False)
                )


def _events(win: Window, rules: Rules, seed: int) -> Iterator[tuple[int, int, int]]:
    """Notices, losses, returns and hours in order of time."""
    draw = np.random.default_rng([seed, 7]).random(len(win.starts))
    noticed = draw >= rules.no_notice_share
    rows = [(at, HOUR, 0) for at in range(win.place_at + HOUR_MS, win.ends_at, HOUR_MS)]
    for start, end, node, told in zip(
        win.starts.tolist(), win.ends.tolist(), win.node.tolist(), noticed.tolist(), strict=True
    ):
        if told:
            rows.append((max(win.place_at, start - rules.notice_s * 1000), NOTICE, node))
        rows.append((start, LOSS, node))
        if end < win.ends_at:
            rows.append((end, RETURN, node))
    joined, left = win.trace.joined, win.trace.left
    for column, what in ((joined, RETURN), (left, LOSS)):
        inside = np.flatnonzero((column > win.place_at) & (column < win.ends_at)).tolist()
        rows.extend((int(column[node]), what, node) for node in inside)
    rows.sort()
    return iter(rows)


def _members_of_pools(nodes: Sequence[_Node], pools: int) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(pools)]
    for which, node in enumerate(nodes):
        members[node.pool].append(which)
    return members


def _to_release(nodes: Sequence[_Node], members: Sequence[int], surplus: int) -> list[int]:
    """The oldest ones: they are past the minimum lifetime."""
    return sorted(members, key=lambda n: (nodes[n].at, n))[: max(0, surplus)]
