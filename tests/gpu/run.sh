#!/bin/bash
# The examples on this machine's GPU, under the agent.  tests/gpu/run.sh [CUPTI-LIBRARY...]
# Without arguments: with the CUPTI that ships with cuspan (build/cupti), the toolkit's, and those in build/cupti-*/.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
OUT=build/gpu-test
mkdir -p "$OUT"

find_nvcc() {
    local candidate
    for candidate in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc build/cuda/bin/nvcc; do
        if [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    tools/get-cuda.sh nvcc build/cuda >&2 && echo build/cuda/bin/nvcc
}

NVCC=$(find_nvcc) || fail "no nvcc, and none to be had from PyPI"
for example in vector_add threads graph; do
    "$NVCC" -arch=native -o "$OUT/$example" "examples/$example.cu"
done
cc -shared -fPIC -O2 -o "$OUT/counter.so" tests/gpu/counter.c -ldl

LIBRARIES=("$@")
if [ $# -eq 0 ]; then
    tools/get-cuda.sh cupti build/cupti || say "could not fetch CUPTI: with what is here"
    for library in build/cupti/libcupti.so.1[23] build/cupti-*/libcupti.so.1[23] /usr/local/cuda/extras/CUPTI/lib64/libcupti.so; do
        [ ! -e "$library" ] || LIBRARIES+=("$(realpath "$library")")
    done
fi
[ ${#LIBRARIES[@]} -gt 0 ] || fail "no CUPTI anywhere"
python3 tests/gpu/gpu_test.py build "$OUT" "$PWD/$OUT/counter.so" "${LIBRARIES[@]}" -- \
    "$OUT/vector_add" "$OUT/threads" "$OUT/graph"
