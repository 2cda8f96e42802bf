#!/bin/bash
# Is all C code formatted as .clang-format says?  tools/check-format.sh [--fix]
# Generated tables keep their generator's look.
set -eu
cd "$(dirname "$0")/.."
mapfile -t FILES < <(find src tests include examples -name '*.[ch]' ! -name '*_table.c' 2>/dev/null | sort)
if [ "${1:-}" = --fix ]; then
    printf '%s\0' "${FILES[@]}" | xargs -0 -n 50 -P "$(nproc)" clang-format -i
    exit
fi
# Which files, not which columns: --fix knows those.
WRONG=$(printf '%s\0' "${FILES[@]}" | xargs -0 -n 50 -P "$(nproc)" clang-format --dry-run --Werror 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:.*/\1/p' | sort -u)
if [ -n "$WRONG" ]; then
    echo "$WRONG"
    echo "not formatted; tools/check-format.sh --fix does it"
    exit 1
fi
echo "${#FILES[@]} files are formatted"
