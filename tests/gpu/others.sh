#!/bin/bash
# PyTorch's profiler before, during and after cuspan, in each mode of cupti.others; Nsight's tools and JAX if installed.
#   tests/gpu/others.sh [CASE...]
# Needs a build (build/), PyTorch, and a CUPTI of 13.3 or later in build/cupti, which is fetched if missing. Prints a
# line for each check and a summary; logs are in build/others-test (or $OUT). Takes three to five minutes.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
LOGS=${OUT:-build/others-test}
[ -e build/libcuspan-share.so ] || fail "no build: cmake --preset release && cmake --build build"
[ -e build/cupti/libcupti.so.13 ] || tools/get-cuda.sh cupti build/cupti || fail "no CUPTI, and none to be had from PyPI"
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || fail "python3 has no PyTorch, or PyTorch finds no GPU"
python3 tests/gpu/others.py build "$LOGS" "$@"
