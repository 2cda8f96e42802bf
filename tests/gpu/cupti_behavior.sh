#!/bin/bash
# Measures CUPTI's behavior that docs/cupti.md describes under "Activity records", "Names" and "Graph records": programs/forced.cu,
# programs/jit_names.c and programs/graph_records.cu with each CUPTI in build/cupti-*/. Takes about two minutes.
#   tests/gpu/cupti_behavior.sh OUTDIR [names|reset|forced|shared|kinds|device|crash]...
#   tests/gpu/cupti_behavior.sh OUTDIR link    compiles and links their common part, without CUDA
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
OUTDIR=$1
shift
BIN=${BIN:-build/gpu-test}
mkdir -p "$BIN" "$OUTDIR"
SOURCES=(tests/gpu/programs/bare_cupti.c src/agent/capture/activity/decode.c src/agent/abi/layouts.c src/agent/abi/layouts_table.c
    src/model/cuda/activities_table.c)

# compile FOLDER SOURCE...: object files
compile() {
    mkdir -p "$1"
    (cd "$1" && cc -O1 -g -fPIC -D_GNU_SOURCE "-I$ROOT/src" -c "${@:2}")
}

# The programs' common part, which needs no CUDA.
build_shared() {
    local base
    compile "$BIN/objects" "${SOURCES[@]/#/$ROOT/}"
    mapfile -t base < <(find "$ROOT/src/base" -name '*.c')
    compile "$BIN/objects/base" "${base[@]}"
    ar rcs "$BIN/objects/libbase.a" "$BIN"/objects/base/*.o
    SHARED=("$BIN"/objects/*.o "$BIN/objects/libbase.a" -ldl -lpthread)
}

build() {
    local nvcc include
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || nvcc=build/cuda/bin/nvcc
    include=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
    build_shared
    cc -O1 -g -D_GNU_SOURCE -Isrc "-I$include" -o "$BIN/jit_names" tests/gpu/programs/jit_names.c "${SHARED[@]}"
    "$nvcc" -cubin -arch=sm_90 -o "$BIN/jit_kernel.cubin" tests/gpu/programs/jit_kernel.cu
    "$nvcc" -arch=sm_90 -std=c++17 -Isrc -o "$BIN/forced" tests/gpu/programs/forced.cu "${SHARED[@]}"
    "$nvcc" -arch=sm_90 -std=c++17 -rdc=true -Isrc -o "$BIN/graph_records" tests/gpu/programs/graph_records.cu "${SHARED[@]}" -lcudadevrt
}

if [ "${1:-}" = link ]; then
    build_shared
    cc -shared -Wl,--no-undefined -o "$BIN/shared.so" "${SHARED[@]}"
    exit
fi

# Programs that run as they are, from another machine, are not built again.
runs() {
    local status=0
    "$BIN/$1" >/dev/null 2>&1 || status=$?
    [ "$status" -eq 2 ]
}
{ runs jit_names && runs graph_records && runs forced; } || build

apis() {
    case $1 in
    *-13.[345]/*) echo classic subscriber ;;
    *) echo classic ;;
    esac
}

# run_all JOBS OUTFILE: runs the lines of standard input, "LIBRARY API PROGRAM ARGUMENTS...", JOBS at a time.
# shellcheck disable=SC2016 # the inner shell's
run_all() {
    local parts=$BIN/parts-$$
    mkdir -p "$parts"
    nl -w4 -nrz | xargs -P "$1" -d '\n' -I{} bash -c '
        read -r number library api program arguments <<<"{}"
        { echo "== $library $api $arguments"
          timeout 60 '"$BIN"'/$program "$(realpath $library)" $api $arguments || echo "status $?"
        } >'"$parts"'/$number 2>&1'
    cat "$parts"/* >"$2"
    rm -r "$parts"
}

# lines PROGRAM VERSIONS ARGUMENTS...: with each library and API
lines() {
    local library api program=$1 versions=$2 arguments
    shift 2
    for library in build/cupti-*/libcupti.so.1[23]; do
        [[ $library =~ build/cupti-($versions)/ ]] || continue
        for api in $(apis "$library"); do
            for arguments in "$@"; do
                echo "$library $api $program $arguments"
            done
        done
    done
}

# crashes WHAT LIBRARY-OF-THE-PROGRAM ARGUMENTS [LIBRARY-OF-CUSPAN [SETTING]]: the exit statuses of 40 runs
# shellcheck disable=SC2016 # the inner shell's
crashes() {
    local under=""
    [ -z "${4:-}" ] || under="build/cuspan run -q --file /dev/null --set cupti.library=$(realpath "$4") ${5:+--set $5} --"
    printf '%s: ' "$1"
    seq 40 | xargs -P 8 -I{} bash -c 'timeout 60 '"$under '$BIN/graph_records' $2 classic $3"' >/dev/null 2>&1; echo $?' 2>/dev/null |
        sort | uniq -c | tr '\n' ' '
    echo
}

CUBIN=$BIN/jit_kernel.cubin
ALL='12.0|12.4|12.9|13.[0-5]'
for part in "${@:-names}"; do
    case $part in
    names)
        lines jit_names "$ALL" "p 1000 $CUBIN" "ps 1000 $CUBIN" "lp 1000 $CUBIN" "lps 1000 $CUBIN" "e 1000 $CUBIN" \
            "pu 300 $CUBIN" "psu 300 $CUBIN" "g 300 $CUBIN" "gc 300 $CUBIN" | run_all 8 "$OUTDIR/names.txt"
        ;;
    forced) lines forced '12.9|13.0|13.5' '3 none' '3 launch' '3 memory' | run_all 1 "$OUTDIR/forced.txt" ;;
    reset) lines jit_names '12.9|13.0|13.5' "psx 20 $CUBIN" | run_all 4 "$OUTDIR/reset.txt" ;;
    shared)
        lines graph_records '12.4|12.9|13.0|13.2|13.5' 'graph shared 400 4 1 own' 'graph shared 400 4 1 same' 'graph shared 400 4 10 own' \
            'graph shared 400 4 1 mutex' 'node shared 400 4 1 own' | run_all 2 "$OUTDIR/shared.txt"
        ;;
    kinds)
        lines graph_records '12.9|13.0|13.2|13.5' 'graph while' 'node while' 'graph nested' 'node nested' 'node if' \
            'node switch' 'graph device' 'node device' | run_all 6 "$OUTDIR/kinds.txt"
        ;;
    device)
        export BARE_DEVICE_GRAPHS=1
        lines graph_records '12.9|13.0|13.5' 'graph device' 'node device' | run_all 4 "$OUTDIR/device.txt"
        ;;
    crash)
        shared="graph shared 400 4 1"
        crashes "no tracer own" none "$shared own"
        for library in build/cupti-*/libcupti.so.1[23]; do
            for run in "$shared own" "$shared same" "$shared mutex" "${shared/graph/node} own"; do
                crashes "$library: bare $run" "$library" "$run"
            done
            for settings in "" "cupti.graph_records=always" "detail=graph-nodes" "capture.activities.deny=graph"; do
                crashes "$library: cuspan $settings own" none "$shared own" "$library" "$settings"
            done
            crashes "$library: cuspan mutex" none "$shared mutex" "$library"
        done >"$OUTDIR/crash.txt" 2>&1
        ;;
    esac
done
