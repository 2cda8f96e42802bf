#!/bin/bash
# Runs examples/demo.sh twice, from another directory. It must end with the link of a trace that it found in Jaeger, and
# the second run must find everything built. A Jaeger that only this test started is stopped again.
set -u
# shellcheck source=../../../tools/lib.sh
. "$(dirname "$0")/../../../tools/lib.sh"
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT
mkdir "$OUT/here" && cd "$OUT/here" || exit

was_there=''
jaeger_answers http://localhost:16686 http://localhost:4318 && was_there=1

run_demo() {
    "$ROOT/examples/demo.sh" --replay >"$OUT/demo.out" 2>&1 || { cat "$OUT/demo.out"; echo "FAILED: the demo: $1"; return 1; }
    cat "$OUT/demo.out"
    if otlp_answers http://localhost:4318 && ! answers http://localhost:16686/api/v3/services; then
        grep -q 'The Collector on port 4318 accepted trace' "$OUT/demo.out"
    else
        grep -q 'Jaeger has all' "$OUT/demo.out" &&
            grep -qE 'This trace in Jaeger: http://localhost:16686/(trace|api/v3/traces)/[0-9a-f]{32}' "$OUT/demo.out"
    fi || { echo "FAILED: no trace shown: $1"; return 1; }
}

status=0
run_demo "first run" || status=1
run_demo "second run" || status=1
tail -n 1 "$ROOT/build/log/build-release.log" | grep -q 'no work to do' || { echo "FAILED: the second run compiled something"; status=1; }
rmdir "$OUT/here" || { echo "FAILED: the demo wrote into the current directory"; status=1; }
[ -n "$was_there" ] || "$ROOT/examples/demo.sh" --stop || status=1
exit $status
