#!/usr/bin/env bash
# Prints one pinned and hashed requirement file on stdout: pin.sh UV_BINARY NAME==VERSION. `make lock` calls it.
set -euo pipefail
echo "# Pinned and hashed; \`make lock\` rewrites it."
echo "$2" | "$1" pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -
