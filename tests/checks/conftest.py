"""The schema checker that the tests of this folder ask."""

from __future__ import annotations

import os

import pytest

from repo_layout.adapters.cue import Cue


@pytest.fixture(scope="session")
def cue() -> Cue:
    found = Cue.found(os.environ)
    assert found.binary is not None, "no cue binary: make setup builds it, or EBBTIDE_CUE names one"
    return found
