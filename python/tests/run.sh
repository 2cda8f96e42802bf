#!/bin/bash
# Tests of python/: builds its wheel, installs it with OpenTelemetry and uvloop, and runs the tests with a stub agent.
#   python/tests/run.sh [--mutants]     --mutants: also checks that the tests notice a broken package
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"

# The packages of the instrumentation require one version of the SDK.
python_with opentelemetry-sdk==1.45.1 opentelemetry-distro==0.66b1 opentelemetry-instrumentation-threading==0.66b1 \
    uvloop==0.23.0 anyio==4.16.0 hypothesis==6.170.17 grpcio==1.85.3 || fail "could not get OpenTelemetry from PyPI"

WORK=$ROOT/build/python-tests
rm -rf "$WORK" && mkdir -p "$WORK"
cp -r "$ROOT/python" "$WORK/source" # building leaves files there
"$PYTHON" -m pip wheel -q --disable-pip-version-check --no-deps -w "$WORK" "$WORK/source"
"$PYTHON" -m pip install -q --disable-pip-version-check --no-deps --target "$WORK/site" "$WORK"/cuspan-*.whl

cd "$WORK"
export PYTHONPATH=$WORK/site:$ROOT/python PYTHONDONTWRITEBYTECODE=1
if [ "${1:-}" = --mutants ]; then
    "$PYTHON" -m tests.mutants
fi
"$PYTHON" -m tests
