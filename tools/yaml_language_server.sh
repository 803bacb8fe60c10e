#!/usr/bin/env bash
# Installs the pinned YAML language server into .tools/yaml-language-server; its lock holds the checksum of every package.
# Called by make; a second run with the same pins ends at once. Uses the machine's Node.js where it is new enough,
# else a hash-pinned one from the package index in an environment of its own under .tools/node.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }

to=.tools/yaml-language-server
pin="$(cat tools/yaml_language_server/*.json tools/yaml_language_server.sh tools/node.txt | sha256sum | cut -d' ' -f1)"
[ "$(cat $to/pin 2>/dev/null)" = "$pin" ] && [ -x $to/node ] && exit 0
needed=20

new_enough() { [ "$("$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)" -ge "$needed" ]; }

node="$(command -v node || true)"
npm="$(command -v npm || true)"
if [ -z "$node" ] || [ -z "$npm" ] || ! new_enough "$node"; then
  if [ ! -x .tools/node/bin/python ] || [ "$(cat .tools/node/pin 2>/dev/null)" != "$(sha256sum <tools/node.txt)" ]; then
    say "node: no Node.js of $needed or later here; installing a pinned one into .tools/node (200 MB, under a minute)"
    rm -rf .tools/node
    .tools/uv/bin/uv venv --quiet --python "$(cat .tools/uv/python)" .tools/node
    [ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
    .tools/uv/bin/uv pip sync --quiet --python .tools/node --require-hashes --only-binary :all: tools/node.txt
    sha256sum <tools/node.txt >.tools/node/pin
  fi
  node="$PWD/.tools/node/bin/node" npm="$PWD/.tools/node/bin/npm"
  export PATH="$PWD/.tools/node/bin:$PATH"
fi

say "yaml-language-server: installing it from its lock with Node.js $("$node" -p process.versions.node) into $to (27 MB, seconds)"
rm -rf "$to"
mkdir -p "$to"
cp tools/yaml_language_server/package.json tools/yaml_language_server/package-lock.json "$to/"
# no script of any package runs
(cd "$to" && "$npm" ci --silent --ignore-scripts --no-audit --no-fund --no-update-notifier)
ln -s "$node" "$to/node"
printf '%s\n' "$pin" >"$to/pin"
