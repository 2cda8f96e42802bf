#!/bin/bash
# A training job's spans through OpenTelemetry Collectors with tail sampling: whole steps are kept, or nothing of them.
#   tests/e2e/job.sh [--balanced] [BUILD-DIR]
#     --balanced: two of these Collectors, behind one that balances by trace ID (tools/get-collector.sh builds it, which takes
#     four minutes of CPU time the first time). Without it, Jaeger's binary is the only Collector.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
[ "${1:-}" != --balanced ] || { BALANCED=1 && shift; }
BUILD=$(realpath "${1:-$ROOT/build}")

if [ -n "${BALANCED:-}" ]; then
    COLLECTOR=$("$ROOT/tools/get-collector.sh")
    COLLECTORS=("$COLLECTOR" "$COLLECTOR")
else
    jaeger_binary || fail "the test needs a Jaeger"
    COLLECTORS=("$JAEGER")
fi
OUT=$(mktemp -d "${TMPDIR:-/tmp}/cuspan-job.XXXXXX")
export PYTHONDONTWRITEBYTECODE=1
# Keep the logs if something failed.
if python3 "$ROOT/tests/e2e/job_test.py" "$BUILD" "$OUT" "${COLLECTORS[@]}"; then
    rm -rf "$OUT"
else
    echo "logs of the Collectors: $OUT"
    exit 1
fi
