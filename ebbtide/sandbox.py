"""`ebbtide sandbox`: a simulated region behind a socket, until somebody ends it."""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ebbtide.day import losses, the_day
from ebbtide.estate import known_region
from ebbtide.taken import estate_or_bundle
from ebbtide.terminal import Terminal
from ebbtide.text import count
from ledger.events import Event
from ledger.spool import Spool
from reconciler.desired import partition
from simulation.adapters.sandbox_server import Account, SandboxServer
from simulation.day import setting as day_setting
from simulation.sandbox import Ground, Sandbox, cloud_of
from simulation.trace_measures import HOUR_MS


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when it was told to end, or its hours are over."""
    found = estate_or_bundle(args)
    part = partition(found.estate, known_region(found.estate, args.region))
    day = the_day(part, losses(trace=args.trace, model=args.model), seed=args.seed)
    setting = day_setting(found.estate, part.region, day, seed=args.seed)
    ground = Ground(found.estate, part.region, setting.start, args.seed, day.waves, daily=True)
    path = Path(args.socket)
    path.parent.mkdir(parents=True, exist_ok=True)
    nodes = _emptied(path.with_name(path.name + ".nodes"))
    account = path.with_name(path.name + ".account")
    with Spool(nodes) as spool, _asked_to_end() as asked:
        sandbox = Sandbox(ground, cloud_of(ground, setting.cloud), emit=_kept(spool))
        server = SandboxServer(sandbox, path, account=Account(account), speed=args.speed, lockstep=args.lockstep)
        _greet(args, terminal, part.region, found.shown, len(part.pools))
        end = sandbox.now + int(args.hours * HOUR_MS) if args.hours else None
        server.serve(lambda: asked() or (end is not None and sandbox.now >= end))
    return 0


def _greet(args: argparse.Namespace, terminal: Terminal, region: str, shown: str, pools: int) -> None:
    """What was started, and how to reach it."""
    pace = "as a reconciler waits" if args.lockstep else f"{args.speed:g} times as fast as yours"
    if terminal.as_json:
        terminal.document({"socket": args.socket, "region": region, "pools": pools, "lockstep": args.lockstep})
        return
    terminal.lines(
        [
            f"region {region} of {shown}, {count(pools, 'pool')}; its time passes {pace}",
            f"  next      ebbtide run --provider {args.socket}   in another terminal",
            f"  effects   tail -f {args.socket}.account",
            "  Ctrl-C ends it",
        ]
    )


def _emptied(folder: Path) -> Path:
    """The folder of the nodes' spool without what an earlier sandbox left there: its region is gone."""
    for path in (*folder.glob("*.seg"), folder / "acknowledged"):
        path.unlink(missing_ok=True)
    return folder


def _kept(spool: Spool) -> Callable[[Sequence[Event]], None]:
    def keep(events: Sequence[Event]) -> None:
        spool.append(events)

    return keep


@contextlib.contextmanager
def _asked_to_end() -> Iterator[Callable[[], bool]]:
    """Whether somebody asked this process to end."""
    asked: list[int] = []
    before = {number: signal.signal(number, lambda got, _: asked.append(got)) for number in ENDING}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


ENDING = (signal.SIGTERM, signal.SIGINT)
