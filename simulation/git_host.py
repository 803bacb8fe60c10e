"""A code host with one branch of reviewed commits, and how a replica takes what it offers while things go wrong.

Every commit has a version that only grows, as the signed bundle of a merge has. A replica takes the newest offer that
is signed, descends from what it holds and is no older; everything else leaves it with what it held, not trusted. Real
bundles are signed and verified in tests of their own; here the same rules are judged over values, which costs nothing.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from contracts.errors import EbbtideError, Transient
from contracts.model import Contract
from pools.provider import Conflict
from reconciler.desired import Partition, partition
from reconciler.ports import Desired, Store
from reconciler.removals import SUBJECT
from repo_layout.documents import ApprovalFile
from repo_layout.model import Estate
from simulation.chronicle import Chronicle, Reviewed
from simulation.faults import Fault
from simulation.handover import arrive, file_for
from simulation.weather import Weather
from simulation.world import World

ADOPTION = "commit_adoption"

APPROVED_SHARE = 0.5
APPROVED_AFTER_MS = (300_000, 2_400_000)
"""Half of the large removals are approved, within five to forty minutes; the others are taken back unapproved."""

SHRINKS = 90
"""Maxima of less than so many percent are a large removal: more than a tenth of what was desired."""

ACCEPTED = "accepted"
"""Where the store holds the highest version that any replica accepted."""

FIRST_GRANT, LAST_DAY = dt.date(2026, 10, 1), dt.date(2027, 3, 1)
"""Approvals are told apart by the day on which they were granted; all hold while histories happen."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One reviewed commit and the version of its bundle."""

    version: int
    estate: Estate


class CodeHost:
    """The reviewed branch over time: the first commit, and one more at each beginning and end of a fault of files."""

    def __init__(self, world: World, chronicle: Chronicle, weather: Weather) -> None:
        self._base, self._region = world.setting.estate, world.setting.region
        self._world, self._chronicle, self._weather = world, chronicle, weather
        self._approvals: list[ApprovalFile] = []
        self.came_with: dict[str, str] = {}
        self._parts: dict[str, Partition] = {}
        self.commits: list[Commit] = []
        self._merge()
        for kind in (*CHANGES, ADOPTION):
            weather.begins[kind] = self._change
            weather.ends[kind] = lambda _: self._merge()

    @property
    def newest(self) -> Commit:
        """What is merged now."""
        return self.commits[-1]

    def part(self, estate: Estate) -> Partition:
        """The partition of a commit; worked out once."""
        found = self._parts.get(estate.commit)
        if found is None:
            found = self._parts[estate.commit] = part_of(estate, self._region)
        return found

    def _change(self, fault: Fault) -> None:
        """A change is merged; of large removals some are approved after a while."""
        if fault.kind == ADOPTION:
            arrive(self._world, self.part(self._base), fault)
        self._merge()
        if fault.kind == ADOPTION:
            return
        luck = self._weather.luck(fault)
        after = luck.randrange(*APPROVED_AFTER_MS)
        if luck.random() < APPROVED_SHARE and (fault.kind == "commit_removal" or fault.size < SHRINKS):
            self._world.at(self._world.now + after, lambda: self._approve(fault))

    def _approve(self, fault: Fault) -> None:
        if fault not in self._weather.all_on(fault.kind):
            return  # it was taken back before anybody looked
        people = [entry.id for entry in self._base.directory if entry.kind == "person"]
        granted = FIRST_GRANT + dt.timedelta(days=len(self._approvals))
        self._approvals.append(
            ApprovalFile(
                api_version="ebbtide/v1",
                kind="Approval",
                subject=f"{SUBJECT}-{self._region}",
                statement=f"{fault.name} may go.",
                approver=people[-1],
                requester=people[0],
                granted=granted,
                expires=LAST_DAY,
            )
        )
        self._merge(approved=True)

    def _merge(self, *, approved: bool = False) -> None:
        """A commit of the base with every change that is on."""
        changed, words = replace(self._base, approvals=(*self._base.approvals, *self._approvals)), []
        for kind, change in CHANGES.items():
            for fault in self._weather.all_on(kind):
                changed = change(changed, fault)
                words.append(fault.name)
        for fault in self._weather.all_on(ADOPTION):
            file = file_for(self.part(self._base), fault)
            if file is not None:
                changed = replace(changed, adoptions=(*changed.adoptions, file))
                words.append(fault.name)
        version = len(self.commits) + 1
        commit = f"{version:04d}-{'-'.join(words) or 'base'}"
        estate = replace(changed, commit=commit) if self.commits or words else self._base
        self.commits.append(Commit(version, estate))
        for approval in estate.approvals:
            self.came_with.setdefault(approval.key, estate.commit)
        self._chronicle.reviewed.append(Reviewed(self._world.now, estate.commit, version, estate, approved=approved))


PARTS: dict[tuple[str, str, int], Partition] = {}
"""Partitions of base estates, which every history of a process begins with."""


def part_of(estate: Estate, region: str) -> Partition:
    """The partition of an estate; that of one and the same estate is worked out once in a process."""
    key = (estate.commit, region, id(estate))
    found = PARTS.get(key)
    if found is None or found.estate is not estate:
        found = partition(estate, region)
        if len(PARTS) < 8:
            PARTS[key] = found
    return found


def _with(estate: Estate, contracts: Mapping[str, Contract | None]) -> Estate:
    kept = (contracts.get(c.name, c) for c in estate.contracts)
    return replace(estate, contracts=tuple(c for c in kept if c is not None))


def _maxima(estate: Estate, fault: Fault) -> Estate:
    def one(contract: Contract) -> Contract:
        gang = contract.gang_size
        most = max(contract.floor, contract.minimum, gang, contract.maximum * fault.size // 100 // gang * gang)
        return contract.model_copy(update={"maximum": most})

    return _with(estate, {contract.name: one(contract) for contract in estate.contracts})


def _floors(estate: Estate, fault: Fault) -> Estate:
    """More floor where there is one; others have none to begin with."""
    contract = estate.contract_by_name.get(fault.target)
    if contract is None or not contract.floor:
        return estate
    floor = min(contract.maximum, contract.floor + fault.size)
    minimum = max(contract.minimum, floor)
    return _with(estate, {contract.name: contract.model_copy(update={"floor": floor, "minimum": minimum})})


def _removal(estate: Estate, fault: Fault) -> Estate:
    return _with(estate, {fault.target: None}) if len(estate.contracts) > 1 else estate


CHANGES: dict[str, Callable[[Estate, Fault], Estate]] = {
    "commit_maxima": _maxima,
    "commit_floors": _floors,
    "commit_removal": _removal,
}


@dataclass
class Accepted:
    """What a replica's disk keeps of the commits it took: the version that it never goes below."""

    version: int = 0


class Follower:
    """`reconciler.ports.DesiredState` of one process: what it holds, and why it takes nothing newer.

    What was accepted stands on its disk and, as the product has it, in the store that the replicas share.

    `newest` says whether the last look brought a valid commit, as new as any that a replica accepted.
    """

    def __init__(self, host: CodeHost, weather: Weather, accepted: Accepted, store: Store) -> None:
        self._host, self._weather, self._accepted, self._store = host, weather, accepted, store
        self._held: Commit | None = None
        self._noted = 0
        self.newest = False

    @property
    def commit(self) -> str:
        """The commit that it holds; empty while it holds none."""
        return self._held.estate.commit if self._held is not None else ""

    def look(self) -> Desired:
        """As the seam promises; raises `Transient` where nothing was ever held and nothing is offered."""
        problem, offered = self._offer()
        if offered is None and self._held is not None:
            with contextlib.suppress(EbbtideError):
                self._least()  # another replica may have accepted a newer one since, whatever is offered here
        if offered is not None:
            self._held, self._accepted.version = offered, offered.version
            self._raise(offered.version)
        held = self._held
        if held is None:
            raise Transient(problem)
        outdated = held.version < max(self._accepted.version, self._noted)
        # that a newer one was merged, which nobody accepted yet, nobody who is offered an older one can tell
        self.newest = not (problem or outdated)
        came_with = self._host.came_with
        return Desired(held.estate, held.estate.commit, held.version, not problem, problem, outdated, came_with)

    def _offer(self) -> tuple[str, Commit | None]:
        """Why what is offered cannot be taken, or the commit that can."""
        host, weather = self._host, self._weather
        if weather.on("git_unreachable"):
            return "Git does not answer", None
        if weather.on("git_rewritten"):
            return "the history was rewritten: what is held is no ancestor of what is offered", None
        if weather.on("git_unsigned"):
            return "nobody signed what is offered", None
        offered = host.newest
        fault = weather.on("git_older")
        if fault is not None:
            offered = next((c for c in reversed(host.commits[:-1])), offered)
        try:
            least = self._least()
        except EbbtideError as error:
            return str(error), None
        if offered.version < least:
            return f"version {offered.version} is offered, {least} was accepted", None
        return "", offered

    def _least(self) -> int:
        """The highest version that this disk and the store know of; an empty or older store is raised to it.

        Raises `Transient` while the store is silent and nothing was accepted here.
        """
        here = max(self._accepted.version, self._noted)
        try:
            found = self._store.get(ACCEPTED)
        except EbbtideError:
            if here:
                return here
            raise
        there = int(found.value) if found is not None else 0
        if here > there:
            self._raise(here)
        self._noted = max(here, there)  # a store that was set back takes nothing from who saw more
        return self._noted

    def _raise(self, version: int) -> None:
        """Note a version in the store; a store that is silent, or that another one was quicker at, is raised later."""
        try:
            found = self._store.get(ACCEPTED)
            if found is None or int(found.value) < version:
                self._store.put(ACCEPTED, b"%d" % version, expected=found.revision if found is not None else "")
        except (EbbtideError, Conflict):
            return
