"""`ebbtide plan` and `ebbtide run` from a signed bundle: believed by a key set, or not at all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from contracts.untrusted import Reason, Untrusted
from ebbtide.taken import TakenEstate, taken
from repo_layout.adapters.clock import now_ms
from repo_layout.adapters.git_lay import Authorship, files_below, lay
from tests.cli.conftest import ROOT, Run, typed

AUTHORSHIP = Authorship("Ann", "ann@example.org", 1_790_000_000, "Lay it down\n")


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key set, and the reference estate's aarhus compiled and signed."""
    site = tmp_path_factory.mktemp("site")
    lay(site / "estate.git", files_below(ROOT / "repo_layout" / "estate"), AUTHORSHIP)
    for words in (
        ("keys", "new", str(site / "keys"), "--estate", "three-ports"),
        ("keys", "new", str(site / "foreign"), "--estate", "three-ports"),
        ("compile", str(site / "estate.git"), "--region", "aarhus", "--out", str(site / "out")),
        ("sign", str(site / "out"), "--key", str(site / "keys" / "ci.pem"), "--version", "7", "--requester", "ann"),
    ):
        ended = typed(*words)
        assert ended.code == 0, ended.err
    return site


def trust(site: Path, keys: str = "keys") -> str:
    return str(site / keys / "keys.1.json")


def planned(here: Run, *words: str) -> dict[str, object]:
    ended = here("plan", "--region", "aarhus", "--empty", "--model", "--output", "json", *words)
    assert ended.code == 1, ended.err  # first contact is more than the guard lets through at once
    document: dict[str, object] = json.loads(ended.out)
    return document


def test_a_plan_from_a_bundle_is_the_plan_from_the_files(here: Run, site: Path) -> None:
    by_files = planned(here, "--estate", str(site / "estate.git"))
    assert planned(here, "--bundle", str(site / "out"), "--trust", trust(site)) == by_files


def test_a_run_from_a_bundle_leaves_a_state_that_explains_itself(site: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    ran = typed(
        *(
            "run",
            "--region",
            "aarhus",
            "--hours",
            "0.05",
            "--model",
            "--bundle",
            str(site / "out"),
            "--trust",
            trust(site),
            "--state",
            state,
        ),
    )
    assert ran.code == 0, ran.err
    assert "estate three-ports, bundle version 7" in ran.out
    told = typed("explain", "workload", "street-segmentation", "--state", state)
    assert told.code == 0, told.err
    assert "owner computer-vision-lead" in told.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--bundle", "{site}/out"), "without a key set"),
        (("--trust", "{site}/keys/keys.1.json"), "none is named"),
        (("--accepted", "{site}/accepted"), "none is named"),
        (("--bundle", "{site}/out", "--trust", "{site}/foreign/keys.1.json"), "key"),
        (("--bundle", "{site}/out", "--trust", "{site}/keys/keys.1.json", "--region", "cadiz"), "aarhus, not cadiz"),
        (("--bundle", "{site}/nowhere", "--trust", "{site}/keys/keys.1.json"), "there is no folder"),
        (("--bundle", "{site}/keys", "--trust", "{site}/keys/keys.1.json"), "holds no region.json"),
        (("--bundle", "{site}/out", "--estate", "."), "not allowed with"),
    ],
)
def test_what_is_not_believed_plans_nothing(here: Run, site: Path, words: tuple[str, ...], said: str) -> None:
    ended = here("plan", "--region", "aarhus", "--empty", "--model", *(word.format(site=site) for word in words))
    assert ended.code == 2
    assert said in ended.err
    assert not ended.out


def test_one_changed_byte_plans_nothing(site: Path, tmp_path: Path, here: Run) -> None:
    for name, content in files_below(site / "out").items():
        altered = re.sub(rb'"maximum":\d', b'"maximum":9', content, count=1) if name == "region.json" else content
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(altered)
    ended = here("plan", "--region", "aarhus", "--empty", "--model", "--bundle", str(tmp_path), "--trust", trust(site))
    assert ended.code == 2
    assert "signed" in ended.err


def test_a_payload_that_was_signed_as_another_regions_is_not_taken(site: Path, tmp_path: Path) -> None:
    out, key = tmp_path / "out", str(site / "keys" / "ci.pem")
    assert typed("compile", str(site / "estate.git"), "--region", "aarhus", "--out", str(out)).code == 0
    listed = out / "compiled.json"
    listed.write_bytes(listed.read_bytes().replace(b'"region":"aarhus"', b'"region":"cadiz"'))
    assert typed("sign", str(out), "--key", key, "--version", "1", "--requester", "ann").code == 0
    with pytest.raises(Untrusted, match="signed as three-ports/cadiz/region holds three-ports/aarhus/region") as told:
        taken(str(out), region="cadiz", trust=[trust(site)], accepted=str(tmp_path / "accepted"), now=now_ms())
    assert told.value.reason is Reason.WRONG_SUBJECT
    assert not (tmp_path / "accepted").exists()


def test_an_older_bundle_is_not_taken_after_a_newer_one(site: Path, tmp_path: Path) -> None:
    accepted, older = str(tmp_path / "accepted"), tmp_path / "older"
    now = int((site / "out" / "region.json").stat().st_mtime * 1000)
    typed("compile", str(site / "estate.git"), "--region", "aarhus", "--out", str(older))
    key = str(site / "keys" / "ci.pem")
    assert typed("sign", str(older), "--key", key, "--version", "6", "--requester", "ann").code == 0

    def take(folder: Path, at: int) -> TakenEstate:
        return taken(str(folder), region="aarhus", trust=[trust(site)], accepted=accepted, now=at)

    found = take(site / "out", now + 60_000)
    assert found.estate.region("aarhus").name == "aarhus"
    with pytest.raises(Untrusted) as refused:
        take(older, now + 60_000)
    assert refused.value.reason is Reason.REPLAYED
    with pytest.raises(Untrusted) as late:
        take(site / "out", now + 400 * 86_400_000)
    assert late.value.reason in (Reason.EXPIRED, Reason.KEY_NOT_VALID)
