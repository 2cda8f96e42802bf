#!/usr/bin/env bash
# Runs profiles_test.py with a Python that has opentelemetry-proto.   profiles_test.sh BUILD-DIR [TEST...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../../support/otlp_python.sh")
exec "$python" "$here/profiles_test.py" --build "$@"
