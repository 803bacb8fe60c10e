"""The command `ebbtide`: parses what was typed, hands it to one command's module, and turns ends into exit codes.

The only place that knows the process: its arguments, streams and signals. A command's module is loaded when it is
asked for, so that help and completion are there at once.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from contracts.errors import EbbtideError
from contracts.values import shorten
from ebbtide.advice import hint_for
from ebbtide.grammar import parser
from ebbtide.terminal import Terminal

DONE, FOUND, CANNOT, INTERRUPTED = 0, 1, 2, 130
STDERR = 2
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
COLLECT_AFTER = 100_000  # an estate is a million small values without cycles; Python looks through them every 700
LONGEST_PATH = 300  # a path has to be seen whole to be mended


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code (see the help of any command)."""
    _have_streams()
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as end:  # argparse has said what is wrong, or was asked for help
        return _flushed(end.code if isinstance(end.code, int) else CANNOT)
    _keep_stdout_ours()
    gc.set_threshold(COLLECT_AFTER)
    terminal = Terminal.of(os.environ, as_json=arguments.output == "json", progress=arguments.progress)
    try:
        command = import_module(f"ebbtide.{arguments.command}")
        code: int = command.run(arguments, terminal)
    except EbbtideError as error:
        return _complained(str(error), hint_for(error, arguments.command))
    except KeyboardInterrupt:
        return _complained("interrupted", "")
    except BrokenPipeError:
        return _flushed(DONE)
    except OSError as error:
        where = f"{shorten(str(error.filename), LONGEST_PATH)}: " if error.filename else ""
        hint = (
            "make room, or name another place"
            if error.errno in FULL
            else "check that it exists, and its owner and mode"
        )
        return _complained(f"{where}{error.strerror or error}", hint)
    except Exception:  # noqa: BLE001 - whatever it is, exit code 1 would tell a pipeline that there are findings
        traceback.print_exc()
        return _complained("this is a fault of ebbtide itself, not of your files", "report it with the lines above")
    return _flushed(code)


def _have_streams() -> None:
    """Fill the place of a stream that was closed before we began: a file opened later would get its number, and with it
    whatever a library prints.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= STDERR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _keep_stdout_ours() -> None:
    """Write to stdout through a descriptor of our own, and let descriptor 1 lead nowhere.

    The solver's library greets on descriptor 1 when it is loaded, in the middle of somebody's JSON.
    """
    before = sys.__stdout__
    if before is None or sys.stdout is not before:  # closed, or somebody else's already
        return
    before.flush()
    ours = os.dup(1)
    _lead_nowhere(1)
    sys.stdout = os.fdopen(ours, "w", encoding=before.encoding, errors="backslashreplace")


def _complained(message: str, hint: str) -> int:
    code = INTERRUPTED if message == "interrupted" else CANNOT
    with contextlib.suppress(OSError):  # nobody can be told that nobody can be told
        sys.stderr.write(f"ebbtide: {message}\n" + (f"  next: {hint}\n" if hint else ""))
    return _flushed(code)


def _flushed(code: int) -> int:
    """The code, once everything is written; whoever reads the other end may have had enough."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _lead_nowhere(sys.stdout.fileno())
        if isinstance(error, BrokenPipeError) or code not in (DONE, FOUND):
            return code
        return _complained(f"the result could not be written: {error.strerror}", "make room, or write it elsewhere")
    return code


def _lead_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
