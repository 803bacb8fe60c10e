"""Bundles through Git: published on top of what was seen, fetched into memory, raced and lost by nobody."""

from __future__ import annotations

import base64
import http.server
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pygit2  # noqa: TC002 - one way to import, as everywhere
import pytest

from contracts.errors import Refused, Transient
from repo_layout.adapters import bundle_refs, git_lay
from repo_layout.adapters.bundle_refs import fetch_bundles, publish, published_regions, tip_of
from repo_layout.adapters.git_lay import Authorship
from tests.git_scratch import Scratch, environment
from tests.trust.signers import REGION, compiled, signed

BOT = Authorship("Ebbtide", "bundles@ebbtide.invalid", 1_793_491_200, "Publish aarhus version 7\n")
FILES = signed(compiled(), "ci")
NEWER = signed(compiled(), "ci", version=8)
REF = "refs/ebbtide/bundles/aarhus"


@pytest.fixture(name="repository")
def _repository(tmp_path: Path) -> Scratch:
    return Scratch.made(tmp_path / "estate.git")


@pytest.fixture(name="served")
def _served(repository: Scratch) -> Iterator[str]:
    """The repository over Git's smart protocol, reading and writing."""
    repository.git("config", "http.receivepack", "true")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            while self.headers.get("Transfer-Encoding") == "chunked" and (size := int(self.rfile.readline(), 16)):
                body += self.rfile.read(size)
                self.rfile.readline()
            name = next(s for s in ("git-upload-pack", "git-receive-pack") if s in self.path)
            first = "/info/refs" in self.path
            command = ["git", name.removeprefix("git-"), "--stateless-rpc"]
            command += ["--http-backend-info-refs"] * first
            done = subprocess.run(
                [*command, str(repository.path)], input=body, capture_output=True, env=environment(), check=True
            )
            line = f"# service={name}\n"
            head = f"{len(line) + 4:04x}{line}0000".encode() if first else b""
            self.send_response(200)
            self.send_header("Content-Type", f"application/x-{name}-{'advertisement' if first else 'result'}")
            self.send_header("Content-Length", str(len(head + done.stdout)))
            self.end_headers()
            self.wfile.write(head + done.stdout)

        do_POST = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own name
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/estate.git"
        server.shutdown()
        thread.join()


@pytest.fixture(name="address", params=["path", "file", "http"])
def _address(request: pytest.FixtureRequest, repository: Scratch) -> str:
    if request.param == "http":
        served: str = request.getfixturevalue("served")
        return served
    return repository.url if request.param == "file" else str(repository.path)


def test_what_is_published_is_fetched_whole(address: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert tip_of(address, REGION, cache=cache) is None
    commit = publish(address, REGION, FILES, expected=None, authorship=BOT, cache=cache)
    found = fetch_bundles(address, REGION, cache=tmp_path / "another")
    assert (found.commit, found.files) == (commit, FILES)
    assert published_regions(address, cache=cache) == (REGION,)


def test_a_newer_version_stands_on_the_older_one(address: str, repository: Scratch, tmp_path: Path) -> None:
    first = publish(address, REGION, FILES, expected=None, authorship=BOT, cache=tmp_path / "a")
    second = publish(address, REGION, NEWER, expected=first, authorship=BOT, cache=tmp_path / "b")
    assert repository.git("rev-list", REF).split() == [second, first]
    assert fetch_bundles(address, REGION, cache=tmp_path / "a").files == NEWER


def test_of_two_that_saw_the_same_tip_one_is_refused_and_nothing_is_lost(
    address: str, repository: Scratch, tmp_path: Path
) -> None:
    first = publish(address, REGION, FILES, expected=None, authorship=BOT, cache=tmp_path / "a")
    second = publish(address, REGION, NEWER, expected=first, authorship=BOT, cache=tmp_path / "a")
    for expected in (None, first, "0" * 39 + "1"):
        with pytest.raises(Refused, match="another run published meanwhile"):
            publish(address, REGION, FILES, expected=expected, authorship=BOT, cache=tmp_path / "b")
    assert repository.git("rev-parse", REF) == second


@pytest.mark.parametrize("address", ["path", "http"], indirect=True)
def test_a_push_between_our_look_and_our_push_is_not_overwritten(
    address: str, repository: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish(address, REGION, FILES, expected=None, authorship=BOT, cache=tmp_path / "a")

    def slow(at: pygit2.Repository, files: Mapping[str, bytes]) -> pygit2.Oid:
        repository.commit({"region.json": b"theirs"}, parent=first, branch="theirs")
        repository.git("update-ref", REF, "refs/heads/theirs")
        return git_lay.tree_of_files(at, files)

    monkeypatch.setattr(bundle_refs, "tree_of_files", slow)
    with pytest.raises(Refused, match="published meanwhile"):
        publish(address, REGION, NEWER, expected=first, authorship=BOT, cache=tmp_path / "b")
    assert fetch_bundles(address, REGION, cache=tmp_path / "c").files == {"region.json": b"theirs"}


def test_a_host_that_refuses_the_ref_is_told_from_a_race(served: str, repository: Scratch, tmp_path: Path) -> None:
    hook = repository.path / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    hook.chmod(0o755)
    with pytest.raises(Refused, match="allow this account"):
        publish(served, REGION, FILES, expected=None, authorship=BOT, cache=tmp_path / "a")


def test_the_same_bundle_published_at_the_same_time_is_the_same_commit(tmp_path: Path) -> None:
    one, two = (Scratch.made(tmp_path / name) for name in ("one.git", "two.git"))
    commits = {publish(str(at.path), REGION, FILES, expected=None, authorship=BOT) for at in (one, two)}
    assert len(commits) == 1


def test_where_nothing_was_published_it_says_so(repository: Scratch) -> None:
    with pytest.raises(Refused, match="nothing was published there yet"):
        fetch_bundles(str(repository.path), REGION)
    for name in ("", "a/b", "..", "a b"):
        with pytest.raises(Refused, match="not the name of a region"):
            tip_of(str(repository.path), name)


def test_a_host_that_is_not_there_is_transient(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="Git unreachable"):
        fetch_bundles("http://127.0.0.1:1/estate.git", REGION, cache=tmp_path)


def test_a_ref_that_holds_more_than_a_bundle_may_is_not_read(
    repository: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(str(repository.path), REGION, FILES, expected=None, authorship=BOT)
    monkeypatch.setattr(bundle_refs, "MAX_TOTAL_BYTES", 100)
    with pytest.raises(Refused, match="larger than"):
        fetch_bundles(str(repository.path), REGION)


def test_links_and_deep_folders_on_the_ref_are_no_files_of_a_bundle(repository: Scratch) -> None:
    secret = base64.b64encode(b"elsewhere")
    files: dict[str | bytes, bytes | tuple[str, bytes]] = {"region.json": b"{}", "nodes/a.json": b"{}"}
    files |= {"a/b/c.json": b"{}", "link": ("120000", secret)}
    commit = repository.commit(files, branch="x")
    repository.git("update-ref", REF, commit)
    found = fetch_bundles(str(repository.path), REGION).files
    assert set(found) == {"region.json", "nodes/a.json"}
