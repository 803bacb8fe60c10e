"""The editors' schemas in a real YAML language server: completion, hover and problems while a contract is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebbtide.__main__ import main
from repo_layout.load import MODELS
from tests.checks.estates import FORECAST, ROOT, minimal
from tests.interop.language_server import LanguageServer

pytestmark = pytest.mark.interop

INSTALLED = ROOT / ".tools" / "yaml-language-server"
SERVER = INSTALLED / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
SCHEMAS = "docs/schema"


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The minimal estate with the schemas in it."""
    folder = tmp_path_factory.mktemp("estate")
    for name, content in minimal().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    assert main(["schema", "--out", str(folder / SCHEMAS)]) == 0
    return folder


@pytest.fixture(scope="module")
def server(estate: Path) -> Iterator[LanguageServer]:
    """The server with the settings that `ebbtide schema` writes."""
    settings = json.loads((estate / SCHEMAS / "vscode-settings.json").read_text(encoding="utf-8"))
    schemas = {(estate / SCHEMAS / Path(name).name).as_uri(): glob for name, glob in settings["yaml.schemas"].items()}
    wanted = {
        "schemas": schemas,
        "validate": True,
        "hover": True,
        "completion": True,
        "schemaStore": {"enable": False, "url": ""},
    }
    command = [str(INSTALLED / "node"), str(SERVER), "--stdio"]
    running = LanguageServer(command, estate, wanted)
    yield running
    running.stop()


def labels(found: object) -> set[str]:
    assert isinstance(found, dict)
    return {item["label"] for item in found["items"]}


def test_a_good_file_of_every_kind_has_no_problem(server: LanguageServer, estate: Path) -> None:
    for name, content in minimal().items():
        if name.endswith(".yaml"):
            address = server.open(estate / name, content.decode())
            assert server.problems(address) == [], name


def test_a_wrong_contract_is_told_so_in_our_words(server: LanguageServer, estate: Path) -> None:
    text = minimal()[FORECAST].decode().replace("memory: 16GiB", "memory: 512m").replace("floor: 4", "flor: 4")
    problems = server.problems(server.open(estate / "contracts/tides/wrong.yaml", text))
    told = {(problem["range"]["start"]["line"], problem["message"]) for problem in problems}
    lines = text.splitlines()
    assert (lines.index("unit: {vcpu: 4, memory: 512m}"), "expected a size such as 512MiB or 1.4GiB") in told
    assert any(line == lines.index("flor: 4") and "flor" in message for line, message in told)


def test_a_checkpoint_without_its_interval_is_told_so(server: LanguageServer, estate: Path) -> None:
    text = minimal()[FORECAST].decode() + "checkpoint: {mode: periodic}\n"
    problems = server.problems(server.open(estate / "contracts/tides/interval.yaml", text))
    assert any("interval" in problem["message"] for problem in problems)


def test_fields_and_choices_are_completed(server: LanguageServer, estate: Path) -> None:
    text = "apiVersion: ebbtide/v1\nkind: Contract\ntier: \nto\n"
    address = server.open(estate / "contracts/tides/new.yaml", text)
    tiers = labels(server.at("textDocument/completion", address, 2, 6))
    assert {"anchored", "resumable", "staged", "requeued", "scavenger"} <= tiers
    fields = labels(server.at("textDocument/completion", address, 3, 2))
    assert {"tolerance", "team", "unit"} <= fields
    assert "kind" not in fields


def test_hover_explains_a_field_and_the_tiers(server: LanguageServer, estate: Path) -> None:
    text = minimal()[FORECAST].decode()
    address = server.open(estate / "contracts/tides/hover.yaml", text)
    lines = text.splitlines()
    line = next(at for at, found in enumerate(lines) if found.startswith("tier:"))
    told = server.at("textDocument/hover", address, line, 1)["contents"]["value"]
    assert "fills in whatever this file leaves out" in told
    assert "a service with a floor; drain 1m evict" in told
    line = next(at for at, found in enumerate(lines) if found.startswith("floor:"))
    assert "committed capacity" in server.at("textDocument/hover", address, line, 1)["contents"]["value"]


def test_a_first_line_names_the_schema_where_no_settings_do(server: LanguageServer, estate: Path) -> None:
    schema = (estate / SCHEMAS / "contract.schema.json").as_uri()
    text = f"# yaml-language-server: $schema={schema}\nkind: Contract\nflor: 3\n"
    problems = server.problems(server.open(estate / "elsewhere.yaml", text))
    assert any("flor" in problem["message"] for problem in problems)


def test_every_kind_of_file_has_its_glob(estate: Path) -> None:
    settings = json.loads((estate / SCHEMAS / "vscode-settings.json").read_text(encoding="utf-8"))
    assert len(settings["yaml.schemas"]) == len(MODELS)
