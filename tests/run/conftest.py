"""Runs the command in this process, as the command's own tests do."""

from tests.cli.conftest import here

__all__ = ["here"]
