"""The comment that CI keeps on a request: made once, kept up to date, never somebody else's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT

SCRIPT = ROOT / "deploy" / "ci" / "comment.py"
MARK = "<!-- ebbtide effects -->"
US, STRANGER = "github-actions[bot]", "mallory"


@dataclass
class CodeHost:
    """The comments of request 7 on a code host that speaks both dialects, on a loopback port."""

    address: str = ""
    refuses: int = 0
    comments: list[tuple[str, str]] = field(default_factory=list)  # writer, text; the number is the place
    calls: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: str) -> tuple[int, object]:
        self.calls.append(method)
        if self.refuses:
            return self.refuses, {"message": "no"}
        if path == "/gitlab/user":
            return 200, {"username": US}
        if method == "POST":
            self.comments.append((US, body))
            return 201, {}
        if method in ("PATCH", "PUT"):
            wanted = r"/repos/o/r/issues/comments/(\d+)" if method == "PATCH" else r"/.*merge_requests/7/notes/(\d+)"
            number = re.fullmatch(wanted, path)
            assert number is not None, path
            self.comments[int(number[1])] = (US, body)
            return 200, {}
        listed = re.fullmatch(r"/.+/7/(?:comments|notes)\?per_page=100&page=(\d+)", path)
        assert listed is not None, path
        first = 100 * (int(listed[1]) - 1)
        who = "author" if "/notes" in path else "user"
        key = "username" if who == "author" else "login"
        numbered = list(enumerate(self.comments))[first : first + 100]
        return 200, [{"id": at, "body": text, who: {key: writer}} for at, (writer, text) in numbered]


@pytest.fixture(name="host")
def _host() -> Iterator[CodeHost]:
    code_host = CodeHost()

    class Handler(BaseHTTPRequestHandler):
        """Hands each request to the code host."""

        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length))["body"] if length else ""
            status, document = code_host.answer(self.command, self.path, body)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        do_GET = do_POST = do_PATCH = do_PUT = _any  # noqa: N815 - the library's names

        def log_message(self, *_: Any) -> None:  # noqa: ANN401 - the library's signature
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        code_host.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield code_host
        server.shutdown()
        thread.join()


def given(host: CodeHost, dialect: str) -> dict[str, str]:
    if dialect == "gitlab":
        return {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": f"{host.address}/gitlab",
            "CI_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_IID": "7",
            "EBBTIDE_COMMENT_TOKEN": "t",
        }
    return {
        "GITHUB_API_URL": host.address,
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_TOKEN": "t",
        "EBBTIDE_REQUEST": "7",
    }


def post(tmp_path: Path, text: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "effects.md"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(file)]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=60)


BOTH = pytest.mark.parametrize("dialect", ["github", "gitlab"])


@BOTH
def test_one_comment_is_made_and_then_kept_up_to_date(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.comments = [(STRANGER, "hello")]
    for text in ("floor 2 -> 3", "floor 2 -> 4"):
        done = post(tmp_path, text, given(host, dialect))
        assert (done.returncode, done.stderr) == (0, "")
        assert host.comments == [(STRANGER, "hello"), (US, f"{MARK}\n{text}")]
    before = len(host.calls)
    assert post(tmp_path, "floor 2 -> 4", given(host, dialect)).returncode == 0
    assert set(host.calls[before:]) == {"GET"}


@BOTH
def test_a_stranger_who_copies_the_mark_is_not_taken_for_us(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.comments = [(STRANGER, f"{MARK}\nall is well")]
    assert post(tmp_path, "it is not", given(host, dialect)).returncode == 0
    assert host.comments == [(STRANGER, f"{MARK}\nall is well"), (US, f"{MARK}\nit is not")]


@BOTH
def test_ours_is_found_behind_hundreds_of_others(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.comments = [*[(STRANGER, "x")] * 250, (US, f"{MARK}\nold")]
    assert post(tmp_path, "new", given(host, dialect)).returncode == 0
    assert host.comments[250:] == [(US, f"{MARK}\nnew")]


def test_what_is_too_long_for_a_comment_is_cut_and_says_so(tmp_path: Path, host: CodeHost) -> None:
    assert post(tmp_path, "a line\n" * 20_000, given(host, "github")).returncode == 0
    ((_, text),) = host.comments
    assert len(text) < 65_000
    assert "too long" in text


@BOTH
def test_a_host_that_refuses_is_told_and_ends_with_2(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    host.refuses = 403
    done = post(tmp_path, "x", given(host, dialect))
    assert done.returncode == 2
    assert "403" in done.stderr
    assert "Traceback" not in done.stderr


@BOTH
def test_a_variable_that_is_missing_is_named(tmp_path: Path, host: CodeHost, dialect: str) -> None:
    environment = given(host, dialect)
    missing = "EBBTIDE_COMMENT_TOKEN" if dialect == "gitlab" else "GITHUB_TOKEN"
    del environment[missing]
    done = post(tmp_path, "x", environment)
    assert done.returncode == 2
    assert missing in done.stderr
