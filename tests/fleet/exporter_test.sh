#!/usr/bin/env bash
# Runs exporter_test.py with a Collector that tools/get-collector.sh builds, and chDB from PyPI.
#
#   exporter_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with chdb==4.4.0 duckdb==2.0.1 lz4==4.4.5 clickhouse-cityhash==1.0.2.6
collector=$("$ROOT/tools/get-collector.sh")
"$PYTHON" "$here/exporter_test.py" --collector "$collector" --build "$@"
