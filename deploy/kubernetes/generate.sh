#!/bin/bash
# Writes the version of CMakeLists.txt into the chart, and renders the chart with its defaults into manifests/.
#   deploy/kubernetes/generate.sh [--check]     --check: changes nothing, and fails if a file is out of date
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT/deploy/kubernetes"

# render VERSION CHART [OPTION...]: for a Kubernetes of this version.
render() {
    echo "# Written by deploy/kubernetes/generate.sh from the chart. Replace REGISTRY and BACKEND before you apply it."
    "$HELM" template cuspan "$2" --namespace cuspan --kube-version "$1" --set namespace.create=true "${@:3}" |
        grep -v '^# Source: '
}

# generate FOLDER: the chart and the manifests in this folder.
generate() {
    local version
    version=$(sed -nE 's/^project\(cuspan VERSION ([0-9.]+).*/\1/p' "$ROOT/CMakeLists.txt")
    [ -n "$version" ] || fail "CMakeLists.txt has no line 'project(cuspan VERSION ...'"
    sed -i -E "s/^version: .*/version: $version/; s/^appVersion: .*/appVersion: \"$version\"/" "$1/chart/Chart.yaml"
    render 1.36.0 "$1/chart" >"$1/manifests/cuspan.yaml"
    render 1.36.0 "$1/chart" --set inject.delivery=init >"$1/manifests/cuspan-init.yaml"
    render 1.34.0 "$1/chart" >"$1/manifests/cuspan-1.34.yaml"
}

main() {
    local work
    HELM=$("$ROOT/tools/get-kubernetes.sh" helm) || fail "there is no Helm; see above"
    mkdir -p manifests
    if [ "${1:-}" != --check ]; then
        generate .
        return
    fi
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder as it is now
    trap "rm -rf '$work'" EXIT
    cp -r chart manifests "$work"
    generate "$work"
    { diff -ru chart "$work/chart" && diff -ru manifests "$work/manifests"; } ||
        fail "deploy/kubernetes is out of date: run deploy/kubernetes/generate.sh and commit its files"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
