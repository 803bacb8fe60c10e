#!/usr/bin/env bash
# The part that every build from Go modules shares: which toolchain, which flags, and when there is nothing to build.
# Sourced by tools/cue.sh and its neighbours from the top of the checkout, never run. Uses the machine's Go where it is
# new enough, else a hash-pinned toolchain from the package index in an environment of its own under .tools/go.

say() { printf '==> %s\n' "$*"; }

# Only the toolchain that is there, and only the modules that go.sum names: nothing is downloaded behind our back.
export GOTOOLCHAIN=local GOFLAGS="-mod=readonly -buildvcs=false -trimpath" GOWORK=off CGO_ENABLED=0

# pin_of NAME: one checksum over everything that decides what is built.
pin_of() {
  cat "tools/$1.sh" tools/go.sh "tools/$1/"* | sha256sum | cut -d' ' -f1
}

new_enough() { # GO NEEDED
  local have
  have="$("$1" env GOVERSION 2>/dev/null)" || return 1
  [ "$(printf '%s\n%s\n' "go$2" "$have" | sort --version-sort | head -n 1)" = "go$2" ]
}

# go_for NAME: sets `go` to a toolchain that is new enough for tools/NAME/go.mod.
go_for() {
  local needed
  needed="$(awk '$1 == "go" {print $2}' "tools/$1/go.mod")"
  go="$(command -v go || true)"
  if [ -n "$go" ] && new_enough "$go" "$needed"; then return; fi
  if [ ! -x .tools/go/bin/python ] || [ "$(cat .tools/go/pin 2>/dev/null)" != "$(sha256sum <tools/go.txt)" ]; then
    say "$1: no Go of $needed or later here; installing a pinned toolchain into .tools/go (280 MB, under a minute)"
    rm -rf .tools/go
    .tools/uv/bin/uv venv --quiet --python "$(cat .tools/uv/python)" .tools/go
    [ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}"
    .tools/uv/bin/uv pip sync --quiet --python .tools/go --require-hashes --only-binary :all: tools/go.txt
    sha256sum <tools/go.txt >.tools/go/pin
  fi
  go="$PWD/.tools/go/bin/go"
}

# progress: folds what `go build -v` says into one line every half minute; a complaint goes through as it is.
progress() {
  local line status
  local -i modules=0 packages=0 began=$SECONDS said=$SECONDS
  while :; do
    status=0
    IFS= read -r -t 5 line || status=$?
    if [ "$status" -eq 0 ]; then
      case "$line" in
        "go: downloading "*) modules+=1 ;;
        *[!A-Za-z0-9._/~@-]*) printf '%s\n' "$line" >&2 ;;
        *) packages+=1 ;;
      esac
    elif [ "$status" -le 128 ]; then # the end; more than 128 is five seconds without a word
      return
    fi
    if [ $((SECONDS - said)) -ge 30 ]; then
      said=$SECONDS
      printf '    %d s: %d modules fetched, %d packages compiled\n' $((SECONDS - began)) $modules $packages
    fi
  done
}
