#!/bin/bash
# The wheel in clean environments, with every Python from 3.9 to 3.15 of this machine: installation in a virtual
# environment, with --user and --target; the command, the agent, uninstallation; without network and for a user without
# rights. wheel_test.py has the tests.
#
#   tests/wheel/run.sh [PART...]         parts; the default is pythons
#       pythons    every Python of this machine, without network
#       debians    those of other Debian suites, in chroots (for root; downloads 150 MB once)
#       source     the source archive builds, twice with the same bytes
#       online     the extras cuda12 and cuda13 from PyPI
#       torch      next to PyTorch from PyPI (3 GB)
#   --quick            of the pythons, only the oldest and the newest
#   --release          all parts
#   --dist DIR         the folder with the wheels, dist/ by default. Without one there, it is made from build/
#   --python PYTHON    only this one
#
# The last line is "N passed, N failed, N skipped".
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"

DIST=$ROOT/dist
WORK=$ROOT/build/wheel
LOGS=$ROOT/build/log
QUICK='' ONLY='' PARTS=()
PASSED=0 FAILED=0 SKIPPED=0
# Debian 11 has an old glibc, and sid the newest Pythons.
SUITES=(bullseye sid)
PACKAGES_WHEEL="
cmd:python3 python3
py:ensurepip python3-venv
cmd:readelf binutils
cmd:unshare util-linux
"

usage() { sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" | sed '/^set -eu/d'; }

while [ $# -gt 0 ]; do
    case $1 in
    --dist) DIST=$(realpath "$2") && shift ;;
    --python) ONLY=$2 && shift ;;
    --quick) QUICK=1 ;;
    --release) PARTS=(pythons debians source online torch) ;;
    --help) usage && exit ;;
    pythons | debians | source | online | torch) PARTS+=("$1") ;;
    *) usage >&2 && exit 2 ;;
    esac
    shift
done

# ---- The wheel -------------------------------------------------------------------------------------------------------

wheel_for() { find "$DIST" -maxdepth 1 -name "cuspan-$(tools/release.sh --version)-*-$1.whl" 2>/dev/null | sort | tail -n 1; }

# Leaves the wheel of this machine in WHEEL, and that of the other architecture in OTHER, if there is one.
find_wheels() {
    local other=aarch64
    [ "$(uname -m)" = x86_64 ] || other=x86_64
    WHEEL=$(wheel_for "*_$(uname -m)")
    OTHER=$(wheel_for "*_$other")
    [ -n "$WHEEL" ] || make_wheel
    say "$(basename "$WHEEL"), $(stat -c %s "$WHEEL") bytes"
}

# From the build of this clone. It needs the C library of this machine, so it is no release.
make_wheel() {
    [ -x build/cuspan ] || fail "there is no wheel in $DIST and no build: tools/release.sh, or cmake --build build"
    say "no wheel in $DIST: making one from build/"
    DIST=$WORK/dist
    cmake --install build --strip --prefix "$WORK/stage" >"$LOGS/wheel-stage.log"
    WHEEL=$(tools/release/wheel.py --stage "$WORK/stage" --arch "$(uname -m)" --max-glibc any --out "$DIST")
}

# ---- The Pythons -----------------------------------------------------------------------------------------------------

# usable PYTHON: prints "MINOR EXECUTABLE" if it is a CPython from 3.9 to 3.15 that can make environments with pip.
usable() {
    "$1" - 2>/dev/null <<'PYTHON'
import ensurepip, os, sys, venv
if sys.implementation.name == "cpython" and (3, 9) <= sys.version_info[:2] <= (3, 15):
    print(sys.version_info[1], os.path.realpath(sys.executable))
PYTHON
}

# The Pythons, the oldest first, one per minor version.
find_pythons() {
    local candidate minor
    {
        if [ -n "$ONLY" ]; then
            usable "$ONLY"
        else
            for minor in 9 10 11 12 13 14 15; do
                for candidate in {/usr/bin,/usr/local/bin}/"python3.$minor" \
                    "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor."*/bin/python3 "$(command -v "python3.$minor")"; do
                    [ ! -x "$candidate" ] || usable "$candidate" || true
                done
            done
        fi
    } | sort -n -s -k1,1 -u | cut -d' ' -f2
}

# ---- Running them ----------------------------------------------------------------------------------------------------

# The first folder on the way to $1 that other users cannot enter.
closed_folder() {
    local path=$1 closed=
    while [ "$path" != / ]; do
        path=$(dirname "$path")
        [ $(($(stat -c %a "$path") & 1)) = 1 ] || closed=$path
    done
    echo "$closed"
}

# isolated PYTHON COMMAND...: without network. For root, also makes a Python in a closed folder usable for other users.
# shellcheck disable=SC2016 # expanded by the inner shell
isolated() {
    local python=$1 prefix closed
    shift
    prefix=$(dirname "$(dirname "$python")")
    if ! unshare --mount --net true 2>/dev/null; then
        "$@" # without a namespace: pip has --no-index
        return
    fi
    closed=$(closed_folder "$prefix")
    unshare --mount --net bash -c '
        set -e
        prefix=$1 closed=$2
        shift 2
        if [ -n "$closed" ]; then
            mount --bind "$prefix" /mnt
            mount -t tmpfs -o mode=0755 tmpfs "$closed"
            mkdir -p "$prefix"
            mount --bind /mnt "$prefix"
        fi
        exec "$@"' - "$prefix" "$closed" "$@"
}

# The files of a test, where everyone can read them.
prepare_inputs() {
    INPUTS=$(mktemp -d /tmp/cuspan-wheel-inputs-XXXXXX)
    trap 'rm -rf "$INPUTS"' EXIT
    chmod 755 "$INPUTS"
    cp tests/wheel/wheel_test.py examples/recordings/vector_add.cuspanrec "$WHEEL" "$INPUTS"
    TEST=("$INPUTS/wheel_test.py" --wheel "$INPUTS/$(basename "$WHEEL")" --recording "$INPUTS/vector_add.cuspanrec")
    if [ -n "$OTHER" ]; then
        cp "$OTHER" "$INPUTS"
        TEST+=(--other-wheel "$INPUTS/$(basename "$OTHER")")
    fi
}

# start NAME COMMAND...: in the background, with its output in a log.
STARTED=()
start() {
    local name=$1
    shift
    "$@" >"$LOGS/wheel-$name.log" 2>&1 </dev/null &
    STARTED+=("$name:$!")
}

# finish: waits for all that have started and adds up their counts.
finish() {
    local entry name counts
    for entry in "${STARTED[@]}"; do
        name=${entry%:*}
        wait "${entry#*:}" || true
        counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$LOGS/wheel-$name.log" | tail -n 1)
        [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+) ]] || counts="0 passed, 1 failed, 0 skipped"
        [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+) ]]
        PASSED=$((PASSED + BASH_REMATCH[1])) FAILED=$((FAILED + BASH_REMATCH[2])) SKIPPED=$((SKIPPED + BASH_REMATCH[3]))
        echo "$name: $counts"
        [ "${BASH_REMATCH[2]}" = 0 ] || tail -n 60 "$LOGS/wheel-$name.log"
        grep '^skipped: ' "$LOGS/wheel-$name.log" | sort -u || true
    done
    STARTED=()
}

test_pythons() {
    local python running=0
    for python in "$@"; do
        start "$("$python" -c 'import platform; print("python" + platform.python_version())')" \
            isolated "$python" "$python" "${TEST[@]}"
        running=$((running + 1))
        [ $((running % 2)) != 0 ] || finish
    done
    finish
}

# ---- Other Debians ---------------------------------------------------------------------------------------------------

packages_of_suite() {
    case $1 in
    bullseye) echo python3.9-venv ;;
    sid) echo python3.13-venv python3.14-venv python3.15-venv ;;
    esac
}

# debian SUITE: leaves its folder in DEBIAN.
debian() {
    local packages
    DEBIAN=$CACHE/wheel-debian/$1
    read -ra packages <<<"$(packages_of_suite "$1")"
    chroot_of "$DEBIAN" "$LOGS/wheel-debian-$1.log" "$1" "${packages[@]}"
}

test_debians() {
    local suite python
    if [ "$(id -u)" != 0 ]; then
        SKIPPED=$((SKIPPED + 1))
        echo "skipped: debians: debootstrap needs root"
        return
    fi
    packages_install "cmd:debootstrap debootstrap"
    for suite in "${SUITES[@]}"; do
        if ! debian "$suite"; then
            FAILED=$((FAILED + 1))
            tail -n 3 "$LOGS/wheel-debian-$suite.log"
            echo "debian-$suite: debootstrap failed"
            continue
        fi
        for python in "$DEBIAN"/usr/bin/python3.{9,10,11,12,13,14,15}; do
            [ ! -x "$python" ] || start "debian-$suite-$(basename "$python")" \
                in_chroot "$DEBIAN" "$INPUTS" "${python#"$DEBIAN"}" "${TEST[@]}"
        done
        finish
    done
}

# ---- From PyPI, and from the source archive --------------------------------------------------------------------------

test_online() {
    local newest=$1 what
    shift
    for what in "$@"; do
        start "pypi-$what" env PIP_CACHE_DIR="$CACHE/pip" "$newest" "${TEST[@]}" --online "$what"
    done
    finish
}

# The archive builds a wheel that works, and a second one is the same.
build_from_source() {
    local archive again made
    rm -rf "$WORK/source" && mkdir -p "$WORK/source"
    archive=$(tools/release/wheel.py --sdist --out "$WORK/source/first")
    again=$(tools/release/wheel.py --sdist --out "$WORK/source/second")
    cmp "$archive" "$again" || return
    "$1" -m venv "$WORK/source/venv"
    "$WORK/source/venv/bin/python" -m pip wheel -q --no-deps -w "$WORK/source" "$archive" || return
    made=$(find "$WORK/source" -maxdepth 1 -name '*.whl')
    "$WORK/source/venv/bin/python" tests/wheel/wheel_test.py --wheel "$made" --recording examples/recordings/vector_add.cuspanrec \
        Installed.test_version Installed.test_replay
}

main() {
    local pythons part
    mkdir -p "$LOGS" "$WORK"
    packages_install "$PACKAGES_WHEEL"
    find_wheels
    mapfile -t pythons < <(find_pythons)
    [ ${#pythons[@]} -gt 0 ] || fail "no usable Python from 3.9 to 3.15 (with venv and ensurepip)"
    [ -z "$QUICK" ] || [ ${#pythons[@]} -le 2 ] || pythons=("${pythons[0]}" "${pythons[-1]}")
    prepare_inputs
    [ ${#PARTS[@]} -gt 0 ] || PARTS=(pythons)
    for part in "${PARTS[@]}"; do
        case $part in
        pythons) test_pythons "${pythons[@]}" ;;
        debians) test_debians ;;
        source) start source build_from_source "${pythons[-1]}" && finish ;;
        online) test_online "${pythons[-1]}" cuda13 cuda12 ;;
        torch) test_online "${pythons[-1]}" torch ;;
        esac
    done
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
