#!/usr/bin/env bash
# Puts the pinned, hash-checked uv into .tools/uv with nothing but a system Python of 3.11 or later.
# Called by make; a second run with the same pin ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

find_python() {
  local name
  for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      command -v "$name"
      return 0
    fi
  done
  return 1
}

# Debian leaves ensurepip out of python3; its package carries the minor version.
need_ensurepip() {
  local package
  "$1" -c 'import ensurepip' >/dev/null 2>&1 && return 0
  package="$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
  command -v apt-get >/dev/null || fail "$1 has no ensurepip: install the package that carries venv for it"
  if [ "$(id -u)" = 0 ]; then
    say "$1 has no ensurepip: installing the Debian package $package"
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq "$package" || { apt-get update -qq && apt-get install -y -qq "$package"; }
  else
    fail "$1 has no ensurepip: run 'sudo apt-get install $package', then make again"
  fi
}

pin="$(sha256sum tools/uv.txt | cut -d' ' -f1)"
[ "$(cat .tools/uv/pin 2>/dev/null)" = "$pin" ] && .tools/uv/bin/uv --version >/dev/null 2>&1 && exit 0

python="$(find_python)" || fail "no Python of 3.11 or later found: install one, or name it with PYTHON=/path/to/python3"
need_ensurepip "$python"
say "uv: installing the pinned one into .tools/uv (seconds)"
rm -rf .tools/uv
"$python" -m venv .tools/uv
.tools/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r tools/uv.txt
printf '%s\n' "$python" >.tools/uv/python
printf '%s\n' "$pin" >.tools/uv/pin
