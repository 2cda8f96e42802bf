#!/usr/bin/env bash
# Damaged and hostile files: `cuspan fleet` on Parquet, and `cuspan export` of spans, whose files pyarrow reads.
#
#   fuzz.sh BUILD [CASES [SEED]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with duckdb==2.0.1 pyarrow==26.0.1
cases=${2:-150}
"$PYTHON" "$here/parquet_fuzz.py" --build "$1" --cases "$cases" --seed "${3:-1}"
"$PYTHON" "$here/export_fuzz.py" --build "$1" --cases $((2 * cases)) --seed "${3:-1}"
