"""Scriptable fakes of what the reconciler talks to beside the provider: schedulers, nodes, recorder, stop switch.

For tests and rehearsals. Each is a small true model with a memory: a node that is asked to return drains when it is
told to finish, and only then; a scheduler that is silent names its cluster. `fail` makes the next calls raise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import SupportsBytes

from contracts.errors import Gone
from ledger.events import Event
from reconciler.ports import Demand, Desired, NodeView, SchedulerView
from repo_layout.model import Estate


class Failures:
    """Errors that the next calls of a method raise, in order."""

    def __init__(self) -> None:
        self._due: dict[str, deque[Exception]] = {}

    def fail(self, call: str, *errors: Exception) -> None:
        """The next calls of `call` raise these, one each."""
        self._due.setdefault(call, deque()).extend(errors)

    def enter(self, call: str) -> None:
        """Raise what is due for this call, if anything is."""
        due = self._due.get(call)
        if due:
            raise due.popleft()


class FakeSchedulers(Failures):
    """The scheduler clusters of a partition, and the nodes that registered with them."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__()
        self.clock = clock
        self.demands: dict[str, Demand] = {}
        self.nodes: dict[str, NodeView] = {}
        self.silent: set[str] = set()
        self.stale_ms = 0
        self.removed: list[str] = []

    def want(self, workload: str, units: int, *, contradiction: str = "") -> None:
        """The workload's units, all pending as far as anybody counts."""
        self.demands[workload] = Demand(workload, 0, 0, units, contradiction)

    def join(self, name: str, *, busy: int = 0, covered: bool = True) -> None:
        """An instance registers as a node."""
        self.nodes[name] = NodeView(name, self.clock(), busy, covered)

    def occupy(self, name: str, busy: int) -> None:
        """So many units run on the node from now on."""
        self.nodes[name] = replace(self.nodes[name], busy_units=busy)

    def leave(self, name: str) -> None:
        """The node is no longer there."""
        self.nodes.pop(name, None)

    def view(self) -> SchedulerView:
        """As the seam promises; everything a silent cluster would say is missing."""
        self.enter("view")
        return SchedulerView(self.clock() - self.stale_ms, dict(self.demands), dict(self.nodes), frozenset(self.silent))

    def remove_node(self, name: str) -> None:
        """As the seam promises."""
        self.enter("remove_node")
        if self.nodes.pop(name, None) is None:
            raise Gone(name)
        self.removed.append(name)


class FakeNodes(Failures):
    """The agents: they drain when `finish` says so."""

    def __init__(self, schedulers: FakeSchedulers) -> None:
        super().__init__()
        self.schedulers = schedulers
        self.asked: dict[str, int] = {}

    def ask_return(self, name: str, *, ends_at: int, cause_event: str) -> None:
        """As the seam promises; the earliest end holds."""
        self.enter("ask_return")
        if name not in self.schedulers.nodes:
            raise Gone(f"{name}: {cause_event}")
        self.asked[name] = until = min(ends_at, self.asked.get(name, ends_at))
        node = self.schedulers.nodes[name]
        self.schedulers.nodes[name] = replace(node, draining_until=until, draining_for=cause_event)

    def finish(self, name: str, outcome: str = "verified") -> None:
        """The node's drain ends so."""
        node = self.schedulers.nodes[name]
        self.schedulers.nodes[name] = replace(node, drained=outcome, busy_units=0)


class FakeRecorder(Failures):
    """A ledger's spool that keeps everything in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.pending = 0

    def record(self, events: Sequence[Event]) -> None:
        """As the seam promises."""
        self.enter("record")
        self.events += events

    def position(self) -> int:
        """As the seam promises."""
        return len(self.events)

    def pending_bytes(self) -> int:
        """As the seam promises; what `hold` says."""
        return self.pending


class FakeJournal(Failures):
    """A journal on a disk of its own: it outlives the reconciler that writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.content: bytes | None = None

    def load(self) -> bytes | None:
        """As the seam promises."""
        self.enter("load")
        return self.content

    def save(self, content: SupportsBytes) -> None:
        """As the seam promises."""
        self.enter("save")
        self.content = bytes(content)


class FakeDesired(Failures):
    """Reviewed files that a test writes: `estate` is what holds, `problem` why nothing newer can be trusted."""

    def __init__(self, estate: Estate, commit: str = "commit") -> None:
        super().__init__()
        self.estate, self.commit, self.problem, self.version = estate, commit, "", 1

    def look(self) -> Desired:
        """As the seam promises."""
        return Desired(self.estate, self.commit, self.version, not self.problem, self.problem)


class FakeStop(Failures):
    """A stop switch that tests throw."""

    def __init__(self) -> None:
        super().__init__()
        self.why = ""

    def reason(self) -> str:
        """As the seam promises."""
        self.enter("reason")
        return self.why
