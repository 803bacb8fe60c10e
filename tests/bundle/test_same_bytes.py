"""One commit is one sequence of bytes: on another machine, from another clone, in another order of files."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from repo_layout.adapters.git import read_commit, read_worktree
from repo_layout.adapters.git_lay import Authorship, lay
from repo_layout.compiled import compiled_files
from repo_layout.sign import COMPILED
from tests.bundle.estates import estate_of
from tests.checks.estates import ROOT, assembled, files_of

ESTATE = ROOT / "repo_layout" / "estate"
AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Lay it down\n")
PROGRAM = """\
import hashlib, json, sys
from repo_layout.adapters.git import read_commit
from repo_layout.compiled import compiled_files
from repo_layout.load import assemble, judge, read
tree = read_commit(sys.argv[1], "HEAD")
estate = assemble(tree, [judge(source) for source in read(tree).sources]).estate
files = {name: hashlib.sha256(content).hexdigest() for name, content in compiled_files(estate, "cadiz").items()}
json.dump(files, sys.stdout)
"""


@pytest.fixture(name="bare", scope="module")
def _bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bare") / "estate.git"
    lay(path, files_of(ESTATE), AUTHORSHIP)
    return path


def elsewhere(repository: Path, **environment: str) -> Mapping[str, str]:
    """The digests as a process with another environment has them."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(repository)], check=True, capture_output=True, env=variables, cwd="/"
    )
    found: Mapping[str, str] = json.loads(done.stdout)
    return found


def test_hash_seed_locale_and_time_zone_do_not_show(bare: Path) -> None:
    first = elsewhere(bare, PYTHONHASHSEED="0", LC_ALL="C", TZ="UTC")
    assert elsewhere(bare, PYTHONHASHSEED="1", LC_ALL="C.UTF-8", TZ="Pacific/Auckland") == first
    assert elsewhere(bare, PYTHONHASHSEED="4242", LC_ALL="tr_TR.UTF-8", LANG="de_DE", TZ="America/St_Johns") == first
    assert COMPILED in first


def test_a_bare_clone_a_clone_with_a_work_tree_and_the_files_on_disk_give_the_same(bare: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(bare), str(clone)], check=True)
    (clone / "ebbtide.yaml").write_text("not: committed\n", encoding="utf-8")
    commit = assembled(read_commit(str(bare), "HEAD"))
    assert compiled_files(assembled(read_commit(str(clone), "HEAD")), "cadiz") == compiled_files(commit, "cadiz")
    disk = dict(compiled_files(assembled(read_worktree(ESTATE)), "cadiz"))
    assert disk.pop(COMPILED) != compiled_files(commit, "cadiz")[COMPILED]  # the list alone names the commit
    assert disk.items() <= compiled_files(commit, "cadiz").items()


@pytest.mark.parametrize("seed", range(3))
def test_the_order_in_which_files_are_read_does_not_show(seed: int) -> None:
    files = list(files_of(ESTATE).items())
    random.Random(seed).shuffle(files)
    assert compiled_files(estate_of(dict(files)), "bremen") == compiled_files(estate_of(files_of(ESTATE)), "bremen")


def test_how_a_file_is_called_and_written_does_not_show() -> None:
    """Names inside decide; a contract in another folder or in block style is the same contract."""
    files = files_of(ESTATE)
    path = "contracts/astronomy/n-body.yaml"
    text = files.pop(path).decode()
    block = text.replace("unit: {vcpu: 8, memory: 16GiB}", "unit:\n    memory: 16384MiB # as before\n    vcpu: 8")
    assert block != text
    moved = {**files, "contracts/elsewhere/aaa.yaml": ("# moved\n" + block).encode(), "README.md": b"hello\n"}
    assert compiled_files(estate_of(moved), "cadiz") == compiled_files(
        estate_of({**files, path: text.encode()}), "cadiz"
    )
