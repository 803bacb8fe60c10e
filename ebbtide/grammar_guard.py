"""What can be typed behind `ebbtide stop` and `ebbtide approve`: part of `ebbtide.grammar`, as light."""

from __future__ import annotations

import argparse

from ebbtide import grammar_trust

DEFAULT_STATE = ".run"


def stop(to: argparse.ArgumentParser) -> None:
    """`ebbtide stop`."""
    to.add_argument("reason", nargs="?", default="", metavar="REASON", help="why, in a sentence that others will read")
    where = to.add_mutually_exclusive_group()
    told = "the reconciler's state directory (default: %(default)s)"
    where.add_argument("--state", metavar="DIR", default=DEFAULT_STATE, help=told)
    where.add_argument("--stop-file", metavar="FILE", help="the stop file itself, where it lies elsewhere")
    where.add_argument(
        "--store", metavar="DIR", help="the folder that replicas share (ebbtide run --store): stops each"
    )
    to.add_argument("--region", metavar="R", help="with --store: the region that is stopped")
    to.add_argument("--by", metavar="ID", help="who says so: an id of directory.yaml (default: the login name)")
    what = to.add_mutually_exclusive_group()
    what.add_argument("--resume", action="store_true", help="take the stop away")
    what.add_argument("--status", action="store_true", help="whether all is stopped, and every order so far")
    told = "what the listing of this time lacks is gone (default: now); the refusal names the time"
    what.add_argument("--accept-listing", nargs="?", const=0, type=grammar_trust.instant, metavar="TIME", help=told)


def reservations(to: argparse.ArgumentParser) -> None:
    """`ebbtide reservations`."""
    where = to.add_mutually_exclusive_group()
    told = "the reconciler's state directory (default: %(default)s)"
    where.add_argument("--state", metavar="DIR", default=DEFAULT_STATE, help=told)
    where.add_argument("--store", metavar="DIR", help="the folder that replicas share (ebbtide run --store)")
    to.add_argument("--region", metavar="R", help="with --store: whose reservations")
    to.add_argument("--partition", metavar="NAME", help="with --store: of which partition, where the region is divided")
    to.add_argument("--open-day", action="store_true", help="what stands there is all that was reserved: buy again")
    to.add_argument("--by", metavar="ID", help="with --open-day: who says so, an id of directory.yaml")


def approve(to: argparse.ArgumentParser) -> None:
    """`ebbtide approve`."""
    to.add_argument("--estate", metavar="NAME", required=True, help="the estate's id, as ebbtide.yaml has it")
    to.add_argument("--region", metavar="R", required=True, help="the region whose removal waits")
    to.add_argument("--commit", metavar="SHA", required=True, help="the commit that the refusal names")
    to.add_argument("--by", metavar="ID", required=True, help="who approves: an id of directory.yaml")
    to.add_argument("--reason", metavar="TEXT", required=True, help="why, in a sentence that others will read")
    to.add_argument("--key", metavar="FILE", required=True, help="the private key whose public one the directory has")
    grammar_trust.passphrase(to)
    grammar_trust.lifetime(to, "1d")
    where = to.add_mutually_exclusive_group()
    told = "the reconciler's state directory, which takes it (default: %(default)s)"
    where.add_argument("--state", metavar="DIR", default=DEFAULT_STATE, help=told)
    where.add_argument("--out", metavar="FILE", help="write it there instead, for somebody to carry")
