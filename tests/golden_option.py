"""A pytest plugin: `--rewrite-golden` writes golden transcripts anew instead of comparing them.

Loaded by `pytest_plugins` of the root conftest, or by hand: `python -m pytest -p tests.golden_option --rewrite-golden`.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the flag."""
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write golden transcripts anew; review the diff like code"
    )
