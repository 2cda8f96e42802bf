#!/bin/bash
# The comparison of other projects' tests with and without the agent (tests/suites): a difference is found, what is flaky or was not
# reached is no difference, and a run that ended early without a limit is one. With suites of our own.
set -euo pipefail
work=$(mktemp -d "${TMPDIR:-/tmp}/suites test.XXXXXX")
trap 'rm -rf "$work"' EXIT
here=$(cd "$(dirname "$0")/../../suites" && pwd)
mkdir "$work/out" "$work/build" "$work/none"
export BUILD=$work/build SUITES=$work/none
set -- "$work/out"
# shellcheck source=../../suites/lib.sh
. "$here/lib.sh"

RUN=bare
traced() { RUN=traced "${@:2}"; }
results() { printf '%b' "$@"; }
number() { printf x >>"$work/$1" && wc -c <"$work/$1"; }

equal() { results 'passed\ta::one\nfailure\ta::two\nskipped\ta::three\n' >"$1"; }
different() { results 'passed\ta::one\n' "$([ $RUN = bare ] && echo passed || echo failure)"'\ta::two\n' >"$1"; }
explained() { results 'passed\ta::one\n' "$([ $RUN = bare ] && echo passed || echo skipped)"'\ttest_os.A.test_closerange\n' >"$1"; }
flaky() { results 'passed\ta::one\n' "$([ "$(number flaky)" = 3 ] && echo failure || echo passed)"'\ta::two\n' >"$1"; }
slow() {
    results 'passed\ta::one\n' >"$1"
    [ $RUN = bare ] || limited_s 1 "$1" sleep 100 || return
    results 'passed\ta::two\n' >>"$1"
}
crashed() { results 'passed\ta::one\n' >"$1" && { [ $RUN = traced ] || results 'passed\ta::two\n' >>"$1"; }; }
empty() { :; }
xml() { results '<testsuites><testsuite><testcase classname="a" name="one"/><testcase classname="a" name="two"><failure/></testcase></testsuite></testsuites>' >"$1"; }

# check COMMAND EQUAL DIFFERENT NOT-COMPARED
check() {
    PASSED=0 FAILED=0 SKIPPED=0
    three_times "$1" "$1" >"$work/log" || true
    [ "$PASSED $FAILED $SKIPPED" = "$2 $3 $4" ] || { cat "$work/log"; fail "$1: $PASSED $FAILED $SKIPPED"; }
}
check equal 3 0 0
check different 1 1 0
check explained 1 0 1
check flaky 1 0 1
check slow 1 0 1
check crashed 1 1 0
check empty 0 1 0
check xml 2 0 0
suites_end >"$work/log" || fail "no failure, but $(cat "$work/log")"

# A suite without sources is listed as not run, and so is no other one. A name selects all shards.
"$here/gpu.sh" "$work/out" cupy-core samples >"$work/log"
diff - "$work/log" <<'END'
skipped: cupy-core.1: no sources in SUITES/cupy
skipped: samples: no sources in SUITES/cuda-samples
0 passed, 0 failed, 2 skipped
END
echo "8 suites"
