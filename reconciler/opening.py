"""A person's word about a day of which nobody knows what was reserved: how it is given, and how it is told.

`open_day` is called by the command and by whoever sets a new estate up; `told` by `cycle`. The word stands in the
wallet, so that whichever replica leads tells it to the ledger, once, under an id that its time makes its own.
"""

from __future__ import annotations

from dataclasses import replace

from ledger.causes import Cause
from ledger.events import Event, EventType
from reconciler.arbiter import Wallet
from reconciler.drafts import Scribe
from reconciler.ports import Store
from reconciler.wallets import read_wallet, write_wallet


def key_of(seat: str) -> str:
    """The key of a partition's wallet in the store."""
    return f"reservations/{seat}"


def open_day(store: Store, *, key: str, day: str, who: str = "", at: int = 0) -> None:
    """The word of `who`, at the time `at` (ms), that what stands in the wallet is all that was reserved in the day, and
    nothing where there is none: a new estate begins so, and a closed day opens. Raises what the store raises.
    """
    found = store.get(key)
    stored = read_wallet(found.value) if found else Wallet()
    wallet = replace(stored, closed=False) if stored.day >= day else Wallet(day, epoch=stored.epoch, paid=stored.paid)
    wallet = replace(wallet, opened_by=who, opened_at=at)
    store.put(key, write_wallet(wallet), expected=found.revision if found else "")


def told(before: Wallet, now: Wallet | None, scribe: Scribe) -> tuple[Event, ...]:
    """An event for a day that was opened since the wallet `before`."""
    if now is None or not now.opened_at or now.opened_at == before.opened_at:
        return ()
    data: dict[str, str | int] = {"who": now.opened_by, "day": now.day}
    subject = f"{now.day}/{now.opened_at}"
    return (scribe.event(EventType.DAY_OPENED, subject, Cause.AUTHORITY_SPENT, at=now.opened_at, data=data),)
