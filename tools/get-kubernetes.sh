#!/bin/bash
# Prints the paths of programs of Kubernetes, one per line. Builds those that are missing from their Go modules first;
# a kube-apiserver takes about six minutes on two cores. They are kept in ~/.cache/cuspan (or $CUSPAN_CACHE), once per
# user.
#   tools/get-kubernetes.sh [--present] PROGRAM...
#     PROGRAM: kube-apiserver-1.34 to kube-apiserver-1.37, kubectl, etcd, helm, and collector: an OpenTelemetry Collector
#     with the components that deploy/kubernetes uses
#     --present: only if all of them are there already, else exit status 1
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

GO_VERSION_MIN=1.26.0 # the modules require it
GO_VERSION_USED=1.26.8
FOLDER=$CACHE/kubernetes

# module_of PROGRAM: prints its module, version and package.
module_of() {
    case $1 in
    kube-apiserver-1.34) echo "k8s.io/kubernetes v1.34.4 ./cmd/kube-apiserver" ;;
    kube-apiserver-1.35) echo "k8s.io/kubernetes v1.35.4 ./cmd/kube-apiserver" ;;
    kube-apiserver-1.36) echo "k8s.io/kubernetes v1.36.3 ./cmd/kube-apiserver" ;;
    kube-apiserver-1.37) echo "k8s.io/kubernetes v1.37.2 ./cmd/kube-apiserver" ;;
    kubectl) echo "k8s.io/kubernetes v1.36.3 ./cmd/kubectl" ;;
    etcd) echo "go.etcd.io/etcd/server/v3 v3.6.16 ." ;;
    helm) echo "helm.sh/helm/v4 v4.3.1 ./cmd/helm" ;;
    collector) echo "go.opentelemetry.io/collector v0.159.0 ./collector" ;;
    *) fail "get-kubernetes.sh: unknown program: $1" ;;
    esac
}

# path_of PROGRAM: the version is part of the name, so a new one is built when it changes here.
path_of() {
    local module version package
    read -r module version package <<<"$(module_of "$1")"
    echo "$FOLDER/$(basename "$package" | sed "s/^\.$/etcd/")-$version"
}

# release_modules VERSION: makes go.mod in this folder usable outside its repository. It replaces modules by folders
# that are not part of the module; they are published as modules of their own.
release_modules() {
    sed -i -E "s|=> \./staging/src/([^ ]+)\$|=> \1 v0.${1#v1.}|; \#=> \.\./#d" go.mod
    rm -rf vendor go.work go.work.sum
}

# build_one WORK PROGRAM
build_one() {
    local work=$1 module version package dir flags='-s -w' name=k8s.io/component-base/version.git
    read -r module version package <<<"$(module_of "$2")"
    note "building $2 $version from its Go module, once for this user"
    dir=$(cd "$work" && "$GO" mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
    [ -n "$dir" ] || fail "cannot download $module@$version; check the network and run this again"
    # `go install` does not build it: replace directives count only in the main module, so it is built from a copy.
    [ -d "$work/$module@$version" ] || {
        mkdir -p "$work/$module@$version"
        cp -r "$dir/." "$work/$module@$version"
        (cd "$work/$module@$version" && release_modules "$version")
    }
    [ "$module" != k8s.io/kubernetes ] || # the server checks its own version
        flags+=" -X ${name}Version=$version -X ${name}Major=1 -X ${name}Minor=$(cut -d. -f2 <<<"$version")"
    cd "$work/$module@$version" || return 1
    # It is a relative path in a module; -mod=mod completes go.sum, and the checksum database verifies it.
    "$GO" build -mod=mod -trimpath -ldflags "$flags" -o "$work/program" "$package" >&2 ||
        fail "cannot build $module@$version"
    mv "$work/program" "$(path_of "$2")"
}

# build_collector WORK: with the builder that the official distributions use.
build_collector() {
    local core=go.opentelemetry.io/collector contrib=github.com/open-telemetry/opentelemetry-collector-contrib version
    version=$(module_of collector | cut -d' ' -f2)
    note "building a Collector $version from its Go modules, once for this user"
    cat >"$1/builder.yaml" <<END
dist: {module: cuspan.test/collector, name: collector, version: ${version#v}, output_path: $1/collector, go: $GO}
receivers: [{gomod: $core/receiver/otlpreceiver $version}]
processors:
  - {gomod: $core/processor/memorylimiterprocessor $version}
  - {gomod: $core/processor/batchprocessor $version}
  - {gomod: $contrib/processor/k8sattributesprocessor $version}
exporters: [{gomod: $core/exporter/otlphttpexporter $version}]
extensions: [{gomod: $contrib/extension/healthcheckextension $version}]
providers:
  - {gomod: $core/confmap/provider/envprovider v1.65.0}
  - {gomod: $core/confmap/provider/fileprovider v1.65.0}
END
    (cd "$1" && "$GO" run "$core/cmd/builder@$version" --config builder.yaml >&2) || fail "cannot build the Collector $version"
    mv "$1/collector/collector" "$(path_of collector)"
}

build_missing() (
    work=$(mktemp -d "$FOLDER/work.XXXXXX")
    # shellcheck disable=SC2064 # the folder as it is now
    trap "rm -rf '$work'" EXIT
    export CGO_ENABLED=0
    find_go "$work" "$GO_VERSION_MIN" || fail "no Go $GO_VERSION_MIN: install it (go.dev/dl) and run this again"
    for program; do
        if [ "$program" = collector ]; then
            build_collector "$work"
        else
            (build_one "$work" "$program")
        fi
    done
)

# missing PROGRAM...: leaves those that are not there in MISSING.
missing() {
    local program
    MISSING=()
    for program; do
        [ -x "$(path_of "$program")" ] || MISSING+=("$program")
    done
}

main() {
    local program present=''
    [ "${1:-}" != --present ] || { present=1 && shift; }
    [ $# -gt 0 ] || fail "usage: tools/get-kubernetes.sh [--present] PROGRAM..."
    for program; do
        module_of "$program" >/dev/null
    done
    missing "$@"
    if [ ${#MISSING[@]} -gt 0 ]; then
        [ -z "$present" ] || return 1
        mkdir -p "$FOLDER"
        # A second run waits here and then finds the programs.
        exec 9>"$FOLDER/lock"
        flock 9
        missing "$@"
        [ ${#MISSING[@]} -eq 0 ] || build_missing "${MISSING[@]}"
    fi
    for program; do
        path_of "$program"
    done
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
