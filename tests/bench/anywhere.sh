#!/bin/bash
# Measures everything behind CUPTI on any machine: no GPU needed.
#   tests/bench/anywhere.sh [OUT.json] [--rounds N] [--long] [--build DIR]      build/bench/anywhere.json
# anywhere.py describes the measurements; tests/bench/run.sh anywhere calls this. Needs a build with tests by the preset
# `release`, and valgrind for the instructions.
set -eu
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
exec python3 "$(dirname "$0")/anywhere.py" "$@"
