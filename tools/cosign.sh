#!/usr/bin/env bash
# Builds the pinned cosign binary into .tools/bin from tools/cosign/go.mod; go.sum there holds the checksums of every
# module. Called by make for the ring of rare peers; again with the same pins ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/go.sh

pin="$(pin_of cosign)"
[ "$(cat .tools/bin/cosign.pin 2>/dev/null)" = "$pin" ] && .tools/bin/cosign version >/dev/null 2>&1 && exit 0
go_for cosign

module=github.com/sigstore/cosign/v3
version="$(awk -v module="$module" '$1 == module {print $2}' tools/cosign/go.mod)"
say "cosign: building $version from its pinned modules with $("$go" env GOVERSION) into .tools/bin"
say "cosign: one binary of 100 MB; about five minutes on two cores when nothing is cached (2 GB of cache)"
mkdir -p .tools/bin
stamp="-X sigs.k8s.io/release-utils/version.gitVersion=$version"
(cd tools/cosign && nice -n 10 "$go" build -ldflags="-s -w $stamp" -o ../../.tools/bin/cosign "$module/cmd/cosign")
.tools/bin/cosign version | awk '/^GitVersion|^GoVersion/'
printf '%s\n' "$pin" >.tools/bin/cosign.pin
