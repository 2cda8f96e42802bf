#!/usr/bin/env bash
# Tests of deploy/fleet's tables and dashboards in chDB, which is ClickHouse's engine, from PyPI.
#
#   clickhouse_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with chdb==4.4.0 duckdb==2.0.1 lz4==4.4.5 clickhouse-cityhash==1.0.2.6
build=$1
shift
for test in tables server dashboards; do
    "$PYTHON" "$here/${test}_test.py" --build "$build" "$@"
done
