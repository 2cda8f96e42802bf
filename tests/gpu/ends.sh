#!/bin/bash
# Programs that end in every way on this machine's GPU, and tracing started and stopped from outside (ends_test.py).
#   tests/gpu/ends.sh [CUPTI-LIBRARY [HOW...]]    default: build/cupti's library, all ways
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
OUT=build/gpu-test
mkdir -p "$OUT"
NVCC=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$NVCC" ] || NVCC=build/cuda/bin/nvcc
[ -x "$NVCC" ] || fail "no nvcc: tools/get-cuda.sh nvcc build/cuda gets one"
"$NVCC" -arch=native -std=c++17 -o "$OUT/ends" tests/gpu/programs/ends.cu
python3 tests/gpu/ends_test.py build "$OUT" "$(realpath "${1:-build/cupti/libcupti.so.13}")" "${@:2}"
