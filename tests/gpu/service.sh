#!/bin/bash
# The service of examples/service on this machine's GPU: a hundred requests at once, alternately with and without the
# agent.
#   tests/gpu/service.sh OUTDIR [auto|torch|cuda|none]     up to three minutes; results: see service.py
#
# Needs a build, and a python3 with OpenTelemetry (examples/service/requirements.txt) and the package cuspan (python/),
# for example through PYTHONPATH; if missing, they are fetched from PyPI. With neither PyTorch nor nvcc it uses "none",
# which tests everything except the GPU.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=../../examples/service/prepare.sh
. "$ROOT/examples/service/prepare.sh"
[ $# -ge 1 ] || fail "usage: tests/gpu/service.sh OUTDIR [auto|torch|cuda|none]"
mkdir -p "$1"
OUT=$(realpath "$1")
MODEL=${2:-auto}
SECONDS_MAX=150 # then it ends what it has started and reports its results

PYTHON=python3
has_modules() { "$PYTHON" -c 'import cuspan, opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http' 2>/dev/null; }
if ! has_modules; then
    service_python || fail "python3 here has no OpenTelemetry with its OTLP exporter, and PyPI doesn't answer: PYTHONPATH?"
    cuspan_package || fail "python3 here has no package cuspan, and it could not be installed: PYTHONPATH?"
    export PYTHONPATH=$SITE${PYTHONPATH:+:$PYTHONPATH}
    has_modules || fail "OpenTelemetry and cuspan are installed and yet not found: $("$PYTHON" -c 'import cuspan, opentelemetry.exporter.otlp.proto.http' 2>&1 | tail -n 1)"
fi

has_torch() { "$PYTHON" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; }
if [ "$MODEL" = cuda ] || { [ "$MODEL" = auto ] && ! has_torch; }; then
    service_library >"$OUT/nvcc.log" 2>&1 || fail "model.cu does not compile: $(tail -n 1 "$OUT/nvcc.log")"
    MODEL=cuda
elif [ "$MODEL" = auto ]; then
    MODEL=torch
fi

WORK=$ROOT/build/gpu-service
rm -rf "$WORK" && mkdir -p "$WORK"
export PYTHONDONTWRITEBYTECODE=1
timeout --kill-after=40 "$SECONDS_MAX" "$PYTHON" "$ROOT/tests/gpu/service.py" "$ROOT/build" "$WORK" "$OUT" "$MODEL"
