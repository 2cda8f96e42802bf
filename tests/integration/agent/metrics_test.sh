#!/usr/bin/env bash
# Runs metrics_TOPIC_test.py with a Python that has opentelemetry-proto.   metrics_test.sh TOPIC BUILD-DIR [TEST...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../../support/otlp_python.sh")
topic=$1
shift
exec "$python" "$here/metrics_${topic}_test.py" --build "$@"
