"""Runs the `cue` binary once over the whole estate, held in on every side.

The only place that knows how the schema checker is found, started and stopped. What its report means is
`repo_layout.schema_layer`'s.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from repo_layout.schema_layer import SchemaVerdict, merged_document, read_report, unjudged
from repo_layout.source import Source

SCHEMAS = (
    ("contracts", "scalars.cue"),
    ("contracts", "contract.cue"),
    ("pools", "pools.cue"),
    ("pools", "join_profile.cue"),
    ("correlation_groups", "group.cue"),
    ("repo_layout", "settings.cue"),
    ("repo_layout", "records.cue"),
    ("repo_layout", "root.cue"),
)
WALL_S = 60  # 5,000 files take 1.5 s; a loaded machine takes ten times that
CPU_S = 60
MEMORY = "1GiB"  # the collector's aim: 5,000 files take 0.86 GiB without it and twice the time at half the room
REPORT_BYTES = 4 << 20  # values are printed whole, so the report is as long as somebody's file makes it
WRITES_BYTES = 64 << 20

SLOW = "correct what else was found first: it is slow where many files are wrong; then run it again"
INSTALL = "make setup installs it under .tools/bin; or name a cue binary in EBBTIDE_CUE"


def find_cue(environment: Mapping[str, str]) -> str | None:
    """The binary: what EBBTIDE_CUE names, else the checkout's own, else the one on PATH."""
    if named := environment.get("EBBTIDE_CUE"):
        return named if os.access(named, os.X_OK) else None
    own = Path(__file__).resolve().parents[2] / ".tools" / "bin" / "cue"
    if os.access(own, os.X_OK):
        return str(own)
    return shutil.which("cue", path=environment.get("PATH", os.defpath))


@dataclass(frozen=True, slots=True)
class Cue:
    """The schema checker behind one binary; `None` where there is none, which every judgement then says."""

    binary: str | None

    @classmethod
    def found(cls, environment: Mapping[str, str]) -> Cue:
        """The checker that this environment offers."""
        return cls(find_cue(environment))

    def judge(self, sources: Sequence[Source]) -> SchemaVerdict:
        """What the schemas say about the sources, in one process."""
        if self.binary is None:
            return unjudged("EBT-310", "the cue binary is missing, so the schemas judged nothing", INSTALL)
        with tempfile.TemporaryDirectory(prefix="ebbtide-cue-") as private:
            command, document = self.laid_out(Path(private), sources)
            return _run(command, Path(private), document, sources)

    def laid_out(self, folder: Path, sources: Sequence[Source]) -> tuple[list[str], Path]:
        """Schemas and merged document, written into a folder; the command to run there, and what it takes on stdin."""
        names = []
        for package, name in SCHEMAS:
            (folder / name).write_bytes(files(package).joinpath("schema", name).read_bytes())
            names.append(name)
        document = folder / "estate.json"
        document.write_bytes(merged_document(sources))
        return [str(self.binary), "vet", "-d", "#Root", *names, "json:", "-"], document


def _run(command: Sequence[str], private: Path, document: Path, sources: Sequence[Source]) -> SchemaVerdict:
    report = private / "report.txt"
    try:
        code = _wait(command, private, document, report)
    except OSError as error:
        return unjudged("EBT-310", f"the cue binary cannot be started: {error.strerror}", INSTALL)
    except subprocess.TimeoutExpired:
        return unjudged("EBT-311", f"the schema checker took longer than {WALL_S} s and was stopped", SLOW)
    if code == 0:
        return SchemaVerdict()
    if code == 1:
        with report.open("rb") as text:
            return read_report(text.read(REPORT_BYTES).decode("utf-8", "replace"), sources)
    return unjudged("EBT-311", f"the schema checker ended with code {code} and judged nothing", "run it again")


def _wait(command: Sequence[str], private: Path, document: Path, report: Path) -> int:
    environment = {
        "HOME": str(private),
        "CUE_CACHE_DIR": str(private),
        "CUE_REGISTRY": "none",  # no look-up of modules, hence no socket
        "GOMEMLIMIT": MEMORY,
        "GOGC": "off",
    }
    with document.open("rb") as stdin, report.open("wb") as stderr:
        process = subprocess.Popen(
            command, cwd=private, env=environment, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr
        )
        with process:
            try:
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_S, CPU_S))
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (WRITES_BYTES, WRITES_BYTES))
            except ProcessLookupError:
                pass  # it has ended already
            try:
                return process.wait(timeout=WALL_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
