#!/bin/bash
# Prints the path of an OpenTelemetry Collector with what a training job's traces need: the receiver for OTLP, the exporters
# loadbalancing, OTLP and file, and the processor tail_sampling. All of them are in the distribution `contrib`. Builds it
# from its Go modules first if the user has none yet (about ten minutes on two cores). It is kept in ~/.cache/cuspan (or
# $CUSPAN_CACHE), once per user.
#   tools/get-collector.sh [--present]     --present: only if it is there already, else exit status 1
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

VERSION=v0.159.0
GO_VERSION_MIN=1.26.0 # the modules require it
GO_VERSION_USED=1.26.8
FOLDER=$CACHE/collector
BINARY=$FOLDER/collector-jobs-$VERSION

# With the builder that the official distributions use.
build_collector() {
    local core=go.opentelemetry.io/collector contrib=github.com/open-telemetry/opentelemetry-collector-contrib
    export CGO_ENABLED=0
    find_go "$1" "$GO_VERSION_MIN" || fail "no Go $GO_VERSION_MIN: install it (go.dev/dl) and run this again"
    note "building a Collector $VERSION from its Go modules, once for this user"
    cat >"$1/builder.yaml" <<END
dist: {module: cuspan.test/collector, name: collector, version: ${VERSION#v}, output_path: $1/collector, go: $GO}
receivers: [{gomod: $core/receiver/otlpreceiver $VERSION}]
processors:
  - {gomod: $core/processor/memorylimiterprocessor $VERSION}
  - {gomod: $core/processor/batchprocessor $VERSION}
  - {gomod: $contrib/processor/tailsamplingprocessor $VERSION}
exporters:
  - {gomod: $core/exporter/otlpexporter $VERSION}
  - {gomod: $core/exporter/otlphttpexporter $VERSION}
  - {gomod: $contrib/exporter/loadbalancingexporter $VERSION}
  - {gomod: $contrib/exporter/fileexporter $VERSION}
providers:
  - {gomod: $core/confmap/provider/envprovider v1.65.0}
  - {gomod: $core/confmap/provider/fileprovider v1.65.0}
END
    (cd "$1" && "$GO" run "$core/cmd/builder@$VERSION" --config builder.yaml >&2) ||
        fail "cannot build the Collector $VERSION; check the network and run this again"
    mv "$1/collector/collector" "$BINARY"
}

main() {
    if [ "${1:-}" = --present ]; then
        [ -x "$BINARY" ] && echo "$BINARY"
        return
    fi
    mkdir -p "$FOLDER"
    # A second run waits here and then finds the program.
    exec 9>"$FOLDER/lock"
    flock 9
    [ -x "$BINARY" ] || (
        work=$(mktemp -d "$FOLDER/work.XXXXXX")
        # shellcheck disable=SC2064 # the folder as it is now
        trap "rm -rf '$work'" EXIT
        build_collector "$work"
    )
    echo "$BINARY"
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
