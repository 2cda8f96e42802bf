#!/bin/bash
# Checks all scripts with shellcheck.  tools/check-shell.sh
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

mapfile -t FILES < <(git ls-files --cached --others --exclude-standard | grep -E '\.sh$|^\.ci/run$')
printf '%s\0' "${FILES[@]}" | xargs -0 -n 4 -P "$(nproc)" shellcheck
echo "${#FILES[@]} scripts"
