#!/usr/bin/env bash
# Prints the path of a Python with opentelemetry-proto, installed once per user: a virtual environment under
# ${CUSPAN_CACHE:-~/.cache/cuspan}, filled from PyPI. If that fails, it prints one line and exits with 1.
set -euo pipefail

version=1.45.2
cache=${CUSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cuspan}
venv=$cache/otlp-python-$version
check=(-c 'import opentelemetry.proto.collector.trace.v1.trace_service_pb2')

mkdir -p "$cache"
exec 9>"$venv.lock" # tests may run in parallel
flock 9
if ! "$venv/bin/python" "${check[@]}" >/dev/null 2>&1; then
    rm -rf "$venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check \
        "opentelemetry-proto==$version" && "$venv/bin/python" "${check[@]}"; } >"$venv.log" 2>&1; then
        echo "otlp_python: cannot install opentelemetry-proto from PyPI; see $venv.log" >&2
        exit 1
    fi
fi
echo "$venv/bin/python"
