#!/bin/bash
# Other projects' tests on this machine's GPU: bare, under cuspan, and bare again, compared test by test (compare.py).
#   SUITES=DIR tests/suites/gpu.sh OUTDIR [SUITE...]
# SUITES has the unpacked sources: cupy (PyPI's source package of the installed version), cuda-samples, pytorch, triton. Without a
# suite's sources, or its package in python3, it is listed as not run. Each suite is below, with the tests that take part, and runs
# in less than 4 minutes. BUILD: the folder with cuspan (build), CUPTI: its library.
# The last line is "N passed, N failed, N skipped". Results of runs: docs/compatibility.md.
set -u
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT" || exit
[ $# -ge 1 ] || fail "usage: SUITES=DIR tests/suites/gpu.sh OUTDIR [SUITE...]"
mkdir -p "$1"
OUTDIR=$(realpath "$1")
shift
SUITES=$(realpath "${SUITES:-/nonexistent}")
BUILD=$(realpath "${BUILD:-build}")
CUPTI=$(realpath "${CUPTI:-build/cupti/libcupti.so.13}")
HERE=$ROOT/tests/suites
LIMIT_S=100 # of one run; a run that is cut off has no results, which fails

# Name, folder of SUITES, then pytest's arguments in that folder.
SUITE_TABLE="
cupy-core cupy tests/cupy_tests/core_tests --ignore tests/cupy_tests/core_tests/fusion_tests -k not(broadcast|huge)
cupy-cuda cupy tests/cupy_tests/cuda_tests -k not(slow|profile)
torch-cuda pytorch test/test_cuda.py -k not(large|oom|caching|huge|memory_snapshot)
torch-profiler pytorch test/profiler
triton-core triton python/test/unit/language/test_core.py -k test_bin_op|test_reduce1d|test_dot|test_atomic_rmw
samples cuda-samples
"

# traced LABEL: the command that traces, as words
traced() { echo "$BUILD/cuspan" run -q --file "$OUTDIR/$1.jsonl" --set "cupti.library=$CUPTI" --; }

# once LABEL FOLDER HOW ARGUMENTS...: one run of a suite's tests
once() {
    local label=$1 folder=$2 command=() arguments
    [ "$3" = bare ] || read -ra command < <(traced "$label")
    mapfile -t arguments < <(printf '%s\n' "${@:4}" | sed 's/^not(\(.*\))$/not (\1)/; s/|/ or /g')
    if [ "$folder" = cuda-samples ]; then
        python3 "$HERE/samples.py" run "$OUTDIR/samples" "$OUTDIR/$label.xml" "${command[@]}"
    else
        (cd "$SUITES/$folder" &&
            timeout "$LIMIT_S" "${command[@]}" python3 -m pytest -q -p no:cacheprovider -o addopts= -n 8 --dist loadscope --timeout 60 --junitxml "$OUTDIR/$label.xml" "${arguments[@]}")
    fi >"$OUTDIR/$label.log" 2>&1
}

# missing FOLDER: prints why its tests cannot run
missing() {
    local module=${1/pytorch/torch}
    if [ ! -d "$SUITES/$1" ]; then
        echo "no sources in SUITES/$1"
    elif [ "$1" = cuda-samples ]; then
        have nvcc || echo "no nvcc"
    else
        python3 -c "import $module, pytest, xdist, pytest_timeout" 2>/dev/null ||
            echo "python3 lacks $module, pytest, pytest-xdist or pytest-timeout"
    fi
}

PASSED=0 FAILED=0 SKIPPED=0
run_suite() {
    local suite=$1 folder=$2 reason began=$SECONDS line passed failed skipped
    shift 2
    reason=$(missing "$folder")
    if [ -n "$reason" ]; then
        echo "skipped: $suite: $reason"
        SKIPPED=$((SKIPPED + 1))
        return
    fi
    [ "$folder" != cuda-samples ] || python3 "$HERE/samples.py" build "$SUITES/cuda-samples" "$OUTDIR/samples"
    once "$suite-bare" "$folder" bare "$@"
    once "$suite-traced" "$folder" traced "$@"
    once "$suite-again" "$folder" bare "$@"
    python3 "$HERE/compare.py" --name "$suite" --bare "$OUTDIR/$suite-bare.xml" --bare "$OUTDIR/$suite-again.xml" \
        --traced "$OUTDIR/$suite-traced.xml" >"$OUTDIR/$suite.txt" 2>&1
    cat "$OUTDIR/$suite.txt"
    echo "$suite: $(grep -c . "$OUTDIR/$suite-traced.jsonl" 2>/dev/null || echo 0) lines of spans, $((SECONDS - began)) s"
    if line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$OUTDIR/$suite.txt"); then
        read -r passed _ failed _ skipped _ < <(tr -d , <<<"$line")
        PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
    else
        FAILED=$((FAILED + 1))
    fi
}

while read -r suite folder arguments; do
    [ -n "$suite" ] || continue
    [ $# -eq 0 ] || [[ " $* " == *" $suite "* ]] || continue
    read -ra words <<<"$arguments"
    run_suite "$suite" "$folder" "${words[@]}"
done <<<"$SUITE_TABLE"
echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
[ "$FAILED" = 0 ]
