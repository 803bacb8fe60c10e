"""What can be typed behind `ebbtide fmt`, `ebbtide schema` and `ebbtide explain contract`.

Standard library only, like the grammar that imports it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from typing import Any


def fmt(to: argparse.ArgumentParser) -> None:
    """`ebbtide fmt`."""
    told = "files, or folders of an estate; - reads stdin and writes stdout (default: .)"
    to.add_argument("paths", nargs="*", metavar="PATH", help=told)
    to.add_argument("--check", action="store_true", help="write nothing; list what is not laid out, exit code 1")
    to.add_argument("--diff", action="store_true", help="write nothing; show what would change, exit code 1")


def schema(to: argparse.ArgumentParser) -> None:
    """`ebbtide schema`."""
    to.add_argument("kind", nargs="?", metavar="KIND", help="such as contract, pool or settings (default: every kind)")
    to.add_argument("--out", metavar="DIR", help="write one file a kind there, and settings for editors")


def explain_contract(
    kinds: Any,  # noqa: ANN401 - argparse does not name the type of what add_subparsers returns
    exit_codes: str,
    formatter: type[argparse.HelpFormatter],
    always: Callable[[argparse.ArgumentParser], None],
) -> None:
    """`ebbtide explain contract`, which reads an estate and no run."""
    told = "what holds once its tier filled the gaps, a notice second by second, its pools, its spread, its limits"
    one = kinds.add_parser(
        "contract",
        help=told,
        description=textwrap.fill(f"Shows {told}.", 98),
        epilog=exit_codes,
        formatter_class=formatter,
        allow_abbrev=False,
    )
    one.add_argument("name", metavar="NAME")
    one.add_argument(
        "--estate", metavar="PATH", help="repository or folder (default: the one you are in, else the reference estate)"
    )
    always(one)
