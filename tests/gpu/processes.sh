#!/bin/bash
# Several processes, GPUs and threads on this machine's GPUs, with the agent (processes_test.py lists the checks).
#   tests/gpu/processes.sh OUT-DIR BUILD-DIR [CASE...]    all cases, or the named ones
#   tests/gpu/processes.sh --make BUILD-DIR               only builds the programs in BUILD-DIR/gpu, for a machine
# without nvcc
# BUILD-DIR has libcuspan.so, libcuspan-export.so and cuspan. With one GPU both processes use it, and cases that need
# two are skipped. The cases in Python run with $PYTHON (python3), and are skipped without PyTorch.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
[ $# -ge 2 ] || fail "usage: processes.sh OUT-DIR BUILD-DIR [CASE...] | processes.sh --make BUILD-DIR"
OUT=$1
BUILD=$(realpath "$2")
shift 2
read -ra PROGRAMS <<<"${PROGRAMS:-peer graph_requests requests}"

find_nvcc() {
    local candidate
    for candidate in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc "$ROOT/build/cuda/bin/nvcc" "$BUILD/cuda/bin/nvcc"; do
        if [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    [ "${1:-}" != --fetch ] || { "$ROOT/tools/get-cuda.sh" nvcc "$BUILD/cuda" >&2 && echo "$BUILD/cuda/bin/nvcc"; }
}

# Code for each GPU that CUDA 13 knows from Turing on, and for later ones.
make_programs() {
    local program
    mkdir -p "$BUILD/gpu"
    for program in "${PROGRAMS[@]}"; do
        "$1" -arch=all-major -std=c++17 -I"$ROOT/include" -o "$BUILD/gpu/$program" "$ROOT/tests/gpu/programs/$program.cu"
    done
}

if [ "$OUT" = --make ]; then
    NVCC=$(find_nvcc --fetch) || fail "no nvcc, and none to be had from PyPI"
    make_programs "$NVCC"
    exit
fi
NVCC=$(find_nvcc) || NVCC=
if [ -n "$NVCC" ]; then
    make_programs "$NVCC" || say "nvcc fails: with the programs that lie in $BUILD/gpu, if any"
fi
mkdir -p "$OUT"
"${PYTHON:-python3}" "$ROOT/tests/gpu/processes_test.py" "$OUT" "$BUILD" "$BUILD/gpu" "$@" 2>&1 | tee "$OUT/log"
exit "${PIPESTATUS[0]}"
