#!/usr/bin/env bash
# Runs fleet_test.py, fleet_python_test.py, fleet_close_test.py and fleet_clickhouse_test.py with DuckDB, pandas, pyarrow and chDB from PyPI.
#
#   fleet_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with "${PYTHON_FLEET[@]}"
"$PYTHON" "$here/fleet_test.py" --build "$@"
"$PYTHON" "$here/fleet_python_test.py" --build "$@"
"$PYTHON" "$here/fleet_close_test.py" --build "$@"
"$PYTHON" "$here/fleet_clickhouse_test.py" --build "$@"
