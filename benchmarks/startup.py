"""How long a person waits for `ebbtide --help`, and how long and how large the node's part is when it starts.

Each figure is a fresh interpreter, from its start to its end, the median of all runs. `agent_seconds` and
`agent_rss_mib` are those of an interpreter that imports the drain and its journal (`agent.drain`, `agent.journal`):
the core that every agent carries, not yet a whole agent with its clients. Peer: an interpreter that imports nothing,
which is the limit that both are near. Neither grows with anything.

    python -m benchmarks.startup [--runs N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

HELP = ("-m", "ebbtide", "--help")
AGENT = (
    "-c",
    "import agent.drain, agent.journal, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)",
)
BARE = ("-c", "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")


def timed(arguments: tuple[str, ...]) -> tuple[float, str]:
    """Seconds from start to end of one interpreter, and what it wrote."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)
    return time.perf_counter() - began, done.stdout


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    runs: int = parser.parse_args().runs
    for arguments in (HELP, AGENT, BARE):
        timed(arguments)  # compiles what was never compiled
    found = {name: [timed(arguments) for _ in range(runs)] for name, arguments in
             (("help", HELP), ("agent", AGENT), ("bare", BARE))}  # fmt: skip
    seconds = {name: statistics.median(one for one, _ in measured) for name, measured in found.items()}
    rss = {name: statistics.median(int(said) / 1024 for _, said in found[name]) for name in ("agent", "bare")}
    print(f"ebbtide --help   {seconds['help']:.3f} s; an interpreter that does nothing {seconds['bare']:.3f} s")
    print(f"agent core       {seconds['agent']:.3f} s, {rss['agent']:.1f} MiB; the bare one {rss['bare']:.1f} MiB")
    print(
        json.dumps(
            {
                "bench": "startup",
                "help_seconds": round(seconds["help"], 4),
                "agent_seconds": round(seconds["agent"], 4),
                "agent_rss_mib": round(rss["agent"], 1),
                "bare_seconds": round(seconds["bare"], 4),
                "bare_rss_mib": round(rss["bare"], 1),
                "runs": runs,
            }
        )
    )


if __name__ == "__main__":
    main()
