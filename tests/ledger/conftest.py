"""One engine for the session, as a process may have only one; one database for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.adapters.clickhouse import ClickHouseLedger, embedded

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def ledger_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ledger") / "store"


@pytest.fixture
def ledger(ledger_directory: Path) -> Iterator[ClickHouseLedger]:
    """An empty ledger of this test's own."""
    with embedded(ledger_directory, database=f"test_{next(_NUMBERS)}") as opened:
        yield opened
