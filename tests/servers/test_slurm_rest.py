"""The way around sbatch: a job that slurmrestd carries is asked for its contract like any other."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.servers.slurm_case import cluster_of, shown
from tools.servers.process import start
from tools.servers.slurm import PATH, UNPRIVILEGED, Node, Slurm

API = "/slurm/v0.0.38/job"
ACCESS_DENIED = 2002


class Connection(http.client.HTTPConnection):
    """HTTP over a socket of the file system, where slurmrestd knows its caller by the kernel's word."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20.0)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Rest:
    """A cluster and the slurmrestd before it."""

    def __init__(self, cluster: Slurm, path: Path) -> None:
        self.cluster = cluster
        self._path = path

    def post(self, where: str, body: Mapping[str, object]) -> tuple[int, list[int], int]:
        """HTTP status, Slurm's error codes, and the job's id (0 without one)."""
        connection = Connection(self._path)
        try:
            connection.request("POST", f"{API}/{where}", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            told = json.loads(answer.read())
        finally:
            connection.close()
        return answer.status, [one.get("error_code", 0) for one in told["errors"]], int(told.get("job_id", 0))

    def submit(self, **job: object) -> tuple[int, list[int], int]:
        plain = {"environment": {"PATH": "/bin"}, "current_working_directory": "/", "hold": True}
        return self.post("submit", {"script": "#!/bin/sh\ntrue\n", "job": plain | job})


@pytest.fixture(name="rest", scope="module")
def _rest() -> Iterator[Rest]:
    with cluster_of(Node("n3", running=False)) as cluster:
        program = shutil.which("slurmrestd", path=PATH)
        if program is None and os.environ.get("EBBTIDE_WITHOUT_SLURM"):
            pytest.skip("EBBTIDE_WITHOUT_SLURM is set, and slurmrestd is not installed")
        assert program is not None, "slurmrestd is not installed: tools/slurm.sh installs it"
        path = cluster.folder / "work" / "rest.sock"
        # It refuses to run as root.
        switch = ["setpriv", f"--reuid={UNPRIVILEGED}", "--regid=nogroup", "--clear-groups", "--"]
        command = [program, "-f", str(cluster.conf), "-a", "rest_auth/local", "-s", "openapi/v0.0.38", f"unix:{path}"]
        with start(
            "slurmrestd",
            [*(switch if os.geteuid() == 0 else []), *command],
            log=cluster.folder / "log" / "slurmrestd.log",
            ready=path.exists,
            environment=cluster.environment,
        ):
            yield Rest(cluster, path)


def test_a_job_without_a_contract_is_refused_but_the_words_are_lost(rest: Rest) -> None:
    status, errors, job = rest.submit(partition="batch")
    assert (status, errors, job) == (500, [ACCESS_DENIED], 0)


def test_a_job_with_a_contract_gets_what_sbatch_gets(rest: Rest) -> None:
    status, _, job = rest.submit(comment="contract:alpha")
    seen = shown(rest.cluster, job)
    assert status == 200
    assert (seen["Partition"], seen["Account"], seen["Features"]) == ("batch", "risk", "ebbtide_alpha")
    assert seen["Requeue"] == "1"


@pytest.mark.parametrize("change", [{"partition": "open"}, {"comment": "none"}, {"constraints": "ebbtide_beta"}])
def test_an_admitted_job_is_not_changed_through_it(rest: Rest, change: dict[str, str]) -> None:
    _, _, job = rest.submit(comment="contract:alpha")
    before = shown(rest.cluster, job)
    status, _, _ = rest.post(str(job), change)
    assert status == 500
    assert f"ebbtide: job {job}, uid" in rest.cluster.log()
    assert shown(rest.cluster, job) == before
