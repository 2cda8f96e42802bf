#!/bin/bash
# Builds the third-party libraries of a release, static and for one architecture, from the sources of sources.txt.
#
#   tools/release/libraries.sh ARCH           x86_64 or aarch64; does nothing if they are already there
#   tools/release/libraries.sh --where ARCH   prints their folder in the user's cache: include/, lib/, licenses/
#   tools/release/libraries.sh --fetch        only downloads the sources
#
# Every file is compared with its SHA-256. It comes from the Debian mirror or, where the mirror has a newer version instead,
# from snapshot.debian.org. To update a library, change its lines in sources.txt: `apt-get source --download-only NAME` on
# Debian 13 verifies and downloads the files, `sha256sum` prints the sums.
#
# CUSPAN_NEWER_SOURCES=1 takes the newest version of Debian 13 where neither has a file any more. Tests set it, because an
# update in Debian must not break them. Such a build is not a release.
set -euo pipefail
# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=toolchain.sh
. "$ROOT/tools/release/toolchain.sh"

SOURCES=$ROOT/tools/release/sources.txt
SNAPSHOT=20261101T000000Z
MIRRORS=(http://deb.debian.org/debian/pool/main http://deb.debian.org/debian-security/pool/updates/main
    "https://snapshot.debian.org/archive/debian/$SNAPSHOT/pool/main"
    "https://snapshot.debian.org/archive/debian-security/$SNAPSHOT/pool/updates/main")
# In the order in which they need each other.
LIBRARIES=(zlib libzstd libyaml cjson yyjson libiberty libisal sqlite3 ncurses openssl nghttp2 curl cmocka)
declare -A NEEDS=([curl]="openssl nghttp2")
PACKAGES_LIBRARIES="
cmd:cc gcc
cmd:cmake cmake
cmd:make make
cmd:ninja ninja-build
cmd:nasm nasm
cmd:perl perl
cmd:patch patch
cmd:xz xz-utils
cmd:tclsh tcl
cmd:llvm-objcopy llvm
cmd:curl curl
py:ensurepip python3-venv
"
C_FLAGS="-O2 -g0 -fPIC -D_GNU_SOURCE -fvisibility=hidden -ffunction-sections -fdata-sections"

# ---- Sources ---------------------------------------------------------------------------------------------------------

is_right() { [ -f "$1" ] && echo "$2  $1" | sha256sum --check --status; }

# fetch_file LIBRARY FILE SHA256: into $ARCHIVES.
fetch_file() {
    local library=$1 file=$2 sum=$3 folder mirror
    is_right "$ARCHIVES/$file" "$sum" && return
    case $library in lib*) folder=${library:0:4} ;; *) folder=${library:0:1} ;; esac
    for mirror in "${MIRRORS[@]}"; do
        if curl -fsSL --retry 2 -o "$ARCHIVES/$file.new" "$mirror/$folder/$library/$file" 2>/dev/null && is_right "$ARCHIVES/$file.new" "$sum"; then
            mv "$ARCHIVES/$file.new" "$ARCHIVES/$file"
            return
        fi
    done
    rm -f "$ARCHIVES/$file.new"
    note "cannot get $file with the SHA-256 of tools/release/sources.txt; update its lines there"
    return 1
}

fetch_all() {
    local library file sum
    mkdir -p "$ARCHIVES"
    while read -r library file sum; do
        fetch_file "$library" "$file" "$sum" || [ "${CUSPAN_NEWER_SOURCES:-}" = 1 ] || exit
    done < <(grep -v '^#' "$SOURCES")
}

# unpack LIBRARY FOLDER: the original source with Debian's patches.
unpack() {
    local library=$1 folder=$2 file sum patch patches=$2.debian
    mkdir -p "$folder" "$patches"
    while read -r _ file sum; do
        is_right "$ARCHIVES/$file" "$sum" || { unpack_newer "$library" "$folder"; return; }
        case $file in
        *.orig.tar.*) tar -xf "$ARCHIVES/$file" -C "$folder" --strip-components=1 ;;
        *) tar -xf "$ARCHIVES/$file" -C "$patches" ;;
        esac
    done < <(grep "^$library " "$SOURCES")
    [ -f "$patches/debian/patches/series" ] || return 0
    while read -r patch _; do
        case $patch in '' | \#*) continue ;; esac
        patch -d "$folder" -p1 -s -f <"$patches/debian/patches/$patch"
    done <"$patches/debian/patches/series"
}

# unpack_newer LIBRARY FOLDER: what Debian 13 has today, verified by apt.
unpack_newer() {
    local library=$1 folder=$2 lists=$2.apt suite options=()
    note "$library: not the version of tools/release/sources.txt but the newest one of Debian 13"
    rm -rf "$folder" && mkdir -p "$lists"/{parts,lists/partial,archives/partial}
    for suite in 'debian trixie' 'debian-security trixie-security'; do
        echo "deb-src http://deb.debian.org/$suite main" >>"$lists/parts/trixie.list"
    done
    options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$lists/parts" -o "Dir::State::Lists=$lists/lists"
        -o "Dir::Cache::Archives=$lists/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    (cd "$lists" && apt-get "${options[@]}" source "$library")
    mv "$(find "$lists" -maxdepth 1 -type d -name "$library-*")" "$folder"
}

# ---- Building --------------------------------------------------------------------------------------------------------
# Each builds $1, its source, into $OUT, in a shell of its own with CC, CXX, AR and RANLIB set. $NEEDED has the libraries that
# it needs.

with_cmake() { # with_cmake SOURCE OPTION...
    cmake -G Ninja -S "$1" -B "$1/build-cuspan" -DCMAKE_TOOLCHAIN_FILE="$ROOT/tools/release/zig.cmake" \
        -DCUSPAN_RELEASE_ARCH="$ARCH" -DCUSPAN_TOOLCHAIN="$TOOLCHAIN" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="$C_FLAGS" \
        -DCMAKE_FIND_ROOT_PATH="$NEEDED" -DCMAKE_INSTALL_PREFIX="$OUT" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
        -DBUILD_TESTING=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "${@:2}"
    cmake --build "$1/build-cuspan" -j "$(nproc)"
    cmake --install "$1/build-cuspan"
}

archive() { # archive NAME OBJECT...
    "$AR" rcsD "$OUT/lib/$1" "${@:2}"
}

build_zlib() {
    cd "$1"
    CHOST=$ARCH-linux-gnu CFLAGS=$C_FLAGS ./configure --static --prefix="$OUT"
    make -j "$(nproc)" libz.a
    cp libz.a "$OUT/lib/"
    cp zlib.h zconf.h "$OUT/include/"
}

build_libzstd() {
    make -C "$1/lib" -j "$(nproc)" libzstd.a CFLAGS="$C_FLAGS" ZSTD_LIB_DICTBUILDER=0 ZSTD_LIB_DEPRECATED=0 ZSTD_LEGACY_SUPPORT=0
    cp "$1/lib/libzstd.a" "$OUT/lib/"
    cp "$1/lib/zstd.h" "$1/lib/zstd_errors.h" "$OUT/include/"
}

build_libyaml() {
    local file objects=()
    for file in api reader scanner parser loader writer emitter dumper; do
        # shellcheck disable=SC2086
        "$CC" $C_FLAGS -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 '-DYAML_VERSION_STRING="0.2.5"' \
            -I "$1/include" -c "$1/src/$file.c" -o "$1/$file.o"
        objects+=("$1/$file.o")
    done
    archive libyaml.a "${objects[@]}"
    cp "$1/include/yaml.h" "$OUT/include/"
}

build_cjson() {
    # shellcheck disable=SC2086
    "$CC" $C_FLAGS -DCJSON_HIDE_SYMBOLS -c "$1/cJSON.c" -o "$1/cJSON.o"
    archive libcjson.a "$1/cJSON.o"
    mkdir "$OUT/include/cjson"
    cp "$1/cJSON.h" "$OUT/include/cjson/"
}

build_yyjson() {
    # shellcheck disable=SC2086
    "$CC" $C_FLAGS -DYYJSON_DISABLE_WRITER=1 -DYYJSON_DISABLE_UTILS=1 -c "$1/src/yyjson.c" -o "$1/yyjson.o"
    archive libyyjson.a "$1/yyjson.o"
    cp "$1/src/yyjson.h" "$OUT/include/"
}

# GCC's demangler, as the C++ runtime has it: one file, which allocates nothing.
build_libiberty() {
    # shellcheck disable=SC2086
    "$CC" $C_FLAGS -DIN_GLIBCPP_V3 -DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_ALLOCA_H -I "$1/include" -c "$(find "$1" -name cp-demangle.c)" -o "$1/cp-demangle.o"
    archive libdemangle.a "$1/cp-demangle.o"
}

build_libisal() {
    # Its makefile for builds without autoconf. The tables through which it selects code for the processor are
    # aligned, so that two threads may fill in the same entry at once.
    local object
    make -C "$1" -f Makefile.unx lib units="igzip crc" lib_name=bin/libisal.a -j "$(nproc)" host_cpu="$ARCH" arch="${ARCH#x86_64}" \
        CC="$CC" AR="$AR" DEBUG="$C_FLAGS" DEBUG_nasm= DEBUG_yasm=
    for object in "$1"/bin/*multibinary*.o; do
        llvm-objcopy --set-section-alignment .data=16 "$object"
    done
    archive libisal.a "$1"/bin/*.o
    cp "$1/include/igzip_lib.h" "$OUT/include/"
}

build_sqlite3() {
    (cd "$1" && env -u CC -u AR -u RANLIB ./configure --disable-tcl >/dev/null && env -u CC make sqlite3.c sqlite3.h >/dev/null)
    # shellcheck disable=SC2086
    "$CC" $C_FLAGS -Os -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_JSON -DSQLITE_THREADSAFE=1 -c "$1/sqlite3.c" -o "$1/sqlite3.o"
    archive libsqlite3.a "$1/sqlite3.o"
    cp "$1/sqlite3.h" "$OUT/include/"
}

build_ncurses() {
    mkdir "$1/build-cuspan" && cd "$1/build-cuspan"
    CFLAGS=$C_FLAGS ../configure --host="$ARCH-linux-gnu" --build="$(uname -m)-linux-gnu" --with-build-cc=cc --prefix=/usr \
        --enable-widec --without-ada --without-cxx --without-cxx-binding --without-progs --without-tests --without-manpages \
        --without-debug --without-shared --disable-stripping --enable-pc-files=no \
        --with-default-terminfo-dir=/usr/share/terminfo --with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo
    make -j "$(nproc)" -C include
    make -j "$(nproc)" -C ncurses
    cp lib/libncursesw.a "$OUT/lib/"
    cp include/{curses,unctrl,term,termcap,ncurses_dll}.h "$OUT/include/"
}

# Only what a TLS client of today needs. It keeps the compiler's name and the time in its text.
build_openssl() {
    cd "$1"
    export PATH=$TOOLCHAIN:$PATH CC=cc AR=ar RANLIB=ranlib SOURCE_DATE_EPOCH=0
    ./Configure "linux-$ARCH" no-shared no-tests no-engine no-dso no-legacy no-apps no-docs no-quic no-comp no-dtls no-srtp no-srp \
        no-cmp no-cms no-ct no-ts no-psk no-ssl-trace no-aria no-bf no-camellia no-cast no-gost no-idea no-md4 no-mdc2 no-rc2 \
        no-rc4 no-rmd160 no-seed no-siphash no-sm2 no-sm3 no-sm4 no-whirlpool --prefix=/usr --openssldir=/usr/lib/ssl -fno-asynchronous-unwind-tables -fno-unwind-tables -ffunction-sections -fdata-sections -fvisibility=hidden -D_GNU_SOURCE
    make -j "$(nproc)" build_libs
    cp libssl.a libcrypto.a "$OUT/lib/"
    cp -r include/openssl "$OUT/include/"
}

build_nghttp2() {
    with_cmake "$1" -DENABLE_LIB_ONLY=ON -DENABLE_STATIC_LIB=ON -DENABLE_SHARED_LIB=OFF -DENABLE_DOC=OFF -DBUILD_STATIC_LIBS=ON \
        -DCMAKE_C_FLAGS="$C_FLAGS -DNGHTTP2_STATICLIB"
    [ -f "$OUT/lib/libnghttp2.a" ] || mv "$OUT/lib/libnghttp2_static.a" "$OUT/lib/libnghttp2.a"
}

build_curl() {
    local options
    mapfile -t options < <("$ROOT/tools/fetch-sources.sh" --curl-options)
    # getenv: the agent reads no environment in a setuid host, and neither does its libcurl.
    with_cmake "$1" "${options[@]}" -DNGHTTP2_INCLUDE_DIR="$NEEDED/include" -DNGHTTP2_LIBRARY="$NEEDED/lib/libnghttp2.a" \
        -DOPENSSL_ROOT_DIR="$NEEDED" -DOPENSSL_USE_STATIC_LIBS=ON \
        -DCMAKE_C_FLAGS="$C_FLAGS -DNGHTTP2_STATICLIB -Dgetenv=secure_getenv"
}

# For the tests of another architecture: no release links it.
build_cmocka() {
    with_cmake "$1" -DUNIT_TESTING=OFF -DWITH_EXAMPLES=OFF
}

keep_license() {
    local library=$1 source=$2 file
    [ "$library" != cmocka ] || return 0
    if [ "$library" = libiberty ]; then # one file of many, with an exception of its own
        sed '/\*\//q' "$(find "$source" -name cp-demangle.c)" >"$OUT/licenses/$library"
        return
    fi
    for file in "$source.debian/debian/copyright" "$source/debian/copyright" "$source"/{COPYING,LICENSE}; do
        [ ! -f "$file" ] || { cp "$file" "$OUT/licenses/$library"; return; }
    done
    note "$library has no license file"
    return 1
}

# ---- All of them -----------------------------------------------------------------------------------------------------

# key LIBRARY ARCH: changes with everything that decides on what is built.
key() {
    local library=$1 arch=$2 needed
    {
        grep "^$library " "$SOURCES"
        toolchain_text
        grep -v '^#' "$ROOT/tools/release/zig.cmake"
        declare -f unpack with_cmake archive keep_license "build_$library"
        echo "$arch $C_FLAGS"
        [ "$library" != curl ] || "$ROOT/tools/fetch-sources.sh" --curl-options
        for needed in ${NEEDS[$library]:-}; do key "$needed" "$arch"; done
    } | sha256sum | cut -c1-16
}

# All keys together: the name of the folder with all libraries.
place() {
    local library
    echo "$CACHE/libraries-$1-$(for library in "${LIBRARIES[@]}"; do key "$library" "$1"; done | sha256sum | cut -c1-16)"
}

# gather FOLDER LIBRARY...: their files in one folder.
gather() {
    local library
    mkdir -p "$1"
    for library in "${@:2}"; do
        cp -r "$CACHE/library-$library-$ARCH-$(key "$library" "$ARCH")"/. "$1/"
    done
}

build_library() {
    local library=$1 dest source=$WORK/$1 log=$WORK/$1.log
    dest=$CACHE/library-$library-$ARCH-$(key "$library" "$ARCH")
    [ ! -d "$dest" ] || return 0
    say "building $library for $ARCH"
    OUT=$WORK/out-$library
    mkdir -p "$OUT"/{lib,include,licenses}
    NEEDED=$WORK/needed-$library
    # shellcheck disable=SC2086
    gather "$NEEDED" ${NEEDS[$library]:-}
    # In a shell of its own: in a function tested with ||, set -e has no effect.
    (set -e; unpack "$library" "$source"; "build_$library" "$source"; keep_license "$library" "$source") >"$log" 2>&1 &
    wait $! || { tail -n 30 "$log" >&2; fail "$library did not build"; }
    (cd "$OUT" && rm -rf bin share lib/cmake lib/pkgconfig)
    mv "$OUT" "$dest"
}

build_all() {
    local dest=$1 library
    WORK=$(mktemp -d "$CACHE/libraries.XXXXXX")
    trap 'rm -rf "$WORK"' EXIT
    export CUSPAN_SOURCE_FOLDER=$WORK # compiled-in names of files begin behind it
    export CC=$TOOLCHAIN/cc CXX=$TOOLCHAIN/c++ AR=$TOOLCHAIN/ar RANLIB=$TOOLCHAIN/ranlib
    export PKG_CONFIG_LIBDIR=/nonexistent # CMake would take what the system's OpenSSL needs for what ours needs
    for library in "${LIBRARIES[@]}"; do build_library "$library"; done
    gather "$WORK/all" "${LIBRARIES[@]}"
    touch "$WORK/all/stamp" # for CMake, as in the folders of tools/fetch-sources.sh
    mv "$WORK/all" "$dest"
}

main() {
    local dest
    ARCHIVES=$CACHE/sources
    case ${1:-} in
    --fetch) fetch_all; return ;;
    --where) place "${2:?an architecture: x86_64 or aarch64}"; return ;;
    x86_64 | aarch64) ARCH=$1 ;;
    *) sed -n '2,15s/^# \{0,1\}//p' "$0"; [ "${1:-}" = --help ]; return ;;
    esac
    dest=$(place "$ARCH")
    mkdir -p "$CACHE"
    exec 9>"$CACHE/libraries-$ARCH.lock" # a second build waits here and then finds the result
    flock 9
    [ ! -d "$dest" ] || { say "already there: $dest"; return; }
    packages_install "$PACKAGES_LIBRARIES"
    fetch_all
    toolchain "$ARCH" || fail "cannot get zig from PyPI"
    build_all "$dest"
    say "done: $dest"
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
