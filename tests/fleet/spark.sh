#!/usr/bin/env bash
# Runs spark_test.py with Spark and DuckDB from PyPI (500 MB), and a Java from Debian.
#
#   spark.sh BUILD [unittest's arguments]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/lib.sh
. "$here/../../tools/lib.sh"

have java || packages_install "cmd:java default-jre-headless"
python_with duckdb==2.0.1 numpy
spark=$CACHE/fleet-python
[ -x "$spark/bin/spark-submit" ] || {
    python3 -m venv "$spark"
    "$spark/bin/pip" install -q --disable-pip-version-check pyspark==4.3.0 pyarrow==26.0.1 pandas==3.1.1 numpy duckdb==2.0.1
}
"$PYTHON" "$here/spark_test.py" --build "$1" --spark "$spark/bin/python" "${@:2}"
