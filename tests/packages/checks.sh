# shellcheck shell=bash
# check NAME COMMAND...: runs the command with -e, and prints whether it succeeded, with its output if not.

PASSED=0 FAILED=0

check() {
    local name=$1 output status errexit=$-
    shift
    set +e # in a condition, bash would ignore the other -e
    output=$(set -e; "$@" 2>&1)
    status=$?
    [[ $errexit != *e* ]] || set -e
    if [ "$status" = 0 ]; then
        PASSED=$((PASSED + 1))
        echo "passed  $name"
    else
        FAILED=$((FAILED + 1))
        echo "failed  $name"
        tail -n 25 <<<"$output" | sed 's/^/    | /'
    fi
}

# is WHAT EXPECTED: fails with both if they differ.
is() { [ "$1" = "$2" ] || { echo "\"$1\" instead of \"$2\""; return 1; }; }

# has TEXT PART
has() { [[ $1 == *"$2"* ]] || { echo "no \"$2\" in: $1"; return 1; }; }

# refused COMMAND...: prints the output of a command that must fail.
refused() {
    local output
    if output=$("$@" 2>&1); then
        echo "succeeded, but must fail: $*" >&2
        return 1
    fi
    echo "$output"
}

# spans_in FILE, with this cuspan: one line each after a header.
spans_in() { "${2:-cuspan}" show --lines "$1" | tail -n +2 | wc -l; }
