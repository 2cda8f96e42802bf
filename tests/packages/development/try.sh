#!/bin/bash
# Compiles and runs programs with cuspan.h, as found by pkg-config and by CMake.
#
#   try.sh PREFIX VERSION
set -eu
prefix=$1 version=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "$prefix" = /usr ] || export PKG_CONFIG_PATH=$prefix/share/pkgconfig
[ "$(pkg-config --modversion cuspan)" = "$version" ]
flags=()
eval "flags=($(pkg-config --cflags --libs cuspan))" # it quotes spaces and letters outside ASCII for a shell
cc "$here/program.c" -o "$work/program" "${flags[@]}"
"$work/program"
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DVERSION="$version" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
grep -q "^cuspan_DIR:PATH=$prefix/share/cmake/cuspan\$" "$work/build/CMakeCache.txt"
cmake --build "$work/build"
"$work/build/c_program"
"$work/build/cpp_program"
