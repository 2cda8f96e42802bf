#!/bin/bash
# Tests deploy/fleet: Kafka and Collectors on this machine, and ClickHouse's engine (chDB) as the store.
#   tests/fleet/run.sh [BUILD-DIR]              what CI runs: configurations, certificates, alerts, one run with kill -9, backpressure
#   tests/fleet/run.sh --failures [BUILD-DIR]   all failures at several moments, tail sampling, backpressure of each stage, and
#                                               the manifests in a kube-apiserver
#   tests/fleet/run.sh --demo [BUILD-DIR]       starts all of it with the spans of two recordings, for questions of your own
#   tests/fleet/run.sh --fetch                  only gets the programs, once per user: a Collector (four minutes of CPU time),
#                                               Kafka (54 MB) and chDB (150 MB)
set -u
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=../kubernetes/cluster.sh
. "$ROOT/tests/kubernetes/cluster.sh"
cd "$ROOT" || exit

PACKAGES_FLEET="
cmd:openssl openssl
cmd:curl curl
cmd:prometheus prometheus
py:ensurepip python3-venv
"
PASSED=0 FAILED=0 SKIPPED=0

# count COMMAND...: runs a test, and adds what its last line says, or unittest's.
count() {
    local output status=0 line passed failed skipped
    output=$(mktemp)
    "$@" 2>&1 | tee "$output"
    status=${PIPESTATUS[0]}
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$output" | tail -n 1)
    if [ -n "$line" ]; then
        read -r passed _ failed _ skipped _ < <(tr -d , <<<"$line")
    else
        passed=$(sed -nE 's/^Ran ([0-9]+) tests? in .*/\1/p' "$output")
        skipped=$(sed -nE 's/^OK.*skipped=([0-9]+).*/\1/p' "$output")
        passed=$((${passed:-0} - ${skipped:-0})) failed=0 skipped=${skipped:-0}
    fi
    [ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
    rm "$output"
}

get_programs() {
    packages_install "$PACKAGES_FLEET"
    python_with "${PYTHON_FLEET[@]}" || fail "could not get chDB from PyPI"
    COLLECTOR=$(tools/get-collector.sh) || fail "there is no Collector; see above"
    JARS=$(tools/get-kafka.sh) || fail "there is no Kafka; see above"
}

# The objects of deploy/fleet in a real API server: it checks their fields, and refuses pods that the namespaces do not allow.
check_manifests() (
    server=$(tools/get-kubernetes.sh kube-apiserver-1.36) && kubectl=$(tools/get-kubernetes.sh kubectl) || exit 1
    work=$(mktemp -d)
    trap 'cluster_stop; rm -rf "$work"' EXIT
    cp -r deploy/fleet "$work/fleet" && rm -rf "$work/fleet/secrets"
    "$work/fleet/certificates.sh" "$work/fleet/secrets" 'kafka=*.kafka.cuspan-fleet.svc' || exit 1
    cluster_start "$ROOT/build/kubernetes/fleet" "$server"
    export KUBECONFIG=$CLUSTER/kubeconfig
    "$kubectl" apply --server-side -k "$work/fleet" >"$work/first" 2>&1 || { cat "$work/first"; exit 1; }
    "$kubectl" apply --server-side -k "$work/fleet" >"$work/second" 2>&1 || { cat "$work/second"; exit 1; }
    if grep -i warning "$work/first" "$work/second"; then
        echo "not ok: the API server warns"
        exit 1
    fi
    echo "$(wc -l <"$work/second") objects are applied, twice"
    # Pods of these templates pass the namespaces' checks (Pod Security): there are no controllers here, so make one of each.
    "$PYTHON" tests/fleet/pods.py "$kubectl"
)

ci() {
    count "$PYTHON" tests/fleet/configurations_test.py
    count "$PYTHON" tests/fleet/certificates_test.py
    count "$PYTHON" tests/fleet/alerts_test.py "${OPTIONS[@]}"
    count "$PYTHON" tests/fleet/pipeline_test.py "${OPTIONS[@]}"
    count "$PYTHON" tests/fleet/backpressure_test.py "${OPTIONS[@]}" direct
}

failures() {
    local kubectl
    jaeger_binary || fail "tail sampling needs a Jaeger"
    kubectl=$(tools/get-kubernetes.sh kubectl) || fail "there is no kubectl; see above"
    count "$PYTHON" tests/fleet/configurations_test.py --kubectl "$kubectl"
    count check_manifests
    count "$PYTHON" tests/fleet/demo.py "${OPTIONS[@]}" --once
    count "$PYTHON" tests/fleet/sampling_test.py "${OPTIONS[@]}" --jaeger "$JAEGER"
    count "$PYTHON" tests/fleet/backpressure_test.py "${OPTIONS[@]}"
    count "$PYTHON" tests/fleet/failures_test.py "${OPTIONS[@]}"
}

demo() { "$PYTHON" tests/fleet/demo.py "${OPTIONS[@]}"; }

main() {
    local part=ci
    export PYTHONDONTWRITEBYTECODE=1
    case ${1:-} in
    --fetch) get_programs && return ;;
    --failures) part=failures && shift ;;
    --demo) part=demo && shift ;;
    esac
    [ -x "${1:-build}/cuspan" ] || fail "there is no ${1:-build}/cuspan; examples/demo.sh builds it"
    get_programs
    OPTIONS=(--build "$(realpath "${1:-build}")" --collector "$COLLECTOR" --jars "$JARS")
    "$part"
    [ "$part" != demo ] || return
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
