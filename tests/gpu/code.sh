#!/bin/bash
# Stacks of launches in the callbacks of the real CUPTI: PyTorch, its compiler, graphs, Triton, JAX, CuPy, Numba, C++.
#   tests/gpu/code.sh OUTDIR [CUPTI-LIBRARY [CASE...]]    at most 150 s; OUTDIR gets the spans and tables of each case
#   tests/gpu/code.sh --make                              only builds build/gpu/stack_calls, for a machine without nvcc
# What is checked: code_test.py. Needs build/cuspan and python3 with PyTorch; what else is missing is skipped, and named.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
[ $# -ge 1 ] || fail "usage: tests/gpu/code.sh OUTDIR [CUPTI-LIBRARY [CASE...]] | --make"
NVCC=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$NVCC" ] || NVCC=build/cuda/bin/nvcc
mkdir -p build/gpu
if [ -x "$NVCC" ]; then
    "$NVCC" -arch="${CUDA_ARCH:-native}" -std=c++17 -O2 -lineinfo -o build/gpu/stack_calls tests/gpu/programs/stack_calls.cu
elif [ ! -x build/gpu/stack_calls ]; then
    fail "no nvcc: tools/get-cuda.sh nvcc build/cuda gets one"
fi
[ "$1" != --make ] || exit 0
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || fail "python3 has no PyTorch, or PyTorch finds no GPU"
[ -x build/cuspan ] || fail "no build/cuspan: build it first"
OUT=$1
shift
CUPTI=${1:-build/cupti/libcupti.so.13}
[ $# -eq 0 ] || shift
python3 tests/gpu/code_test.py build "$OUT" "$(realpath "$CUPTI")" "$@"
