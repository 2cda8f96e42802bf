#!/bin/bash
# The numbers on this machine's GPU: compares cuspan's tables, comparisons and metrics with other sources.
#   tests/gpu/numbers/numbers.sh OUTDIR [PART...]       all parts take about five minutes; each has its own time limit
# Parts, in this order:
#   tables      cuspan stat and CUPTI's raw records of the same run, equal to the nanosecond (tables_test.py)
#   profilers   compared with PyTorch's profiler and Nsight Systems, if installed (profilers_test.py)
#   findings    planted faults are found, a clean program gives no finding (findings_test.py)
#   commands    cuspan overhead, diff with and without a slower kernel, top (commands_test.py)
#   hardware    NVML and nvidia-smi; metrics' totals equal those of the tables (hardware_test.py)
#   costs       metrics and cuspan stat compared with tracing alone; own time in callbacks (costs_check.py)
# Needs a release build with tests (build/, or $BUILD), nvcc, and a CUPTI: $CUPTI, or the one in build/cupti, which is
# fetched if missing. PyTorch, Nsight Systems and nvidia-smi are used if installed; otherwise a line says that they are
# missing. A failed part does not stop the others. The exit status is 1 if anything failed.
#
# OUTDIR receives summary.txt (one line per part), log.txt, figures.json and gpu-numbers.json (from the benchmark).
# Recordings, spans and tables are kept in $BUILD/numbers.
#
# $COSTS_SECONDS (90) is for the rounds of the costs; an interval needs at least six. $COSTS_APPS (steps) are their
# applications: steps,torch takes half a minute per round. For tests: $NUMBERS_PROGRAMS has the programs.
set -u
# shellcheck source=../../../tools/lib.sh
. "$(dirname "$0")/../../../tools/lib.sh"
[ $# -ge 1 ] || fail "usage: tests/gpu/numbers/numbers.sh OUTDIR [PART...]"
mkdir -p "$1" || exit 1
OUT=$(realpath "$1")
shift
BUILD=$(realpath "${BUILD:-$ROOT/build}")
WORK=$BUILD/numbers
PROGRAMS=${NUMBERS_PROGRAMS:-$WORK/programs}
ALL=(tables profilers findings commands hardware costs)
PARTS=("$@")
[ $# -gt 0 ] || PARTS=("${ALL[@]}")
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
cd "$ROOT" || exit 1
rm -rf "$OUT"/{summary.txt,log.txt,figures.json,gpu-numbers.json}
mkdir -p "$WORK" "$PROGRAMS"

log() { printf '%s\n' "$*" | tee -a "$OUT/log.txt"; }

for part in "${PARTS[@]}"; do
    case " ${ALL[*]} " in
    *" $part "*) ;;
    *) fail "no part \"$part\"; there are: ${ALL[*]}" ;;
    esac
done
for needed in cuspan libcuspan.so libcuspan-export.so libcuspan-share.so; do
    [ -e "$BUILD/$needed" ] || fail "$BUILD has no $needed: cmake --preset release -DCUSPAN_BUILD_TESTS=ON && cmake --build build"
done

# In parallel: each takes nvcc ten seconds.
make_programs() {
    local nvcc source program pids=()
    nvcc=$(find_nvcc) || { tools/get-cuda.sh nvcc build/cuda >&2 && nvcc=build/cuda/bin/nvcc; } || return 1
    for source in examples/{vector_add,threads,graph}.cu tests/gpu/programs/{steady,faults}.cu; do
        program=$PROGRAMS/$(basename "$source" .cu)
        [ ! "$program" -nt "$source" ] || continue
        "$nvcc" -arch=native -std=c++17 -O2 -Iinclude -o "$program" "$source" &
        pids+=($!)
    done
    mkdir -p "$BUILD/bench" # the folder that gpu.py uses; its rounds have a time limit
    for source in tests/bench/apps/{calls,service}.cu; do
        program=$BUILD/bench/$(basename "$source" .cu)
        [ ! "$program" -nt "$source" ] || continue
        "$nvcc" -O2 -std=c++17 -arch=native -Iinclude "$source" -o "$program" -ldl &
        pids+=($!)
    done
    for program in ${pids[@]+"${pids[@]}"}; do wait "$program" || return 1; done
}
if [ -z "${NUMBERS_PROGRAMS:-}" ]; then
    make_programs >"$WORK/nvcc.log" 2>&1 || fail "the programs do not compile: $(tail -n 3 "$WORK/nvcc.log")"
fi

if [ -z "${CUPTI:-}" ]; then
    [ -e "$BUILD/cupti" ] || tools/get-cuda.sh cupti "$BUILD/cupti" >>"$OUT/log.txt" 2>&1
    for CUPTI in "$BUILD"/cupti/libcupti.so.13 "$BUILD"/cupti/libcupti.so.12 /usr/local/cuda/extras/CUPTI/lib64/libcupti.so; do
        [ ! -e "$CUPTI" ] || break
    done
fi
[ -e "$CUPTI" ] || fail "no CUPTI: name one by CUPTI"
CUPTI=$(realpath "$CUPTI")

has_torch() { [ -z "${NUMBERS_PROGRAMS:-}" ] && python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; }
TABLES=("$PROGRAMS/vector_add" "$PROGRAMS/threads" "$PROGRAMS/graph")
has_torch && TABLES+=("python3 examples/torch_inference.py")
APPS=${COSTS_APPS:-steps}

part_tables() { python3 tests/gpu/numbers/tables_test.py "$BUILD" "$WORK/tables" "$CUPTI" -- "${TABLES[@]}"; }
part_profilers() {
    python3 tests/gpu/numbers/profilers_test.py "$BUILD" "$WORK/profilers" "$CUPTI" -- "$PROGRAMS/vector_add" "$PROGRAMS/threads"
}
part_findings() { mkdir -p "$WORK/findings" && python3 tests/gpu/numbers/findings_test.py "$BUILD" "$WORK/findings" "$PROGRAMS/faults" "$CUPTI"; }
part_commands() {
    python3 tests/gpu/numbers/commands_test.py "$BUILD" "$WORK/commands" "$CUPTI" "$PROGRAMS/steady" "$PROGRAMS/vector_add" "$PROGRAMS/threads"
}
part_hardware() { python3 tests/gpu/numbers/hardware_test.py "$BUILD" "$WORK/hardware" "$CUPTI" "$PROGRAMS/steady"; }
part_costs() {
    tests/bench/run.sh gpu "$OUT/gpu-numbers.json" --build "$BUILD" --apps "$APPS" --configs default,metrics,stat --rounds 40 \
        --seconds "${COSTS_SECONDS:-90}"
    python3 tests/gpu/numbers/costs_check.py "$OUT/gpu-numbers.json" "$WORK/costs"
}
limit_of() {
    case $1 in
    tables | profilers) echo 140 ;; # PyTorch takes half a minute to load the first time
    commands) echo 150 ;;
    costs) echo $((${COSTS_SECONDS:-90} + 50)) ;;
    *) echo 60 ;;
    esac
}

# Runs a part in its own process group, so that its time limit ends everything that it started.
declare -f part_tables part_profilers part_findings part_commands part_hardware part_costs >"$WORK/parts.sh"
declare -p BUILD WORK CUPTI PROGRAMS TABLES APPS OUT >>"$WORK/parts.sh"
FAILED=0
for part in "${PARTS[@]}"; do
    log "==== $part"
    rm -rf "${WORK:?}/$part"
    began=$SECONDS
    limit=$(limit_of "$part")
    timeout --kill-after=5 "$limit" bash -c ". '$WORK/parts.sh' && part_$part" 2>&1 </dev/null |
        tee "$WORK/$part.log" | tee -a "$OUT/log.txt"
    status=${PIPESTATUS[0]}
    last=$(tail -n 1 "$WORK/$part.log" 2>/dev/null)
    [ "$status" -ne 124 ] && [ "$status" -ne 137 ] || last="no end after $limit s; last: $last"
    [ "$status" -eq 0 ] || FAILED=$((FAILED + 1))
    printf '%-6s %-10s %4s s  %s\n' "$([ "$status" -eq 0 ] && echo ok || echo FAILED)" "$part" $((SECONDS - began)) "$last" \
        >>"$OUT/summary.txt"
done
python3 - "$WORK" "$OUT/figures.json" <<'PYTHON'
import json, pathlib, sys
found = {path.stem: json.loads(path.read_text()) for part in ("tables", "profilers", "commands", "hardware", "costs")
         for path in [pathlib.Path(sys.argv[1], part, f"{part}.json")] if path.exists()}
pathlib.Path(sys.argv[2]).write_text(json.dumps(found, indent=1) + "\n")
PYTHON
log "==== summary"
tee -a "$OUT/log.txt" <"$OUT/summary.txt"
log "numbers: $([ "$FAILED" -eq 0 ] && echo passed || echo FAILED): $FAILED of ${#PARTS[@]} parts failed, $SECONDS s; $OUT"
[ "$FAILED" -eq 0 ]
