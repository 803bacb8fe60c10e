"""docs/admission.md holds what is true: its tests exist, and its words are those of the refusals."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import yaml

from repo_layout.admission_kubernetes import FOUND_BINDING, NAMESPACE, TABLE, render
from repo_layout.admission_policies import SYSTEM_NAMESPACES
from tests.servers.admission_cases import view

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "admission.md").read_text(encoding="utf-8")


def test_every_test_that_the_document_names_is_there() -> None:
    named = set(re.findall(r"`(test_[a-z_]+)`", TEXT))
    there = {
        node.name
        for path in (ROOT / "tests" / "servers").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert len(named) > 20
    assert sorted(named - there) == []


def test_every_file_policy_and_name_that_is_applied_stands_in_the_document() -> None:
    for name in (*render(view()), FOUND_BINDING, NAMESPACE, TABLE, *SYSTEM_NAMESPACES):
        assert f"`{name}`" in TEXT or f"{name}`" in TEXT, name


def test_every_refusal_has_its_row_for_whoever_reads_it() -> None:
    rows = "\n".join(re.findall(r"^\| `.*$", TEXT, re.MULTILINE))
    said = {
        one["messageExpression"]
        for policy in yaml.safe_load_all(render(view())["admission.yaml"])
        for one in policy["spec"].get("validations", ())
    }
    assert len(said) > 12
    words = {
        message: [part.strip(" :;,()") for part in re.findall(r"'((?:[^'\\]|\\.)*)'", message)] for message in said
    }
    unexplained = [
        message
        for message, parts in words.items()
        if not any(
            part[at : at + 20] in rows for part in parts for at in range(max(1, len(part) - 19)) if len(part) > 12
        )
    ]
    assert unexplained == []
