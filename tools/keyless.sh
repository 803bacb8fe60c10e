#!/usr/bin/env bash
# Builds the servers of a private keyless site into .tools/bin from the pins in tools/keyless: Fulcio, TesseraCT, the
# timestamp authority and Rekor; go.sum there holds the checksums of every module. tools/servers/keyless.py starts them.
# Called by make for the ring of rare peers; again with the same pins ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/go.sh

declare -A commands=(
  [fulcio]=github.com/sigstore/fulcio
  [rekor-server]=github.com/sigstore/rekor-tiles/v2/cmd/rekor-server/posix
  [tesseract]=github.com/transparency-dev/tesseract/cmd/tesseract/posix
  [timestamp-server]=github.com/sigstore/timestamp-authority/v2/cmd/timestamp-server
)
all_there() { for name in "${!commands[@]}"; do [ -x ".tools/bin/$name" ] || return 1; done; }

pin="$(pin_of keyless)"
[ "$(cat .tools/bin/keyless.pin 2>/dev/null)" = "$pin" ] && all_there && exit 0
go_for keyless

say "keyless: building ${!commands[*]} from their pinned modules with $("$go" env GOVERSION) into .tools/bin"
say "keyless: 110 MB; about two minutes on two cores when nothing is cached (1 GB of cache)"
mkdir -p .tools/bin
for name in "${!commands[@]}"; do
  (cd tools/keyless && nice -n 10 "$go" build -v -ldflags='-s -w' -o "../../.tools/bin/$name" "${commands[$name]}") 2>&1 | progress
done
printf '%s\n' "$pin" >.tools/bin/keyless.pin
