#!/bin/bash
# The benchmark: cuspan's cost, compared with CUPTI alone and with other tools.
#   tests/bench/run.sh gpu [OUT.json] [--rounds N] [--apps LIST] [--configs LIST] [--pairs asleep:N] [--seconds MAX]
#                          [--build DIR]        on a machine with a GPU and nvcc; two minutes a round
#   tests/bench/run.sh models [...]             models of PyTorch and JAX; 15 s a round for each configuration of a model
#   tests/bench/run.sh code [...]               stacks of launches and PyTorch's profiler, with small models of PyTorch
#   tests/bench/run.sh fleet [BUILD] [OUT.json] [...]
#                                               reader, writer and questions for 10^6 to 10^8 spans, beside Spark and others; an hour
#   tests/bench/run.sh anywhere [...]           everything behind CUPTI, with replayed recordings; needs no GPU
#   tests/bench/run.sh page [--check]           makes docs/performance.md and its plots from tests/bench/results/*.json
# `gpu --help`, `models --help`, `code --help` and `fleet --help` have the details. Each needs a build with tests:
#   cmake --preset release -DCUSPAN_BUILD_TESTS=ON && cmake --build --preset release
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
PART=${1:-}
[ $# -eq 0 ] || shift
case $PART in
gpu | models) exec python3 "$HERE/$PART.py" "$@" ;;
fleet)
    # shellcheck source=../../tools/lib.sh
    . "$HERE/../../tools/lib.sh"
    have java || packages_install "cmd:java default-jre-headless"
    python_with "${PYTHON_FLEET[@]}" pyspark==4.3.0 HolisticTraceAnalysis==0.5.0
    exec "$PYTHON" "$HERE/fleet_growth.py" "$@"
    ;;
code) exec python3 "$HERE/code_cost.py" "$@" ;;
anywhere)
    [ -x "$HERE/anywhere.sh" ] || { echo "run.sh: there is no $HERE/anywhere.sh" >&2; exit 1; }
    exec "$HERE/anywhere.sh" "$@"
    ;;
page) exec python3 "$HERE/page.py" "$@" ;;
*)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    [ "$PART" = --help ]
    ;;
esac
