#!/usr/bin/env bash
# Runs scale_test.py with DuckDB, chDB and numpy from PyPI.
#
#   scale.sh BUILD [--spans N] [--no-clickhouse] [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with duckdb==2.0.1 pandas==3.1.1 numpy chdb==4.4.0 lz4 clickhouse-cityhash
"$PYTHON" "$here/scale_test.py" --build "$@"
