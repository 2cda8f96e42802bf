#!/usr/bin/env bash
# Runs spark_test.py with Spark and DuckDB from PyPI (500 MB), and a Java from Debian.
#
#   spark.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

have java || packages_install "cmd:java default-jre-headless"
python_with "${PYTHON_FLEET[@]}" pyspark==4.3.0
"$PYTHON" "$here/spark_test.py" --build "$1" --spark "$PYTHON" "${@:2}"
