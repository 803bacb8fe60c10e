"""A whole Slurm cluster on loopback: munged, slurmctld and one slurmd a node as real processes, started in a second.

Tests and benchmarks of what Slurm is asked to admit start one and stop it. Each cluster has its own key, configuration,
state and free ports, so that several live side by side. It must not know what is admitted: scripts come in as text.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tools.servers.process import NotReadyError, Server, free_ports, start, wait_until

START_LIMIT_S = 20.0
"""A start takes one second; a machine busy with other builds was seen to need five."""
COMMAND_LIMIT_S = 20.0
"""Clients of a dead slurmctld block for minutes otherwise."""
UNPRIVILEGED = "nobody"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "setpriv")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
MIB = 1024 * 1024
LOG_TAIL = 4000
"""Characters of a log that an error shows."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node, up unless `running` is false; `line` is what its NodeName line says beyond its name and address."""

    name: str
    line: str = "CPUs=8 RealMemory=64000"
    running: bool = True


def missing() -> tuple[str, ...]:
    """The programs that are not installed here; `tools/slurm.sh` installs them."""
    return tuple(name for name in PROGRAMS if shutil.which(name, path=PATH) is None)


CONF = """\
ClusterName=ebbtide
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={dynamic_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MessageTimeout=5
TCPTimeout=2
TreeWidth=65533
MaxNodeCount=2000
SlurmctldTimeout=10
SlurmdTimeout=30
AccountingStorageType=accounting_storage/none
GresTypes=gpu
{extra}
"""


class Slurm:
    """One cluster; `with Slurm(...) as cluster:` starts it and leaves nothing behind.

    `settings` and `partitions` are lines of slurm.conf; `scripts` are further files of its folder, by name.
    """

    def __init__(
        self, *, nodes: Sequence[Node], partitions: str, settings: str = "", scripts: Mapping[str, str] | None = None
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ebbtide-slurm-"))
        self.conf = self.folder / "etc" / "slurm.conf"
        self.port, self.dynamic_port, *ports = free_ports(2 + len(nodes))
        self.nodes = tuple(nodes)
        self._host = socket.gethostname().split(".")[0]
        # What a client or server of this cluster sees.
        self.environment = {"PATH": PATH, "SLURM_CONF": str(self.conf), "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
        self._servers: dict[str, Server] = {}
        self.folder.chmod(0o755)
        for name in ("etc", "munge", "state", "run", "log", "work", *(f"spool/{node.name}" for node in nodes)):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "work").chmod(0o1777)
        lines = (
            f"NodeName={node.name} NodeHostname={self._host} NodeAddr=127.0.0.1 Port={port} {node.line}"
            for node, port in zip(nodes, ports, strict=True)
        )
        self._fixed = "\n".join((*lines, partitions))
        self.configure(settings)
        self.write("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        for name, text in (scripts or {}).items():
            self.write(name, text)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def write(self, name: str, text: str) -> Path:
        """Put one file beside slurm.conf, whole or not at all."""
        target = self.folder / "etc" / name
        partial = target.with_name(f".{name}.new")
        partial.write_text(text, encoding="utf-8")
        partial.chmod(0o644)
        partial.replace(target)
        return target

    def configure(self, settings: str) -> None:
        """Write slurm.conf anew; a running slurmctld takes it at `scontrol reconfigure`."""
        extra = f"{settings}\n{self._fixed}"
        user = "root" if os.geteuid() == 0 else str(os.geteuid())
        self.write(
            "slurm.conf",
            CONF.format(
                host=self._host,
                port=self.port,
                dynamic_port=self.dynamic_port,
                user=user,
                folder=self.folder,
                extra=extra,
            ),
        )

    def start(self) -> None:
        """Every process up and every running node idle; `NotReadyError` after the limit."""
        if absent := missing():
            raise NotReadyError(f"not installed here: {', '.join(absent)}; tools/slurm.sh installs them")
        folder = self.folder / "munge"
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        places = [f"--{what}-file={folder / what}" for what in ("key", "pid", "log", "seed")]
        sock = folder / "socket"
        self._start("munged", ["--foreground", f"--socket={sock}", *places], sock.exists)
        self.start_controller()
        for node in self.nodes:
            if node.running:
                self.start_node(node.name)
        up = sum(node.running for node in self.nodes)
        if not wait_until(lambda: _idle(self) >= up, within_s=START_LIMIT_S):
            raise NotReadyError(f"nodes did not get idle; slurmctld's log ends:\n{self.log()[-LOG_TAIL:]}")

    def start_controller(self) -> None:
        """slurmctld, answering; also after `end()`."""
        self._start("slurmctld", ["-D", "-f", str(self.conf)], self.answers)

    def start_node(self, name: str, dynamic: str = "") -> None:
        """Start slurmd: of a node of slurm.conf, or of a dynamic one that slurm.conf does not know (one at a time)."""
        (self.folder / "spool" / name).mkdir(parents=True, exist_ok=True)
        how = ["-Z", "--conf", dynamic] if dynamic else []
        self._start(name, ["-D", "-N", name, "-f", str(self.conf), *how], lambda: True, program="slurmd")

    def end(self, name: str = "slurmctld") -> None:
        """End one process and wait: a second slurmctld on a port that is still taken fails without a word."""
        self._servers.pop(name).stop()

    def answers(self) -> bool:
        """True when slurmctld answers within two seconds."""
        return self.run(["scontrol", "ping"], limit_s=2.0).stdout.count(" is UP") == 1

    def run(
        self, command: Sequence[str], *, user: str = "root", script: str | None = None, limit_s: float = COMMAND_LIMIT_S
    ) -> subprocess.CompletedProcess[str]:
        """One client command as `user`; its exit code is the caller's, a time-out counts as exit code 124."""
        switch = []
        if user != "root" and os.geteuid() == 0:
            switch = ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", "--"]
        try:
            return subprocess.run(
                [*switch, *command],
                check=False,
                capture_output=True,
                text=True,
                input=script,
                stdin=subprocess.DEVNULL if script is None else None,
                env=self.environment,
                cwd=self.folder / "work",
                timeout=limit_s,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(list(command), 124, "", f"no answer in {limit_s} s")

    def log(self, name: str = "slurmctld") -> str:
        """What a process has written so far."""
        return (self.folder / "log" / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def server(self, name: str = "slurmctld") -> Server:
        """One process; `KeyError` when it was never started or was stopped."""
        return self._servers[name]

    def stop(self) -> None:
        """End every process by its own id, jobs first, wait for each, and remove the folder; twice is harmless."""
        if "slurmctld" in self._servers and self.answers():
            for user in ("root", UNPRIVILEGED):
                self.run(["scancel", "--full", "--signal=KILL", "--state=RUNNING", f"--user={user}"], limit_s=3.0)
                self.run(["scancel", f"--user={user}"], limit_s=3.0)
        for name in sorted(self._servers, key=lambda name: (name == "munged", name == "slurmctld")):
            self._servers.pop(name).stop()
        for left in _left_behind(self.conf):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name: str, arguments: Sequence[str], ready: Callable[[], bool], program: str = "") -> None:
        found = shutil.which(program or name, path=PATH)
        if name in self._servers or found is None:
            raise NotReadyError(f"{name} runs already, or is not installed")
        self._servers[name] = start(
            name,
            [found, *arguments],
            log=self.folder / "log" / f"{name}.log",
            ready=ready,
            within_s=START_LIMIT_S,
            environment=self.environment,
        )


def resident_mib(server: Server) -> float:
    """Resident memory of a process now."""
    pages = int(Path(f"/proc/{server.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def _idle(cluster: Slurm) -> int:
    """Nodes that would take a job now."""
    listed = cluster.run(["sinfo", "-h", "-N", "-t", "idle", "-o", "%N %t"], limit_s=2.0).stdout
    return len({line.split()[0] for line in listed.splitlines() if line.endswith(" idle")})


def _left_behind(conf: Path) -> Iterator[int]:
    """Steps and jobs that outlived their slurmd: what carries this cluster's configuration and belongs to a job."""
    mark = f"SLURM_CONF={conf}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = (process / "environ").read_bytes().split(b"\0")
            of_a_job = any(one.startswith(b"SLURM_JOB_ID=") for one in variables)
            if mark in variables and (of_a_job or (process / "comm").read_bytes() == b"slurmstepd\n"):
                yield int(process.name)


def main() -> int:
    """Start a cluster of two nodes, say where it is, and stop it when standard input ends."""
    nodes = [Node("n1"), Node("n2")]
    partitions = "PartitionName=batch Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP"
    with Slurm(nodes=nodes, partitions=partitions) as cluster:
        print(f"export SLURM_CONF={cluster.conf}", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
