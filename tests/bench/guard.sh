#!/bin/bash
# Checks whether a span has become more expensive: counts instructions and allocations, and compares them with the
# committed figures.
#   tests/bench/guard.sh             fails on a rise
#   tests/bench/guard.sh --accept    makes the current counts the committed figures (tests/bench/guard.json)
# Takes half a minute, in build/, which it brings up to date; guard.py describes the counts. CC=clang uses that
# compiler, in a separate folder.
set -eu
cd "$(dirname "$0")/../.."
BUILD=build
[ -z "${CC:-}" ] || BUILD=build-guard-$(basename "$CC")
quietly() { SAID=$("$@" 2>&1) || { echo "$SAID" >&2; exit 1; }; }
[ -e "$BUILD/CMakeCache.txt" ] || quietly cmake --preset release -B "$BUILD" -DCUSPAN_BUILD_TESTS=ON
quietly cmake --build "$BUILD" --target pipeline_bench callback_bench
exec python3 tests/bench/guard.py --build "$BUILD" "$@"
