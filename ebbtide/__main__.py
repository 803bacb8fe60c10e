"""The command `ebbtide`: parses what was typed, hands it to one command's module, and turns ends into exit codes.

The only place that knows the process: its arguments, streams and signals. A command's module is loaded when it is
asked for, so that help and completion are there at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from contracts.errors import EbbtideError
from ebbtide.advice import hint_for
from ebbtide.grammar import parser
from ebbtide.terminal import Terminal

DONE, FOUND, CANNOT, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code (see the help of any command)."""
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as end:  # argparse has said what is wrong, or was asked for help
        return _flushed(end.code if isinstance(end.code, int) else CANNOT)
    _keep_stdout_ours()
    terminal = Terminal.of(os.environ, as_json=arguments.output == "json", progress=arguments.progress)
    command = import_module(f"ebbtide.{arguments.command}")
    try:
        code: int = command.run(arguments, terminal)
    except EbbtideError as error:
        return _complained(str(error), hint_for(error, arguments.command))
    except KeyboardInterrupt:
        return _complained("interrupted", "")
    except BrokenPipeError:
        return _flushed(DONE)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complained(f"{where}{error.strerror or error}", "check that it exists, and its owner and mode")
    return _flushed(code)


def _keep_stdout_ours() -> None:
    """Write to stdout through a descriptor of our own, and let descriptor 1 lead nowhere.

    The solver's library greets on descriptor 1 when it is loaded, in the middle of somebody's JSON.
    """
    before = sys.__stdout__
    if before is None or sys.stdout is not before:  # closed, or somebody else's already
        return
    before.flush()
    ours = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = os.fdopen(ours, "w", encoding=before.encoding, errors=before.errors)


def _complained(message: str, hint: str) -> int:
    code = INTERRUPTED if message == "interrupted" else CANNOT
    sys.stderr.write(f"ebbtide: {message}\n" + (f"  next: {hint}\n" if hint else ""))
    return _flushed(code)


def _flushed(code: int) -> int:
    """The code, once everything is written; whoever reads the other end may have had enough."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


if __name__ == "__main__":
    sys.exit(main())
