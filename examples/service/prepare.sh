# shellcheck shell=bash
# Preparations that run.sh and the tests of the service share. Source it after tools/lib.sh; it runs nothing when
# sourced.
# shellcheck disable=SC2034 # scripts that source it use these names

SERVICE=$ROOT/examples/service

# Leaves a Python with OpenTelemetry in PYTHON, installed once per user. The machine's own packages (PyTorch) stay
# visible.
service_python() {
    local wanted venv log=$ROOT/build/log/service-python.log
    wanted=$(python3 -c 'import sys; print(sys.version)' | cat - "$SERVICE/requirements.txt" | sha256sum | cut -c1-12)
    venv=$CACHE/service-python-$wanted
    PYTHON=$venv/bin/python
    [ ! -e "$venv/complete" ] || return 0
    say "getting OpenTelemetry from PyPI, once for this user"
    waiting "$log" make_service_python "$venv" || { say "no OpenTelemetry: $(tail -n 1 "$log")"; return 1; }
}
make_service_python() {
    rm -rf "$1" && mkdir -p "$CACHE" && python3 -m venv --system-site-packages "$1" &&
        "$PYTHON" -m pip install -q --disable-pip-version-check -r "$SERVICE/requirements.txt" && touch "$1/complete"
}

# Leaves the folder of cuspan's Python package in SITE, for the workers' PYTHONPATH.
cuspan_package() {
    local log=$ROOT/build/log/service-package.log
    SITE=$ROOT/build/service/site
    if [ -e "$SITE/complete" ] && [ -z "$(find "$ROOT/python/cuspan" "$ROOT/python/pyproject.toml" \
        -name '*.py' -newer "$SITE/complete" -o -name '*.toml' -newer "$SITE/complete")" ]; then
        return
    fi
    waiting "$log" make_cuspan_package || { say "could not build python/: $(tail -n 1 "$log")"; return 1; }
}
make_cuspan_package() {
    local work=$ROOT/build/service/package
    rm -rf "$SITE" "$work" && mkdir -p "$work" && cp -r "$ROOT/python" "$work/source" && # building leaves files there
        "$PYTHON" -m pip install -q --disable-pip-version-check --no-deps --target "$SITE" "$work/source" &&
        rm -rf "$work" && touch "$SITE/complete"
}

# Compiles the model for machines without PyTorch; MODEL_LIBRARY is its path.
service_library() {
    local nvcc
    export MODEL_LIBRARY=$ROOT/build/service/libmodel.so
    if ! nvcc=$(find_nvcc); then
        "$ROOT/tools/get-cuda.sh" nvcc "$ROOT/build/cuda" || return 1
        nvcc=$ROOT/build/cuda/bin/nvcc
    fi
    mkdir -p "$ROOT/build/service"
    "$nvcc" -arch=native -shared -Xcompiler -fPIC -o "$MODEL_LIBRARY" "$SERVICE/model.cu" ||
        "$nvcc" -shared -Xcompiler -fPIC -o "$MODEL_LIBRARY" "$SERVICE/model.cu"
}
