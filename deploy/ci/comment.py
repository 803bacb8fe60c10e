"""Posts a file as one comment on the pull or merge request of the running job, and keeps that comment up to date.

    python3 comment.py FILE

Runs on GitHub and hosts like it, and on GitLab, with the standard library alone. It finds its own earlier comment by
its first line and by who wrote it, so that nobody else's comment is ever taken for it. On GitHub it needs GITHUB_TOKEN
with `pull-requests: write` and EBBTIDE_REQUEST, the number of the request; on GitLab EBBTIDE_COMMENT_TOKEN, an access
token of the project with the scope `api`, because the job's own token may not comment. Exit code 2 when it could not.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MARK = "<!-- ebbtide effects -->"
LONGEST = 60_000  # characters; the hosts take about 65,000
PAGES = 50  # of a hundred comments each
TIMEOUT_S = 30
GITHUB_WRITER = "github-actions[bot]"  # whom the job's own token writes as


@dataclass(frozen=True)
class Host:
    """Where comments are listed and made, where one of them is changed, with what, and whose are ours."""

    comments: str
    one: str
    change: str
    headers: Mapping[str, str]
    writer: str
    written_by: str


def host_of(environment: Mapping[str, str]) -> Host:
    """The host that runs this job; a `KeyError` names a variable that is missing."""
    if "GITLAB_CI" in environment:
        base = f"{environment['CI_API_V4_URL']}/projects/{environment['CI_PROJECT_ID']}"
        notes = f"{base}/merge_requests/{environment['CI_MERGE_REQUEST_IID']}/notes"
        headers = {"PRIVATE-TOKEN": environment["EBBTIDE_COMMENT_TOKEN"]}
        who = str(call("GET", f"{environment['CI_API_V4_URL']}/user", headers)["username"])
        return Host(notes, notes, "PUT", headers, who, "author")
    base = f"{environment['GITHUB_API_URL']}/repos/{environment['GITHUB_REPOSITORY']}/issues"
    headers = {"Authorization": f"Bearer {environment['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    writer = environment.get("EBBTIDE_COMMENT_WRITER", GITHUB_WRITER)
    request = environment["EBBTIDE_REQUEST"]
    return Host(f"{base}/{request}/comments", f"{base}/comments", "PATCH", headers, writer, "user")


def call(method: str, url: str, headers: Mapping[str, str], body: str | None = None):  # noqa: ANN201 - JSON, of any shape
    """What the host answers, parsed."""
    data = None if body is None else json.dumps({"body": body}).encode()
    given = {**headers, "Content-Type": "application/json", "User-Agent": "ebbtide-comment"}
    asked = urllib.request.Request(url, data=data, headers=given, method=method)  # noqa: S310 - the host's own address
    with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer:  # noqa: S310 - the same
        return json.load(answer)


def ours(host: Host) -> Iterator[tuple[int, str]]:
    """Number and text of each comment that an earlier run left."""
    for page in range(1, PAGES + 1):
        listed = call("GET", f"{host.comments}?per_page=100&page={page}", host.headers)
        for comment in listed:
            writer = comment[host.written_by]
            if comment["body"].startswith(MARK) and writer.get("login", writer.get("username")) == host.writer:
                yield comment["id"], comment["body"]
        if len(listed) < 100:
            return


def main() -> int:
    """0 when the comment is as the file is."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit("\n", 1)[0] + "\n\nThe rest is too long for a comment; the job has it all.\n"
    body = f"{MARK}\n{text}"
    try:
        host = host_of(os.environ)
        found = next(ours(host), None)
        if found is None:
            call("POST", host.comments, host.headers, body)
        elif found[1].strip() != body.strip():
            call(host.change, f"{host.one}/{found[0]}", host.headers, body)
    except KeyError as error:
        print(f"ebbtide-comment: {error} is not set; nothing was posted", file=sys.stderr)
        return 2
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        print(f"ebbtide-comment: the host did not take the comment: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
