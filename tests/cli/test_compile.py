"""`ebbtide compile`: a whole folder or none, never over anything else; sizes, digests and exit codes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.bundle import read_node
from contracts.errors import Refused
from repo_layout.adapters.compiled_folder import write_folder
from repo_layout.adapters.git_lay import Authorship, files_below, lay
from repo_layout.compiled import is_compiled
from repo_layout.payload import read_region
from tests.cli.conftest import ROOT, Run

MINIMAL = files_below(ROOT / "repo_layout" / "samples" / "valid" / "minimal")
AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Lay it down\n")
NAMES = ["compiled.json", "nodes/forecast.json", "nodes/hindcast.json", "region.json"]


@pytest.fixture(name="estate")
def _estate(tmp_path: Path) -> Path:
    lay(tmp_path / "estate.git", MINIMAL, AUTHORSHIP)
    return tmp_path / "estate.git"


def test_a_region_is_compiled_into_the_files_that_ci_signs(here: Run, estate: Path, tmp_path: Path) -> None:
    ended = here("compile", str(estate), "--region", "north", "--out", str(tmp_path / "out"), "--output", "json")
    assert ended.code == 0
    files = files_below(tmp_path / "out")
    assert sorted(files) == NAMES
    listing, said = json.loads(files["compiled.json"]), json.loads(ended.out)
    digests = {name: hashlib.sha256(files[name]).hexdigest() for name in NAMES[1:]}
    assert listing == {
        "format": 1,
        "estate": "minimal",
        "region": "north",
        "commit": said["commit"],
        "payloads": digests,
    }
    (region,) = said["regions"]
    assert {name: one["sha256"] for name, one in region["payloads"].items()} == digests
    assert {name: one["bytes"] for name, one in region["payloads"].items()} == {n: len(files[n]) for n in NAMES[1:]}
    assert region["largestUserData"]["limit"] == 65_535
    assert read_region(files["region.json"]).settings.estate == "minimal"
    assert read_node(files["nodes/hindcast.json"]).drain.budget_s == 30


def test_the_screen_reads_as_reviewed(
    here: Run, estate: Path, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    ended = here("compile", str(estate), "--region", "north", "--out", str(tmp_path / "out"))
    assert ended.code == 0
    shown = re.sub(r"\d+\.\d\d s", "0.00 s", ended.out.replace(str(tmp_path), "DIR"))
    sizes = re.sub(r" +[0-9,]+ bytes", " 1,234 bytes", re.sub(r"\b[0-9a-f]{12,64}\b", "0a0a0a", shown))
    golden("compile_minimal", sizes)


def test_all_regions_lie_in_folders_of_their_own_and_can_be_compiled_again(
    here: Run, estate: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        assert here("compile", str(estate), "--all", "--out", str(tmp_path / "out")).code == 0
    assert sorted(files_below(tmp_path / "out")) == [f"north/{name}" for name in NAMES]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_refused_estate_gives_its_findings_and_no_folder(here: Run, tmp_path: Path) -> None:
    files = {**MINIMAL, "contracts/tides/hindcast.yaml": MINIMAL["contracts/tides/hindcast.yaml"] + b"floor: 900\n"}
    lay(tmp_path / "bad.git", files, AUTHORSHIP)
    ended = here("compile", str(tmp_path / "bad.git"), "--region", "north", "--out", str(tmp_path / "out"))
    assert ended.code == 1
    assert "EBT-150" in ended.out
    assert not (tmp_path / "out").exists()
    said = here(
        "compile", str(tmp_path / "bad.git"), "--region", "north", "--out", str(tmp_path / "out"), "--output", "json"
    )
    assert json.loads(said.out)["errors"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--region", "south"), "did you mean north?"),
        (("--region", "north", "--commit", "0" * 40), "0000"),
        ((), "required"),
        (("--region", "north", "--all"), "not allowed with"),
    ],
)
def test_what_cannot_be_compiled_ends_with_2(
    here: Run, estate: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    ended = here("compile", str(estate), *words, "--out", str(tmp_path / "out"))
    assert ended.code == 2
    assert said in ended.err
    assert not (tmp_path / "out").exists()


def test_a_folder_without_commits_is_not_compiled(here: Run, tmp_path: Path) -> None:
    where = str(ROOT / "repo_layout" / "samples" / "valid" / "minimal")
    ended = here("compile", where, "--region", "north", "--out", str(tmp_path / "out"))
    assert ended.code == 2
    assert "what is compiled is a commit" in ended.err


# ----------------------------------------------------------------------------------------------------------- the folder

FILES = {"compiled.json": b"1", "region.json": b"2", "nodes/a.json": b"3"}


def test_a_folder_that_was_compiled_and_signed_before_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_folder(out, {**FILES, "nodes/gone.json": b"", "nodes/gone.bundle.json": b""})
    (out / "region.0123456789ab.sigstore.json").write_bytes(b"")
    write_folder(out, FILES)
    assert files_below(out) == FILES


@pytest.mark.parametrize(
    "name", ["README.md", "nodes/a.txt", "nodes/deep/a.json", "region.json.bak", "ebbtide.yaml", "other/region.json"]
)
def test_a_folder_that_holds_anything_else_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    write_folder(out, FILES)
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_bytes(b"mine")
    before = files_below(out)
    with pytest.raises(Refused, match="no compilation left there"):
        write_folder(out, {"compiled.json": b"new"})
    assert files_below(out) == before


def test_a_folder_with_a_regions_files_but_no_list_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "region.json").write_bytes(b"mine")
    with pytest.raises(Refused, match="never compiled"):
        write_folder(tmp_path / "out", FILES)


def test_neither_a_file_nor_a_link_nor_an_empty_foreign_folder_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "full" / "photos").mkdir(parents=True)
    for name in ("file", "link", "full"):
        with pytest.raises(Refused):
            write_folder(tmp_path / name, FILES)
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert (tmp_path / "full" / "photos").is_dir()


def test_an_empty_folder_is_filled_and_a_missing_one_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/inside"):
        write_folder(tmp_path / name, FILES)
        assert files_below(tmp_path / name) == FILES


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    write_folder(out, FILES)

    def full(_: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device", len(content))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_folder(out, {"compiled.json": b"new"})
    monkeypatch.undo()
    assert files_below(out) == FILES
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("compiled.json", True),
        ("region.json", True),
        ("region.0123456789ab.sigstore.json", True),
        ("nodes/a-b.0123456789ab.sigstore.json", True),
        ("nodes/a.bundle.json", True),
        ("nodes/a.keyless.sigstore.json", True),
        ("region.bundle.json", False),
        ("nodes/a.0123456789AB.sigstore.json", False),
        ("nodes/../a.json", False),
        ("nodes/a.json\n", False),
    ],
)
def test_the_names_of_a_compiled_folder_are_these_alone(name: str, ours: bool) -> None:
    assert is_compiled(name) is ours


def test_what_others_did_stops_no_commit_that_is_judged_by_what_it_changed(here: Run, tmp_path: Path) -> None:
    path = "contracts/tides/forecast.yaml"
    crowded = MINIMAL[path].replace(b"floor: 4", b"floor: 39").replace(b"minimum: 8", b"minimum: 39")
    lay(tmp_path / "full.git", {**MINIMAL, path: crowded}, AUTHORSHIP)
    words = ("compile", str(tmp_path / "full.git"), "--region", "north", "--out", str(tmp_path / "out"))
    refused = here(*words)
    assert refused.code == 1
    assert "EBT-203" in refused.out
    assert here(*words, "--base", "HEAD").code == 0
    assert (tmp_path / "out" / "compiled.json").is_file()
