#!/bin/bash
# Runs examples/service/run.sh: it must show a trace that the Collector has kept and Jaeger has, and leave nothing
# running except Jaeger; with a wrong answer it must fail. A Jaeger that only this test started is stopped again.
set -u
# shellcheck source=../../../tools/lib.sh
. "$(dirname "$0")/../../../tools/lib.sh"
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT
was_there=''
jaeger_answers http://localhost:16686 http://localhost:4318 && was_there=1
status=0
wrong() { echo "FAILED: $*"; status=1; }

# Only processes of this clone.
left_over() { pgrep -f "$ROOT/examples/service/(gateway|worker)\.py|--config $ROOT/examples/service/collector\.yaml"; }

"$ROOT/examples/service/run.sh" --requests 120 --concurrency 4 --heavy-every 40 >"$OUT/run.out" 2>&1 || wrong "exit status $?"
cat "$OUT/run.out"
grep -qE 'kept: http://localhost:16686/(trace|api/v3/traces)/[0-9a-f]{32}' "$OUT/run.out" || wrong "no trace was kept"
! left_over || wrong "these are still running"

"$ROOT/examples/service/run.sh" --requests x >"$OUT/wrong.out" 2>&1 && wrong "a load that fails goes unnoticed"
! left_over || wrong "after a failure these are still running"

[ -n "$was_there" ] || "$ROOT/examples/demo.sh" --stop || wrong "the demo cannot stop that Jaeger"
exit $status
