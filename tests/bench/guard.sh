#!/bin/bash
# Has a span become dearer? Counts instructions and allocations, and compares them with the committed figures.
#   tests/bench/guard.sh             fails on a rise
#   tests/bench/guard.sh --accept    what is counted now is the figure from now on (tests/bench/guard.json)
# Half a minute, in build/, which it brings up to date; guard.py says what is counted. CC=clang takes that compiler, in a
# folder of its own.
set -eu
cd "$(dirname "$0")/../.."
BUILD=build
[ -z "${CC:-}" ] || BUILD=build-guard-$(basename "$CC")
quietly() { SAID=$("$@" 2>&1) || { echo "$SAID" >&2; exit 1; }; }
[ -e "$BUILD/CMakeCache.txt" ] || quietly cmake --preset release -B "$BUILD" -DCUSPAN_BUILD_TESTS=ON
quietly cmake --build "$BUILD" --target pipeline_bench callback_bench
exec python3 tests/bench/guard.py --build "$BUILD" "$@"
