#!/bin/bash
# The examples, graphs that threads launch, and a program built with CUDA 12, on this machine's GPU with the agent.
#   tests/gpu/run.sh [CUPTI-LIBRARY...]
# Without arguments: with the CUPTI that ships with cuspan (build/cupti), those of 12.9 and 13.0, which are fetched into
# build/cupti-VERSION, others in build/cupti-*/, and the toolkit's.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"
OUT=build/gpu-test
mkdir -p "$OUT"

find_nvcc() {
    local candidate
    for candidate in "$(command -v nvcc)" /usr/local/cuda/bin/nvcc build/cuda/bin/nvcc; do
        if [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    tools/get-cuda.sh nvcc build/cuda >&2 && echo build/cuda/bin/nvcc
}

NVCC=$(find_nvcc) || fail "no nvcc, and none to be had from PyPI"
for example in vector_add threads graph; do
    "$NVCC" -arch=native -o "$OUT/$example" "examples/$example.cu"
done
"$NVCC" -arch=native -o "$OUT/graph_threads" tests/gpu/programs/graph_threads.cu
"$NVCC" -arch=native -std=c++17 -Iinclude -o "$OUT/requests" tests/gpu/programs/requests.cu
cc -shared -fPIC -O2 -o "$OUT/counter.so" tests/gpu/programs/counter.c -ldl
"$NVCC" -arch=native -std=c++17 -Iinclude -o "$OUT/control" tests/gpu/programs/control.cu
"$NVCC" -arch=native -std=c++17 -o "$OUT/faults" tests/gpu/programs/faults.cu
PROGRAMS=("$OUT/vector_add" "$OUT/threads" "$OUT/graph" "$OUT/graph_threads" "$OUT/requests" "$OUT/control")

build_cuda12() {
    local cuda12=$PWD/build/cuda12
    tools/get-cuda.sh runtime12 "$cuda12" &&
        cc -I"$cuda12/include" tests/gpu/programs/cuda12.c -o "$OUT/cuda12" -L"$cuda12/lib" -l:libcudart.so.12 \
            -Wl,-rpath,"$cuda12/lib"
}

if build_cuda12; then
    PROGRAMS+=("$OUT/cuda12")
else
    echo "skipped: cuda12: no headers and runtime of CUDA 12.9 from PyPI"
fi

LIBRARIES=("$@")
if [ $# -eq 0 ]; then
    tools/get-cuda.sh cupti build/cupti || say "could not fetch CUPTI: with what is here"
    # For a CUDA 12 driver the one above is that of 12.9, and that of 13.0 is too new.
    if [ "$(tools/get-cuda.sh driver)" -ge 13000 ]; then
        for version in 12.9 13.0; do
            tools/get-cuda.sh cupti "build/cupti-$version" "$version" || say "could not fetch CUPTI $version: without it"
        done
    fi
    # The Python tests use the first one.
    ours=build/cupti/libcupti.so.13
    [ -e "$ours" ] || ours=build/cupti/libcupti.so.12
    for library in "$ours" build/cupti-*/libcupti.so.1[23] /usr/local/cuda/extras/CUPTI/lib64/libcupti.so; do
        [ ! -e "$library" ] || LIBRARIES+=("$(realpath "$library")")
    done
fi
[ ${#LIBRARIES[@]} -gt 0 ] || fail "no CUPTI anywhere"
STATUS=0
python3 tests/gpu/numbers/findings_test.py build "$OUT" "$OUT/faults" "${LIBRARIES[0]}" || STATUS=1
TABLES=("$OUT/vector_add" "$OUT/threads" "$OUT/graph")
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    TABLES+=("python3 examples/torch_inference.py")
fi
python3 tests/gpu/numbers/tables_test.py build "$OUT/tables" "${LIBRARIES[0]}" -- "${TABLES[@]}" || STATUS=1
python3 tests/gpu/gpu_test.py build "$OUT" "$PWD/$OUT/counter.so" "${LIBRARIES[@]}" -- "${PROGRAMS[@]}" || STATUS=1
exit $STATUS
