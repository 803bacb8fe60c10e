"""A YAML language server as an editor talks to it: one process, requests and answers over its standard streams."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

LONGEST_S = 30.0
Message = dict[str, Any]


class LanguageServer:
    """The server, for one folder; `settings` are what an editor's settings hold below `yaml`."""

    def __init__(self, command: Sequence[str], folder: Path, settings: Mapping[str, object]) -> None:
        self._settings = settings
        self._number = 0
        self._answers: Queue[Message] = Queue()
        self.diagnostics: Queue[Message] = Queue()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        root = folder.as_uri()
        self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "estate"}],
                "capabilities": {
                    "textDocument": {"completion": {"completionItem": {"documentationFormat": ["markdown"]}}},
                    "workspace": {"configuration": True},
                },
            },
        )
        self.tell("initialized", {})

    def open(self, file: Path, text: str) -> str:
        """Open a file as it stands in an editor; its address."""
        address = file.as_uri()
        item = {"uri": address, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return address

    def problems(self, address: str) -> list[Message]:
        """What the server says about an open file."""
        while True:
            told = self.diagnostics.get(timeout=LONGEST_S)
            if told["uri"] == address:
                return list(told["diagnostics"])

    def at(self, method: str, address: str, line: int, column: int) -> Any:  # noqa: ANN401 - whatever the protocol answers
        """A request about a place; line and column from 0."""
        place = {"textDocument": {"uri": address}, "position": {"line": line, "character": column}}
        return self.ask(method, place)

    def ask(self, method: str, params: object) -> Any:  # noqa: ANN401 - the same
        """A request and its result."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            try:
                answer = self._answers.get(timeout=LONGEST_S)
            except Empty:
                raise TimeoutError(f"the language server did not answer {method}") from None
            if answer["id"] == self._number:
                assert "error" not in answer, answer
                return answer.get("result")

    def tell(self, method: str, params: object) -> None:
        """A notification."""
        self._send({"method": method, "params": params})

    def stop(self) -> None:
        """End the server and wait for it."""
        try:
            self.ask("shutdown", None)
            self.tell("exit", None)
        finally:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None and stream is self._process.stdin:
                    stream.close()
            try:
                self._process.wait(timeout=LONGEST_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._reader.join(timeout=LONGEST_S)
            if self._process.stdout is not None:
                self._process.stdout.close()

    def _send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        while header := out.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = out.readline()
            self._take(json.loads(out.read(length)))

    def _take(self, message: Message) -> None:
        method = message.get("method")
        if method == "workspace/configuration":
            wanted = [self._settings if item.get("section") == "yaml" else {} for item in message["params"]["items"]]
            self._send({"id": message["id"], "result": wanted})
        elif method == "textDocument/publishDiagnostics":
            self.diagnostics.put(message["params"])
        elif method is not None and "id" in message:
            self._send({"id": message["id"], "result": None})
        elif "id" in message:
            self._answers.put(message)
