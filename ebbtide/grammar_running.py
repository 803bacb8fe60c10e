"""What can be typed behind `ebbtide sandbox`, and behind `ebbtide run` for a reconciler that goes on running.

Standard library only, like the grammar that imports it.
"""

from __future__ import annotations

import argparse

FASTEST = 100.0
"""Beyond it a process that the machine lets wait for a moment would look dead to its standby."""


def sandbox(to: argparse.ArgumentParser) -> None:
    """`ebbtide sandbox`; the estate's options stand in front of these."""
    to.add_argument("socket", metavar="SOCKET", help="a path for its socket, which is made for you alone")
    time = to.add_mutually_exclusive_group()
    time.add_argument(
        "--speed", type=_speed, default=10.0, metavar="X", help="seconds of the region a second (default: %(default)g)"
    )
    time.add_argument("--lockstep", action="store_true", help="time passes only while a reconciler waits")
    to.add_argument("--hours", type=_hours, metavar="H", help="end after so many hours of the region's time")


def live(to: argparse.ArgumentParser) -> None:
    """The options of `ebbtide run --provider`."""
    to.add_argument("--provider", metavar="SOCKET", help="run against the sandbox there, until it is told to end")
    to.add_argument("--branch", metavar="B", help="with --provider: follow this branch of --estate's repository")
    to.add_argument("--cycles", type=_cycles, metavar="N", help="with --provider: end after N cycles")
    to.add_argument("--until-idle", action="store_true", help="with --provider: end when nothing is left to do")
    to.add_argument("--store", metavar="DIR", help="with --provider: lease and reservations, for replicas to share")


def partition(to: argparse.ArgumentParser) -> None:
    """Which part of a divided region."""
    to.add_argument("--partition", metavar="NAME", help="one partition of a region that ebbtide.yaml divides")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed <= FASTEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {FASTEST:g}")
    return speed


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours <= 24 * 366:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hours above 0")
    return hours


def _cycles(text: str) -> int:
    if not text.isdecimal() or len(text) > 9 or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 3")
    return int(text)
