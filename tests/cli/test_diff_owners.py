"""What `ebbtide diff` says of a change of the owners themselves."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.change.edits import add
from tests.cli.conftest import Run
from tests.cli.test_diff import diffed, two
from tests.git_scratch import Scratch


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch.made(tmp_path / "estate.git")


def test_a_change_of_owners_is_an_effect_and_says_who_approves_from_then_on(here: Run, scratch: Scratch) -> None:
    two(scratch, add(".github/CODEOWNERS", b"* @anybody\n"))
    text = diffed(here, scratch, "main", "topic").out
    assert re.match(r"the owners of \d+ files change: holds\n", text)
    section = text.partition("who approves from then on\n")[2].partition("\n\n")[0]
    assert "@tides/all -> @anybody" in section
    document = json.loads(diffed(here, scratch, "main", "topic", "--output", "json").out)
    assert {tuple(one["after"]) for one in document["approvals"]["owners_changed"]} == {("@anybody",)}
