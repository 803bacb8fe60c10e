#!/usr/bin/env bash
# Builds etcd, the Kubernetes control plane, kubectl and kwok as one binary, .tools/bin/kubernetes with a link for each
# name, from tools/kubernetes/main.go and the pins beside it; go.sum there holds the checksums of every module.
# Called by make; a second run with the same pins ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/go.sh

parts=(etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok)
pin="$(pin_of kubernetes)"
[ "$(cat .tools/bin/kubernetes.pin 2>/dev/null)" = "$pin" ] && .tools/bin/kubectl version --client >/dev/null 2>&1 && exit 0
go_for kubernetes

# Unstamped, Kubernetes believes that it is version 0.0 and switches features by that.
version="$(awk '$1 == "k8s.io/kubernetes" {print $2}' tools/kubernetes/go.mod)"
IFS=. read -r major minor _ <<<"${version#v}"
stamp="k8s.io/component-base/version"
stamps="-X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor -X $stamp.gitTreeState=clean"
stamps+=" -X $stamp.gitCommit=module-$version -X $stamp.buildDate=1970-01-01T00:00:00Z"

say "kubernetes: building the $version control plane from its pinned modules with $("$go" env GOVERSION) into .tools/bin"
say "kubernetes: one binary of 140 MB; about seven minutes on two cores when nothing is cached (3 GB of cache)"
mkdir -p .tools/bin
(cd tools/kubernetes && nice -n 10 "$go" build -v -tags selinux,notest,grpcnotrace -ldflags="-s -w $stamps" -o ../../.tools/bin/kubernetes .) 2>&1 | progress
for part in "${parts[@]}"; do ln -sf kubernetes ".tools/bin/$part"; done
.tools/bin/kubectl version --client
printf '%s\n' "$pin" >.tools/bin/kubernetes.pin
