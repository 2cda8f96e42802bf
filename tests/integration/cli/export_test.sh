#!/usr/bin/env bash
# Runs export_test.py with the engines that read exported files, from PyPI.
#
#   export_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with "${PYTHON_FLEET[@]}"
"$PYTHON" "$here/export_test.py" --build "$@"
