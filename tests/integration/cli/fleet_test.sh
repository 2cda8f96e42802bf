#!/usr/bin/env bash
# Runs fleet_test.py with DuckDB and pandas from PyPI.
#
#   fleet_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with duckdb==2.0.1 pandas==3.1.1
"$PYTHON" "$here/fleet_test.py" --build "$@"
