"""The same as `benchmarks.validate` at about 5,000 files: how the time grows, and how the schema checker keeps up."""

from __future__ import annotations

import sys

from benchmarks.validate import main

COPIES = 22
"""Of each of the reference estate's 220 contracts."""

if __name__ == "__main__":
    sys.exit(main("validate-large", copies=COPIES, runs=3))
