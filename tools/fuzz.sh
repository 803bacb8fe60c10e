#!/usr/bin/env bash
# Makes .tools/fuzz/environment, which holds the pinned, hash-checked fuzzer and nothing else; what it fuzzes is read from
# this checkout and its dependencies from .venv. Called by make; a second run with the same pins ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

to=.tools/fuzz/environment
pin="$(cat tools/fuzz.txt tools/fuzz.sh | sha256sum | cut -d' ' -f1)"
[ "$(cat .tools/fuzz/pin 2>/dev/null)" = "$pin" ] && $to/bin/python -c 'import atheris' >/dev/null 2>&1 && exit 0

say "fuzz: installing the pinned fuzzer into $to (35 MB, seconds)"
rm -rf "$to"
mkdir -p .tools/fuzz
# the same interpreter as .venv, whose packages it borrows
.tools/uv/bin/uv venv --quiet --python .venv/bin/python "$to"
[ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
.tools/uv/bin/uv pip sync --quiet --python "$to" --require-hashes --only-binary :all: tools/fuzz.txt ||
  fail "no wheel of the fuzzer for this interpreter: use Python 3.11 to 3.13 (PYTHON=/path/to/python3.11 make fuzz)"
printf '%s\n' "$pin" >.tools/fuzz/pin
