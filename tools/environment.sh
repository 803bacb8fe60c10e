#!/usr/bin/env bash
# Makes .venv hold exactly what requirements.lock says, hashes checked, and this checkout in editable form.
# Called by make after tools/uv.sh, and only when a lock, a pin or pyproject.toml is newer than its stamp.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }

uv=.tools/uv/bin/uv
export UV_PYTHON_DOWNLOADS=never
# A site that names its own package index for pip means it for everything; hashes hold whatever the index says.
[ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
unset VIRTUAL_ENV

# A distribution builds its Python with profiles; one that was compiled on the spot mostly is not, and needs a third more
# processor for the same work. One that has only the minimal package is passed over. PYTHON names another.
fastest() {
  if [ -z "${PYTHON:-}" ] &&
    /usr/bin/python3 -c 'import ctypes, lzma, ssl, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    echo /usr/bin/python3
  else
    cat .tools/uv/python
  fi
}

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
  say "environment: making .venv"
  rm -rf .venv
  "$uv" venv --quiet --python "$(fastest)" .venv
fi

pin="$(sha256sum requirements.lock | cut -d' ' -f1)"
if [ "$(cat .venv/pin 2>/dev/null)" != "$pin" ]; then
  say "environment: installing requirements.lock into .venv and compiling it (300 MB to fetch, 1.2 GB on disk; half a minute to two when nothing is cached)"
  "$uv" pip sync --quiet --python .venv --require-hashes --only-binary :all: --compile-bytecode requirements.lock
  printf '%s\n' "$pin" >.venv/pin
fi

say "environment: installing this checkout (editable)"
"$uv" pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
