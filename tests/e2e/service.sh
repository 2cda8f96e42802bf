#!/bin/bash
# The service of examples/service, without a GPU: gateway and two workers, a Collector with tail sampling, Jaeger.
#   tests/e2e/service.sh [BUILD-DIR]
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=../../examples/service/prepare.sh
. "$ROOT/examples/service/prepare.sh"
BUILD=$(realpath "${1:-$ROOT/build}")

jaeger_binary || fail "the test needs a Jaeger"
service_python || fail "the test needs Python with OpenTelemetry"
cuspan_package || fail "the test needs cuspan's Python package"
OUT=$(mktemp -d "${TMPDIR:-/tmp}/cuspan-service.XXXXXX")
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$SITE:$ROOT/tests/support
"$PYTHON" "$ROOT/tests/gpu/service_check_test.py"
# Keep the logs if something failed.
if "$PYTHON" "$ROOT/tests/e2e/service_test.py" "$JAEGER" "$OUT" "$BUILD/libcuspan.so"; then
    rm -rf "$OUT"
else
    echo "logs: $OUT"
    exit 1
fi
