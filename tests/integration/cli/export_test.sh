#!/usr/bin/env bash
# Runs export_test.py with the engines that read exported files, from PyPI.
#
#   export_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with duckdb==2.0.1 pyarrow==26.0.1 pandas==3.1.1 chdb==4.4.0
"$PYTHON" "$here/export_test.py" --build "$@"
