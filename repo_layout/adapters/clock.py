"""The wall clock, for commands that sign or verify now. Cores take the time as a value."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Milliseconds since the Unix epoch, UTC."""
    return int(time.time() * 1000)
