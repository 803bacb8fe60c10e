"""A pytest plugin: `--rewrite-golden` writes golden transcripts anew instead of comparing them.

The root conftest loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the flag."""
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write golden transcripts anew; review the diff like code"
    )
