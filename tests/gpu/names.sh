#!/bin/bash
# Names of 3,000 kernels whose modules are unloaded, executions of a graph that threads share, and bodies of conditional
# nodes, on this machine's GPU with each CUPTI in build/cupti-*/ (names_test.py).
#   tests/gpu/names.sh
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
tests/gpu/cupti_behavior.sh build/gpu-test none # builds the programs
LIBRARIES=()
for library in build/cupti-*/libcupti.so.1[23]; do
    LIBRARIES+=("$(realpath "$library")")
done
exec python3 tests/gpu/names_test.py build build/gpu-test "${LIBRARIES[@]}"
