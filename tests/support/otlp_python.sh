#!/usr/bin/env bash
# Prints the path of a Python with opentelemetry-proto from PyPI, installed once per user. If that fails, it prints one
# line and exits with 1.
set -euo pipefail
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"

log=$CACHE/otlp-python.log
mkdir -p "$CACHE"
if ! python_with opentelemetry-proto==1.45.2 >"$log" 2>&1; then
    echo "otlp_python: cannot install opentelemetry-proto from PyPI; see $log" >&2
    exit 1
fi
echo "$PYTHON"
