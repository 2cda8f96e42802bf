#!/usr/bin/env bash
# Runs fleet_test.py, fleet_close_test.py and fleet_clickhouse_test.py with DuckDB, pandas, pyarrow and chDB from PyPI.
#
#   fleet_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with duckdb==2.0.1 pandas==3.1.1 pyarrow==26.0.1 chdb==4.4.0 lz4 clickhouse-cityhash matplotlib==3.11.2
"$PYTHON" "$here/fleet_test.py" --build "$@"
"$PYTHON" "$here/fleet_close_test.py" --build "$@"
"$PYTHON" "$here/fleet_clickhouse_test.py" --build "$@"
