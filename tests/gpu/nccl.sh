#!/bin/bash
# Collectives of PyTorch with NCCL on this machine's GPUs: two ranks if there are two GPUs, otherwise one.
#   tests/gpu/nccl.sh OUTDIR [CUPTI-LIBRARY]     about two minutes; OUTDIR gets spans, recordings and nccl.json
# What is checked: nccl_test.py.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
[ $# -ge 1 ] || fail "usage: tests/gpu/nccl.sh OUTDIR [CUPTI-LIBRARY]"
python3 -c 'import torch; assert torch.cuda.is_available() and torch.distributed.is_nccl_available()' 2>/dev/null ||
    fail "python3 has no PyTorch with NCCL, or PyTorch finds no GPU"
[ -x build/cuspan ] || fail "no build/cuspan: build it first"
mkdir -p "$1"
python3 tests/gpu/nccl_test.py build "$1" "$(realpath "${2:-build/cupti/libcupti.so.13}")"
