#!/bin/bash
# Checks the Dockerfiles, the compose files and the Collector configurations without an engine.
set -eu
# shellcheck source=../../../tools/lib.sh
. "$(dirname "$0")/../../../tools/lib.sh"
# shellcheck source=../../containers/engine.sh
. "$ROOT/tests/containers/engine.sh"
cd "$ROOT"

# check_collector CONFIGURATION BREAK: it is accepted, and with an error inserted it is rejected.
check_collector() {
    local broken
    "$JAEGER" validate --config "$1"
    broken=$(mktemp)
    sed "$2" "$1" >"$broken"
    if cmp -s "$1" "$broken" || "$JAEGER" validate --config "$broken" >/dev/null 2>&1; then
        rm "$broken"
        fail "a Collector accepts a broken $1: the check above says nothing"
    fi
    rm "$broken"
    echo "a Collector accepts $1"
}

check_files() {
    local file
    python_with pyyaml==6.0.4 || fail "could not get PyYAML from PyPI"
    "$PYTHON" tests/integration/project/docker_files.py
    jaeger_binary || fail "the Collector's configuration is checked by Jaeger's binary"
    check_collector docker/collector.yaml 's/otlphttp, debug/otlphttp, nowhere/'
    check_collector examples/service/collector.yaml 's/exporters: \[otlphttp\]/exporters: [nowhere]/'
    check_collector examples/training/sample.yaml 's/exporters: \[otlphttp\]/exporters: [nowhere]/'
    if find_compose --present; then
        for file in docker/compose.yaml examples/service/compose.yaml deploy/fleet/compose.yaml deploy/fleet/node.compose.yaml; do
            "${COMPOSE[@]}" -f "$file" --profile gpu config >/dev/null
            echo "Docker Compose accepts $file"
        done
    fi
}

check_files
