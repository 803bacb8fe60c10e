#!/usr/bin/env bash
# Installs Slurm, munge and two Lua interpreters from Debian's packages, in the versions of tools/slurm.txt, so that tests
# can start a cluster of their own (tools/servers/slurm.py). Called by make; when they are there it ends at once.
# EBBTIDE_WITHOUT_SLURM=1 goes without: tests that need Slurm are skipped then, and say so.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$1" >&2
  printf '  %s\n' "${@:2}" "EBBTIDE_WITHOUT_SLURM=1 make test runs every test but those of Slurm." >&2
  exit 2
}

[ -z "${EBBTIDE_WITHOUT_SLURM:-}" ] || { say "slurm: EBBTIDE_WITHOUT_SLURM is set, going without"; exit 0; }

wanted=()
while read -r package version; do
  case "$package" in '' | '#'*) continue ;; esac
  # shellcheck disable=SC2254 # the version is a pattern
  case "$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$package" 2>/dev/null || true)" in
  "installed "$version) ;;
  *) wanted+=("$package=$version") ;;
  esac
done <tools/slurm.txt
[ ${#wanted[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
  fail "the tests of Slurm need Debian's packages, and this system has no apt-get" \
    "Use a Debian 12 machine or container; tools/slurm.txt lists the packages."

names="${wanted[*]%%=*}"
root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "the tests of Slurm need Debian's packages $names; installing them needs root, and there is no sudo" \
    "Run tools/slurm.sh once as root; it does nothing else."
  root=(sudo)
fi

say "slurm: installing $names from Debian's archive (4 MB, a quarter of a minute${root:+, with sudo})"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
[ ${#root[@]} -eq 0 ] || sudo true || fail "the tests of Slurm need those packages, and sudo did not let $(id -un) install them" \
  "Run tools/slurm.sh once as root; it does nothing else."
install() {
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends --no-remove \
    "${wanted[@]}" >"$log" 2>&1
}
# The list of packages may be missing or older than the archive: it is fetched once then.
install || { "${root[@]}" apt-get update -q >/dev/null 2>&1 || true; install; } || {
  tail -n 5 "$log" >&2
  fail "Debian's archive did not give these packages in these versions" \
    "This system is: $(. /etc/os-release 2>/dev/null && printf '%s' "${PRETTY_NAME:-unknown}"); tools/slurm.txt is written for Debian 12." \
    "Of slurmctld it offers: $(apt-cache policy slurmctld 2>/dev/null | awk '/Candidate/ {print $2}')"
}
say "slurm: $(/usr/sbin/slurmctld -V)"
