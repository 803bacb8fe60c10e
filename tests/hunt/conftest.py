"""The command in this process, as the tests of the command line run it."""

from __future__ import annotations

from tests.cli.conftest import here

__all__ = ["here"]
