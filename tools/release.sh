#!/bin/bash
# Makes a release in dist/, for x86-64 and arm64: tarballs, deb, rpm, wheels, a source archive for pip, images, the Helm
# chart, release notes, an SBOM and SHA256SUMS. The same commit gives the same bytes.
#
#   tools/release.sh                 everything, for both architectures
#   tools/release.sh PART...         only some of: packages wheel sdist image chart notes sbom
#   tools/release.sh --arch ARCH     only for x86_64 or aarch64; may be repeated
#   tools/release.sh --version       prints the version
#
# Installs what is missing (Debian and Ubuntu). The first run builds the third-party libraries; they are kept in the user's
# cache. tools/release/README.md describes the parts.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

RELEASE=$ROOT/build/release
DIST=$ROOT/dist
PARTS=(packages wheel sdist image chart notes sbom)
CHOSEN=() ARCHES=()
VERSION=$(sed -n 's/^project(cuspan VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
PACKAGES_RELEASE="
cmd:buildah buildah
cmd:git git
"

# The names that packages and images use.
other_name() { if [ "$1" = x86_64 ]; then echo amd64; else echo arm64; fi; }

# The time in all archives: that of the commit.
use_commit_time() {
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
    export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
}

logged() { # logged NAME COMMAND...: in build/log/release-NAME.log
    local log=build/log/release-$1.log
    waiting "$log" "${@:2}" || { tail -n 30 "$log"; fail "failed; its output: $log"; }
}

make_stage() { logged "build-$1" tools/release/build.sh "$1"; }
make_packages() { logged "packages-$1" tools/release/packages/make.sh "$RELEASE/stage-$1" "$1" "$DIST"; }
make_sdist() { logged sdist python3 tools/release/wheel.py --sdist --out "$DIST"; }
make_wheel() { logged "wheel-$1" python3 tools/release/wheel.py --stage "$RELEASE/stage-$1" --arch "$1" --out "$DIST"; }
make_image() { logged "image-$1" tools/release/image.sh "$RELEASE/stage-$1" "$1" "$DIST"; }
make_sbom() { logged sbom python3 tools/release/sbom.py --version "$VERSION" --dist "$DIST"; }

# A chart is an archive of its folder, named after the chart.
make_chart() {
    local chart=deploy/kubernetes/chart
    grep -qx "version: $VERSION" "$chart/Chart.yaml" || fail "$chart has another version than CMakeLists.txt; run deploy/kubernetes/generate.sh"
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=u,go-w \
        --transform='s,^chart,cuspan,' -C deploy/kubernetes chart | gzip -9n >"$DIST/cuspan-chart-$VERSION.tgz"
}

# The part of CHANGELOG.md about this version.
make_notes() {
    awk -v version="$VERSION" '/^## / { on = $2 == version; next } on' CHANGELOG.md >"$DIST/RELEASE-NOTES.md"
    [ -s "$DIST/RELEASE-NOTES.md" ] || fail "CHANGELOG.md has nothing about $VERSION"
}

files() { find "$DIST" -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort; }
sums() {
    local list
    mapfile -t list < <(files)
    (cd "$DIST" && sha256sum "${list[@]}") >"$DIST/SHA256SUMS"
}

main() {
    local arch part
    while [ $# -gt 0 ]; do
        case $1 in
        --arch) ARCHES+=("${2:?x86_64 or aarch64}"); shift ;;
        --version) echo "$VERSION"; return ;;
        -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; return ;;
        *) [[ " ${PARTS[*]} " == *" $1 "* ]] || fail "unknown part $1; there are: ${PARTS[*]}"
            CHOSEN+=("$1") ;;
        esac
        shift
    done
    [ ${#CHOSEN[@]} -gt 0 ] || [ ${#ARCHES[@]} -gt 0 ] || rm -rf "$DIST" # files of another version must not stay
    [ ${#CHOSEN[@]} -gt 0 ] || CHOSEN=("${PARTS[@]}")
    [ ${#ARCHES[@]} -gt 0 ] || ARCHES=(x86_64 aarch64)
    [ -n "$VERSION" ] || fail "CMakeLists.txt has no version"
    packages_install "$PACKAGES_RELEASE"
    use_commit_time
    mkdir -p "$DIST" build/log
    STEPS=$((${#ARCHES[@]} + ${#CHOSEN[@]}))
    for arch in "${ARCHES[@]}"; do
        step "libraries and cuspan for $arch"
        make_stage "$arch"
    done
    for part in "${CHOSEN[@]}"; do
        step "$part"
        case $part in
        sdist | chart | notes | sbom) "make_$part" ;;
        *) for arch in "${ARCHES[@]}"; do "make_$part" "$arch"; done ;;
        esac
    done
    sums
    echo
    (cd "$DIST" && find . -maxdepth 1 -type f -printf '%kK %P\n' | sort -k 2 | column -t)
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
