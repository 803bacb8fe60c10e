"""What a reconciler may ask of a sandbox that changes something, and the account of what came of it.

Called by `simulation.adapters.sandbox_server` for its clients. Each effect is told to the account before its answer
goes out, and also when that answer is lost: the account is what happened, whatever anybody believes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.errors import Gone
from pools.provider import CreateRequest, Mark, Server
from simulation.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a reconciler asked for: what, about which instance (`key`) and server, and what came of it.

    `changed` is False for a repetition that found it done already. `client` and `epoch` say who asked.
    """

    at: int
    client: str
    act: str
    key: str
    server: str
    epoch: int
    changed: bool


class Desk:
    """The calls of `Provider`, `Schedulers` and `Nodes` that have an effect, each with the client that asked."""

    def __init__(self, sandbox: Sandbox, account: Callable[[Effect], None]) -> None:
        self.sandbox = sandbox
        self._account = account

    def create(self, request: CreateRequest, client: str) -> Server:
        """`Provider.create`, told to the account also when its answer is lost."""
        before = self.sandbox.cloud.state.created
        try:
            return self.sandbox.cloud.create(request)
        finally:
            mark = request.mark
            found = self.sandbox.cloud.state.by_key.get((request.project, mark.key))
            if found is not None:
                made = self.sandbox.cloud.state.created > before
                if made:
                    self.sandbox.know(mark, request.pool)
                self._tell(client, "create", mark.name, found, mark.epoch, changed=made)
            self.sandbox.advance(self.sandbox.now)

    def delete(self, server: str, expected: Mark, client: str) -> None:
        """`Provider.delete`, told to the account also when its answer is lost."""
        there = server in self.sandbox.cloud.state.records
        try:
            self.sandbox.cloud.delete(server, expected=expected)
        finally:
            gone = there and server not in self.sandbox.cloud.state.records
            self._tell(client, "delete", expected.name, server, expected.epoch, changed=gone)
            self.sandbox.advance(self.sandbox.now)

    def mark(self, server: str, mark: Mark | None, client: str) -> None:
        """`Provider.mark`."""
        self.sandbox.cloud.mark(server, mark)
        record = self.sandbox.cloud.state.records[server]
        act = "adopt" if mark is not None else "disown"
        name = mark.name if mark is not None else record.server.name
        if mark is not None:
            self.sandbox.know(mark, record.pool.name)
        self._tell(client, act, name, server, mark.epoch if mark is not None else 0, changed=True)
        self.sandbox.advance(self.sandbox.now)

    def ask_return(self, name: str, ends_at: int, cause_event: str, client: str) -> None:
        """`Nodes.ask_return`: the first word opens the drain, a later one never makes it longer."""
        before = self.sandbox.asked.get(name)
        if before is not None and name in self.sandbox.work.by_instance:
            self._tell(client, "return", name, "", 0, changed=False)
            return
        self.sandbox.site.ask_return(name, ends_at=ends_at, cause_event=cause_event)
        self.sandbox.asked[name] = ends_at
        self._tell(client, "return", name, "", 0, changed=True)
        self.sandbox.advance(self.sandbox.now)

    def remove_node(self, name: str, client: str) -> None:
        """`Schedulers.remove_node`."""
        try:
            self.sandbox.site.remove_node(name)
        except Gone:
            self._tell(client, "deregister", name, "", 0, changed=False)
            raise
        self._tell(client, "deregister", name, "", 0, changed=True)

    def _tell(self, client: str, act: str, key: str, server: str, epoch: int, *, changed: bool) -> None:
        self._account(Effect(self.sandbox.now, client, act, key, server, epoch, changed))
