#!/bin/bash
# Checks that all C code follows .clang-format, or formats it.  tools/check-format.sh [--fix]
# Generated tables (tools/gen_cupti_tables.py) keep their generator's format.
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

# Other versions format some code differently. PyPI has this one, for systems with a newer clang.
VERSION=14.0.6
FORMATTER=clang-format
if ! clang-format --version 2>/dev/null | grep -q " version ${VERSION%%.*}\."; then
    python_with "clang-format==$VERSION" || fail "cannot install clang-format $VERSION from PyPI; check the network and run this again"
    FORMATTER=$(dirname "$PYTHON")/clang-format
fi

mapfile -t FILES < <(find src tests include examples -name '*.[ch]' ! -path 'src/abi/*_table.c' \
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
