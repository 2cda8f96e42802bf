#!/bin/bash
# Gets parts of CUDA from PyPI, for machines with a GPU and no toolkit, or an old one:
#   tools/get-cuda.sh cupti DIR [all|12.9|13.0]
#                                  DIR/libcupti.so.13 or .12, the newest that this machine's driver supports: the CUPTI
#                                  that ships with cuspan. all: both, for an image for any machine; 12.9, 13.0: that
#                                  release, for tests
#   tools/get-cuda.sh nvcc DIR     a compiler for .cu files, DIR/bin/nvcc (only CUDA 13; PyPI does not have that of 12)
#   tools/get-cuda.sh runtime12 DIR
#                                  the headers and the runtime of CUDA 12.9, DIR/include and DIR/lib/libcudart.so.12
#   tools/get-cuda.sh driver       prints the driver's CUDA version (13000 for 13.0), 0 without one
# Existing files are not fetched again. NVIDIA's license is stored with each part.
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

driver_version() {
    python3 - <<'PYTHON'
import ctypes
version = ctypes.c_int(0)
try:
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
except (OSError, AttributeError):
    pass
print(version.value)
PYTHON
}

# Without a driver (while building an image, for example) the newest is used.
older_driver() {
    local version
    version=$(driver_version)
    [ "$version" -ne 0 ] && [ "$version" -lt 13000 ]
}

# fetch WORK REQUIREMENT...: downloads wheels and unpacks them into WORK.
fetch() {
    local work=$1
    shift
    python_with pip || fail "python3 -m venv does not work: install python3-venv"
    "$PYTHON" -m pip download -q --disable-pip-version-check --no-deps -d "$work" "$@" ||
        fail "could not get $* from PyPI"
    "$PYTHON" - "$work" <<'PYTHON'
import glob, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/*.whl"):
    zipfile.ZipFile(wheel).extractall(sys.argv[1])
PYTHON
}

get_cupti() {
    case ${3:-} in
    12.9)
        get_one_cupti "$1" "$2" libcupti.so.12 nvidia-cuda-cupti-cu12==12.9.79
        return
        ;;
    13.0)
        get_one_cupti "$1" "$2" libcupti.so.13 'nvidia-cuda-cupti==13.0.*'
        return
        ;;
    '' | all) ;;
    *) fail "no CUPTI $3 here: all, 12.9 or 13.0" ;;
    esac
    if [ "${3:-}" = all ] || ! older_driver; then
        get_one_cupti "$1" "$2/13" libcupti.so.13 nvidia-cuda-cupti==13.5.25
    fi
    if [ "${3:-}" = all ] || older_driver; then
        get_one_cupti "$1" "$2/12" libcupti.so.12 nvidia-cuda-cupti-cu12==12.9.79
    fi
}

get_one_cupti() {
    local dir=$1 work=$2 name=$3 helper
    local helpers=$dir/nvperf-${name##*.} # for hardware counters; each CUPTI needs its own, with the same file names
    [ ! -e "$dir/$name" ] || [ ! -e "$helpers/libnvperf_target.so" ] || return 0
    mkdir -p "$work" "$helpers"
    fetch "$work" "$4"
    for helper in libnvperf_host.so libnvperf_target.so; do
        find "$work" -name "$helper" -exec cp {} "$helpers/$helper" \;
    done
    find "$work" -name "$name" -exec cp {} "$dir/$name.new" \;
    find "$work" -ipath '*licen*' -type f -exec cp {} "$dir/LICENSE.NVIDIA" \;
    mv "$dir/$name.new" "$dir/$name"
}

get_nvcc() {
    local dir=$1 work=$2
    [ ! -x "$dir/bin/nvcc" ] || return 0
    ! older_driver || fail "PyPI has no nvcc for CUDA 12, which this driver supports; install the toolkit"
    # All parts from 13.0, which every driver for CUDA 13 supports.
    fetch "$work" 'nvidia-cuda-nvcc==13.0.*' 'nvidia-nvvm==13.0.*' 'nvidia-cuda-crt==13.0.*' \
        'nvidia-cuda-cccl==13.0.*' 'nvidia-cuda-runtime==13.0.*'
    rm -rf "$dir"
    mkdir -p "$(dirname "$dir")"
    mv "$work/nvidia/cu13" "$dir"
    # nvcc looks for the libraries here. pip does not preserve the permission to execute.
    ln -sfn lib "$dir/lib64"
    chmod -R u+x "$dir/bin" "$dir/nvvm/bin"
}

get_runtime12() {
    local dir=$1 work=$2
    [ ! -e "$dir/lib/libcudart.so.12" ] || return 0
    # The runtime's headers include some headers of the compiler.
    fetch "$work" 'nvidia-cuda-runtime-cu12==12.9.*' 'nvidia-cuda-nvcc-cu12==12.9.*'
    rm -rf "$dir"
    mkdir -p "$(dirname "$dir")"
    cp -r "$work/nvidia/cuda_nvcc/include/crt" "$work/nvidia/cuda_runtime/include/"
    find "$work" -path '*.dist-info/*' -iname '*licen*' -type f -exec cp {} "$work/nvidia/cuda_runtime/LICENSE.NVIDIA" \;
    mv "$work/nvidia/cuda_runtime" "$dir"
}

case ${1:-} in
cupti | nvcc | runtime12)
    [ $# -ge 2 ] || fail "usage: get-cuda.sh $1 DIR"
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    "get_$1" "$2" "$WORK" "${3:-}"
    ;;
driver) driver_version ;;
*) fail "usage: get-cuda.sh cupti DIR [all|12.9|13.0] | nvcc DIR | runtime12 DIR | driver" ;;
esac
