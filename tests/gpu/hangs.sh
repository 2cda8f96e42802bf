#!/bin/bash
# Planted hangs on real GPUs: `cuspan hang --json` must name rank, communicator, number, operation, bytes and line within 15 s of the
# fault. Two GPUs make a pair, and each pair runs jobs side by side.
#   tests/gpu/hangs.sh OUT BUILD CUPTI [FAULT...]     all ten faults (tests/gpu/hangs_check.py), five runs each: about 6 minutes, and with SIDE=10, 3
# OUT/hangs.json gets the figures, and OUT/FAULT-RUN the truth, the verdicts and the output of each run. Variables: PYTHON, RUNS (5),
# SIDE (5: jobs of a fault at once), LIMIT_S (540), HANGS_SET ("steps.traced=all": settings of the agent, separated by spaces),
# BACKEND (nccl). With gloo there is nothing to name; it shows without a GPU that the faults are hangs and that the runner works.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
[ $# -ge 3 ] || fail "usage: tests/gpu/hangs.sh OUT BUILD CUPTI [FAULT...]"
PYTHON=${PYTHON:-python3}
if [ "${BACKEND:-nccl}" = nccl ]; then
    "$PYTHON" -c 'import torch; assert torch.cuda.device_count() > 1 and torch.distributed.is_nccl_available()' 2>/dev/null ||
        fail "$PYTHON has no PyTorch with NCCL, or PyTorch finds fewer than two GPUs"
fi
[ -x "$2/cuspan" ] || fail "no $2/cuspan: build it first"
mkdir -p "$1"
exec "$PYTHON" "$ROOT/tests/gpu/hangs_test.py" "$@"
