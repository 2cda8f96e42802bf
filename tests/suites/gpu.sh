#!/bin/bash
# Other projects' tests on this machine's GPU: bare, under cuspan, and bare again, compared test by test (compare.py).
#   SUITES=DIR tests/suites/gpu.sh OUTDIR [SUITE...]
# SUITES has the unpacked sources: cupy (PyPI's source package of the installed version), cuda-samples, pytorch, triton. Without a
# suite's sources, or its package in python3, it is listed as not run. The suites are below, with the tests that take part. Each takes
# less than 4 minutes, in shards SUITE.1, SUITE.2 and so on if need be: a run is cut off at its limit, and what it has done counts.
# BUILD: the folder with cuspan (build), CUPTI: its library, PROCESSES: pytest's (8).
# The last line is "N passed, N failed, N skipped". Results of runs: docs/compatibility.md.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
CUPTI=$(realpath -m "${CUPTI:-build/cupti/libcupti.so.13}")
LIMIT_S=${LIMIT_S:-75} # of each of the three runs, in seconds
TEST_LIMIT_S=${TEST_LIMIT_S:-20}

# traced SUITE COMMAND...
traced() {
    (
        UNDER=("$BUILD/cuspan" run -q --file "$OUTDIR/$1.jsonl" --set "cupti.library=$CUPTI" --)
        "${@:2}"
    )
}
UNDER=()

# missing FOLDER: prints why its tests cannot run
missing() {
    local module=${1/pytorch/torch}
    if [ ! -d "$SUITES/$1" ]; then
        echo "no sources in SUITES/$1"
    elif [ "$1" = cuda-samples ]; then
        have nvcc || echo "no nvcc"
    else
        python3 -c "import $module, pytest, xdist" 2>/dev/null || echo "python3 lacks $module, pytest or pytest-xdist"
    fi
}

# suite NAME FOLDER COMMAND...
suite() {
    local reason
    wanted "$1" || return 0
    reason=$(missing "$2")
    [ -z "$reason" ] || { not_run "$1" "$reason" && return; }
    three_times "$1" "${@:3}"
    echo "$1: $(wc -l 2>/dev/null <"$OUTDIR/$1.jsonl" || echo no) lines of spans"
}

# run_pytest FOLDER ARGUMENTS... FILE
run_pytest() {
    (cd "$SUITES/$1" && limited_s "$LIMIT_S" "${*: -1}" "${UNDER[@]}" python3 "$HERE/run_pytest.py" -q -p no:cacheprovider -o addopts= \
        -n "${PROCESSES:-8}" --dist loadscope --test-limit "$TEST_LIMIT_S" "${@:2}")
}

# [SEPARATE=FILE] shards NUMBER NAME FOLDER TESTS [ARGUMENTS...]: each shard has every NUMBERth file of the folder TESTS, but not FILE
shards() {
    local shard files
    for ((shard = 1; shard <= $1; shard++)); do
        mapfile -t files < <(cd "$SUITES/$3" 2>/dev/null && find "$4" -name 'test_*.py' ! -path "*/${SEPARATE:-none}" | sort | awk "NR % $1 == $shard % $1")
        [ ${#files[@]} -gt 0 ] || [ "$shard" = 1 ] || return 0
        suite "$2.$shard" "$3" run_pytest "$3" "${files[@]:-$4}" "${@:5}"
    done
}

samples() {
    [ -d "$OUTDIR/samples" ] || python3 "$HERE/samples.py" build "$SUITES/cuda-samples" "$OUTDIR/samples"
    limited_s "$LIMIT_S" "$1" python3 "$HERE/samples.py" run "$OUTDIR/samples" "${UNDER[@]}" "$1"
}

# --dist load: by class (loadscope), pytest-xdist would run a test that ended its process again.
shards 6 cupy-cuda cupy tests/cupy_tests/cuda_tests --dist load -k "not slow and not profile"
shards 8 cupy-core cupy tests/cupy_tests/core_tests --dist load -k "not broadcast and not huge"
suite torch-cuda pytorch run_pytest pytorch test/test_cuda.py -k "not (large or oom or caching or huge or memory_snapshot)"
suite torch-profiler pytorch run_pytest pytorch test/profiler
suite triton-core triton run_pytest triton python/test/unit/language/test_core.py --dist load \
    -k "test_bin_op or test_reduce1d or test_dot or test_atomic_rmw"
SEPARATE=test_core.py shards 4 triton-language triton python/test/unit/language --dist load
shards 1 triton-runtime triton python/test/unit/runtime --dist load
suite samples cuda-samples samples
suites_end
