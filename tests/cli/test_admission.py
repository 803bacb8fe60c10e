"""`ebbtide admission` as an operator runs it: from a commit over a signature to the files of one cluster."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from ebbtide.__main__ import main
from repo_layout.adapters.git_lay import Authorship, files_below, lay
from repo_layout.admission_kubernetes import TABLE
from tests.cli.conftest import ROOT, Run

AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Lay it down\n")
ESTATE = ROOT / "repo_layout" / "estate"
REGION = "cadiz"


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference estate's region, compiled and signed, in `out`; the keys in `keys`."""
    at = tmp_path_factory.mktemp("signed")
    lay(at / "estate.git", files_below(ESTATE), AUTHORSHIP)
    for typed in (
        ("compile", str(at / "estate.git"), "--region", REGION, "--out", str(at / "out")),
        ("keys", "new", str(at / "keys"), "--estate", "three-ports"),
        ("sign", str(at / "out"), "--key", str(at / "keys" / "ci.pem"), "--version", "7", "--requester", "ann@forge"),
    ):
        assert main(typed) == 0
    return at


@pytest.fixture(name="signed")
def _signed(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return shutil.copytree(made, tmp_path / "signed", ignore=shutil.ignore_patterns("estate.git"))


def words(signed: Path, *more: str, cluster: str = "cadiz-k8s-a") -> tuple[str, ...]:
    out, trust = str(signed / "rendered"), str(signed / "keys" / "keys.1.json")
    return ("admission", str(signed / "out"), "--trust", trust, "--cluster", cluster, "--out", out, *more)


def table(signed: Path) -> dict[str, str]:
    documents = yaml.safe_load_all((signed / "rendered" / "table.yaml").read_text(encoding="utf-8"))
    (found,) = [one["data"] for one in documents if one["kind"] == "ConfigMap" and one["metadata"]["name"] == TABLE]
    assert isinstance(found, dict)
    return found


def test_a_signed_region_becomes_the_files_of_one_cluster(here: Run, signed: Path) -> None:
    ended = here(*words(signed, "--output", "json"))
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)
    assert said["files"] == ["admission.yaml", "kyverno.yaml", "land.yaml", "table.yaml"]
    assert sorted(path.name for path in (signed / "rendered").iterdir()) == said["files"]
    assert said["version"] == 7
    contracts = table(signed)
    assert len(contracts) == said["contracts"] + 1
    assert "version=7" in contracts["_bundle"]
    compiled = json.loads((signed / "out" / "compiled.json").read_text(encoding="utf-8"))["payloads"]
    digests = {name: line.split("digest=")[1].split(" ")[0] for name, line in contracts.items() if name != "_bundle"}
    assert digests == {name: compiled[f"nodes/{name}.json"] for name in digests}


def test_a_slurm_cluster_of_the_region_gets_its_script(here: Run, signed: Path) -> None:
    ended = here(*words(signed, cluster="cadiz-hpc"))
    assert ended.code == 0, ended.err
    assert (signed / "rendered" / "job_submit.lua").is_file()
    assert "next: copy the files beside slurm.conf" in ended.out


def test_an_altered_payload_is_refused_and_nothing_is_written(here: Run, signed: Path) -> None:
    payload = signed / "out" / "region.json"
    payload.write_bytes(payload.read_bytes().replace(b'"maximum":9', b'"maximum":8', 1))
    ended = here(*words(signed))
    assert ended.code == 1
    assert "digest" in ended.out
    assert not (signed / "rendered").exists()


def test_an_older_bundle_than_the_one_applied_is_refused(here: Run, signed: Path) -> None:
    noted = ("--accepted", str(signed / "accepted.json"))
    assert here(*words(signed, *noted)).code == 0
    key = str(signed / "keys" / "ci.pem")
    assert here("sign", str(signed / "out"), "--key", key, "--version", "6", "--requester", "ann@forge").code == 0
    ended = here(*words(signed, *noted))
    assert ended.code == 1
    assert "replayed" in ended.out


def test_a_cluster_that_the_bundle_has_not_is_an_error_that_names_the_nearest(here: Run, signed: Path) -> None:
    ended = here(*words(signed, cluster="cadiz-k8s-c"))
    assert ended.code == 2
    assert "cadiz-k8s-a" in ended.err


def test_a_folder_that_is_not_signed_is_refused(here: Run, signed: Path) -> None:
    for bundle in (signed / "out").glob("*.sigstore.json"):
        bundle.unlink()
    ended = here(*words(signed))
    assert ended.code == 1
    assert "below_threshold" in ended.out


def test_a_trial_warns_and_a_script_cannot(here: Run, signed: Path) -> None:
    assert here(*words(signed, "--warn")).code == 0
    text = (signed / "rendered" / "admission.yaml").read_text(encoding="utf-8")
    assert "- Warn" in text
    assert "- Deny" not in text
    assert here(*words(signed, "--warn", cluster="cadiz-hpc")).code == 2
