#!/usr/bin/env bash
# Runs otel_schema_test.py with the PyPI package that contains OpenTelemetry's configuration schema.
#
#   otel_schema_test.sh BUILD
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with opentelemetry-configuration==0.66b2
"$PYTHON" "$here/otel_schema_test.py" --build "$1"
