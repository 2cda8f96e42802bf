#!/bin/bash
# Builds static libraries for linking into cuspan, from the distribution's source packages, in sets:
#
#   curl   for libcuspan-export.so: libcurl with only HTTP and HTTPS, on OpenSSL and nghttp2; and cJSON.
#          (The distribution's libcurl.a needs a dozen more libraries, its libnghttp2.a is not built for shared
#          objects, and it has no static cJSON.)
#   isal   for libcuspan.so: igzip and crc of ISA-L. (The distribution has it only as a shared library.)
#   json   for cuspan: yyjson, with which the commands read OTLP JSON. (Debian 12 does not have it.)
#
#   tools/fetch-sources.sh [SET...]      into the user's cache; does nothing for sets that are already there
#   tools/fetch-sources.sh --where SET   prints the folder in the cache, for CMake
#   tools/fetch-sources.sh --curl-options   prints how libcurl is configured, for tools/release/libraries.sh
#
# apt verifies the sources: the distribution's signature covers their SHA-256. They come from the machine's own apt
# sources. The source of yyjson is Debian 13's on every system, verified by the SHA-256 of tools/release/sources.txt.
# Nothing outside the cache is changed.
set -euo pipefail

readonly C_FLAGS="-D_GNU_SOURCE -fvisibility=hidden -ffunction-sections -fdata-sections"

# A set's source packages in build order, the alternative without it, and the packages that its libraries were compiled
# with: if one of those has a new version, the set is compiled again.
declare -rA PACKAGES=([curl]="cjson nghttp2 curl" [isal]="libisal" [json]="yyjson")
declare -rA INSTEAD=([curl]="build with -DCUSPAN_STATIC_CURL=OFF to link the system's libcurl" [isal]="gzip is then made by libdeflate, which takes three times as long"
    [json]="install libyyjson-dev, which Debian 13 has")
declare -rA HEADERS=([curl]=libssl-dev [isal]="" [json]="")

say() { echo "fetch-sources: $*"; }
fail() { echo "fetch-sources: $*" >&2; exit 1; }

# The value of $1 in /etc/os-release, or else $2.
release_value() {
    local value
    value=$(sed -n "s/^$1=//p" /etc/os-release 2>/dev/null | tr -d "\"'")
    echo "${value:-$2}"
}

cache_place() { # cache_place SET
    local system
    system=$(release_value ID linux)$(release_value VERSION_ID rolling)
    echo "${CUSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cuspan}/$1-$system-$(uname -m)"
}

# Writes deb-src lines, made from the deb lines of the given files, to the folder $1. Missing files are skipped.
source_lines() {
    local to=$1 file
    shift
    for file in "$@"; do
        [ -r "$file" ] || continue
        case $file in
        *.sources) sed 's/^Types:.*/Types: deb-src/' "$file" >"$to/$(basename "$file")" ;;
        *) sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file" >"$to/$(basename "$file" .list).list" ;;
        esac
    done
    grep -qs deb-src "$to"/*
}

fetch_sources() { # fetch_sources SET WORK
    local set=$1 work=$2 package
    mkdir -p "$work"/{parts,lists/partial,archives/partial,src}
    # The distribution's own files first: other repositories may have no source packages.
    source_lines "$work/parts" /etc/apt/sources.list.d/{debian,ubuntu}.sources /etc/apt/sources.list ||
        source_lines "$work/parts" /etc/apt/sources.list.d/*.{list,sources} ||
        fail "no apt sources found in /etc/apt: ${INSTEAD[$set]}"
    local options=(-qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/parts"
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache::Archives=$work/archives"
        -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
    [ "$(id -u)" = 0 ] && options+=(-o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    for package in ${PACKAGES[$set]}; do
        (cd "$work/src" && apt-get "${options[@]}" source "$package" >"$work/$package.log" 2>&1) ||
            fetch_older "$package" "$work" "${options[@]}" || fetch_original "$set" "$package" "$work" "${options[@]}" ||
            { cat "$work/$package.log" >&2; fail "apt-get source $package failed"; }
    done
    (cd "$work/src" && find . -maxdepth 1 -type f -exec sha256sum {} +)
}

# fetch_older PACKAGE WORK OPTION...: an older version, the newest that is there. Some mirrors list a version days before they
# have its files.
fetch_older() {
    local package=$1 work=$2 version
    for version in $(apt-cache "${@:3}" showsrc --only-source "$package" | sed -n 's/^Version: //p' | sort -urV | tail -n +2); do
        if (cd "$work/src" && apt-get "${@:3}" source "$package=$version" >>"$work/$package.log" 2>&1); then
            say "the newest version of $package is not on the mirror yet: using $version"
            return
        fi
    done
    return 1
}

# fetch_original SET PACKAGE WORK OPTION...: the upstream archive alone, for mirrors that lack the description (.dsc). Only for
# ISA-L: the patches of the other packages fix security problems. apt verifies this archive, too.
fetch_original() {
    local package=$2 work=$3 archive
    [ "$1" = isal ] || return 1
    (cd "$work/src" && apt-get "${@:4}" --tar-only source "$package" >>"$work/$package.log" 2>&1) || return 1
    archive=$(find "$work/src" -name "${package}_*.orig.tar.*")
    mkdir "$work/src/$package-original"
    tar -xf "$archive" -C "$work/src/$package-original" --strip-components=1
}

# fetch_pinned PACKAGE WORK: the archive in tools/release/sources.txt, with its SHA-256.
fetch_pinned() {
    local package=$1 work=$2 file sum place
    read -r _ file sum < <(grep "^$package .*\.orig\." "$(dirname "$0")/release/sources.txt")
    mkdir -p "$work/src/$package-original"
    for place in deb.debian.org/debian snapshot.debian.org/archive/debian/20261101T000000Z; do
        if /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root download-file \
            "http://$place/pool/main/${package:0:1}/$package/$file" "$work/src/$file" "SHA256:$sum" >>"$work/$package.log" 2>&1; then
            tar -xf "$work/src/$file" -C "$work/src/$package-original" --strip-components=1
            return
        fi
    done
    cat "$work/$package.log" >&2
    fail "cannot get $file: ${INSTEAD[json]}"
}

build_nghttp2() {
    local source=$1 dest=$2 work=$3
    cmake -S "$source" -B "$work/nghttp2" "${CMAKE_COMMON[@]}" -DCMAKE_C_FLAGS="$C_FLAGS -DNGHTTP2_STATICLIB" \
        -DENABLE_LIB_ONLY=ON -DENABLE_STATIC_LIB=ON -DENABLE_SHARED_LIB=OFF -DENABLE_DOC=OFF -DBUILD_STATIC_LIBS=ON \
        -DCMAKE_DISABLE_FIND_PACKAGE_LibXml2=ON -DCMAKE_DISABLE_FIND_PACKAGE_Jemalloc=ON
    cmake --build "$work/nghttp2" -j "$(nproc)"
    cmake --install "$work/nghttp2"
    # Debian's version calls it libnghttp2_static.a in some releases.
    [ -f "$dest/lib/libnghttp2.a" ] || mv "$dest/lib/libnghttp2_static.a" "$dest/lib/libnghttp2.a"
}

# The options of libcurl's build that say what it contains, one per line. tools/release/libraries.sh uses them, too.
curl_options() {
    printf '%s\n' -DBUILD_STATIC_LIBS=ON -DBUILD_CURL_EXE=OFF \
        -DBUILD_LIBCURL_DOCS=OFF -DBUILD_MISC_DOCS=OFF -DENABLE_MANUAL=OFF -DENABLE_CURL_MANUAL=OFF \
        -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DUSE_NGHTTP2=ON -DENABLE_THREADED_RESOLVER=ON \
        -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_CA_FALLBACK=OFF \
        -DCURL_ZLIB=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DUSE_LIBIDN2=OFF -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF \
        -DCURL_USE_LIBSSH=OFF -DCURL_USE_GSSAPI=OFF -DUSE_LIBRTMP=OFF -DCURL_DISABLE_LDAP=ON -DCURL_DISABLE_LDAPS=ON \
        -DCURL_DISABLE_NTLM=ON -DCURL_DISABLE_ALTSVC=ON -DCURL_DISABLE_HSTS=ON -DCURL_DISABLE_COOKIES=ON \
        -DCURL_DISABLE_DOH=ON -DCURL_DISABLE_MIME=ON -DCURL_DISABLE_NETRC=ON -DCURL_DISABLE_PROGRESS_METER=ON
}

build_curl() {
    local source=$1 dest=$2 work=$3 options
    mapfile -t options < <(curl_options)
    # getenv: the agent reads no environment in a setuid host, and neither does its libcurl.
    cmake -S "$source" -B "$work/curl" "${CMAKE_COMMON[@]}" -DCMAKE_C_FLAGS="$C_FLAGS -DNGHTTP2_STATICLIB -Dgetenv=secure_getenv" \
        -DNGHTTP2_INCLUDE_DIR="$dest/include" -DNGHTTP2_LIBRARY="$dest/lib/libnghttp2.a" "${options[@]}"
    cmake --build "$work/curl" -j "$(nproc)"
    cmake --install "$work/curl"
}

build_cjson() {
    local source=$1 dest=$2 work=$3
    # shellcheck disable=SC2086
    ${CC:-cc} -O2 -fPIC $C_FLAGS -DCJSON_HIDE_SYMBOLS -c "$source/cJSON.c" -o "$work/cJSON.o"
    mkdir -p "$dest/lib" "$dest/include/cjson"
    ar rcs "$dest/lib/libcjson.a" "$work/cJSON.o"
    cp "$source/cJSON.h" "$dest/include/cjson/"
}

# Its own makefile for builds without autoconf. The tables through which it selects code for the processor are aligned,
# so that two threads may fill in the same entry at once.
build_libisal() {
    local source=$1 dest=$2 object
    make -C "$source" -f Makefile.unx lib units="igzip crc" lib_name=bin/libisal.a -j "$(nproc)" \
        CC="${CC:-cc}" DEBUG="$C_FLAGS -fPIC" DEBUG_nasm= DEBUG_yasm=
    for object in "$source"/bin/*multibinary*.o; do
        objcopy --set-section-alignment .data=16 "$object"
    done
    rm "$source/bin/libisal.a"
    mkdir -p "$dest/lib" "$dest/include"
    ar rcs "$dest/lib/libisal.a" "$source"/bin/*.o
    cp "$source/include/igzip_lib.h" "$dest/include/"
}

build_yyjson() {
    local source=$1 dest=$2 work=$3
    mkdir -p "$dest/lib" "$dest/include"
    # shellcheck disable=SC2086
    ${CC:-cc} -O2 -fPIC $C_FLAGS -DYYJSON_DISABLE_WRITER=1 -DYYJSON_DISABLE_UTILS=1 \
        -c "$source/src/yyjson.c" -o "$work/yyjson.o"
    ar rcs "$dest/lib/libyyjson.a" "$work/yyjson.o"
    cp "$source/src/yyjson.h" "$dest/include/"
}

needs() { # needs SET TOOL...
    local set=$1 tool
    for tool in "${@:2}"; do
        command -v "$tool" >/dev/null || fail "$tool is missing (packages build-essential, dpkg-dev, cmake, nasm); without it: ${INSTEAD[$set]}"
    done
}

check_tools() {
    needs "$1" apt-get cc ar
    [ "$1" = json ] || needs "$1" dpkg-source
    case $1 in
    curl) needs curl cmake ;;
    isal) needs isal make objcopy && { [ "$(uname -m)" != x86_64 ] || needs isal nasm; } ;;
    esac
}

# Keep the licenses of everything that is linked in.
keep_licence() {
    cp "$1/COPYING" "$2" 2>/dev/null || cp "$1/LICENSE" "$2"
}

build_set() { # build_set SET WORK
    local set=$1 work=$2 package source
    CMAKE_COMMON=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$work/out" -DCMAKE_INSTALL_LIBDIR=lib
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.5)
    mkdir -p "$work/out/licenses"
    for package in ${PACKAGES[$set]}; do
        source=$(find "$work/src" -maxdepth 1 -type d -name "$package-*")
        [ -d "$source" ] || fail "the source package $package did not unpack as expected"
        say "building $package"
        # In its own shell: in a function tested with ||, set -e has no effect.
        (set -e; "build_$package" "$source" "$work/out" "$work") >"$work/build.log" 2>&1 &
        wait $! || { tail -40 "$work/build.log" >&2; fail "$package did not build; ${INSTEAD[$set]}"; }
        keep_licence "$source" "$work/out/licenses/$package"
    done
}

# recipe SET: changes with everything here that decides on what is built.
recipe() {
    local package
    {
        echo "$C_FLAGS"
        declare -f build_set curl_options
        for package in ${PACKAGES[$1]}; do declare -f "build_$package"; done
        [ "$1" != json ] || grep '^yyjson ' "$(dirname "$0")/release/sources.txt"
    } | sha256sum | cut -c1-12
}

get_set() (
    set -e
    set=$1
    dest=$(cache_place "$set")
    mkdir -p "$(dirname "$dest")"
    exec 9>"$dest.lock" # a second build waits here and then finds the result
    flock 9
    stamp="$(recipe "$set") $([ -z "${HEADERS[$set]}" ] || dpkg-query -W -f='${Package}=${Version} ' "${HEADERS[$set]}" 2>/dev/null || true)"
    if [ -f "$dest/stamp" ] && [ "$(cat "$dest/stamp")" = "$stamp" ]; then
        say "already there: $dest"
        exit
    fi
    check_tools "$set"
    work=$(mktemp -d "$dest.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    say "fetching the sources of ${PACKAGES[$set]} (a few MB, and 10 MB of package lists)"
    if [ "$set" = json ]; then fetch_pinned yyjson "$work"; else fetch_sources "$set" "$work"; fi
    build_set "$set" "$work"
    echo "$stamp" >"$work/out/stamp"
    rm -rf "$dest"
    mv "$work/out" "$dest"
    say "done: $dest"
)

main() {
    local set
    for set in "$@"; do
        case $set in
        --where) cache_place "${2:?a set}"; return ;;
        --curl-options) curl_options; return ;;
        -h | --help) sed -n '2,17s/^# \{0,1\}//p' "$0"; return ;;
        esac
        [ -n "${PACKAGES[$set]:-}" ] || fail "unknown set $set; see --help"
    done
    [ $# -gt 0 ] || set -- "${!PACKAGES[@]}"
    for set in "$@"; do
        get_set "$set"
    done
}

main "$@"
