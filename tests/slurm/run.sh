#!/bin/bash
# Tests deploy/slurm/: its recipes as printed, the modules, and the prolog, with Debian's Slurm, Open MPI, MPICH, Lmod and
# Environment Modules. Two nodes on this machine play a recording; no GPU is needed. Needs root. About four minutes.
#
#   tests/slurm/run.sh [--torch] [--prefix DIR] [TEST...]
#
#   --torch         also torchrun, with Debian's PyTorch (150 MB of packages)
#   --prefix DIR    an installation of cuspan to test; default: build/, built and installed for this
#   TEST...         only some, as unittest names them: Recipes, Comments.test_hostile_comments
#
# Everything it makes is in one folder of /tmp, and removed at the end. Logs of a failed run stay in build/log/slurm/.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT"

PACKAGES_SLURM="
cmd:slurmctld slurmctld
cmd:slurmd slurmd
cmd:srun slurm-client
cmd:munged munge
cmd:mpirun.openmpi openmpi-bin
cmd:mpirun.mpich mpich
cmd:tclsh tcl
"
# Excludes Environment Modules, of which only files are used.
PACKAGES_LMOD="
file:/usr/share/lmod lmod
"
PACKAGES_TORCH="
file:/usr/lib/python3/dist-packages/torch python3-torch
"
PREFIX='' TORCH=''

read_options() {
    while [ $# -gt 0 ]; do
        case $1 in
        --torch) TORCH=1 ;;
        --prefix) PREFIX=$2 && shift ;;
        *) TESTS+=("$1") ;;
        esac
        shift
    done
}

# prepare WORK: what the tests need of this checkout, where every user can read it.
prepare() {
    local work=$1 name
    chmod 755 "$work"
    mkdir -p "$work/bin" "$work/log" "$work/program" "$work/jobs"
    if [ -n "$PREFIX" ]; then
        cp -rL "$PREFIX" "$work/cuspan"
    else
        build_cuspan
        cmake --install build --prefix "$work/cuspan" >"$work/log/install.log"
    fi
    # The agent takes the CUPTI beside it, so this one plays recordings.
    mkdir -p "$work/cuspan/lib/cuspan/cupti"
    ln -sf ../libcuspan-replay.so "$work/cuspan/lib/cuspan/cupti/libcupti.so.13"
    for name in tests/slurm/program.py tests/slurm/train.py tests/support/python_host.py examples/recordings/vector_add.cuspanrec; do
        cp "$name" "$work/program/"
    done
    mkdir -p "$work/examples/recordings" # hang.py finds the recording there
    cp -r examples/training "$work/examples/"
    cp examples/recordings/vector_add.cuspanrec "$work/examples/recordings/"
    cp tests/slurm/login.sh "$work/bin/login"
    printf '%s slots=2\n127.0.0.2 slots=2\n' "$(hostname)" >"$work/hosts.ompi"
    printf '%s:2\n127.0.0.2:2\n' "$(hostname)" >"$work/hosts.mpich"
    if [ -n "$TORCH" ]; then
        # Its defaults for both fail in PyTorch 1.13 with Python 3.11, which Debian 12 has.
        printf '#!/bin/sh\nexec /usr/bin/torchrun --redirects 1 --tee 1 "$@"\n' >"$work/bin/torchrun"
        chmod +x "$work/bin/torchrun"
        export WITH_TORCH=1
    fi
}

# environment_modules WORK: its files, without installing them, because Debian lets nobody install it beside Lmod.
environment_modules() {
    export MODULES_ROOT=/
    [ ! -e /usr/share/modules ] || return 0
    MODULES_ROOT=$1/modules
    mkdir "$MODULES_ROOT"
    (
        cd "$MODULES_ROOT"
        apt-get download -q environment-modules || { apt-get update -q && apt-get download -q environment-modules; }
        dpkg -x environment-modules_*.deb .
    ) >"$1/log/modules.log" 2>&1 || { cat "$1/log/modules.log"; fail "cannot get Environment Modules; check the network and run this again"; }
}

# end WORK STATUS: keeps the logs of a failed run.
end() {
    if [ "$2" != 0 ] && [ -d "$1/log" ]; then
        rm -rf build/log/slurm
        mkdir -p build/log && cp -r "$1/log" build/log/slurm
        say "logs: build/log/slurm"
    fi
    rm -rf "$1"
}

main() {
    local work status=0
    TESTS=()
    read_options "$@"
    if [ "$(id -u)" != 0 ]; then
        echo "skipped: Slurm's daemons need root"
        return 77
    fi
    packages_install "$PACKAGES_SLURM"
    [ -e /usr/share/modules ] || packages_install "$PACKAGES_LMOD"
    [ -z "$TORCH" ] || packages_install "$PACKAGES_TORCH"
    jaeger_binary || fail "there is no Jaeger"
    work=$(mktemp -d /tmp/cuspan-slurm.XXXXXX)
    # shellcheck disable=SC2064 # the folder as it is now
    trap "end '$work' \$?" EXIT
    prepare "$work"
    environment_modules "$work"
    export PYTHONDONTWRITEBYTECODE=1
    # In the background, because bash runs a trap only after a command in the foreground.
    python3 tests/slurm/slurm_test.py "$work/cuspan" "$work" "$JAEGER" "${TESTS[@]}" &
    # shellcheck disable=SC2064 # the process as it is now
    trap "kill $! && wait $!; exit 130" INT TERM
    wait $! || status=$?
    return "$status"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
