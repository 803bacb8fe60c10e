"""`ebbtide stop`: everything is held until somebody resumes, and a listing that lies is accepted or not.

It writes and reads files of the reconciler's state directory and nothing else, so that it works while Git, Kafka,
ClickHouse, the network and the reconciler itself are down. `local_orders` hands the same files to whoever runs one.
"""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from contracts.approval import SignedApproval
from ebbtide.advice import Advice
from ebbtide.terminal import Terminal
from reconciler.adapters.approval_files import signed_in
from reconciler.adapters.stop_file import StopFile
from reconciler.adapters.stop_store import StoreStop
from reconciler.adapters.store_file import FileStore
from reconciler.breakers import Order
from repo_layout.adapters.clock import now_ms

STOP, APPROVALS = "stop", "approvals"
"""In a state directory: the stop file, with its orders beside it, and the folder of signed approvals."""


SECOND_MS = 1000
"""A refusal names the time of its listing to the next whole second."""


@dataclass(frozen=True, slots=True)
class LocalOrders:
    """What people order beside the reviewed files, as `reconciler.acting.Ports` takes it."""

    stop: StopFile
    accepted_at: Callable[[], int]
    orders: Callable[[int], tuple[Order, ...]]
    signed: Callable[[], tuple[SignedApproval, ...]]


def local_orders(state: Path, stop_file: Path | None = None) -> LocalOrders:
    """The orders of one state directory; `stop_file` names a stop file that lies elsewhere."""
    file = StopFile(stop_file or state / STOP)
    return LocalOrders(file, file.accepted_at, file.orders, lambda: signed_in(state / APPROVALS))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it is done or nothing is stopped, 1 when --status finds a stop."""
    who = args.by or getpass.getuser()
    if args.store or args.region:
        return _shared(args, who, terminal)
    file = StopFile(Path(args.stop_file) if args.stop_file else Path(args.state) / STOP)
    if args.status:
        return _status(file, terminal)
    if args.accept_listing is not None:
        at = args.accept_listing or now_ms()
        if at > now_ms() + SECOND_MS:
            raise Advice("nobody has seen a listing of a time to come", hint="name the time that the refusal names")
        file.accept_listing(at, who, args.reason)
        return _said(terminal, file, f"accepted: what the listing of {_time(at)} lacks is gone, says {who}")
    if args.resume:
        gone = file.resume(who, args.reason)
        return _said(
            terminal, file, f"resumed by {who}; limits grow back over some cycles" if gone else "nothing was stopped"
        )
    _needs_reason(args.reason)
    file.stop(args.reason, who)
    return _said(terminal, file, f"stopped before the next action: {file.reason()}")


def _needs_reason(reason: str) -> None:
    if not reason.strip():
        raise Advice(
            "a stop needs a reason", hint='say why: ebbtide stop "the listing lies"; or ask: ebbtide stop --status'
        )


def _shared(args: argparse.Namespace, who: str, terminal: Terminal) -> int:
    """The same over the store that replicas share: one key stops each of them, within five seconds."""
    folder = Path(args.store or "")
    if not args.store or not args.region:
        raise Advice("a shared stop needs a folder and a region", hint="ebbtide stop --store DIR --region R REASON")
    if not folder.is_dir():
        raise Advice(f"there is no store in {folder}", hint="name the folder that ebbtide run --store has")
    if args.accept_listing is not None:
        raise Advice("a listing is accepted in a state directory", hint="ebbtide stop --state DIR --accept-listing")
    stop = StoreStop(FileStore(folder), region=args.region, monotonic=lambda: 0)
    if args.resume:
        gone = stop.resume()
        terminal.lines([f"resumed by {who}; limits grow back over some cycles" if gone else "nothing was stopped"])
        return 0
    if not args.status:
        _needs_reason(args.reason)
        stop.stop(args.reason, who, stamp=_time(now_ms()))
    reason = stop.reason()
    if terminal.as_json:
        terminal.document({"stopped": bool(reason), "reason": reason})
    else:
        terminal.lines([f"stopped: {reason}" if reason else "not stopped"])
    return 1 if reason and args.status else 0


def _status(file: StopFile, terminal: Terminal) -> int:
    reason, orders = file.reason(), file.orders()
    if terminal.as_json:
        rows = [
            {"number": o.number, "at": o.at, "who": o.who, "order": o.what, "reason": o.reason, "until": o.until}
            for o in orders
        ]
        terminal.document(
            {"stopped": bool(reason), "reason": reason, "acceptedListing": file.accepted_at(), "orders": rows}
        )
    else:
        terminal.lines([f"stopped: {reason}" if reason else "not stopped", *map(_line, orders)])
    return 1 if reason else 0


def _line(order: Order) -> str:
    about = f" of {_time(order.until)}" if order.until else ""
    why = f": {order.reason}" if order.reason else ""
    return f"  {order.number}  {_time(order.at)}  {order.what}{about} by {order.who}{why}"


def _said(terminal: Terminal, file: StopFile, text: str) -> int:
    if terminal.as_json:
        terminal.document(
            {"stopped": bool(file.reason()), "reason": file.reason(), "file": str(file.path), "done": text}
        )
    else:
        terminal.lines([text])
    return 0


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
