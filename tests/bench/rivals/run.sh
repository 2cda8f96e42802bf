#!/bin/bash
# Measures the cost per span in OpenTelemetry's own exporters for Rust, Go and C++, and in ours, with the same spans
# (../spans.h): CPU time of the whole process, all threads, and bytes on the wire. Prints medians and the spread as a
# table, and writes all raw values to OUT.json.
#
#   tests/bench/rivals/run.sh [OUT.json] [--spans N] [--rounds N]     (none, 500000, 5)
#
# Rust needs cargo, Go needs go (1.21 or later fetches the version that go.mod requires). C++ needs an opentelemetry-cpp
# with OTLP/HTTP and its compression in OTELCPP_PREFIX: Debian 12 has no package of it. Rust and C++ run a second time
# with jemalloc if Debian's libjemalloc2 is installed, because glibc's malloc is a large part of their cost. Anything
# missing or unbuildable is skipped with one line. Builds are kept in ~/.cache/cuspan (or $CUSPAN_CACHE); go and cargo
# keep their downloads in their usual places.
set -eu
# shellcheck source=../../../tools/lib.sh
. "$(dirname "$0")/../../../tools/lib.sh"
HERE=$ROOT/tests/bench/rivals
WORK=$CACHE/rivals
LOGS=$ROOT/build/log
OPTIONS=()

note() { echo "$*" >&2; }

# rival NAME PROGRAM COMMAND...: builds PROGRAM with the command.
rival() {
    local name=$1 program=$2 log=$LOGS/rival-$1.log
    shift 2
    if "$@" >"$log" 2>&1 </dev/null; then
        OPTIONS+=(--rival "$name=$program")
    else
        note "$name is left out, it could not be built: $(tail -n 1 "$log") ($log)"
    fi
}

build_go() (
    cd "$HERE/go" && GOWORK=off GOFLAGS=-mod=readonly go build -buildvcs=false -o "$WORK/rival-go" ./sdk
)
build_rust() { cargo build --release --locked --manifest-path "$HERE/rust/Cargo.toml" --target-dir "$WORK/rust"; }
build_cpp() {
    rm -f "$WORK/cpp/CMakeCache.txt" && # it keeps the former prefix
        cmake -S "$HERE/cpp" -B "$WORK/cpp" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$OTELCPP_PREFIX" &&
        cmake --build "$WORK/cpp"
}
build_ours() (
    CURL_OPTIONS=()
    [ -f "$ROOT/build/CMakeCache.txt" ] || prepare_curl
    cd "$ROOT" && cmake --preset release -DCUSPAN_BUILD_TESTS=ON "${CURL_OPTIONS[@]}" &&
        cmake --build build --target own_exporter
)

find_jemalloc() {
    local path
    path=$({ /sbin/ldconfig -p || true; } 2>/dev/null | awk '/libjemalloc\.so\.2/ { print $NF; exit }')
    if [ -n "$path" ]; then
        OPTIONS+=(--jemalloc "$path")
    else
        note "jemalloc is left out: libjemalloc2 is not installed"
    fi
}

build_all() {
    note "building the exporters (logs: build/log/rival-*.log)"
    build_ours >"$LOGS/rival-cuspan.log" 2>&1 || fail "cuspan could not be built: $LOGS/rival-cuspan.log"
    if have cargo; then
        rival rust "$WORK/rust/release/rival-rust" build_rust
    else
        note "rust is left out: there is no cargo"
    fi
    if have go; then
        rival go "$WORK/rival-go" build_go
    else
        note "go is left out: there is no go"
    fi
    if [ -n "${OTELCPP_PREFIX:-}" ]; then
        rival cpp "$WORK/cpp/rival-cpp" build_cpp
    else
        note "cpp is left out: OTELCPP_PREFIX names no installed opentelemetry-cpp"
    fi
    find_jemalloc
}

case ${1:-} in
-h | --help)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
mkdir -p "$WORK" "$LOGS"
build_all
exec python3 "$HERE/measure.py" --own "$ROOT/build/own_exporter" "${OPTIONS[@]}" "$@"
