#!/bin/bash
# The committed tables of CUPTI's calls and records must equal what the generator makes of the headers of CUDA 12.0 to
# 13.5. Missing headers are fetched with pip into $CUSPAN_CACHE (~/.cache/cuspan). Exits with 77 if that is not
# possible.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
for tool in gcc readelf python3; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is missing"
        exit 77
    fi
done
python3 "$root/tools/gen_cupti_tables.py" --check

# Also checks cupti_abi.h, our declarations of CUPTI's structs, against the same headers. The cache has no crt/, of
# which only these words matter.
headers=${CUSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cuspan}/cuda-headers
stub=$(mktemp -d)
trap 'rm -rf "$stub"' EXIT
mkdir "$stub/crt"
cat >"$stub/crt/host_defines.h" <<'END'
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __host__
#define __device__
#define CUDARTAPI
END
includes() { find "$1" -name "$2" -exec dirname {} \; | sort -u | sed 's/^/-I/'; }
for version in $(cd "$root/tools" && python3 -c 'from cupti_tables.headers import VERSIONS; print(*(v[0] for v in VERSIONS))'); do
    version=$headers/$version # the cache may have those of other checkouts, too
    # shellcheck disable=SC2046 # one word a folder
    gcc -std=c17 -fsyntax-only -I "$stub" -I "$root/src" $(includes "$version" cupti.h) $(includes "$version" cuda.h) \
        "$root/tests/integration/project/cupti_abi_check.c"
    echo "cupti_abi.h holds against ${version##*/}"
    [ -n "$(find "$version" -name cupti_range_profiler.h)" ] || continue
    # shellcheck disable=SC2046
    gcc -x c++ -std=c++17 -fsyntax-only -I "$stub" -I "$root/src" $(includes "$version" cupti.h) \
        $(includes "$version" cuda.h) "$root/tests/integration/project/profiler_abi_check.c"
    echo "profiler_abi.h holds against ${version##*/}"
done
