"""The machine's monotonic clock, by which a sandbox's processes agree on the time."""

from __future__ import annotations

import time


def monotonic_ms() -> int:
    """Milliseconds that never jump, the same in all processes of one machine (CLOCK_MONOTONIC)."""
    return time.monotonic_ns() // 1_000_000
