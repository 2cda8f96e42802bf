#!/bin/bash
# Serving engines on this machine's GPU, held against what they say themselves.
#   tests/gpu/engines.sh OUTDIR [CUPTI-LIBRARY [CASE]]    without the last, all that can run
# transformers: continuous batching, eager, with graphs and asynchronous, with every iteration recorded and with one in 64, and a
# recording (engine.cuspanrec). vllm: as it starts by default, with CUDA graphs and asynchronous scheduling, likewise (vllm.cuspanrec).
# speculation: vLLM drafts tokens on the host, without asynchronous scheduling, and on the GPU, with it. metrics: those of vLLM equal its
# spans and what it says. planted: vLLM with a long prompt among decodes, with a thread that holds the interpreter lock, and with a KV cache that is too
# small; the first finding must name it. ranks: vLLM on two GPUs.
# Needs build/cuspan, build/python.zip and python3 with PyTorch and transformers 5, and vLLM for its cases.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
OUT=$1
mkdir -p "$OUT"
CUPTI=${2:-$PWD/build/cupti/libcupti.so.13}
ONLY=${3:-}
PROGRAMS=tests/gpu/programs/engines
export PYTHONPATH=$PWD/python:$PWD/$PROGRAMS${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 VLLM_ALLREDUCE_USE_SYMM_MEM=0
python3 -c 'import torch, transformers; assert torch.cuda.is_available()' 2>/dev/null || fail "python3 has no PyTorch or no transformers, or finds no GPU"
STATUS=0

has_vllm() { python3 -c 'import sys, importlib.util; sys.exit(importlib.util.find_spec("vllm") is None)'; }

wants() { [ -z "$ONLY" ] || [ "$ONLY" = "$1" ]; }

# name, ratio, program, its arguments with OUT for the file that it writes
serve() {
    local name=$1 ratio=$2 program=$3 options=() receive=()
    shift 3
    [ "$name" = metrics ] && receive=(python3 tests/gpu/engines_metrics.py receive "$OUT/$name.requests")
    [ "$ratio" = 1 ] && options=(--all)
    rm -f "$OUT/$name.jsonl"
    timeout 240 "${receive[@]}" build/cuspan run --set "cupti.library=$CUPTI" --set "engine.ratio=$ratio" --set "accounts_file=$OUT/$name.accounts" --set exit_deadline_ms=60000 \
        --file "$OUT/$name.jsonl" -- python3 "$PROGRAMS/${program}_serve.py" "${@/#OUT/$OUT/$name.json}" >"$OUT/$name.txt" 2>&1 ||
        { say "$name: the program failed: $(tail -3 "$OUT/$name.txt")"; STATUS=1; return; }
    grep ' iterations, .* tokens in ' "$OUT/$name.txt" || true
    python3 tests/gpu/engines_check.py "$OUT/$name.jsonl" "$OUT/$name.json" "${options[@]}" "${RANKS:-1}" || STATUS=1
}

# name, program, its arguments without that file
record() {
    build/cuspan run --set "cupti.library=$CUPTI" --set "record_file=$OUT/$1.cuspanrec" --set engine.ratio=1 -- \
        python3 "$PROGRAMS/$2_serve.py" "${@:3}" "$OUT/$1.json" >"$OUT/$1.txt" 2>&1 || STATUS=1
}

# name, the finding that must come first, arguments
planted() {
    local name=$1 finding=$2 found
    shift 2
    PLANT=$name serve "$name" 1 vllm "$@"
    found=$(build/cuspan stat --findings "$OUT/$name.jsonl" | head -n 2)
    say "$name: $found"
    case $found in "$finding,"*) ;; *) say "$name: $finding is not the first finding"; STATUS=1 ;; esac
}

if wants transformers; then
    serve all 1 transformers tiny 50 100 30 OUT
    serve most 1 transformers 1b 256 200 40 OUT
    serve some 0.015625 transformers 1b 256 200 40 OUT
    ENGINE_OPTIONS=use_cuda_graph serve graphs 1 transformers 1b 64 100 30 OUT
    ENGINE_OPTIONS=use_async_batching serve async 1 transformers 1b 64 100 30 OUT
    record engine transformers tiny 12 60 8
fi
if wants vllm && has_vllm; then
    serve vllm 1 vllm tiny 50 100 30 OUT
    serve vllm-most 1 vllm 1b 256 200 40 OUT
    serve vllm-some 0.015625 vllm 1b 256 200 40 OUT
    record vllm vllm tiny 12 60 8
fi
if wants speculation && has_vllm; then
    drafts='"num_speculative_tokens": 3, "prompt_lookup_min": 2, "prompt_lookup_max": 3'
    serve drafts-host 1 vllm tiny 50 100 30 OUT "speculative_config={\"method\": \"ngram\", $drafts}" 'scheduler_cls="vllm_serve.SyncScheduler"'
    serve drafts-gpu 1 vllm tiny 50 100 30 OUT "speculative_config={\"method\": \"ngram_gpu\", $drafts}"
fi
if wants metrics && has_vllm; then
    serve metrics 1 vllm tiny 50 100 30 OUT
    python3 tests/gpu/engines_metrics.py compare "$OUT/metrics.requests" "$OUT/metrics.jsonl" "$OUT/metrics.json" vllm || STATUS=1
fi
if wants planted && has_vllm; then
    planted prefill prefill-stalls-decode 8b 48 60 500 OUT max_num_batched_tokens=4096
    planted gil scheduler-bound 1b 48 60 60 OUT
    planted kv preemption 1b 64 200 200 OUT num_gpu_blocks_override=400 max_model_len=2048
fi
if wants ranks && has_vllm && [ "$(python3 -c 'import torch; print(torch.cuda.device_count())')" -gt 1 ]; then
    RANKS=2 serve ranks 1 vllm 1b 64 100 30 OUT tensor_parallel_size=2
fi
exit $STATUS
