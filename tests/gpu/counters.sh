#!/bin/bash
# Hardware counters on this machine's GPU, with kernels of known bytes and operations. Needs permission to count
# (docs/counters.md).
#   tests/gpu/counters.sh [CUPTI-LIBRARY...]
# Without arguments: the CUPTI that ships with cuspan (build/cupti).
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
OUT=build/gpu-test
mkdir -p "$OUT"
if [ $# -eq 0 ]; then
    tools/get-cuda.sh cupti build/cupti || say "could not fetch CUPTI: with what is here"
    ours=build/cupti/libcupti.so.13
    [ -e "$ours" ] || ours=build/cupti/libcupti.so.12
    set -- "$PWD/$ours"
fi
NVCC=$(command -v nvcc || echo build/cuda/bin/nvcc)
if [ -x "$NVCC" ]; then
    "$NVCC" -arch=native -std=c++17 -Iinclude -o "$OUT/counters" tests/gpu/programs/counters.cu
elif [ ! -x "$OUT/counters" ]; then
    fail "no nvcc: tools/get-cuda.sh nvcc build/cuda gets one"
fi
STATUS=0
for library in "$@"; do
    say "with $library"
    python3 tests/gpu/counters_test.py build "$OUT" "$OUT/counters" "$library" || STATUS=1
done
exit $STATUS
