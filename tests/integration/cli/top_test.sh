#!/usr/bin/env bash
# Runs top_test.py with the package that interprets the screen.
#
#   top_test.sh BUILD-DIR [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with pyte==0.8.2
exec "$PYTHON" "$here/top_test.py" --build "$@"
