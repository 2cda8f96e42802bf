#!/bin/bash
# Counts the instructions of the release build for x86-64 per span, and compares them with the committed figures
# (tests/bench/guard.json), like tests/bench/guard.sh. --accept makes the current counts the committed figures.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/lib.sh
. tools/lib.sh
# shellcheck source=../../tools/release/toolchain.sh
. tools/release/toolchain.sh
tools/release/build.sh x86_64 --tests pipeline_bench callback_bench
exec python3 tests/bench/guard.py --build build/release/x86_64 "$@"
