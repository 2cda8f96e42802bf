#!/bin/bash
# End to end: sends every recording through the real agent to a real Jaeger, directly and through a Collector, reads it
# back and compares it with the recording. Then the links of serving engines, and metrics in Prometheus.
#   tests/e2e/run.sh [BUILD-DIR] [RECORDING...]
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
BUILD=${1:-$ROOT/build}
shift $(($# > 0))
RECORDINGS=("$@")
[ $# -gt 0 ] || RECORDINGS=("$ROOT"/examples/recordings/*.cuspanrec)
[ -e "${RECORDINGS[0]}" ] || fail "no recordings in examples/recordings"

jaeger_binary || fail "the end-to-end test needs a Jaeger"
PYTHON=$("$ROOT/tests/support/otlp_python.sh")
OUT=$(mktemp -d "${TMPDIR:-/tmp}/cuspan-e2e.XXXXXX")
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests/support
"$PYTHON" "$ROOT/tests/e2e/compare_test.py"
PROMETHEUS=$(command -v prometheus) || fail "the end-to-end test of metrics needs Prometheus: apt-get install prometheus"
# Keep the logs if something failed.
if "$PYTHON" "$ROOT/tests/e2e/e2e.py" "$JAEGER" "$BUILD" "$OUT" "${RECORDINGS[@]}" &&
    "$PYTHON" "$ROOT/tests/e2e/engines_test.py" "$JAEGER" "$BUILD" "$OUT" &&
    "$PYTHON" "$ROOT/tests/e2e/metrics_test.py" "$JAEGER" "$PROMETHEUS" "$BUILD" "$OUT"; then
    rm -rf "$OUT"
else
    echo "logs of Jaeger and the Collector: $OUT"
    exit 1
fi
