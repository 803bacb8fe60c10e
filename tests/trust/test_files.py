"""Key files, and the file of what was accepted: what lies on disk, and what is never guessed."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.errors import Refused
from contracts.untrusted import Reason, Untrusted
from contracts.verify import NOTHING, Accepted, Verified
from repo_layout.adapters.accepted_file import AcceptedFile
from repo_layout.adapters.signature import make_key, public_key, public_pem, signer
from tests.cli.conftest import ROOT
from tests.trust.signers import key_id, key_set, public, statement


def test_a_private_key_is_read_by_its_owner_alone_and_never_written_over(tmp_path: Path) -> None:
    raw = make_key(tmp_path, "ci")
    assert stat.S_IMODE((tmp_path / "ci.pem").stat().st_mode) == 0o600
    assert public_key(tmp_path / "ci.pub.pem") == raw
    assert (tmp_path / "ci.pub.pem").read_bytes() == public_pem(raw)
    with pytest.raises(Refused, match="never written over"):
        make_key(tmp_path, "ci")


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    make_key(tmp_path, "ci")
    (tmp_path / "ci.pem").chmod(0o640)
    with pytest.raises(Refused, match="chmod 600"):
        signer(tmp_path / "ci.pem")


def test_a_passphrase_is_asked_for_exactly_where_there_is_one(tmp_path: Path) -> None:
    make_key(tmp_path, "plain")
    make_key(tmp_path, "locked", passphrase=b"open sesame")
    assert signer(tmp_path / "locked.pem", passphrase=b"open sesame").key_id
    for name, words, told in (
        ("plain", b"open sesame", "has no passphrase"),
        ("locked", b"", "takes a passphrase"),
        ("locked", b"open barley", "cannot be opened"),
    ):
        with pytest.raises(Refused, match=told):
            signer(tmp_path / f"{name}.pem", passphrase=words)


def test_what_is_no_ed25519_key_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    for make in ("genpkey -algorithm X25519", "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"):
        subprocess.run(["openssl", *make.split(), "-out", str(key)], check=True, capture_output=True)
        key.chmod(0o600)
        with pytest.raises(Refused, match="no Ed25519 key"):
            signer(key)
    key.write_bytes(b"-----BEGIN NOTHING-----\n")
    for read in (signer, public_key):
        with pytest.raises(Refused, match="in PEM"):
            read(key)


def test_openssl_reads_our_keys_and_we_read_its(tmp_path: Path) -> None:
    raw = make_key(tmp_path, "ours")
    told = subprocess.run(
        ["openssl", "pkey", "-in", tmp_path / "ours.pem", "-pubout", "-outform", "DER"], check=True, capture_output=True
    )
    assert told.stdout.endswith(raw)
    theirs = tmp_path / "theirs.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ED25519", "-out", str(theirs)], check=True)
    theirs.chmod(0o600)
    assert len(signer(theirs).sign(b"x")) == 64


def verified(version: int, payload: bytes = b"{}", workload: str = "") -> Verified:
    return Verified(statement(payload, version=version, workload=workload), (key_id("ci"),), expired=False)


def test_what_was_accepted_outlives_the_process_and_only_grows(tmp_path: Path) -> None:
    kept = AcceptedFile(tmp_path / "state" / "accepted.json")
    assert kept.read() == NOTHING
    kept.accept(verified(7), key_set(public("ci"), version=3))
    kept.accept(verified(2, workload="render"))
    again = AcceptedFile(tmp_path / "state" / "accepted.json")
    assert again.read().highest["harbour/aarhus/region"][0] == 7
    assert again.read().highest["harbour/aarhus/node/render"][0] == 2
    assert again.read().key_set == 3
    with pytest.raises(Untrusted) as refused:
        again.accept(verified(6))
    assert refused.value.reason is Reason.REPLAYED
    with pytest.raises(Untrusted) as refused:
        again.accept(verified(7, b"[]"))
    assert refused.value.reason is Reason.SAME_VERSION_DIFFERS
    before = again.path.stat().st_ino
    assert again.accept(verified(7)) == again.read()
    assert again.path.stat().st_ino == before


@pytest.mark.parametrize("content", [b"", b"{}", b"null", b'{"format":1,"keySet":0,"subjects":{"a":{"version":0}}}'])
def test_a_damaged_file_is_an_error_and_never_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "accepted").write_bytes(content)
    kept = AcceptedFile(tmp_path / "accepted")
    for act in (kept.read, lambda: kept.accept(verified(1))):
        with pytest.raises(Refused, match="damaged"):
            act()
    assert (tmp_path / "accepted").read_bytes() == content


def test_processes_that_accept_at_once_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from repo_layout.adapters.accepted_file import AcceptedFile\n"
        "from tests.trust.test_files import verified\n"
        f"kept = AcceptedFile(Path({str(tmp_path / 'accepted')!r}))\n"
        "for n in range(20): kept.accept(verified(n + 1, workload=sys.argv[1]))\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program, name], cwd=ROOT) for name in ("render", "nightly")]
    assert [one.wait(timeout=60) for one in both] == [0, 0]
    highest = AcceptedFile(tmp_path / "accepted").read().highest
    assert {name: version for name, (version, _) in highest.items()} == {
        "harbour/aarhus/node/nightly": 20,
        "harbour/aarhus/node/render": 20,
    }


def test_what_was_accepted_is_not_changed_by_reading_it_back() -> None:
    first = Accepted().having(verified(3))
    assert first.highest.keys() == {"harbour/aarhus/region"}
    assert NOTHING.highest == {}
