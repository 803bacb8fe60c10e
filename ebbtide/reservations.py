"""`ebbtide reservations`: what is reserved for fallback today, by authority and by workload; and the word that opens a
closed day.

Reads the store of a state directory, or the folder that replicas share, and nothing else: no network, no Git and no
running reconciler is needed. A day is closed where nobody knows what was reserved in it: a new estate's first one, or
one whose wallet was lost. Whoever opens it says that what stands there is all that was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from contracts.errors import EbbtideError
from ebbtide.advice import Advice
from ebbtide.run_state import ReconcilerState
from ebbtide.terminal import Terminal
from pools.provider import seat_of
from reconciler.adapters.store_file import FileStore
from reconciler.arbiter import Wallet
from reconciler.opening import key_of, open_day
from reconciler.spending import micro_text
from reconciler.wallets import read_wallet
from repo_layout.adapters.clock import now_ms


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when the day is open, or was opened; 1 when it is closed."""
    folder, region = _where(args)
    store, key = FileStore(folder), key_of(region)
    try:
        if args.open_day:
            _opened(store, key, args.by)
        found = store.get(key)
        wallet = read_wallet(found.value) if found else None
    except EbbtideError as error:
        raise Advice(str(error), hint="docs/state.md says what the store is worth, and what rebuilds it") from error
    if wallet is None:
        raise _nothing_yet(region)
    if terminal.as_json:
        terminal.document(_document(region, wallet))
    else:
        terminal.lines(_text(region, wallet))
    return 1 if wallet.closed else 0


def _where(args: argparse.Namespace) -> tuple[Path, str]:
    """The store's folder and the region. `Advice` where there is none."""
    if args.store:
        if not args.region:
            raise Advice("a shared store has several regions", hint="ebbtide reservations --store DIR --region R")
        folder = Path(args.store)
        if not folder.is_dir():
            raise Advice(f"there is no store in {folder}", hint="name the folder that ebbtide run --store has")
        return folder, seat_of(args.region, args.partition or "")
    state = ReconcilerState(Path(args.state))
    if not state.is_ours():
        raise Advice(
            f"no reconciler has run in {state.folder}", hint="name its --state folder, or --store and --region"
        )
    known = state.known()
    return state.store, args.region or seat_of(known.region, known.partition)


def _opened(store: FileStore, key: str, who: str | None) -> None:
    """Open the day that the wallet has."""
    if not who or not who.strip():
        raise Advice("somebody has to answer for it", hint="say who: --open-day --by ID, an id of directory.yaml")
    found = store.get(key)
    if found is None:
        raise _nothing_yet(key.partition("/")[2])
    wallet = read_wallet(found.value)
    if wallet.closed:
        open_day(store, key=key, day=wallet.day, who=who.strip(), at=now_ms())


def _nothing_yet(region: str) -> Advice:
    return Advice(
        f"nothing is kept of region {region} yet",
        hint="its leader writes it in its first cycle: ebbtide run; a shared folder is named with --store",
    )


def _document(region: str, wallet: Wallet) -> dict[str, object]:
    return {
        "region": region,
        "day": wallet.day,
        "closed": wallet.closed,
        "openedBy": wallet.opened_by,
        "authorities": {who: micro_text(micro) for who, micro in sorted(wallet.reserved_micro.items())},
        "workloads": {name: micro_text(micro) for name, micro in sorted(wallet.by_workload.items())},
    }


def _text(region: str, wallet: Wallet) -> list[str]:
    state = "closed: no fallback is bought, because nobody knows what was reserved" if wallet.closed else "open"
    if wallet.opened_by and not wallet.closed:
        state += f", by the word of {wallet.opened_by}"
    lines = [f"{region}, {wallet.day}: {state}"]
    for title, amounts in (("authority", wallet.reserved_micro), ("workload", wallet.by_workload)):
        width = max((len(name) for name in amounts), default=0)
        lines += [f"  {title}  {name:<{width}}  {micro_text(micro)}" for name, micro in sorted(amounts.items())]
    if not wallet.reserved_micro:
        lines.append("  nothing is reserved")
    if wallet.closed:
        lines.append("  if that is all that was reserved: ebbtide reservations --open-day --by ID")
    return lines
