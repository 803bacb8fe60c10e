"""What can be typed behind `ebbtide fmt` and `ebbtide schema`. Standard library only, like the grammar that imports it."""

from __future__ import annotations

import argparse

KINDS = ("settings", "directory", "contract", "pool", "correlation-group", "approval", "adoption", "waiver")
"""The kinds of reviewed files, named here too because the grammar loads nothing; a test holds the two together."""


def fmt(to: argparse.ArgumentParser) -> None:
    """`ebbtide fmt`."""
    told = "files, or folders of an estate; - reads stdin and writes stdout (default: .)"
    to.add_argument("paths", nargs="*", metavar="PATH", help=told)
    to.add_argument("--check", action="store_true", help="write nothing; list what is not laid out, exit code 1")
    to.add_argument("--diff", action="store_true", help="write nothing; show what would change, exit code 1")


def schema(to: argparse.ArgumentParser) -> None:
    """`ebbtide schema`."""
    to.add_argument("kind", nargs="?", choices=KINDS, metavar="KIND", help=f"one of {', '.join(KINDS)} (default: all)")
    to.add_argument("--out", metavar="DIR", help="write one file a kind there, and settings for editors")
