#!/bin/bash
# Tests of the release: makes it and tries its files.
#
#   tests/release/run.sh quick    what CI runs: deb, wheel and image for x86-64; the arm64 programs under qemu-user
#   tests/release/run.sh          everything in dist/, made twice and compared
#
# The last line is "N passed, N failed, N skipped".
set -u
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT" || exit

PASSED=0 FAILED=0 SKIPPED=0
PACKAGES_RELEASE_TEST="
cmd:readelf binutils
cmd:valgrind valgrind
cmd:qemu-aarch64 qemu-user
file:/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 libc6-arm64-cross
file:/usr/aarch64-linux-gnu/lib/libgcc_s.so.1 libgcc-s1-arm64-cross
"
# A source that Debian has replaced must not fail a test.
export CUSPAN_NEWER_SOURCES=1

# check NAME COMMAND...: adds its summary, or counts it as one test.
check() {
    local name=$1 log=build/log/release-test-$1.log began=$SECONDS status=0 line passed failed skipped
    "${@:2}" >"$log" 2>&1 || status=$?
    passed=$((status == 0)) failed=$((status != 0)) skipped=0
    if line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1) && [ -n "$line" ]; then
        read -r passed _ failed _ skipped _ < <(tr -d , <<<"$line")
        [ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    elif line=$(grep -E '^[0-9]+% tests passed' "$log"); then
        read -r failed passed < <(sed -E 's/.*, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/' <<<"$line")
        passed=$((passed - failed))
    fi
    if [ "$status" = 77 ]; then # its log says why
        failed=0 skipped=1
        sed -i "s/^skipped: /&$name: /" "$log"
    fi
    PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
    grep '^skipped: ' "$log"
    case $status in
    0) echo "passed  $name in $((SECONDS - began)) s" ;;
    77) ;;
    *)
        echo "failed  $name: see $log"
        tail -n 40 "$log" | sed 's/^/    | /'
        ;;
    esac
}

# The unit tests, each through qemu-user.
arm64_units() {
    CUSPAN_UNDER_QEMU=1 ctest --test-dir build/release/aarch64 --output-on-failure --timeout 900 -j $((2 * $(nproc))) -R '^unit/'
}

twice_the_same() {
    local first=build/release/first
    rm -rf "$first" && cp -r dist "$first"
    rm -rf dist build/release/stage-* build/release/{x86_64,aarch64}
    tools/release.sh && diff -r "$first" dist && echo "$(find dist -type f | wc -l) files are the same"
}

sbom() { python_with "spdx-tools==0.8.5" && "$PYTHON" tests/release/sbom_test.py dist; }

# Buildah makes images in a namespace of its own, which a container may refuse.
can_make_images() {
    unshare --mount true || unshare --user true ||
        { echo "skipped: this system does not permit new namespaces, which buildah needs" && return 77; }
}

quick() {
    local image=(image)
    check images can_make_images
    ! grep -q '^skipped' build/log/release-test-images.log || image=()
    check make tools/release.sh --arch x86_64 packages wheel "${image[@]}" sbom
    check binaries tests/release/binaries_test.py build/release/stage-x86_64
    check sbom sbom
    check guard tests/release/guard.sh
    check packages tests/packages/run.sh --quick
    check wheel tests/wheel/run.sh --quick
    check arm64-build tools/release.sh --arch aarch64 "${image[@]:-packages}"
    check arm64-binaries tests/release/binaries_test.py build/release/stage-aarch64
    check arm64 tests/release/arm64_test.py
}

full() {
    check make tools/release.sh
    check binaries tests/release/binaries_test.py
    check twice twice_the_same
    check sbom sbom
    check guard tests/release/guard.sh
    check packages tests/packages/run.sh --dist dist
    check wheel tests/wheel/run.sh
    check arm64-build tools/release/build.sh aarch64 --tests
    check arm64-units arm64_units
    check arm64 tests/release/arm64_test.py
}

main() {
    mkdir -p build/log
    packages_install "$PACKAGES_RELEASE_TEST"
    case ${1:-} in
    quick) quick ;;
    '') full ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0"; [ "$1" = --help ]; return ;;
    esac
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; }
