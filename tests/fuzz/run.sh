#!/bin/bash
# Builds every tests/fuzz/NAME_fuzz.c with clang (libFuzzer, ASan, UBSan) and runs each for a while.
#   tests/fuzz/run.sh [SECONDS] [NAME...]
# What is found stays in build-fuzz/found/, the corpus grows in build-fuzz/corpus/NAME/; seeds are tests/fuzz/seeds/NAME/.
set -eu -o pipefail
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
RUN_SECONDS=${1:-15}
shift $(($# > 0))
BUILD=build-fuzz
SANITIZERS=address,undefined
PASSED=0 FAILED=0

prepare_libraries
cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCUSPAN_SANITIZE="$SANITIZERS" -DCMAKE_C_FLAGS="-fsanitize=fuzzer-no-link -O1" -DCUSPAN_BUILD_TESTS=OFF \
    "${LIBRARY_OPTIONS[@]}" >/dev/null
mapfile -t LIBRARIES < <(ninja -C "$BUILD" -t targets all | sed -n 's/^\(libcuspan_[a-z]*\.a\): .*/\1/p')
ninja -C "$BUILD" "${LIBRARIES[@]}"

NAMES=("$@")
if [ ${#NAMES[@]} -eq 0 ]; then
    for file in tests/fuzz/*_fuzz.c; do
        name=${file##*/}
        NAMES+=("${name%_fuzz.c}")
    done
    [ -e "$file" ] || fail "no fuzzers in tests/fuzz"
fi
mkdir -p "$BUILD/found"
for name in "${NAMES[@]}"; do
    echo "== $name"
    clang -g -O1 -fsanitize=fuzzer,"$SANITIZERS" -fno-sanitize-recover=all -D_GNU_SOURCE -I src \
        "tests/fuzz/${name}_fuzz.c" -o "$BUILD/${name}_fuzz" \
        -Wl,--start-group "${LIBRARIES[@]/#/$BUILD/}" -Wl,--end-group \
        -Wl,--as-needed -lyaml -lz -lpthread -ldl -lm
    corpus=$BUILD/corpus/$name
    mkdir -p "$corpus"
    dirs=("$corpus")
    [ ! -d "tests/fuzz/seeds/$name" ] || dirs+=("tests/fuzz/seeds/$name")
    if "$BUILD/${name}_fuzz" -max_total_time="$RUN_SECONDS" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="$BUILD/found/$name-" "${dirs[@]}" 2>&1 | grep -vE '^#[0-9]+\s+(NEW|REDUCE)|^\s*NEW_FUNC'; then
        PASSED=$((PASSED + 1))
    else
        FAILED=$((FAILED + 1))
        echo "FAILED: $name; the input is in $BUILD/found/"
    fi
done
echo "$PASSED passed, $FAILED failed, 0 skipped"
[ "$FAILED" = 0 ]
