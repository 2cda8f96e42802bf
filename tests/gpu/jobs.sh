#!/bin/bash
# Records small training jobs on four GPUs, healthy ones and with a planted late rank, for the tests of the analysis across ranks.
#   tests/gpu/jobs.sh OUTDIR [CUPTI-LIBRARY [BUILD]]     less than 4 minutes
# OUTDIR/CASE.tar gets the recordings of the ranks (or, of a case that sends spans, spans.jsonl), the truth by the program's own
# clock (RANK.json) and the program's output. Cases: CASES below. tests/training/recorded_test.py checks them.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
[ $# -ge 1 ] || fail "usage: tests/gpu/jobs.sh OUTDIR [CUPTI-LIBRARY [BUILD]]"
OUT=$(realpath -m "$1")
CUPTI=$(realpath "${2:-build/cupti/libcupti.so.13}")
BUILD=$(realpath "${3:-build}")
python3 -c 'import torch; assert torch.cuda.device_count() > 3 and torch.distributed.is_nccl_available()' 2>/dev/null ||
    fail "python3 has no PyTorch with NCCL, or PyTorch finds fewer than four GPUs"
[ -x "$BUILD/cuspan" ] || fail "no $BUILD/cuspan: build it first"
mkdir -p "$OUT"
export OMP_NUM_THREADS=1
LIMIT_S=225 STATUS=0 # of all cases; a case that cannot start before is reported
# name, how it is written, then what torch_jobs.py does
CASES=(
    "fsdp_tp record fsdp_tp --steps 16"
    "fsdp_tp-late record fsdp_tp --steps 16 --late 2 --late-us 2000"
    "pipeline record pipeline --steps 16"
    "pipeline-late record pipeline --steps 16 --late 2 --late-us 2000 --late-by gpu"
    "ddp-pause record ddp --steps 30 --late 1 --late-us 800"
    "ddp-gpu record ddp --steps 30 --late 1 --late-us 500 --late-by gpu --no-wait"
    "ddp-selection send ddp --steps 30"
    "ddp record ddp --steps 30 --no-wait"
)

run_case() {
    local how=$2 folder=$OUT/$1
    shift 2
    local to=(--set "record_file=$folder/rank.cuspanrec")
    [ "$how" = record ] || to=(--file "$folder/spans.jsonl" --set steps.traced=all --set steps.spans_max=160)
    rm -rf "$folder"
    mkdir -p "$folder"
    env -u PYTHONPATH -u CUDA_INJECTION64_PATH timeout 60 "$BUILD/cuspan" run "${to[@]}" --set exit_deadline_ms=10000 \
        --set "cupti.library=$CUPTI" -- python3 -m torch.distributed.run --standalone --nproc-per-node 4 \
        tests/gpu/programs/torch_jobs.py "$1" "$folder" "${@:2}" >"$folder/output.txt" 2>&1
}

for case in "${CASES[@]}"; do
    read -ra words <<<"$case"
    began=$SECONDS
    if [ "$began" -gt $((LIMIT_S - 30)) ]; then
        echo "FAILED ${words[0]}: no time was left"
        STATUS=1
    elif run_case "${words[@]}"; then
        echo "ok     ${words[0]} ($((SECONDS - began)) s)"
    else
        echo "FAILED ${words[0]}: $(tail -n 3 "$OUT/${words[0]}/output.txt")"
        STATUS=1
    fi
    tar -C "$OUT" -cf "$OUT/${words[0]}.tar" "${words[0]}"
    rm -rf "${OUT:?}/${words[0]}"
done
exit $STATUS
