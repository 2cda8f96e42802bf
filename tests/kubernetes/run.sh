#!/bin/bash
# Tests deploy/kubernetes: the chart with Helm and a Collector, and the policy in a kube-apiserver with etcd, which this
# script starts and stops. They listen on the loopback interface only. Nothing is needed but Go, or Debian's packages.
#
#   tests/kubernetes/run.sh               everything
#   tests/kubernetes/run.sh CHECK...      only some of: generated chart server-1.36 emulated-1.34
#   tests/kubernetes/run.sh server-1.34   also other versions of the server: 1.34, 1.35, 1.37
#   tests/kubernetes/run.sh --fetch       only builds the programs, once per user: about 15 minutes on two cores
#
# emulated-1.34 is the server of 1.36 with the APIs, features and defaults of 1.34, which saves building a second one.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=cluster.sh
. "$ROOT/tests/kubernetes/cluster.sh"
cd "$ROOT"

CHECKS=(generated chart server-1.36 emulated-1.34)
PACKAGES_KUBERNETES="
cmd:python3 python3
cmd:openssl openssl
cmd:curl curl
cmd:flock util-linux
py:ensurepip python3-venv
"
PASSED=0 FAILED=0 SKIPPED=0 CUSPAN=() CLUSTER_PIDS=()

# program NAME: prints its path, and builds it if there is none.
program() { "$ROOT/tools/get-kubernetes.sh" "$1"; }

version() { sed -nE 's/^project\(cuspan VERSION ([0-9.]+).*/\1/p' CMakeLists.txt; }

# count COMMAND...: runs a test, shows its output, and adds the numbers of its last line. A test without one has failed.
count() {
    local log=$ROOT/build/log/kubernetes.log line passed failed skipped
    "$@" 2>&1 | tee "$log" || true
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
    read -r passed _ failed _ skipped _ < <(tr -d , <<<"${line:-0 passed, 1 failed, 0 skipped}")
    PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
}

check_generated() {
    if deploy/kubernetes/generate.sh --check; then
        say "the manifests are those of the chart"
        PASSED=$((PASSED + 1))
    else
        FAILED=$((FAILED + 1))
    fi
}

check_chart() {
    local helm collector
    helm=$(program helm)
    collector=$(program collector)
    count "$PYTHON" tests/kubernetes/chart_test.py --helm "$helm" --collector "$collector" --version "$(version)" \
        "${CUSPAN[@]}"
}

# check_server VERSION [EMULATED]
check_server() {
    local server kubectl helm common manifest=deploy/kubernetes/manifests/cuspan.yaml with_image=1
    server=$(program "kube-apiserver-$1")
    kubectl=$(program kubectl)
    helm=$(program helm)
    case ${2:-$1} in
    1.34 | 1.35) manifest=deploy/kubernetes/manifests/cuspan-1.34.yaml with_image='' ;;
    esac
    cluster_start "$ROOT/build/kubernetes/${2:-$1}" "$server" "${2:-}"
    say "kube-apiserver $1 runs${2:+ as $2}"
    common=(--cluster "$CLUSTER" --kubectl "$kubectl" --version "$(version)")
    count "$PYTHON" tests/kubernetes/lifecycle_test.py "${common[@]}" --manifest "$manifest" --helm "$helm" \
        --chart deploy/kubernetes/chart ${2:+--delivery init}
    if [ -n "$with_image" ]; then
        count "$PYTHON" tests/kubernetes/policy_test.py "${common[@]}" --manifest "$manifest" --delivery image "${CUSPAN[@]}"
        manifest=deploy/kubernetes/manifests/cuspan-init.yaml
    fi
    count "$PYTHON" tests/kubernetes/policy_test.py "${common[@]}" --manifest "$manifest" --delivery init "${CUSPAN[@]}"
    cluster_stop
}

main() {
    local check
    packages_install "$PACKAGES_KUBERNETES"
    if [ "${1:-}" = --fetch ]; then
        exec "$ROOT/tools/get-kubernetes.sh" etcd helm kube-apiserver-1.36 kubectl collector
    fi
    python_with pyyaml==6.0.4 || fail "could not get PyYAML from PyPI"
    mkdir -p "$ROOT/build/log"
    trap cluster_stop EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    if [ -x build/cuspan ]; then
        CUSPAN=(--cuspan "$ROOT/build/cuspan")
    else
        say "skipped: tests of the agent's settings and spans, because build/cuspan is not built"
    fi
    [ $# -gt 0 ] || set -- "${CHECKS[@]}"
    for check; do
        case $check in
        generated | chart) "check_$check" ;;
        server-*) check_server "${check#server-}" ;;
        emulated-*) check_server 1.36 "${check#emulated-}" ;;
        *) fail "unknown check: $check; there are ${CHECKS[*]}" ;;
        esac
    done
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
