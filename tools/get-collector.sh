#!/bin/bash
# Prints the path of an OpenTelemetry Collector with what training jobs, deploy/fleet and deploy/alerts need: the receivers for OTLP and
# Kafka, the exporters OTLP, Kafka, ClickHouse, file, Prometheus and load balancing, filters, counts, tail sampling, a queue on
# disk and the health check.
# All of them are in the distribution `contrib`. Builds it from its Go modules first if the user has none yet (about four
# minutes of CPU time). It is kept in ~/.cache/cuspan (or $CUSPAN_CACHE), once per user.
#   tools/get-collector.sh [--present]     --present: only if it is there already, else exit status 1
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

VERSION=v0.161.0
VERSION_STABLE=v1.67.0 # of the modules whose API is stable, released together
GO_VERSION_MIN=1.26.0 # the modules require it
GO_VERSION_USED=1.26.8
FOLDER=$CACHE/collector
CORE=go.opentelemetry.io/collector CONTRIB=github.com/open-telemetry/opentelemetry-collector-contrib

# The list of its parts, for the builder that the official distributions use.
components() {
    cat <<END
receivers:
  - {gomod: $CORE/receiver/otlpreceiver $VERSION}
  - {gomod: $CONTRIB/receiver/kafkareceiver $VERSION}
processors:
  - {gomod: $CORE/processor/memorylimiterprocessor $VERSION}
  - {gomod: $CORE/processor/batchprocessor $VERSION}
  - {gomod: $CONTRIB/processor/filterprocessor $VERSION}
  - {gomod: $CONTRIB/processor/tailsamplingprocessor $VERSION}
exporters:
  - {gomod: $CORE/exporter/debugexporter $VERSION}
  - {gomod: $CORE/exporter/otlpexporter $VERSION}
  - {gomod: $CORE/exporter/otlphttpexporter $VERSION}
  - {gomod: $CONTRIB/exporter/clickhouseexporter $VERSION}
  - {gomod: $CONTRIB/exporter/fileexporter $VERSION}
  - {gomod: $CONTRIB/exporter/kafkaexporter $VERSION}
  - {gomod: $CONTRIB/exporter/loadbalancingexporter $VERSION}
  - {gomod: $CONTRIB/exporter/prometheusexporter $VERSION}
connectors:
  - {gomod: $CONTRIB/connector/countconnector $VERSION}
extensions:
  - {gomod: $CONTRIB/extension/healthcheckextension $VERSION}
  - {gomod: $CONTRIB/extension/storage/filestorage $VERSION}
providers:
  - {gomod: $CORE/confmap/provider/envprovider $VERSION_STABLE}
  - {gomod: $CORE/confmap/provider/fileprovider $VERSION_STABLE}
# Go's proxy refuses the archives of these modules in the versions that the others ask for.
replaces:
  - $CONTRIB/pkg/kafka/configkafka => $CONTRIB/pkg/kafka/configkafka v0.155.0
  - $CONTRIB/pkg/kafka/topic => $CONTRIB/pkg/kafka/topic v0.155.0
  - github.com/aws/aws-sdk-go-v2/service/servicediscovery => github.com/aws/aws-sdk-go-v2/service/servicediscovery v1.40.2
END
}
BINARY=$FOLDER/collector-$VERSION-$(components | sha256sum | cut -c1-12)

build_collector() {
    export CGO_ENABLED=0
    find_go "$1" "$GO_VERSION_MIN" || fail "no Go $GO_VERSION_MIN: install it (go.dev/dl) and run this again"
    note "building a Collector $VERSION from its Go modules, once for this user"
    {
        echo "dist: {module: cuspan.test/collector, name: collector, version: ${VERSION#v}, output_path: $1/collector, go: $GO}"
        components
    } >"$1/builder.yaml"
    (cd "$1" && "$GO" run "$CORE/cmd/builder@$VERSION" --config builder.yaml >&2) ||
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
