"""Remotes: what may be believed of a code host's answer, and what must not, for reading and for following."""

from __future__ import annotations

import http.server
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from contracts.errors import Refused, Transient
from repo_layout.adapters import git
from repo_layout.adapters.git_open import cached_copy
from repo_layout.history import FollowState
from tests.git_scratch import Scratch, environment

ESTATE = {"ebbtide.yaml": b"a: 1\n"}


@dataclass
class Answer:
    """What the code host answers instead of Git, when `status` is set."""

    status: int = 0
    kind: str = "text/html"
    body: bytes = b"<html>maintenance</html>"


@dataclass
class Host:
    """A code host on the loopback: Git's smart protocol from a bare repository, or a page for every request."""

    repository: Path
    url: str = ""
    page: Answer = field(default_factory=Answer)

    def reply(self, path: str, body: bytes) -> Answer:
        if self.page.status:
            return self.page
        service, options, head = "git-upload-pack", ["--stateless-rpc"], b""
        if path.endswith(f"/info/refs?service={service}"):
            options.append("--http-backend-info-refs")
            head = b"001e# service=git-upload-pack\n0000"
        kind = "advertisement" if head else "result"
        command = ["git", "upload-pack", *options, str(self.repository)]
        done = subprocess.run(command, input=body, capture_output=True, env=environment(), check=True)
        return Answer(200, f"application/x-{service}-{kind}", head + done.stdout)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path / "origin.git")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = host.reply(self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_GET  # noqa: N815 - the name that http.server calls

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own name
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host.url = f"http://127.0.0.1:{server.server_port}/estate.git"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield host
        server.shutdown()
        thread.join()


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch.made(tmp_path / "origin.git")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def line(scratch: Scratch, count: int, *, parent: str = "", mark: str = "c") -> list[str]:
    commits: list[str] = []
    for n in range(count):
        files = ESTATE | {"directory.yaml": f"{mark}: {n + 1}\n".encode()}
        commits.append(scratch.commit(files, parent=commits[-1] if commits else parent))
    return commits


PAGES = [
    Answer(200),
    Answer(200, "application/x-git-upload-pack-advertisement"),
    Answer(200, "application/x-git-upload-pack-advertisement", b""),
    Answer(200, "application/x-git-upload-pack-advertisement", b"001e# service=git-upload-pack\n00000000"),
    Answer(200, "application/json", b"[]"),
    Answer(404),
    Answer(500),
    Answer(502),
    Answer(503),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.status}-{page.kind}-{len(page.body)}")
def test_a_maintenance_page_is_an_unreachable_git_and_never_an_empty_estate(
    scratch: Scratch, host: Host, cache: Path, page: Answer
) -> None:
    first, second = line(scratch, 2)
    assert git.follow(host.url, "main", first, cache=cache).state is FollowState.ADVANCED
    host.page = page
    with pytest.raises(Transient, match="Git unreachable"):
        git.follow(host.url, "main", second, cache=cache)
    with pytest.raises((Transient, Refused), match=r"Git unreachable|has no branches"):
        git.read_commit(host.url, "main", cache=cache)
    host.page = Answer()
    assert git.follow(host.url, "main", second, cache=cache).state is FollowState.UP_TO_DATE
    assert git.read_commit(host.url, "main", cache=cache).commit == second


@pytest.mark.parametrize("status", [401, 403])
def test_a_closed_door_is_refused_because_waiting_does_not_open_it(
    scratch: Scratch, host: Host, cache: Path, status: int
) -> None:
    line(scratch, 1)
    host.page = Answer(status)
    with pytest.raises(Refused, match="refuses access"):
        git.follow(host.url, "main", None, cache=cache)


def test_a_commit_is_read_through_the_cache_and_seen_to_move(scratch: Scratch, host: Host, cache: Path) -> None:
    (first,) = line(scratch, 1)
    assert git.read_commit(host.url, "main", cache=cache).commit == first
    (other,) = line(scratch, 1, mark="x")
    scratch.git("tag", "v2", other)
    for revision in ("main", "HEAD", "v2", other, other[:12]):
        assert git.read_commit(host.url, revision, cache=cache).commit == other
    host.page = Answer(503)
    assert git.read_commit(host.url, first, cache=cache).files == ESTATE | {"directory.yaml": b"c: 1\n"}
    with pytest.raises(Transient, match="Git unreachable"):
        git.read_commit(host.url, "main", cache=cache)


def test_a_shallow_code_host_gives_no_answer_rather_than_half_a_history(
    scratch: Scratch, host: Host, tmp_path: Path, cache: Path
) -> None:
    c1, _, _ = line(scratch, 3)
    host.repository = scratch.clone(tmp_path / "shallow", "--depth=2", "--branch=main")
    with pytest.raises((Transient, Refused), match=r"gave no Git answer|parents are missing"):
        git.follow(host.url, "main", c1, cache=cache)


def test_a_host_that_is_not_there_is_unreachable(cache: Path) -> None:
    with pytest.raises(Transient, match="Git unreachable"):
        git.follow("http://127.0.0.1:1/estate.git", "main", None, cache=cache)


def test_a_branch_that_grows_is_first_seen_then_advanced_then_up_to_date(scratch: Scratch, cache: Path) -> None:
    c1, c2, c3 = line(scratch, 3)
    seen = [git.follow(scratch.url, "main", last, cache=cache) for last in (None, c1, c2, c3)]
    assert [one.state for one in seen] == [
        FollowState.FIRST,
        FollowState.ADVANCED,
        FollowState.ADVANCED,
        FollowState.UP_TO_DATE,
    ]
    assert {one.tip for one in seen} == {c3}
    assert c1 in seen[1].sentence
    assert c3 in seen[1].sentence


@pytest.mark.parametrize("refspec", ["refs/heads/main:refs/heads/main", "+refs/heads/main:refs/heads/main"])
@pytest.mark.parametrize("keep_old", [True, False])
def test_a_rewritten_branch_is_told_with_both_commits_whatever_the_refspec(
    scratch: Scratch, cache: Path, refspec: str, *, keep_old: bool
) -> None:
    c1, _, c3 = line(scratch, 3)
    if keep_old:
        assert git.follow(scratch.url, "main", None, cache=cache).tip == c3
    copy = cached_copy(scratch.url, cache)
    (x,) = line(scratch, 1, parent=c1, mark="x")
    copy.remotes.create("origin", scratch.url, refspec)
    copy.remotes["origin"].fetch()
    followed = git.follow(scratch.url, "main", c3, cache=cache)
    assert (followed.state, followed.tip, followed.last_verified) == (FollowState.REWRITTEN, x, c3)
    assert followed.fork == (c1 if keep_old else None)
    assert followed.sentence.startswith("history rewritten")
    assert x in followed.sentence
    assert c3 in followed.sentence
    assert git.follow(scratch.url, "main", c3, cache=cache).state is FollowState.REWRITTEN


def test_a_branch_set_back_is_rewritten_too(scratch: Scratch, cache: Path) -> None:
    c1, _, c3 = line(scratch, 3)
    git.follow(scratch.url, "main", None, cache=cache)
    scratch.git("update-ref", "refs/heads/main", c1)
    followed = git.follow(scratch.url, "main", c3, cache=cache)
    assert (followed.state, followed.tip) == (FollowState.REWRITTEN, c1)
    assert "the branch was set back" in followed.sentence


def test_an_unrelated_line_shares_no_commit(scratch: Scratch, cache: Path) -> None:
    (c1,) = line(scratch, 1)
    git.follow(scratch.url, "main", None, cache=cache)
    line(scratch, 2, mark="y")
    followed = git.follow(scratch.url, "main", c1, cache=cache)
    assert followed.state is FollowState.REWRITTEN
    assert "they share no commit" in followed.sentence


@pytest.mark.parametrize("known", [True, False])
def test_a_shallow_remote_is_not_guessed_about(scratch: Scratch, tmp_path: Path, cache: Path, *, known: bool) -> None:
    shallow = tmp_path / "shallow"
    (c1,) = line(scratch, 1)
    if known:
        copy = cached_copy(f"file://{shallow}", cache)
        copy.remotes.create_anonymous(scratch.url).fetch(["refs/heads/main:refs/heads/old"])
    _, c3 = line(scratch, 2, parent=c1, mark="d")
    scratch.clone(shallow, "--depth=1", "--branch=main")
    with pytest.raises(Refused, match="parents are missing"):
        git.follow(f"file://{shallow}", "main", c1, cache=cache)
    assert git.follow(f"file://{shallow}", "main", c3, cache=cache).state is FollowState.UP_TO_DATE


def test_a_branch_that_does_not_exist_is_refused_and_an_emptied_remote_is_not_believed(
    scratch: Scratch, cache: Path
) -> None:
    with pytest.raises(Refused, match='has no branch "main"'):
        git.follow(scratch.url, "main", None, cache=cache)
    (c1,) = line(scratch, 1)
    with pytest.raises(Refused, match='has no branch "other"'):
        git.follow(scratch.url, "other", c1, cache=cache)
    scratch.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(Transient, match="shows no branch at all"):
        git.follow(scratch.url, "main", c1, cache=cache)


def test_bad_names_are_refused_before_anything_is_fetched(cache: Path) -> None:
    with pytest.raises(Refused, match="is not a branch name"):
        git.follow("file:///nowhere", "a:b", None, cache=cache)
    with pytest.raises(Refused, match="not a commit of 40 hex digits"):
        git.follow("file:///nowhere", "main", "main", cache=cache)


def test_a_plain_path_is_followed_like_a_url(scratch: Scratch, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (c1,) = line(scratch, 1)
    monkeypatch.chdir(scratch.path.parent)
    assert git.follow("origin.git", "main", None, cache=cache).tip == c1
    assert git.follow(str(scratch.path), "main", c1, cache=cache).state is FollowState.UP_TO_DATE


@pytest.mark.parametrize("damage", ["empty", "gone"])
def test_a_damaged_copy_is_named_with_what_to_do_and_is_no_word_about_the_remote(tmp_path: Path, damage: str) -> None:
    address = "http://127.0.0.1:9/estate.git"
    head = Path(cached_copy(address, tmp_path).path) / "HEAD"
    head.unlink()
    if damage == "empty":
        head.touch()
    with pytest.raises(Refused, match=r"is damaged: .*; remove it and try again"):
        cached_copy(address, tmp_path)


def test_an_approval_file_came_with_the_merge_that_added_it_to_the_line_last(scratch: Scratch, cache: Path) -> None:
    path = "approvals/2026-01-01-removal.yaml"
    (first,) = line(scratch, 1)
    second = scratch.commit(ESTATE | {path: b"a: 1\n"}, parent=first)
    third = scratch.commit(ESTATE | {path: b"a: 2\n"}, parent=second)
    git.follow(scratch.url, "main", None, cache=cache)
    assert git.brought(scratch.url, third, [path, "approvals/none.yaml"], cache=cache) == {path: second}
    fourth = scratch.commit(ESTATE, parent=third)
    fifth = scratch.commit(ESTATE | {path: b"a: 2\n"}, parent=fourth)
    git.follow(scratch.url, "main", None, cache=cache)
    assert git.brought(scratch.url, fifth, [path], cache=cache) == {path: fifth}
    assert git.brought(scratch.url, first, ["ebbtide.yaml"], cache=cache) == {"ebbtide.yaml": first}
