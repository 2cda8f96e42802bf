#!/bin/bash
# Is what stands in docker/ right?
#   tests/integration/project/docker_check.sh files     as far as it can be said without an engine
#   tests/integration/project/docker_check.sh engine    builds the images and runs the stack; skipped (77) without an engine
set -eu
# shellcheck source=../../../tools/lib.sh
. "$(dirname "$0")/../../../tools/lib.sh"
cd "$ROOT"

compose_command() {
    if docker compose version >/dev/null 2>&1; then
        echo docker compose
    elif have docker-compose; then
        echo docker-compose
    fi
}

# check_collector CONFIGURATION BREAK: it is accepted, and once more with an error in it is not.
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
    local compose file
    python_with pyyaml || fail "could not get PyYAML from PyPI"
    "$PYTHON" tests/integration/project/docker_files.py
    jaeger_binary || fail "the Collector's configuration is checked by Jaeger's binary"
    check_collector docker/collector.yaml 's/otlphttp, debug/otlphttp, nowhere/'
    check_collector examples/service/collector.yaml 's/exporters: \[otlphttp\]/exporters: [nowhere]/'
    compose=$(compose_command)
    if [ -n "$compose" ]; then
        for file in docker/compose.yaml examples/service/compose.yaml; do
            $compose -f "$file" --profile gpu config >/dev/null
            echo "$compose reads $file"
        done
    fi
}

has_trace() {
    curl -fsS --max-time 5 "http://localhost:16686/api/v3/services" 2>/dev/null | grep -q cuspan-demo
}

check_engine() {
    local compose
    compose=$(compose_command)
    if ! have docker || ! timeout 10 docker info >/dev/null 2>&1 || [ -z "$compose" ]; then
        echo "skipped: no Docker engine (with compose) answers here"
        return 77
    fi
    if answers http://localhost:16686/ || otlp_answers http://localhost:4318; then
        echo "skipped: port 16686 or 4318 is in use by another Jaeger or Collector"
        return 77
    fi
    trap '$compose -f docker/compose.yaml down --volumes --timeout 5' EXIT
    $compose -f docker/compose.yaml up --build --detach
    wait_until 120 has_trace || fail "no trace of cuspan-demo in Jaeger after two minutes"
    echo "the stack runs and Jaeger has the trace"
}

case ${1:-} in
files) check_files ;;
engine) check_engine ;;
*) fail "usage: docker_check.sh files | engine" ;;
esac
