"""What faults do to the simulated cloud itself: waves, losses, maintenance, moves, rates, quotas, boots and strangers.

Each is told when its fault begins or ends and changes the cloud at that instant. Called through `Weather`; it knows
faults and the cloud's state, and nothing of replicas.
"""

from __future__ import annotations

from functools import partial

from pools.model import Pool
from pools.provider import Mark, NoticeKind, Status
from pools.script import Boot, Script
from simulation.cloud_model import ProjectLimit
from simulation.cloud_state import CloudState, admit, move
from simulation.disturbances import change_rate
from simulation.faults import Fault
from simulation.hosts import Host, HostState
from simulation.reclaims import Taking, advise, choose, take, withdraw
from simulation.weather import Weather, hit

OUR_LIKES = ("eb-lookalike", "web-1", "build-7", "old-forecast")
"""What strangers are called: some like ours."""


class ScriptedBoots(Script):
    """Boots end as the faults that are on say."""

    def __init__(self, weather: Weather) -> None:
        super().__init__()
        self._weather = weather

    def on_create(self, pool: str) -> Boot | None:
        """As a script promises."""
        boot = super().on_create(pool)
        if boot is not None:
            return boot
        fault = self._weather.strikes("boots_fail")
        if fault is not None:
            return self._weather.luck(fault).choice((Boot.NO_HOST, Boot.OTHER, Boot.QUOTA))
        return Boot.NEVER if self._weather.strikes("boots_hang") else None


class Happenings:
    """The cloud's part of the faults."""

    def __init__(self, state: CloudState, weather: Weather) -> None:
        self._state, self._weather = state, weather
        self._cut: dict[str, ProjectLimit] = {}
        self.lied_quota: dict[str, int] = {}
        self._halls = {
            hall: tuple(d.name for d in state.domains.values() if not d.committed_only and _hall(d.pools) == hall)
            for hall in sorted({pool.hall for pool in state.pools.values()})
        }
        state.script = ScriptedBoots(weather)
        waves = ("reclaim", "hall_wave", "two_halls", "drought", "power_wave", "withdrawn", "host_loss", "silent_loss")
        weather.begins |= dict.fromkeys((*waves, "drill"), self._wave)
        weather.begins |= {
            "maintenance": self._maintain,
            "migration": self._migrate,
            "false_advisory": lambda fault: advise(state, fault.target, fault.until),
            "rate_change": self._change_rates,
            "quota_cut": self._cut_quota,
            "quota_lie": self._cut_quota,
            "strangers": self._admit_strangers,
            "no_client_token": lambda _: setattr(state, "tokens", False),
        }
        weather.ends |= {
            "quota_cut": self._restore_quota,
            "quota_lie": self._restore_quota,
            "no_client_token": lambda _: setattr(state, "tokens", True),
        }

    def _wave(self, fault: Fault) -> None:
        """Takes hosts at once: all domains of one fault under one reclaim, where it is one."""
        targets = fault.target.split(",")
        domains = [domain for target in targets for domain in self._halls.get(target, (target,))]
        noticed = fault.kind not in ("power_wave", "host_loss", "silent_loss")
        kind = NoticeKind.RECLAIM if noticed else NoticeKind.HOST_FAILURE
        kind = NoticeKind.DRILL if fault.kind == "drill" else kind
        for name in domains:
            domain = self._state.domains[name]
            taking = Taking(
                domain=domain,
                holder=f"{fault.name}/{name}",
                reclaim=f"rc-{fault.name}" if kind is NoticeKind.RECLAIM else "",
                kind=kind,
                reason=fault.kind,
                hold_until=fault.until,
                returns_at=fault.until,
                noticed=noticed,
                told=fault.kind != "silent_loss",
            )
            there = domain.standing() if kind is NoticeKind.HOST_FAILURE else domain.takeable()
            number = -(-len(there) * fault.size // 100)
            if fault.kind == "drill":
                there, number = [host for host in there if host.servers], fault.size
            hosts = choose(self._state, domain, there, number, taking.holder)
            take(self._state, taking, hosts)
            if fault.kind == "withdrawn":
                self._take_back(fault, taking, hosts)

    def _take_back(self, fault: Fault, taking: Taking, hosts: list[Host]) -> None:
        luck = self._weather.luck(fault)
        for host in hosts:
            window = min((self._state.records[server].pool.notice_window_s for server in host.servers), default=120)
            at = self._state.now + luck.randrange(1000, max(1001, window * 1000))
            self._state.push(at, partial(withdraw, self._state, taking, host))

    def _maintain(self, fault: Fault) -> None:
        """Hosts one after another, each back after its share of the time."""
        domain = self._state.domains[fault.target]
        hosts = domain.takeable()
        gap = (fault.until - fault.at) // max(1, len(hosts))
        for number, host in enumerate(hosts):
            at = self._state.now + number * gap
            back = min(fault.until, at + gap * fault.size)
            self._state.push(at, partial(self._maintain_one, fault, host, back))

    def _maintain_one(self, fault: Fault, host: Host, back: int) -> None:
        domain = self._state.domains[fault.target]
        if host.state is HostState.LENDABLE:
            holder = f"{fault.name}/{host.index}"
            taking = Taking(domain, holder, "", NoticeKind.MAINTENANCE, fault.kind, back, back)
            take(self._state, taking, [host])

    def _migrate(self, fault: Fault) -> None:
        state, luck = self._state, self._weather.luck(fault)
        for server, record in list(state.records.items()):
            if (
                record.pool.domain != fault.target
                or not hit(fault, server)
                or record.server.status is not Status.ACTIVE
            ):
                continue
            alike = [p.name for p in state.pools.values() if _alike(p, record.pool)]
            if alike:
                move(state, server, luck.choice(alike))

    def _change_rates(self, _: Fault) -> None:
        for pool, tariff in self._state.tariffs.items():
            tariff.hasten(self._state.now)
            change_rate(self._state, pool)

    def _cut_quota(self, fault: Fault) -> None:
        """Room for `size` instances more than are there now."""
        state = self._state
        limit, used = state.limits[fault.target], state.used[fault.target]
        self._cut.setdefault(fault.target, limit)
        if fault.kind == "quota_lie":
            self.lied_quota[fault.target] = self.lied_quota.get(fault.target, 0) + 1
        shape = max((p.instance.vcpu, p.instance.memory) for p in state.pools.values() if p.project == fault.target)
        state.limits[fault.target] = ProjectLimit(
            used[0] + fault.size, used[1] + fault.size * shape[0], used[2] + fault.size * shape[1]
        )

    def _restore_quota(self, fault: Fault) -> None:
        if fault.kind == "quota_lie":
            self.lied_quota[fault.target] -= 1
        others = (self._weather.on("quota_cut", fault.target), self._weather.on("quota_lie", fault.target))
        if not any(others) and fault.target in self._cut:
            self._state.limits[fault.target] = self._cut.pop(fault.target)

    def honest_limit(self, project: str) -> ProjectLimit | None:
        """The quota that a lying answer still shows; None where nothing lies."""
        return self._cut.get(project) if self.lied_quota.get(project) else None

    def _admit_strangers(self, fault: Fault) -> None:
        """Servers without a mark, of another estate and of another region of ours; they stay."""
        state, luck = self._state, self._weather.luck(fault)
        estate = state.parameters.estate
        pools = sorted((p for p in state.pools.values() if p.project == fault.target), key=lambda p: p.name)
        for number in range(fault.size):
            name = f"{luck.choice(OUR_LIKES)}-{fault.number}-{number}"
            owner, region = luck.choice((("", ""), (f"not-{estate}", state.region), (estate, f"not-{state.region}")))
            mark = Mark(owner, region, name, luck.randrange(1, 99), "theirs", 1, "floor") if owner else None
            admit(state, pool=luck.choice(pools), project=fault.target, name=name, mark=mark, boot=Boot.ACTIVE)


def _hall(pools: tuple[Pool, ...]) -> str:
    return pools[0].hall


def _alike(pool: Pool, here: Pool) -> bool:
    """Whether a server of one pool may run in the other."""
    shape = pool.instance == here.instance and pool.attributes == here.attributes
    return shape and pool.committed == here.committed and pool.domain != here.domain and pool.project == here.project
