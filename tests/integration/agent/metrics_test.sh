#!/usr/bin/env bash
# Runs metrics_test.py with the Python that has opentelemetry-proto.   metrics_test.sh BUILD-DIR [TEST...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../../support/otlp_python.sh")
exec "$python" "$here/metrics_test.py" --build "$@"
