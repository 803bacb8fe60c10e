#!/usr/bin/env bash
# Builds the pinned cosign (.tools/bin/cosign) from tools/cosign/go.mod; go.sum there holds the checksums of every module.
# Called by make for the ring of rare peers; again with the same pins ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/go.sh

pin="$(pin_of cosign)"
[ "$(cat .tools/bin/cosign.pin 2>/dev/null)" = "$pin" ] && .tools/bin/cosign version >/dev/null 2>&1 && exit 0
go_for cosign

say "cosign: building it from its pinned modules with $("$go" env GOVERSION) into .tools/bin (100 MB; four minutes when nothing is cached)"
mkdir -p .tools/bin
(cd tools/cosign && nice -n 10 "$go" build -v -ldflags='-s -w' -o ../../.tools/bin/cosign github.com/sigstore/cosign/v3/cmd/cosign) 2>&1 | progress
.tools/bin/cosign version | sed -n 's/^GitVersion: */cosign /p'
printf '%s\n' "$pin" >.tools/bin/cosign.pin
