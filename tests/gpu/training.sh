#!/bin/bash
# Training jobs on two GPUs: the boundaries of steps in real loops with NCCL, and a planted late rank that `cuspan stat` must find.
#   tests/gpu/training.sh OUTDIR [CUPTI-LIBRARY]     at most 150 s; OUTDIR gets the spans, logs and tables of each case
# What is checked: training_test.py.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
[ $# -ge 1 ] || fail "usage: tests/gpu/training.sh OUTDIR [CUPTI-LIBRARY]"
python3 -c 'import torch; assert torch.cuda.device_count() > 1 and torch.distributed.is_nccl_available()' 2>/dev/null ||
    fail "python3 has no PyTorch with NCCL, or PyTorch finds fewer than two GPUs"
[ -x build/cuspan ] || fail "no build/cuspan: build it first"
mkdir -p "$1"
python3 tests/gpu/training_test.py build "$1" "$(realpath "${2:-build/cupti/libcupti.so.13}")"
