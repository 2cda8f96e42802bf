#!/usr/bin/env bash
# Runs exporter_test.py with a Collector that tools/get-collector.sh builds, and chDB from PyPI.
#
#   exporter_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with "${PYTHON_FLEET[@]}"
collector=$("$ROOT/tools/get-collector.sh")
"$PYTHON" "$here/exporter_test.py" --collector "$collector" --build "$@"
