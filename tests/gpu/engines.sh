#!/bin/bash
# Serving engines on this machine's GPU: transformers' continuous batching, eager, with graphs and asynchronous, with every iteration
# recorded and with one in 64. Also writes a recording (engine.cuspanrec).
#   tests/gpu/engines.sh OUTDIR [CUPTI-LIBRARY]    about three minutes
# Needs build/cuspan, build/python.zip and python3 with PyTorch and transformers 5.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
OUT=$1
mkdir -p "$OUT"
CUPTI=${2:-$PWD/build/cupti/libcupti.so.13}
python3 -c 'import torch, transformers; assert torch.cuda.is_available()' 2>/dev/null || fail "python3 has no PyTorch or no transformers, or finds no GPU"
STATUS=0

# name, size, requests, prompt, generated, ratio
serve() {
    local name=$1 ratio=$6 options=()
    [ "$ratio" = 1 ] && options=(--all)
    rm -f "$OUT/$name.jsonl"
    PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} build/cuspan run --set "cupti.library=$CUPTI" --set "engine.ratio=$ratio" --set "accounts_file=$OUT/$name.accounts" --set exit_deadline_ms=60000 \
        --file "$OUT/$name.jsonl" -- python3 tests/gpu/programs/transformers_serve.py "$2" "$3" "$4" "$5" "$OUT/$name.json" >"$OUT/$name.txt" 2>&1 ||
        { say "$name: the program failed: $(tail -3 "$OUT/$name.txt")"; STATUS=1; return; }
    tail -1 "$OUT/$name.txt"
    python3 tests/gpu/engines_check.py "$OUT/$name.jsonl" "$OUT/$name.json" "${options[@]}" || STATUS=1
}

serve all tiny 50 100 30 1
serve most 1b 256 200 40 1
serve some 1b 256 200 40 0.015625
ENGINE_OPTIONS=use_cuda_graph serve graphs 1b 64 100 30 1
ENGINE_OPTIONS=use_async_batching serve async 1b 64 100 30 1
PYTHONPATH=$PWD/python build/cuspan run --set "cupti.library=$CUPTI" --set "record_file=$OUT/engine.cuspanrec" --set engine.ratio=1 -- \
    python3 tests/gpu/programs/transformers_serve.py tiny 12 60 8 "$OUT/engine.json" >"$OUT/engine.txt" 2>&1 || STATUS=1
exit $STATUS
