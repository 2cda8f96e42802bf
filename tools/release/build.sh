#!/bin/bash
# Builds cuspan for one architecture as it is released, with the libraries of libraries.sh, in build/release/.
#
#   tools/release/build.sh ARCH          x86_64 or aarch64: leaves build/release/stage-ARCH/, an installation whose files are
#                                        stripped, and build/release/debug-ARCH/ with their debug files, by build ID
#   tools/release/build.sh ARCH --tests [TARGET...]
#                                        only builds the tests, or these targets, in build/release/ARCH/
#
# The same sources give the same bytes, in whichever folder.
set -euo pipefail
# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=toolchain.sh
. "$ROOT/tools/release/toolchain.sh"

RELEASE=$ROOT/build/release

configure() { # configure ARCH OPTION...
    local arch=$1 libraries
    libraries=$("$ROOT/tools/release/libraries.sh" --where "$arch")
    # CMake keeps the paths that it has found.
    grep -qsxF "CUSPAN_LIBRARIES:PATH=$libraries" "$RELEASE/$arch/CMakeCache.txt" || rm -rf "${RELEASE:?}/$arch"
    cmake -G Ninja -S "$ROOT" -B "$RELEASE/$arch" -DCMAKE_TOOLCHAIN_FILE="$ROOT/tools/release/zig.cmake" \
        -DCUSPAN_RELEASE_ARCH="$arch" -DCUSPAN_TOOLCHAIN="$TOOLCHAIN" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCUSPAN_LIBRARIES="$libraries" -DCMAKE_FIND_ROOT_PATH="$libraries" \
        -DCMAKE_C_FLAGS="\"-ffile-prefix-map=$RELEASE=/cuspan/build\" \"-ffile-prefix-map=$ROOT=/cuspan\" \"-ffile-prefix-map=$libraries=/libraries\"" \
        -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--build-id=sha1 -DCMAKE_MODULE_LINKER_FLAGS=-Wl,--build-id=sha1 \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=sha1 "${@:2}"
}

build_id() { llvm-readelf -n "$1" | sed -n 's/.*Build ID: //p'; }

# split FILE DEBUG: moves the debug information of an installed file to DEBUG/.build-id/XX/REST.debug, where debuggers look.
split() {
    local id place
    id=$(build_id "$1")
    [ -n "$id" ] || fail "$1 has no build ID"
    place=$2/.build-id/${id:0:2}
    mkdir -p "$place"
    llvm-objcopy --only-keep-debug "$1" "$place/${id:2}.debug"
    llvm-strip --strip-all "$1"
}

# Another architecture than this machine's: the program that writes the man pages is that of this machine, and tests run
# through qemu-user.
cross_options() {
    [ "$1" = "$(uname -m)" ] || printf '%s\n' "-DCUSPAN_HOST_PROGRAM=$RELEASE/stage-$(uname -m)/bin/cuspan" \
        "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-$1;-L;/usr/$1-linux-gnu"
}

prepare() { # prepare ARCH ON|OFF: configures, with or without the tests
    local options
    "$ROOT/tools/release/libraries.sh" "$1"
    toolchain "$1"
    mapfile -t options < <(cross_options "$1")
    configure "$1" -DCUSPAN_BUILD_TESTS="$2" "${options[@]}"
}

build_stage() {
    local arch=$1 stage=$RELEASE/stage-$1 debug=$RELEASE/debug-$1 file
    prepare "$arch" OFF
    cmake --build "$RELEASE/$arch"
    rm -rf "$stage" "$debug"
    cmake --install "$RELEASE/$arch" --prefix "$stage" >/dev/null
    cp "$(dirname "$ZIG")/LICENSE" "$stage/share/cuspan/licenses/zig" # of its runtime functions
    for file in "$stage"/bin/* "$stage"/lib/cuspan/*.so; do split "$file" "$debug"; done
}

main() {
    case ${1:-} in
    x86_64 | aarch64) ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0"; [ "${1:-}" = --help ]; return ;;
    esac
    is_there cmd:llvm-objcopy || packages_install "cmd:llvm-objcopy llvm"
    mkdir -p "$RELEASE"
    exec 9>"$RELEASE/build.lock" # two at once would install into the same folders
    flock 9
    if [ "${2:-}" = --tests ]; then
        prepare "$1" ON
        cmake --build "$RELEASE/$1" ${3:+--target "${@:3}"}
        return
    fi
    # Another architecture than this machine's needs the program of this machine.
    [ "$1" = "$(uname -m)" ] || [ -x "$RELEASE/stage-$(uname -m)/bin/cuspan" ] || build_stage "$(uname -m)"
    build_stage "$1"
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
