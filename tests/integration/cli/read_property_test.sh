#!/usr/bin/env bash
# Runs read_property_test.py with Hypothesis and pyarrow, from PyPI.
#
#   read_property_test.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

python_with hypothesis==6.170.17 pyarrow==26.0.1
"$PYTHON" "$here/read_property_test.py" --build "$@"
