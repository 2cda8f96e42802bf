#!/bin/bash
# cuspan attach on this machine's GPUs (attach_test.py lists the checks).
#   tests/gpu/attach.sh OUT-DIR BUILD-DIR CUPTI-LIBRARY... [-- CASE...]    all cases, or the named ones
# Cases, with their limits in seconds: late (300 for each CUPTI; all others use the first one), threads (300), torch (300 for each
# mode), ddp (240), vllm (900). BUILD-DIR has libcuspan.so, libcuspan-export.so and cuspan, and, for a machine without nvcc,
# gpu/attach, which `PROGRAMS=attach tests/gpu/processes.sh --make BUILD-DIR` builds. The cases in Python run with $PYTHON
# (python3), and are skipped without PyTorch or vLLM; ddp needs two GPUs. COUNT (100 attaches, 20 in Python) and JOBS (4 programs
# at once) change their size. Each case leaves figures.json in OUT-DIR/CASE.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
[ $# -ge 3 ] || fail "usage: attach.sh OUT-DIR BUILD-DIR CUPTI-LIBRARY... [-- CASE...]"
mkdir -p "$1"
[ "$2/gpu/attach" -nt "$ROOT/tests/gpu/programs/attach.cu" ] || PROGRAMS=attach "$ROOT/tests/gpu/processes.sh" --make "$2" ||
    say "nvcc fails: with $2/gpu/attach, if it is there"
"${PYTHON:-python3}" "$ROOT/tests/gpu/attach_test.py" "$@" 2>&1 | tee "$1/log"
exit "${PIPESTATUS[0]}"
