"""Hosts of a capacity domain: what is free, what is lent, what tenants or outages hold.

Mutable and pure: no clock, no randomness. Called by the simulated cloud; knows nothing of notices, tenants or money.
"""

from __future__ import annotations

import enum
from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

from pools.model import HostShape, InstanceShape, Pool


class HostState(enum.Enum):
    """Who has a host: we may use it, it is being taken from us, or it is taken."""

    LENDABLE = "lendable"
    CLOSING = "closing"
    TAKEN = "taken"


Room = tuple[bool, int, int, int, int]
"""Whether committed work is there, and free GPUs, vCPU, memory and disk."""


@dataclass(slots=True, eq=False)
class Host:
    """One machine: free vCPU, memory (bytes), GPUs and disk (bytes), and the servers on it in order of arrival."""

    index: int
    vcpu: int
    memory: int
    gpu: int
    disk: int
    state: HostState = HostState.LENDABLE
    holder: str = ""
    committed: int = 0
    servers: dict[str, InstanceShape] = field(default_factory=dict)

    @property
    def room(self) -> Room:
        """What makes two hosts alike to whoever looks for one."""
        return (self.committed > 0, self.gpu, self.vcpu, self.memory, self.disk)

    def fits(self, shape: InstanceShape) -> bool:
        """Whether one more such instance has room."""
        return (
            self.vcpu >= shape.vcpu
            and self.memory >= shape.memory
            and self.gpu >= shape.gpu
            and self.disk >= shape.local_disk
        )

    def holds(self, shape: InstanceShape) -> int:
        """How many more such instances have room."""
        pairs = (
            (self.vcpu, shape.vcpu),
            (self.memory, shape.memory),
            (self.gpu, shape.gpu),
            (self.disk, shape.local_disk),
        )
        return min(there // one for there, one in pairs if one)


@dataclass(frozen=True, slots=True)
class Free:
    """Room on lendable hosts: vCPU, memory in bytes, GPUs."""

    vcpu: int
    memory: int
    gpu: int


class Domain:
    """The hosts behind one or more pool rows; several aggregates that name one domain put their hosts together."""

    def __init__(self, name: str, pools: Iterable[Pool]) -> None:
        self.name = name
        self.pools = tuple(sorted(pools, key=lambda pool: pool.name))
        self.committed_only = all(pool.committed for pool in self.pools)
        shapes: dict[str, HostShape] = {pool.aggregate: pool.hosts for pool in self.pools}
        self.hosts = tuple(
            Host(index, shape.vcpu, shape.memory, shape.gpu, shape.local_disk)
            for index, shape in enumerate(s for _, s in sorted(shapes.items()) for _ in range(s.count))
        )
        self.capacity = self._sum(self.hosts)
        self._alike: dict[Room, list[int]] = {}
        for host in self.hosts:
            self._enter(host)
        self._free: Free | None = None
        self._lendable = 0

    def place(
        self, server: str, shape: InstanceShape, *, committed: bool = False, avoid: Host | None = None
    ) -> Host | None:
        """Puts the server on the fullest lendable host that has room, committed work beside committed work first; None
        when no host has room. Fullest first keeps whole hosts empty, for large flavors and for tenants. Of hosts alike
        the first is asked, so that a server costs as many looks as there are kinds of hosts.
        """
        fitting: list[tuple[bool, int, int, int, int]] = []
        for room, indices in self._alike.items():
            first = next((index for index in indices if self.hosts[index] is not avoid), None)
            if first is not None and self.hosts[first].fits(shape):
                beside, gpu, vcpu, memory, _ = room
                fitting.append((beside != committed, gpu, vcpu, memory, first))
        if not fitting:
            return None
        host = self.hosts[min(fitting)[-1]]
        host.servers[server] = shape
        self._charge(host, shape, -1, committed=committed)
        return host

    def fits(self, shape: InstanceShape) -> int:
        """How many more such instances its lendable hosts could take."""
        return sum(self.hosts[alike[0]].holds(shape) * len(alike) for alike in self._alike.values())

    def release(self, host: Host, server: str, *, committed: bool = False) -> None:
        """Takes the server off its host."""
        shape = host.servers.pop(server)
        self._charge(host, shape, +1, committed=-committed)

    def turn(self, host: Host, state: HostState, holder: str = "") -> None:
        """Gives the host another state and holder."""
        self._leave(host)
        host.state, host.holder = state, holder
        self._enter(host)
        self._free = None

    def takeable(self) -> list[Host]:
        """Hosts that a reclaim may take: lendable, without committed work."""
        return [host for host in self.hosts if host.state is HostState.LENDABLE and not host.committed]

    def standing(self) -> list[Host]:
        """Hosts that may die: all that are there."""
        return [host for host in self.hosts if host.state is HostState.LENDABLE]

    @property
    def free(self) -> Free:
        """Room on lendable hosts, summed."""
        if self._free is None:
            lendable = [host for host in self.hosts if host.state is HostState.LENDABLE]
            self._lendable, self._free = len(lendable), self._sum(lendable)
        return self._free

    @property
    def lendable(self) -> int:
        """How many hosts are lendable, lent or empty."""
        if self._free is None:
            _ = self.free
        return self._lendable

    def _charge(self, host: Host, shape: InstanceShape, sign: int, *, committed: int) -> None:
        self._leave(host)
        host.committed += committed
        host.vcpu += sign * shape.vcpu
        host.memory += sign * shape.memory
        host.gpu += sign * shape.gpu
        host.disk += sign * shape.local_disk
        self._enter(host)
        self._free = None

    def _enter(self, host: Host) -> None:
        """Among its like, where it is lendable."""
        if host.state is HostState.LENDABLE:
            insort(self._alike.setdefault(host.room, []), host.index)

    def _leave(self, host: Host) -> None:
        """From among its like."""
        if host.state is HostState.LENDABLE:
            alike = self._alike[host.room]
            del alike[bisect_left(alike, host.index)]
            if not alike:
                del self._alike[host.room]

    @staticmethod
    def _sum(hosts: Iterable[Host]) -> Free:
        vcpu = memory = gpu = 0
        for host in hosts:
            vcpu, memory, gpu = vcpu + host.vcpu, memory + host.memory, gpu + host.gpu
        return Free(vcpu, memory, gpu)
