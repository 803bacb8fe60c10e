#!/usr/bin/env bash
# Builds the pinned cue binary into .tools/bin from tools/cue/go.mod; go.sum there holds the checksums of every module.
# Called by make; a second run with the same pins ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/go.sh

pin="$(pin_of cue)"
[ "$(cat .tools/bin/cue.pin 2>/dev/null)" = "$pin" ] && .tools/bin/cue version >/dev/null 2>&1 && exit 0
go_for cue

say "cue: building it from its pinned modules with $("$go" env GOVERSION) into .tools/bin (one to two minutes when nothing is cached)"
mkdir -p .tools/bin
(cd tools/cue && nice -n 10 "$go" build -v -ldflags='-s -w' -o ../../.tools/bin/cue cuelang.org/go/cmd/cue) 2>&1 | progress
built="$(.tools/bin/cue version)"
printf '%s\n' "${built%%$'\n'*}"
printf '%s\n' "$pin" >.tools/bin/cue.pin
