#!/bin/bash
# OTLP profiles of a training step on this machine's GPU: every ns of the spans' GPU work is in them, at its stack.
#   tests/gpu/profiles.sh OUTDIR [CUPTI-LIBRARY]    at most 100 s; needs build/cuspan and python3 with PyTorch
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
[ $# -ge 1 ] || fail "usage: tests/gpu/profiles.sh OUTDIR [CUPTI-LIBRARY]"
python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || fail "python3 has no PyTorch, or PyTorch finds no GPU"
[ -x build/cuspan ] || fail "no build/cuspan: build it first"
mkdir -p "$1"
exec python3 tests/gpu/profiles_test.py build "$1" "$(realpath "${2:-build/cupti/libcupti.so.13}")"
