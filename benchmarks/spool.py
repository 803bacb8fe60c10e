"""How many events a second the spool makes durable, and how fast a torn spool of a gigabyte opens again.

Peer: a bare write and sync of the same bytes in the same batches, which is the limit that the disk sets. The spool adds
the canonical line, the checksum and the frame. Opening reads the last segment only, so it does not grow with the spool.

    python -m benchmarks.spool [--events N] [--batch N] [--torn-mib N] [--runs N] [--directory DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from ledger.causes import Cause
from ledger.events import Event, EventType, Paid, Use, to_line
from ledger.spool import Spool
from ledger.usage import slots

MIB = 1024 * 1024


def usage(number: int) -> Event:
    """A believable event: most of what a ledger holds is usage."""
    run = slots(8, [(Use.SERVING, 6)])[0]
    return Event(
        id=f"north-{number:012d}",
        occurred_at=1_790_000_000_000 + number,
        recorded_at=1_790_000_000_500 + number,
        type=EventType.USAGE,
        cause=Cause.CLAIM_GREW,
        caused_by=f"north-{number // 2:012d}",
        region="north",
        workload="nightly-render",
        pool="north/hall-a/agg-3/m8",
        instance=f"ebb-north-{number % 800:06d}",
        data=run.data(of_units=8, paid=Paid.RECLAIMABLE, from_ms=1_790_000_000_000, to_ms=1_790_000_060_000),
    )


def durable(directory: Path, events: list[Event], batch: int) -> float:
    """Events a second, from values to synced bytes."""
    with Spool(directory) as spool:
        began = time.perf_counter()
        for start in range(0, len(events), batch):
            spool.append(events[start : start + batch])
        return len(events) / (time.perf_counter() - began)


def bare(directory: Path, events: list[Event], batch: int) -> float:
    """Events a second for the disk alone: ready lines, one write and one sync a batch."""
    blocks = [b"\n".join(map(to_line, events[at : at + batch])) for at in range(0, len(events), batch)]
    directory.mkdir()
    with (directory / "bare").open("wb", buffering=0) as file:
        began = time.perf_counter()
        for block in blocks:
            file.write(block)
            os.fdatasync(file.fileno())
        return len(events) / (time.perf_counter() - began)


def torn(directory: Path, mib: int) -> None:
    """A spool of about this size whose last write was cut off."""
    lines = [to_line(usage(number)) for number in range(20_000)]
    with Spool(directory) as spool:
        while spool.size_bytes < mib * MIB:
            spool.append_lines(lines)
    last = max(directory.glob("*.seg"))
    os.truncate(last, last.stat().st_size - 100)


def main() -> None:
    """Measure, say it, and end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--torn-mib", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--directory", type=Path, default=None, help="on the disk to measure (default: temporary files)"
    )
    asked = parser.parse_args()
    events = [usage(number) for number in range(asked.events)]
    rates, bare_rates, recoveries, lost = [], [], [], 0
    with tempfile.TemporaryDirectory(dir=asked.directory) as folder:
        for run in range(asked.runs):
            rates.append(durable(Path(folder, f"spool{run}"), events, asked.batch))
            bare_rates.append(bare(Path(folder, f"bare{run}"), events, asked.batch))
        whole = Path(folder, "torn")
        torn(whole, asked.torn_mib)
        for _ in range(asked.runs):
            last = max(whole.glob("*.seg"))
            os.truncate(last, last.stat().st_size - 10)
            began = time.perf_counter()
            with Spool(whole) as spool:
                recoveries.append(time.perf_counter() - began)
                lost = spool.recovered.lost
    figures = {
        "bench": "spool",
        "events_per_second": round(statistics.median(rates)),
        "recover_seconds": round(statistics.median(recoveries), 3),
        "bare_events_per_second": round(statistics.median(bare_rates)),
        "batch": asked.batch,
        "torn_mib": asked.torn_mib,
        "runs": asked.runs,
    }
    print(f"durable in batches of {asked.batch}: {figures['events_per_second']} events a second")
    print(f"a torn spool of {asked.torn_mib} MiB opens in {figures['recover_seconds']} s, {lost} bytes cut off")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
