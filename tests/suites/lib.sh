# shellcheck shell=bash
# Shared by gpu.sh and python.sh, which source it with their arguments, OUTDIR [SUITE...]: each suite runs bare, traced, and bare again, and
# its results are compared test by test (compare.py).
# shellcheck source=../../tools/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"
cd "$ROOT" || exit
[ $# -ge 1 ] || fail "usage: SUITES=DIR $0 OUTDIR [SUITE...]"
mkdir -p "$1"
OUTDIR=$(realpath "$1") CHOSEN=" ${*:2} "
SUITES=$(realpath -m "${SUITES:-/nonexistent}") BUILD=$(realpath "${BUILD:-build}")
HERE=$ROOT/tests/suites
PASSED=0 FAILED=0 SKIPPED=0

# wanted SUITE: chosen by its name, or by the part before the dot, for all its shards
wanted() { [ "$CHOSEN" = "  " ] || [[ $CHOSEN == *" $1 "* || $CHOSEN == *" ${1%.*} "* ]]; }

not_run() {
    echo "skipped: $1: $2"
    SKIPPED=$((SKIPPED + 1))
}

# limited_s SECONDS FILE COMMAND...: a run that takes longer is cut off. Its results until then count.
limited_s() {
    local began=$SECONDS status=0
    timeout --kill-after 10 "$1" "${@:3}" || status=$?
    if [ $status = 124 ] || { [ $status = 137 ] && [ $((SECONDS - began)) -ge "$1" ]; }; then echo cut >>"$2"; fi
    return "$status"
}

# three_times SUITE COMMAND...: the command's last argument is the file for its results. traced SUITE COMMAND... runs it with the agent.
three_times() {
    local suite=$1 began=$SECONDS line passed failed skipped run under
    for run in bare traced again; do
        under=()
        [ $run != traced ] || under=(traced "$suite")
        rm -f "$OUTDIR/$suite-$run.results"
        "${under[@]}" "${@:2}" "$OUTDIR/$suite-$run.results" >"$OUTDIR/$suite-$run.log" 2>&1 </dev/null
    done
    python3 "$HERE/compare.py" --name "$suite" --bare "$OUTDIR/$suite-bare.results" --bare "$OUTDIR/$suite-again.results" \
        --traced "$OUTDIR/$suite-traced.results" >"$OUTDIR/$suite.txt" 2>&1
    cat "$OUTDIR/$suite.txt"
    echo "$suite: $((SECONDS - began)) s"
    if line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$OUTDIR/$suite.txt"); then
        read -r passed _ failed _ skipped _ < <(tr -d , <<<"$line")
        PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
    else
        FAILED=$((FAILED + 1))
    fi
}

suites_end() {
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}
