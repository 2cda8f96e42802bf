#!/bin/bash
# The steps of real trainers on a CPU: PyTorch's own loops, Hugging Face's Trainer, Accelerate, Lightning, DeepSpeed and JAX, and
# two ranks with gloo below `cuspan run torchrun`. Too large for CI: it installs about 4 GB from PyPI, once for this user, and takes
# about 12 minutes on two cores after that.
#   python/tests/trainers.sh [BUILD-DIR]
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
BUILD=$(realpath "${1:-$ROOT/build}")
# Fixed, so that a new release of a trainer breaks this test only when somebody updates it.
PACKAGES=(torch==2.15.0 numpy==2.4.6 transformers==5.24.0 accelerate==1.15.0 lightning==2.6.6 deepspeed==0.19.8
    "jax[cpu]==0.10.2" opentelemetry-sdk==1.45.1)

for file in cuspan libcuspan.so libcuspan-replay.so python.zip; do
    [ -e "$BUILD/$file" ] || fail "no $BUILD/$file: build cuspan first"
done
{ waiting "$BUILD/log/trainers-pip.log" python_with "${PACKAGES[@]}" && python_with "${PACKAGES[@]}"; } ||
    { tail -n 3 "$BUILD/log/trainers-pip.log"; fail "cannot install the trainers from PyPI"; }

OUT=$(mktemp -d "${TMPDIR:-/tmp}/cuspan-trainers.XXXXXX")
export PYTHONDONTWRITEBYTECODE=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1
# With its own PATH: DeepSpeed looks for ninja there.
PATH=$(dirname "$PYTHON"):$PATH
failed=0
cd "$ROOT/python"
CUDA_INJECTION64_PATH='' python -m tests.torch_loops || failed=1
python -m tests.jax_loop || failed=1
# Without the package in the path: it comes from python.zip.
(cd "$OUT" && python "$ROOT/python/tests/ranks/check.py" "$BUILD" "$OUT") || failed=1
[ $failed = 1 ] || rm -rf "$OUT"
[ $failed = 0 ] || fail "failed; logs of the ranks: $OUT"
