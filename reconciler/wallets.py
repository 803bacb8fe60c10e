"""The text of a wallet as it stands in the store: written in one way, and read in no other.

Pure; used by `reservations`, `opening` and the command that shows it.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from contracts.errors import Refused
from reconciler.arbiter import Wallet
from reconciler.lease import LARGEST

KINDS = {"by_workload": dict, "closed": bool, "day": str, "epoch": int, "reserved_micro": dict}
SOMETIMES = {"opened_at": int, "opened_by": str, "paid": dict}
"""Written only where a person opened the day, or where fallback has an hour that is paid."""


def write_wallet(wallet: Wallet) -> bytes:
    """The wallet as it stands in the store: one line of JSON with its keys in order."""
    said = {name: value for name, value in asdict(wallet).items() if value or name not in SOMETIMES}
    return (json.dumps(said, sort_keys=True, separators=(",", ":")) + "\n").encode()


def read_wallet(raw: bytes) -> Wallet:
    """The wallet that was written so; `Refused` for anything else: damage does not say that nothing was reserved."""
    try:
        found = json.loads(raw)
        fields = {key: type(value) for key, value in found.items()} if isinstance(found, dict) else {}
        wallet = Wallet(**found) if KINDS.items() <= fields.items() <= (KINDS | SOMETIMES).items() else None
    except (ValueError, RecursionError):
        wallet = None
    if wallet is None or not _sound(wallet) or write_wallet(wallet) != raw:
        raise Refused("the wallet in the store is damaged: a person has to say what was reserved, and open the day")
    return wallet


def _sound(wallet: Wallet) -> bool:
    numbers = [wallet.epoch, wallet.opened_at, *wallet.reserved_micro.values(), *wallet.by_workload.values()]
    for hours in wallet.paid.values():
        if not isinstance(hours, dict) or not all(until.isdecimal() and until.isascii() for until in hours):
            return False
        numbers += [*map(int, hours), *hours.values()]
    return all(type(number) is int and 0 <= number <= LARGEST for number in numbers)
