#!/bin/bash
# The kind of a graph's spans, and the cost of the first graph, on this machine's GPU (graphs_test.py).
#   tests/gpu/graphs.sh [CUPTI-LIBRARY [RUNS]]    default: build/cupti's library, 100 runs
# Needs build/libcuspan.so. CUDA_ARCH=sm_90 compiles the program on a machine without a GPU. Without nvcc, the script
# runs build/gpu-test/graph_kinds as it is. If OUT names a folder, the results are also copied there.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
RESULTS=${OUT:-}
OUT=build/gpu-test
mkdir -p "$OUT"
NVCC=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$NVCC" ] || NVCC=build/cuda/bin/nvcc
if [ -x "$NVCC" ]; then
    "$NVCC" -arch="${CUDA_ARCH:-native}" -std=c++17 -Iinclude -o "$OUT/graph_kinds" tests/gpu/programs/graph_kinds.cu
elif [ ! -x "$OUT/graph_kinds" ]; then
    fail "no nvcc: tools/get-cuda.sh nvcc build/cuda gets one"
fi
STATUS=0
python3 tests/gpu/graphs_test.py build "$OUT" "$(realpath "${1:-build/cupti/libcupti.so.13}")" "$OUT/graph_kinds" "${2:-100}" || STATUS=1
[ -z "$RESULTS" ] || cp "$OUT/graphs.json" "$RESULTS/"
exit $STATUS
