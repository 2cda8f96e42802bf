#!/usr/bin/env bash
# Damaged and hostile files: `cuspan fleet` on Parquet, and `cuspan export` of spans, whose files pyarrow reads.
#
#   fuzz.sh BUILD [CASES [SEED]]
#
# Both run, also if the first one fails. The last line is "N passed, N failed, N skipped".
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

python_with "${PYTHON_FLEET[@]}"
cases=${2:-150}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
passed=0 failed=0
# fuzz NAME ARGUMENTS...: one half. An end without a summary is a failure, too.
fuzz() {
    local status=0 counts
    "$PYTHON" "$here/$1.py" "${@:2}" | tee "$logs/$1" || status=$?
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, 0 skipped$' "$logs/$1" | tail -n 1) || counts='0 passed, 0 failed'
    [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    [ "$status" = 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || failed=$((failed + 1))
}
fuzz parquet_fuzz --build "$1" --cases "$cases" --seed "${3:-1}"
fuzz export_fuzz --build "$1" --cases $((2 * cases)) --seed "${3:-1}"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
