"""A code host on a loopback port that keeps the comments of one request, in GitHub's dialect and in GitLab's."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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


@contextmanager
def serving() -> Iterator[CodeHost]:
    """A code host that answers until the block ends."""
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
