# shellcheck shell=bash
# The release build's compiler: zig, which is clang and lld with the interfaces of every glibc. Source it after
# tools/lib.sh.

GLIBC_FLOOR=2.28 # RHEL 8, Debian 10, Ubuntu 20.04

# toolchain_text: changes with everything that decides on what a compiler makes.
toolchain_text() {
    echo "$GLIBC_FLOOR"
    cat "$ROOT/tools/release/zig.txt"
    declare -f compiler wrapper
}

# toolchain ARCH: leaves a folder with cc, c++, ar and ranlib for this architecture in TOOLCHAIN, and zig in ZIG.
toolchain() {
    local arch=$1 zig_dir
    zig_dir=$CACHE/zig-$(sha256sum "$ROOT/tools/release/zig.txt" | cut -c1-12)
    if [ ! -x "$zig_dir/ziglang/zig" ]; then
        python_with pip || return
        rm -rf "$zig_dir" "$zig_dir.new"
        "$PYTHON" -m pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
            --target "$zig_dir.new" -r "$ROOT/tools/release/zig.txt" || return
        mv "$zig_dir.new" "$zig_dir"
    fi
    ZIG=$zig_dir/ziglang/zig
    export ZIG_GLOBAL_CACHE_DIR=$CACHE/zig-cache ZIG_LOCAL_CACHE_DIR=$CACHE/zig-cache
    TOOLCHAIN=$CACHE/toolchain-$arch-$(toolchain_text | sha256sum | cut -c1-12)
    [ -x "$TOOLCHAIN/ranlib" ] && return
    mkdir -p "$TOOLCHAIN"
    compiler cc "$arch"
    compiler c++ "$arch"
    wrapper ar ar
    wrapper ranlib ranlib
}

# clang keeps the frame pointer by default, gcc does not, and callbacks are short. In some modes, zig adds checks for
# undefined behavior and stack protectors: a release build has neither.
compiler() {
    # shellcheck disable=SC2016 # for the wrapper's shell
    wrapper "$1" "$1 -target $2-linux-gnu.$GLIBC_FLOOR -fomit-frame-pointer -fno-sanitize=undefined -fno-stack-protector"' ${CUSPAN_SOURCE_FOLDER:+"-ffile-prefix-map=$CUSPAN_SOURCE_FOLDER=/libraries"}'
}

# wrapper NAME ARGUMENTS: runs zig. The cache can be copied.
wrapper() {
    # shellcheck disable=SC2016 # for the wrapper's shell
    printf '#!/bin/sh\nexec "${0%%/*}/../%s" %s "$@"\n' "${ZIG#"$CACHE/"}" "$2" >"$TOOLCHAIN/$1.new"
    chmod +x "$TOOLCHAIN/$1.new"
    mv "$TOOLCHAIN/$1.new" "$TOOLCHAIN/$1"
}
