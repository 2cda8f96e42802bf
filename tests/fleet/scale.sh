#!/usr/bin/env bash
# Runs scale_test.py with DuckDB, chDB and numpy from PyPI.
#
#   scale.sh BUILD [--spans N] [--no-clickhouse] [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with "${PYTHON_FLEET[@]}"
"$PYTHON" "$here/scale_test.py" --build "$@"
