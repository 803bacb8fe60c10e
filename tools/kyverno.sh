#!/usr/bin/env bash
# Builds Kyverno's command (.tools/bin/kyverno) and its admission controller (.tools/bin/kyverno-controller) from the pins
# in tools/kyverno; go.sum there holds the checksums of every module. Its definitions of kinds come with the module and are
# laid beside, as .tools/kyverno/crds. Called by make for the ring of rare peers; again with the same pins ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/go.sh

pin="$(pin_of kyverno)"
[ "$(cat .tools/bin/kyverno.pin 2>/dev/null)" = "$pin" ] && .tools/bin/kyverno version >/dev/null 2>&1 && exit 0
go_for kyverno

module=github.com/kyverno/kyverno
version="$(awk -v module="$module" '$1 == module {print $2}' tools/kyverno/go.mod)"
say "kyverno: building the $version command and admission controller from their pinned modules with $("$go" env GOVERSION)"
say "kyverno: two binaries of 500 MB into .tools/bin; about nine minutes on two cores when nothing is cached (4 GB of cache)"
mkdir -p .tools/bin .tools/kyverno
(
  cd tools/kyverno
  stamp="-X $module/pkg/version.BuildVersion=$version"
  nice -n 10 "$go" build -v -ldflags="-s -w $stamp" -o ../../.tools/bin/kyverno "$module/cmd/cli/kubectl-kyverno" 2>&1 | progress
  nice -n 10 "$go" build -v -ldflags="-s -w $stamp" -o ../../.tools/bin/kyverno-controller "$module/cmd/kyverno" 2>&1 | progress
  source="$("$go" list -m -f '{{.Dir}}' "$module")"
  rm -rf ../../.tools/kyverno/crds
  cp -r --no-preserve=mode "$source/config/crds" ../../.tools/kyverno/crds
)
.tools/bin/kyverno version
printf '%s\n' "$pin" >.tools/bin/kyverno.pin
