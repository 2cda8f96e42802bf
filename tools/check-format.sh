#!/bin/bash
# Checks that all C code follows .clang-format, or formats it.  tools/check-format.sh [--fix]
# Generated tables (tools/gen_cupti_tables.py) keep their generator's format.
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

FORMATTER=$(clang_tool clang-format)
mapfile -t FILES < <(find src tests include examples -name '*.[ch]' ! -path 'src/agent/abi/*_table.c' \
    ! -path 'src/model/cuda/*_table.c' 2>/dev/null | sort)
if [ "${1:-}" = --fix ]; then
    printf '%s\0' "${FILES[@]}" | xargs -0 -n 50 -P "$(nproc)" "$FORMATTER" -i
    exit
fi
# Only lists the files; --fix formats them.
WRONG=$(printf '%s\0' "${FILES[@]}" | xargs -0 -n 50 -P "$(nproc)" "$FORMATTER" --dry-run --Werror 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:.*/\1/p' | sort -u)
if [ -n "$WRONG" ]; then
    echo "$WRONG"
    echo "not formatted; run tools/check-format.sh --fix"
    exit 1
fi
echo "${#FILES[@]} files are formatted"
