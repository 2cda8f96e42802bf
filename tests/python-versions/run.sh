#!/bin/bash
# The walk of Python frames in every Python from 3.9 to 3.15 that this machine can have, 10 times as many stacks as in CI,
# with greenlet from PyPI: tests/integration/agent/python_frames_test.py --long. And 10,000 looks at all threads under load:
# thread_stacks_test.py --long beside it. And `cuspan attach` by sys.remote_exec, where Python has it.
#
#   tests/python-versions/run.sh [PART...]     the default is all
#       pythons         every Python of this machine
#       sid             those of Debian sid, in a chroot (for root; downloads 200 MB once)
#       free-threaded   3.13 without a GIL, compiled from Debian's source package (for root; takes 3 minutes once)
#
# Needs the build (cmake --build build). The last line is "N passed, N failed, N skipped".
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"

TEST=$ROOT/tests/integration/agent/python_frames_test.py
LOOKS=$ROOT/tests/integration/agent/thread_stacks_test.py
PACKAGES=$ROOT/build/python-versions
KEPT=$CACHE/python-versions
PASSED=0 FAILED=0 SKIPPED=0

# counted NAME COMMAND...: adds up what unittest says.
counted() {
    local log=$ROOT/build/log/python-versions-$1.log passed failed=0
    "${@:2}" >"$log" 2>&1 || failed=$(sed -nE 's/^FAILED \(.*(failures|errors)=([0-9]+).*/\2/p' "$log")
    passed=$(sed -nE 's/^Ran ([0-9]+) tests? in .*/\1/p' "$log")
    grep -E '^\.?[a-z]+: |^/.*: 3\.' "$log" || true
    [ "${failed:-1}" = 0 ] || tail -n 40 "$log"
    FAILED=$((FAILED + ${failed:-1})) PASSED=$((PASSED + ${passed:-0} - ${failed:-0}))
}

skipped() {
    SKIPPED=$((SKIPPED + 1))
    echo "skipped: $1"
}

# Folders named like versions, for each that PyPI has a greenlet for.
get_greenlet() {
    local minor
    for minor in 9 10 11 12 13 14 15; do
        [ -d "$PACKAGES/3.$minor/greenlet" ] ||
            python3 -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary=:all: --python-version "3.$minor" \
                --target "$PACKAGES/3.$minor" greenlet
    done
}

part_pythons() {
    counted pythons "$TEST" --all --long
    counted pythons-threads "$LOOKS" --all --long
}

# debian SUITE PACKAGE...: leaves its folder in CHROOT.
debian() {
    CHROOT=$KEPT/$1
    chroot_of "$CHROOT" "build/log/python-versions-$1-chroot.log" "$@"
}

part_sid() {
    local minor
    debian sid python3.13-dev python3.14-dev python3.15-dev || fail "debootstrap failed: build/log/python-versions-sid-chroot.log"
    for minor in 13 14 15; do
        counted "sid-3.$minor" in_chroot "$CHROOT" "$ROOT" env STACKS_PACKAGES="$PACKAGES" "python3.$minor" "$TEST" --long Frames Embedded
        counted "sid-3.$minor-threads" in_chroot "$CHROOT" "$ROOT" "python3.$minor" "$LOOKS" --long
        [ "$minor" -lt 14 ] || counted "sid-3.$minor-attach" in_chroot "$CHROOT" "$ROOT" "python3.$minor" tests/integration/agent/attach_test.py PythonExec
        counted "sid-3.$minor-headers" env PYTHON_HEADERS="$CHROOT/usr/include/python3.$minor" "$TEST" Layouts
    done
}

# Without the optional modules whose libraries are missing. python_stacks.py needs ctypes.
build_free_threaded() {
    local work=$ROOT/build/python-versions/source
    rm -rf "$work" && mkdir -p "$work" "$KEPT"
    debian trixie ca-certificates || return
    echo "deb-src ${DEBIAN_MIRROR:-http://deb.debian.org/debian} trixie main" >"$CHROOT/etc/apt/sources.list.d/source.list"
    chroot "$CHROOT" apt-get -o Acquire::Check-Valid-Until=false update &&
        chroot "$CHROOT" sh -c 'cd /root && apt-get source --download-only python3.13' &&
        tar -C "$work" --strip-components=1 -xf "$CHROOT"/root/python3.13_*.orig.tar.xz || return
    (cd "$work" && OPT="-O1 -DNDEBUG" ./configure --prefix="$KEPT/free-threaded" --disable-gil --without-ensurepip --disable-test-modules &&
        make -j"$(nproc)" && make install) && "$KEPT/free-threaded/bin/python3" -c 'import ctypes'
}

part_free-threaded() {
    packages_install "hdr:ffi.h libffi-dev"
    [ -x "$KEPT/free-threaded/bin/python3" ] || waiting build/log/python-versions-source.log build_free_threaded ||
        fail "cannot compile Python: build/log/python-versions-source.log"
    counted free-threaded "$TEST" --python "$KEPT/free-threaded/bin/python3" Frames
    counted free-threaded-threads "$LOOKS" --python "$KEPT/free-threaded/bin/python3" --long
}

main() {
    local parts=("$@") part library
    [ ${#parts[@]} -gt 0 ] || parts=(pythons sid free-threaded)
    for library in build/libpython_walker.so build/libstacks_looker.so; do
        [ -f $library ] || fail "$library is missing: cmake --build build"
    done
    mkdir -p build/log "$PACKAGES" "$KEPT"
    get_greenlet
    export STACKS_PACKAGES=$PACKAGES
    for part in "${parts[@]}"; do
        case $part in
        pythons) part_pythons ;;
        sid | free-threaded)
            if [ "$(id -u)" = 0 ]; then
                packages_install "cmd:debootstrap debootstrap"
                "part_$part"
            else
                skipped "$part: debootstrap needs root"
            fi
            ;;
        *) fail "unknown part $part; known: pythons, sid, free-threaded" ;;
        esac
    done
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
