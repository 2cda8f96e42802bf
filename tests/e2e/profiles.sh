#!/bin/bash
# OTLP profiles through a real Collector (tools/get-collector.sh builds it, which takes four minutes of CPU time the
# first time).   tests/e2e/profiles.sh [BUILD-DIR]
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
BUILD=$(realpath "${1:-$ROOT/build}")
COLLECTOR=$("$ROOT/tools/get-collector.sh")
PYTHON=$("$ROOT/tests/support/otlp_python.sh")
export PYTHONDONTWRITEBYTECODE=1
COLLECTOR=$COLLECTOR exec "$PYTHON" "$ROOT/tests/e2e/profiles_test.py" --build "$BUILD"
