#!/usr/bin/env bash
# Tests of deploy/fleet's tables and dashboards in chDB, which is ClickHouse's engine, from PyPI.
#
#   clickhouse_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with "${PYTHON_FLEET[@]}"
build=$1
shift
for test in tables server dashboards; do
    "$PYTHON" "$here/${test}_test.py" --build "$build" "$@"
done
