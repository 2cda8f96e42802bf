#!/usr/bin/env bash
# metrics_test.py by the Python that has opentelemetry-proto.   metrics_test.sh BUILD-DIR [TEST...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../../support/otlp_python.sh")
exec "$python" "$here/metrics_test.py" --build "$@"
