"""The few calls to an API server that tests and benchmarks make, over one connection that stays open.

Answers are values, refusals included: a test compares them. A client library would hide the text of a refusal and cost
a second to import.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

import yaml

Document = Mapping[str, object]
TIMEOUT_S = 60.0
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server listens, whom its certificate has to come from, and what opens it."""

    host: str
    port: int
    authority: Path
    token: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; `document` is empty where the server sent no JSON, `warnings` are its Warning headers."""

    status: int
    document: dict[str, object]
    text: str
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the server did what was asked."""
        return self.status < 300

    @property
    def message(self) -> str:
        """What it said: of a refusal its sentence."""
        return str(self.document.get("message", self.text))

    def field(self, *path: str | int) -> object:
        """The value at a path of keys and indices, None where something on it is absent."""
        value: object = self.document
        for step in path:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value


class Api:
    """One connection of one administrator, who may act as somebody else with `as_user`."""

    def __init__(self, connection: Connection) -> None:
        self._headers = {"Authorization": f"Bearer {connection.token}", "Accept": "application/json"}
        trusted = ssl.create_default_context(cafile=str(connection.authority))
        self._line = http.client.HTTPSConnection(connection.host, connection.port, timeout=TIMEOUT_S, context=trusted)

    def close(self) -> None:
        """Let the connection go; the next call opens it again."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str) -> Answer:
        """GET."""
        return self.request("GET", path)

    def post(self, path: str, body: Document, *, as_user: str = "", groups: Sequence[str] = ()) -> Answer:
        """POST."""
        return self.request("POST", path, body, as_user=as_user, groups=groups)

    def delete(self, path: str) -> Answer:
        """DELETE at once, without a grace period."""
        return self.request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})

    def patch(self, path: str, body: Document | Sequence[Document], *, kind: str = MERGE_PATCH) -> Answer:
        """PATCH: a merge patch unless `kind` says otherwise."""
        return self.request("PATCH", path, body, content=kind)

    def apply(self, text: str, *, dry: bool = False) -> list[Answer]:
        """Server-side apply of every document in a YAML text, in order; `dry` only asks."""
        asking = "&dryRun=All" if dry else ""
        found = [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]
        return [
            self.request("PATCH", f"{path_of(one)}?fieldManager=test&force=true{asking}", one, content=APPLY_PATCH)
            for one in found
        ]

    def request(
        self,
        method: str,
        path: str,
        body: Document | Sequence[Document] | None = None,
        *,
        content: str = "application/json",
        as_user: str = "",
        groups: Sequence[str] = (),
    ) -> Answer:
        """One call; raises `OSError` when the server is not there."""
        headers = [*self._headers.items(), ("Content-Type", content)]
        if as_user:
            headers += [("Impersonate-User", as_user), *(("Impersonate-Group", group) for group in groups)]
        data = b"" if body is None else json.dumps(body).encode()
        try:
            response, text = self._exchange(method, path, headers, data)
        except BaseException:
            self._line.close()  # the next call opens it again
            raise
        warned = tuple(value for name, value in response.getheaders() if name.lower() == "warning")
        try:
            document = json.loads(text)
        except ValueError:
            document = {}
        return Answer(response.status, document if isinstance(document, dict) else {}, text, warned)

    def _exchange(
        self, method: str, path: str, headers: Sequence[tuple[str, str]], data: bytes
    ) -> tuple[http.client.HTTPResponse, str]:
        self._line.putrequest(method, path)
        for name, value in headers:
            self._line.putheader(name, value)
        self._line.putheader("Content-Length", str(len(data)))
        self._line.endheaders(data)
        response = self._line.getresponse()
        return response, response.read().decode("utf-8", "replace")


def path_of(document: Mapping[str, object]) -> str:
    """Where an object lives on the server, by its kind as the usual plural."""
    version, kind = str(document["apiVersion"]), str(document["kind"])
    metadata = document["metadata"]
    assert isinstance(metadata, dict)  # noqa: S101 - every object of Kubernetes has it
    root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
    lower = kind.lower()
    plural = lower[:-1] + "ies" if lower.endswith("y") else lower + ("es" if lower.endswith("s") else "s")
    namespace = f"/namespaces/{quote(str(metadata['namespace']))}" if "namespace" in metadata else ""
    return f"{root}{namespace}/{plural}/{quote(str(metadata['name']))}"
