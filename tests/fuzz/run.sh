#!/bin/bash
# Builds every tests/fuzz/NAME_fuzz.c with clang (libFuzzer, ASan, UBSan) and runs each for a while, one per processor
# at a time.
#   tests/fuzz/run.sh [SECONDS] [NAME...]
# Findings are kept in build-fuzz/found/, the corpus grows in build-fuzz/corpus/NAME/; seeds are tests/fuzz/seeds/NAME/, logs
# build-fuzz/log/NAME.
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
mkdir -p "$BUILD/found" "$BUILD/log"

GZIP=$(tools/fetch-sources.sh --where isal)/lib/libisal.a
[ -e "$GZIP" ] || GZIP=-ldeflate # as in cmake/compress.cmake
YYJSON=$(sed -n 's/^YYJSON_LIBRARY:[A-Z]*=//p' "$BUILD/CMakeCache.txt")

# A fuzzer lists the sources that it needs besides the stages' libraries in a line "// SOURCES: FILE...".
build_fuzzer() { # build_fuzzer NAME
    local sources
    read -ra sources < <(sed -n 's|^// SOURCES: ||p' "tests/fuzz/$1_fuzz.c") || true
    clang -g -O1 -fsanitize=fuzzer,"$SANITIZERS" -fno-sanitize-recover=all -D_GNU_SOURCE -I src \
        "tests/fuzz/$1_fuzz.c" "${sources[@]}" -o "$BUILD/$1_fuzz" \
        -Wl,--start-group "${LIBRARIES[@]/#/$BUILD/}" -Wl,--end-group \
        "$(${CC:-cc} -print-file-name=libsupc++.a)" \
        -Wl,--as-needed -lyaml "$YYJSON" "$GZIP" -lz -lzstd -lcjson -lpthread -ldl -lm
}

run_fuzzer() { # run_fuzzer NAME
    local dirs=("$BUILD/corpus/$1")
    mkdir -p "${dirs[0]}"
    [ ! -d "tests/fuzz/seeds/$1" ] || dirs+=("tests/fuzz/seeds/$1")
    "$BUILD/$1_fuzz" -max_total_time="$RUN_SECONDS" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$BUILD/found/$1-" "${dirs[@]}" >"$BUILD/log/$1" 2>&1
}

finish_one() { # waits for the one started first
    local name=${RUNNING[0]%%:*} pid=${RUNNING[0]##*:}
    RUNNING=("${RUNNING[@]:1}")
    echo "== $name"
    if wait "$pid"; then
        PASSED=$((PASSED + 1))
        grep -E '^(Done|stat::number_of_executed_units)' "$BUILD/log/$name"
    else
        FAILED=$((FAILED + 1))
        grep -vE '^#[0-9]+\s+(NEW|REDUCE|pulse)|^\s*NEW_FUNC' "$BUILD/log/$name" | tail -n 60
        echo "FAILED: $name; the inputs are in $BUILD/found/, the newest in base64:"
        find "$BUILD/found" -name "$name-*" -size -9 -printf '%T@ %p\n' | sort -n | sed -n '$s/^[^ ]* //p' |
            xargs -r base64 -w 0 | sed 's/^/FAILED: /'
        echo
    fi
}

RUNNING=()
for name in "${NAMES[@]}"; do
    build_fuzzer "$name"
    [ ${#RUNNING[@]} -lt "$(nproc)" ] || finish_one
    run_fuzzer "$name" &
    RUNNING+=("$name:$!")
done
while [ ${#RUNNING[@]} -gt 0 ]; do
    finish_one
done
echo "$PASSED passed, $FAILED failed, 0 skipped"
[ "$FAILED" = 0 ]
