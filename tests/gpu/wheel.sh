#!/bin/bash
# The wheel on this machine's GPU, without network: in a virtual environment beside the machine's PyTorch, JAX and CuPy,
# whose spans must be complete (wheel_test.py).
#   tests/gpu/wheel.sh WHEELS-DIR OUT-DIR     WHEELS-DIR has cuspan's wheel and that of nvidia-cuda-cupti (for a driver of
#                                             CUDA 12: nvidia-cuda-cupti-cu12). Up to ten minutes
# Two environments: "extra" gets cuspan with its extra, so that CUPTI is beside it. "plain" gets only cuspan, and the agent
# uses the CUPTI that it finds in the machine's packages; without one there, its cases fail. $PYTHON: python3.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
[ $# -eq 2 ] || fail "usage: tests/gpu/wheel.sh WHEELS-DIR OUT-DIR"
WHEELS=$(realpath "$1")
mkdir -p "$2"
OUT=$(realpath "$2")
PYTHON=${PYTHON:-python3}
EXTRA=cuda13 PACKAGE=nvidia-cuda-cupti
DRIVER=$("$ROOT/tools/get-cuda.sh" driver)
[ "$DRIVER" -ne 0 ] || fail "no GPU with NVIDIA's driver on this machine"
[ "$DRIVER" -ge 13000 ] || EXTRA=cuda12 PACKAGE=nvidia-cuda-cupti-cu12

WHEEL=$(find "$WHEELS" -name "cuspan-*_$(uname -m).whl" | sort | tail -n 1)
[ -n "$WHEEL" ] || fail "$WHEELS has no wheel of cuspan for $(uname -m)"

# environment NAME: with the packages of $PYTHON visible, which may be in a virtual environment itself.
environment() {
    rm -rf "${OUT:?}/$1"
    "$PYTHON" -m venv --system-site-packages "$OUT/$1"
    "$PYTHON" -c 'import site; print("\n".join(site.getsitepackages()))' \
        >"$("$OUT/$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/machine.pth"
}
# install NAME PACKAGE...: also what the machine has already, so that it lies beside cuspan.
install() {
    local name=$1
    shift
    "$OUT/$name/bin/python" -m pip install -q --disable-pip-version-check --no-index --find-links "$WHEELS" --ignore-installed "$@"
}

environment extra
install extra "${WHEEL}[$EXTRA]"
environment plain
install plain "$WHEEL"
"$OUT/extra/bin/cuspan" version
"$OUT/extra/bin/python" -m pip list --disable-pip-version-check 2>/dev/null | grep -iE "^(cuspan|$PACKAGE|torch|jax|cupy)" || true
"$OUT/extra/bin/python" "$ROOT/tests/gpu/wheel_test.py" "$OUT" "extra=$OUT/extra/bin/python" "plain=$OUT/plain/bin/python"
