"""`ebbtide keys`, `sign`, `publish` and `verify` as CI and people run them, from the first key to a rotated one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contracts.dsse import read_bundle, write_statement
from tests.cli.conftest import ROOT, Ended, Run, here
from tests.git_scratch import Scratch
from tests.offline import OFFLINE
from tests.trust.keyless_site import IDENTITY, ISSUER, Site
from tests.trust.signers import DAY_MS, ESTATE, PAYLOAD, compiled, statement

__all__ = ["here"]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A compiled folder."""
    return laid(tmp_path / "out", compiled())


def laid(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(name="keys")
def _keys(tmp_path: Path, here: Run) -> Path:
    """A machine that signs bundles and a person who rotates."""
    made = here("keys", "new", str(tmp_path / "keys"), "--estate", ESTATE, "--key", "ci:bundles", "--key", "ann:keys")
    assert made.code == 0, made.err
    return tmp_path / "keys"


Signs = Callable[..., Ended]


@pytest.fixture(name="sign")
def _sign(here: Run, folder: Path, keys: Path) -> Signs:
    def sign(*words: str, key: str = "ci") -> Ended:
        who = () if "--join" in words else ("--requester", "ann@forge")
        return here("sign", str(folder), "--key", str(keys / f"{key}.pem"), *who, *words)

    return sign


def stamp(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def document(ended: Ended) -> Any:  # noqa: ANN401 - JSON
    return json.loads(ended.out)


def test_what_ci_signs_and_publishes_anybody_verifies_from_the_repository(
    here: Run, sign: Signs, folder: Path, keys: Path, tmp_path: Path
) -> None:
    repository = Scratch.made(tmp_path / "estate.git")
    trust = str(keys / "keys.1.json")
    assert sign("--next", str(repository.path)).code == 0
    done = here("publish", str(folder), "--to", str(repository.path), "--trust", trust, "--keys", trust)
    assert done.code == 0, done.err
    found = here("verify", str(repository.path), "--trust", trust)
    assert found.code == 0
    assert "region aarhus of harbour, version 1" in found.out
    assert "5 payloads of 5 hold" in found.out
    again = here("publish", str(folder), "--to", str(repository.path))
    assert again.code == 2
    assert f"ebbtide sign --next {repository.path}" in again.err
    assert sign("--next", repository.url).code == 0
    assert document(here("publish", str(folder), "--to", repository.url, "--output", "json"))["version"] == 2
    told = document(here("verify", repository.url, "--trust", trust, "--region", "aarhus", "--output", "json"))
    assert [one["version"] for one in told["checked"][:2]] == [2, 2]
    assert repository.git("show", "refs/ebbtide/bundles/aarhus:keys/1.json").encode() == Path(trust).read_bytes()


def test_every_refusal_has_its_reason_and_exit_code_1(here: Run, sign: Signs, folder: Path, keys: Path) -> None:
    trust = ("--trust", str(keys / "keys.1.json"))
    begins = document(sign("--version", "7", "--output", "json"))["notBefore"] // 1000 * 1000 + 3_600_000
    assert sign("--version", "8", "--not-before", stamp(begins)).code == 0

    def reason(*words: str, where: Path = folder) -> str:
        ended = here("verify", str(where), *trust, "--output", "json", *words)
        assert ended.code == 1, ended.out + ended.err
        return str(document(ended)["checked"][0]["reason"])

    assert reason("--region", "bremen") == "wrong_region"
    assert reason("--at", stamp(begins - 1000)) == "not_yet_valid"
    assert reason("--at", stamp(begins + 30 * DAY_MS)) == "expired"
    node = folder / "nodes" / "render.bundle.json"
    at = ("--at", stamp(begins))
    assert reason("--node", "nightly-build", *at, where=node) == "wrong_subject"
    node.write_bytes(node.read_bytes()[:-1])
    assert reason(*at, where=node) == "malformed"
    (folder / "region.json").write_bytes(PAYLOAD + b"\n")
    assert reason(*at) == "digest"


def test_a_bundle_that_expired_is_taken_late_and_says_so(here: Run, sign: Signs, folder: Path, keys: Path) -> None:
    assert sign("--version", "7", "--valid-for", "1d").code == 0
    node = str(folder / "nodes" / "render.bundle.json")
    words = ("verify", node, "--trust", str(keys / "keys.1.json"), "--at", "2099-01-01T00:00:00Z")
    assert here(*words).code == 1
    late = here(*words, "--late")
    assert late.code == 0
    assert late.out.startswith("expired  node bundle of render in aarhus of harbour, version 7")


def test_what_was_accepted_is_noted_and_an_older_version_refused(
    here: Run, sign: Signs, folder: Path, keys: Path, tmp_path: Path
) -> None:
    words = ("verify", str(folder), "--trust", str(keys / "keys.1.json"), "--accepted", str(tmp_path / "accepted"))
    assert sign("--version", "8").code == here(*words).code == here(*words).code == 0
    assert sign("--version", "7").code == 0
    refused = here(*words)
    assert refused.code == 1
    assert "replayed" in refused.out


def test_a_second_signer_joins_and_a_threshold_of_two_is_met(
    here: Run, sign: Signs, folder: Path, tmp_path: Path
) -> None:
    two = tmp_path / "two"
    made = here("keys", "new", str(two), "--estate", ESTATE, "--key", "ci", "--key", "ann", "--threshold", "2")
    assert made.code == 0
    words = ("verify", str(folder), "--trust", str(two / "keys.1.json"))
    assert here("sign", str(folder), "--key", str(two / "ann.pem"), "--join").code == 2
    assert "nobody signed this" in here(*words).out
    first = here("sign", str(folder), "--key", str(two / "ci.pem"), "--version", "3", "--requester", "bo@forge")
    assert first.code == 0
    assert "below threshold" in here(*words).out
    assert here("sign", str(folder), "--key", str(two / "ann.pem"), "--version", "4", "--requester", "x").code == 2
    assert here("sign", str(folder), "--key", str(two / "ann.pem"), "--join").code == 0
    held = here(*words)
    assert held.code == 0
    assert "; 2 of 2 needed" in held.out


def test_keys_rotate_without_a_flag_day(here: Run, sign: Signs, folder: Path, keys: Path, tmp_path: Path) -> None:
    first, second, third = (str(keys / f"keys.{n}.json") for n in (1, 2, 3))
    machine = document(here("keys", "show", first, "--output", "json"))["keys"]
    old = next(key["id"] for key in machine if key["name"] == "ci")
    assert here("keys", "pair", str(keys), "ci-2027").code == 0
    rotate = ("keys", "rotate", "--key", str(keys / "ann.pem"))
    added = here(*rotate, first, "--out", second, "--add", f"{keys / 'ci-2027.pub.pem'}:bundles")
    assert added.code == 0, added.err
    assert sign("--version", "1").code == 0  # the old key still holds, by either set
    for trust in (("--trust", first), ("--trust", first, "--trust", second)):
        assert here("verify", str(folder), *trust).code == 0
    laid(tmp_path / "new", compiled())
    new = ("sign", str(tmp_path / "new"), "--key", str(keys / "ci-2027.pem"), "--version", "2", "--requester", "ann")
    assert here(*new).code == 0
    assert here("verify", str(tmp_path / "new"), "--trust", first).code == 1
    assert here("verify", str(tmp_path / "new"), "--trust", first, "--trust", second).code == 0
    assert here(*rotate, second, "--out", third, "--retire", old[:8]).code == 0
    by_third = ("--trust", first, "--trust", second, "--trust", third)
    assert here("verify", str(tmp_path / "new"), *by_third).code == 0
    refused = here("verify", str(folder), *by_third)
    assert refused.code == 1
    assert "unknown key" in refused.out
    assert here("keys", "show", first, third).code == 1


@pytest.fixture(name="rotated")
def _rotated(here: Run, folder: Path, keys: Path) -> Path:
    """Key sets 2 and 3, which no image has yet; the folder is signed by the key of the third alone."""
    rotate = ("keys", "rotate", "--key", str(keys / "ann.pem"))
    sets = [str(keys / f"keys.{n}.json") for n in (1, 2, 3)]
    assert here("keys", "pair", str(keys), "ci-2027").code == 0
    assert here(*rotate, sets[0], "--out", sets[1], "--add", f"{keys / 'ci-2027.pub.pem'}:bundles").code == 0
    shown = document(here("keys", "show", sets[0], "--output", "json"))["keys"]
    old = next(key["id"] for key in shown if key["name"] == "ci")
    assert here(*rotate, sets[1], "--out", sets[2], "--retire", old).code == 0
    new = ("sign", str(folder), "--key", str(keys / "ci-2027.pem"), "--version", "2", "--requester", "ann")
    assert here(*new).code == 0
    return keys


def test_whoever_holds_an_old_key_set_follows_the_ones_that_lie_with_the_bundle(
    here: Run, folder: Path, rotated: Path, tmp_path: Path
) -> None:
    repository = Scratch.made(tmp_path / "estate.git")
    first, second, third = (str(rotated / f"keys.{n}.json") for n in (1, 2, 3))
    publish = ("publish", str(folder), "--to", str(repository.path), "--trust", first)
    gap = here(*publish, "--keys", third)
    assert (gap.code, "give key set 2 too" in gap.out) == (1, True)
    assert here(*publish).code == 1
    assert here(*publish, "--keys", second, "--keys", third).code == 0
    found = here("verify", str(repository.path), "--trust", first)
    assert found.code == 0
    assert "by key set 3 of harbour" in found.out
    refused = here("verify", str(folder), "--trust", first)  # no key sets lie in the folder
    assert (refused.code, "unknown key" in refused.out) == (1, True)


def test_a_key_set_that_nobody_could_follow_is_not_published(
    here: Run, folder: Path, rotated: Path, tmp_path: Path
) -> None:
    repository = Scratch.made(tmp_path / "estate.git")
    first, half = str(rotated / "keys.1.json"), str(tmp_path / "keys.2.json")
    add = ("--add", f"{rotated / 'ci-2027.pub.pem'}:keys", "--keys-threshold", "2")
    assert here("keys", "rotate", first, "--out", half, *add, "--key", str(rotated / "ann.pem")).code == 1
    refused = here("publish", str(folder), "--to", str(repository.path), "--keys", half)
    assert refused.code == 1
    assert "needs 2: ebbtide keys sign adds a signature" in refused.out
    assert here("verify", str(repository.path), "--trust", first).code == 2  # nothing is there


def test_a_folder_with_one_bad_node_bundle_is_not_published(
    here: Run, sign: Signs, folder: Path, keys: Path, tmp_path: Path
) -> None:
    repository = Scratch.made(tmp_path / "estate.git")
    publish = ("publish", str(folder), "--to", str(repository.path), "--trust", str(keys / "keys.1.json"))
    assert sign("--version", "1").code == 0
    bundle = folder / "nodes" / "render.bundle.json"
    good = bundle.read_bytes()
    bundle.write_bytes(good.replace(b'"sig":"', b'"sig":"A', 1))
    assert here(*publish).code == 1
    machine = here(*publish, "--output", "json")
    assert (machine.code, json.loads(machine.out)["reason"]) == (1, "malformed")
    bundle.write_bytes(good)
    signature = next((folder / "nodes").glob("render.*.sigstore.json"))
    older = signature.read_bytes()
    assert sign("--version", "2").code == 0
    signature.write_bytes(older)
    mixed = here(*publish)
    assert (mixed.code, "versions [1, 2]" in mixed.err) == (2, True)


def test_a_key_set_that_needs_two_people_says_so_until_both_signed(here: Run, keys: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "keys.2.json")
    assert here("keys", "pair", str(keys), "bo").code == 0
    rotate = ("keys", "rotate", str(keys / "keys.1.json"), "--out", out, "--keys-threshold", "2")
    half = here(*rotate, "--add", f"{keys / 'bo.pub.pem'}:keys", "--key", str(keys / "ann.pem"))
    assert half.code == 1
    assert "not complete" in half.out
    assert here("keys", "sign", out, "--key", str(keys / "bo.pem")).code == 0
    assert here("keys", "show", str(keys / "keys.1.json"), out).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("keys", "rotate", "KEYS/keys.1.json", "--out", "KEYS/keys.1.json"), "is there already"),
        (("keys", "rotate", "KEYS/keys.1.json", "--out", "KEYS/n", "--retire", "abc"), "names 0 keys"),
        (("keys", "rotate", "KEYS/keys.1.json", "--out", "KEYS/n", "--threshold", "9"), "this makes no key set"),
        (("keys", "new", "KEYS", "--estate", "x"), "is there already"),
        (
            ("keys", "new", "KEYS/z", "--estate", "x", "--key", "a:keys"),
            "1 key must sign bundles, and 0 of these may",
        ),
        (("keys", "new", "KEYS/y", "--estate", "x", "--key", "a", "--key", "a"), "two keys have one name"),
        (("sign", "OUT", "--key", "KEYS/ci.pem", "--version", "1"), "who asked for this"),
        (("sign", "KEYS", "--key", "KEYS/ci.pem", "--version", "1", "--requester", "x"), "holds no compiled.json"),
        (("sign", "OUT/x", "--key", "KEYS/ci.pem", "--version", "1", "--requester", "x"), "there is no folder"),
        (("sign", "OUT", "--key", "KEYS/ci.pub.pem", "--version", "1", "--requester", "x"), "can be read by others"),
        (("sign", "OUT", "--key", "KEYS/ci.pem", "--version", "1", "--requester", "a\nb"), "200 printable characters"),
        (("publish", "OUT", "--to", "OUT"), "is not signed"),
        (("verify", "OUT/nothing", "--trust", "KEYS/keys.1.json"), "there is no"),
        (("verify", "OUT", "--trust", "KEYS/nothing"), "No such file"),
        (("verify", "OUT", "--trust", "KEYS/keys.1.json", "--node", "rendr"), "did you mean render?"),
        (("verify", "OUT", "--trust", "KEYS/keys.1.json", "--at", "today"), "not a UTC time"),
        (("verify", "OUT", "--trust", "KEYS/keys.1.json", "--keyless"), "--identity and --issuer"),
    ],
)
def test_what_cannot_be_done_ends_with_2_and_a_next_step(
    here: Run, folder: Path, keys: Path, words: tuple[str, ...], said: str
) -> None:
    ended = here(*(word.replace("KEYS", str(keys)).replace("OUT", str(folder)) for word in words))
    assert ended.code == 2
    assert said in ended.err


def test_a_forged_version_does_not_use_up_the_numbers(
    here: Run, sign: Signs, folder: Path, keys: Path, tmp_path: Path
) -> None:
    repository = Scratch.made(tmp_path / "estate.git")
    assert sign("--version", "999999999999999").code == 0
    assert here("publish", str(folder), "--to", str(repository.path)).code == 0
    refused = sign("--next", str(repository.path))
    assert refused.code == 2
    assert "version 999,999,999,999,999 of aarhus, and nobody counts that far" in refused.err
    assert "delete refs/ebbtide/bundles/aarhus there" in refused.err


def test_a_password_in_an_address_is_not_shown(here: Run, sign: Signs, folder: Path, keys: Path) -> None:
    assert sign("--version", "1").code == 0
    address = "http://ci:secret@127.0.0.1:1/estate.git"
    for words in (("publish", str(folder), "--to", address), ("verify", address, "--trust", str(keys / "keys.1.json"))):
        ended = here(*words)
        assert ended.code == 2
        assert "secret" not in ended.out + ended.err


def test_a_payload_that_was_changed_after_compiling_is_not_signed(sign: Signs, folder: Path) -> None:
    (folder / "nodes" / "render.json").write_bytes(b"{}")
    refused = sign("--version", "1")
    assert refused.code == 2
    assert "nodes/render.json is not the file that was compiled" in refused.err
    assert not list(folder.glob("**/*.sigstore.json"))


def test_the_keyless_bundle_beside_a_payload_is_verified_by_its_own_root(
    here: Run, folder: Path, tmp_path: Path
) -> None:
    site = Site()
    laid(tmp_path, {"root.json": site.trust_root()})
    laid(folder, {"region.keyless.sigstore.json": site.bundle(write_statement(statement()))})
    words = ("--keyless", "--trust", str(tmp_path / "root.json"), "--at", "2026-11-02T00:00:00Z")
    who = ("--identity", IDENTITY, "--issuer", ISSUER)
    held = here("verify", str(folder / "region.keyless.sigstore.json"), *words, *who)
    assert held.code == 0, held.out + held.err
    assert f"signed by  {IDENTITY}" in held.out
    other = here("verify", str(folder), *words, "--identity", "eve", "--issuer", ISSUER)
    assert other.code == 1
    assert "region.json: wrong identity" in other.out
    assert "no keyless bundle lies beside nodes/render.json" in other.out


@pytest.mark.parametrize("ebbtide", OFFLINE)
def test_what_was_signed_elsewhere_is_verified_with_the_network_off(
    sign: Signs, folder: Path, keys: Path, tmp_path: Path, ebbtide: tuple[str, ...]
) -> None:
    site = Site()
    laid(tmp_path, {"root.json": site.trust_root()})
    laid(folder, {"region.keyless.sigstore.json": site.bundle(write_statement(statement()))})
    assert sign("--version", "1").code == 0
    keyless = str(folder / "region.keyless.sigstore.json")
    who = ("--identity", IDENTITY, "--issuer", ISSUER, "--at", "2026-11-02T00:00:00Z")
    for words in (
        (str(folder), "--trust", str(keys / "keys.1.json")),
        (keyless, "--keyless", "--trust", str(tmp_path / "root.json"), *who),
    ):
        done = subprocess.run([*ebbtide, "verify", *words], cwd=ROOT, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_statements_for_who_signs_elsewhere_are_the_bytes_that_a_key_signs(
    here: Run, sign: Signs, folder: Path, tmp_path: Path
) -> None:
    words = ("sign", str(folder), "--statements", str(tmp_path / "said"))
    assert here(*words, "--join").code == 2
    assert sign("--version", "3").code == 0
    told = here(*words, "--join")
    assert told.out.startswith("wrote 3 statements of version 3")
    assert "nothing is signed" in told.out
    for name in ("region", "nodes/render", "nodes/nightly-build"):
        (bundle,) = folder.glob(f"{name}.*.sigstore.json")
        assert (tmp_path / "said" / f"{name}.statement.json").read_bytes() == read_bundle(bundle.read_bytes()).statement
    (folder / "region.json").write_bytes(PAYLOAD + b"\n")
    assert "compile the folder again" in here(*words, "--join").err
    assert here("sign", str(folder), "--version", "3", "--requester", "ann").code == 2
