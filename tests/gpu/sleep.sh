#!/bin/bash
# Many short runs of programs/naps.cu, in which cuspan falls asleep and wakes up all the time while threads copy and launch, with fewer cores
# than threads: no run crashes or hangs, and nothing is lost. Crashes have a report (programs/crash_report.c).
#   tests/gpu/sleep.sh OUTDIR SECONDS [CUPTI-LIBRARY]
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
[ $# -ge 2 ] || fail "usage: tests/gpu/sleep.sh OUTDIR SECONDS [CUPTI-LIBRARY]"
JOBS=$((($(nproc) + 1) / 2)) # of nine threads each
mkdir -p "$1"
OUT=$(realpath "$1")
LIBRARY=$(realpath "${3:-build/cupti/libcupti.so.13}")
NVCC=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
"$NVCC" -arch=native -std=c++17 -Iinclude -o "$OUT/naps" tests/gpu/programs/naps.cu
cc -O1 -g -shared -fPIC -o "$OUT/crash_report.so" tests/gpu/programs/crash_report.c
export OUT LIBRARY
# shellcheck disable=SC2016 # the inner shell's
timeout "$2" bash -c 'seq 100000 | xargs -P '$JOBS' -I{} bash -c '\''
    LD_PRELOAD=$OUT/crash_report.so CUDA_INJECTION64_PATH=$PWD/build/libcuspan.so \
        CUSPAN_SET="cupti.library=$LIBRARY;sampling.sleep=always;output_file=/dev/null;accounts_file=$OUT/{}.report" \
        timeout 60 "$OUT/naps" 8 4 6 >"$OUT/{}.out" 2>"$OUT/{}.err" || echo "run {}: status $?" >>"$OUT/failures"'\' || true
lost=$(cat "$OUT"/*.report.* | grep -oE '"lost_[a-z_]*": *[1-9][0-9]*' | sort | uniq -c || true)
sleeps=$(cat "$OUT"/*.report.* | grep -oE '"sleeps": *[0-9]+' | awk '{ sum += $NF } END { print sum + 0 }' FS='[: ]+')
echo "$(find "$OUT" -name '*.report.*' | wc -l) runs, asleep $sleeps times"
sort -t, -k 2 "$OUT"/*.out | tail -n 3
if [ -e "$OUT/failures" ] || [ -n "$lost" ]; then
    cat "$OUT/failures" 2>/dev/null || true
    echo "$lost"
    grep -hA 40 '^CRASH' "$OUT"/*.err || true
    exit 1
fi
