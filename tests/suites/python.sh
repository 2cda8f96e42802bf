#!/bin/bash
# Tests of CPython and of Python packages: bare, with the agent and the hooks of the Python package in each process, and bare again,
# compared test by test (compare.py). No GPU is needed: the agent plays a recording.
#   [SUITES=DIR] [PYTHONS=...] tests/suites/python.sh OUTDIR [SUITE...]
# PYTHONS: interpreters (python3). CPython's tests are the interpreter's own package `test`, or SUITES/cpython-3.X/test: in Debian,
# unpack libpython3.X-testsuite there. CPYTHON_TESTS: only these. Those of packages are in SUITES/PACKAGE, the unpacked source archive of
# PyPI. Without a suite's sources, it is listed as not run. A run of a suite is cut off after LIMIT_S (1200) seconds.
# The last line is "N passed, N failed, N skipped". Results: docs/compatibility.md.
set -u
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
PYTHONS=${PYTHONS:-$(command -v python3)}
LIMIT_S=${LIMIT_S:-1200}

# Names in all versions; those that a version lacks are left out.
CPYTHON="test_asyncio test_contextlib test_contextlib_async test_context test_coroutines test_asyncgen test_generators test_threading
    test_thread test_threading_local test_subprocess test_os test_posix test_signal test_io test_fork1 test_wait3 test_wait4
    test_multiprocessing_fork test_multiprocessing_forkserver test_multiprocessing_spawn test_multiprocessing_main_handling
    test_concurrent_futures test_resource test_pickle test_copy test_inspect test_functools test_weakref test_gc test_atexit
    test_exceptions test_select test_selectors test_socket test_queue test_faulthandler test_mmap test_pty test_signal"

# venv_of PYTHON FOLDER: an environment whose processes can start the agent
venv_of() {
    [ -x "$2/bin/python" ] || "$1" -m venv "$2" || return
    local site
    site=$("$2/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp "$HERE/agent_in_python.py" "$site/"
    echo 'import agent_in_python' >"$site/agent_in_python.pth"
}

# traced SUITE COMMAND...: each process writes a report
traced() {
    local reports=$OUTDIR/$1-reports
    rm -rf "$reports"
    mkdir -p "$reports"
    (
        export SUITE_AGENT="$ROOT/tests/support:$ROOT/python" CUDA_INJECTION64_PATH="$BUILD/libcuspan.so"
        export HOST_DOUBLE="$BUILD/libcuspan-replay.so" HOST_RECORDING="$ROOT/examples/recordings/vector_add.cuspanrec"
        export CUSPAN_SET="cupti.library=$BUILD/libcuspan-replay.so;output_file=$reports.jsonl;accounts_file=$reports/report"
        export OTEL_PYTHON_CONTEXT=cuspan
        "${@:2}"
    )
}

# suite NAME COMMAND...
suite() {
    three_times "$@"
    echo "$1: the agent ran in $(find "$OUTDIR/$1-reports" -type f 2>/dev/null | wc -l) processes"
}

# regrtest PYTHON TEST... FILE: in a process for each test; no network
regrtest() {
    (cd "$OUTDIR" && limited_s "$LIMIT_S" "${*: -1}" "$1" -m test -j2 --timeout 600 --junit-xml "${*: -1}" "${@:2:$#-2}")
}

cpython() {
    local python=$1 suite venv tests
    suite=cpython-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || return
    wanted "$suite" || return 0
    venv=$OUTDIR/venv-$suite
    venv_of "$python" "$venv" || return
    [ ! -d "$SUITES/$suite/test" ] || ln -sfn "$SUITES/$suite/test" "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/test"
    tests=$("$venv/bin/python" -c 'import importlib.util, sys
print(*[name for name in dict.fromkeys(sys.argv[1].split()) if importlib.util.find_spec("test." + name)])' "${CPYTHON_TESTS:-$CPYTHON}" 2>/dev/null)
    if [ -z "$tests" ]; then
        not_run "$suite" "$python has no tests, and SUITES/$suite/test is missing"
        return
    fi
    echo "$suite: $("$venv/bin/python" -VV | head -1)"
    read -ra tests <<<"$tests"
    suite "$suite" regrtest "$venv/bin/python" "${tests[@]}"
}

# run_pytest PYTHON FOLDER ARGUMENTS... FILE
run_pytest() {
    (cd "$2" && PATH=${1%/*}:$PATH limited_s "$LIMIT_S" "${*: -1}" "$1" "$HERE/run_pytest.py" -q -p no:cacheprovider -o addopts= --timeout 120 "${@:3}")
}

# package NAME NEEDS ARGUMENTS...: pytest's, in SUITES/NAME, with the packages NEEDS. Those whose names begin with the same word share
# their environment.
package() {
    local folder=$SUITES/$1 venv=$OUTDIR/venv-${1%%-*} needs
    wanted "$1" || return 0
    if [ ! -d "$folder" ]; then
        not_run "$1" "no sources in SUITES/$1"
        return
    fi
    venv_of "${PYTHONS%% *}" "$venv" || return
    [ -d "$OUTDIR/package" ] || cp -r "$ROOT/python" "$OUTDIR/package" # for its entry point; building leaves files there
    read -rd "" -a needs <<<"$2"
    if ! "$venv/bin/python" -m pip install -q --disable-pip-version-check pytest pytest-timeout "${needs[@]}" "$folder" "$OUTDIR/package" \
        >"$OUTDIR/$1-pip.log" 2>&1; then
        not_run "$1" "pip could not install it ($OUTDIR/$1-pip.log)"
        return
    fi
    suite "$1" run_pytest "$venv/bin/python" "$folder" "${@:3}"
}

for python in $PYTHONS; do # words
    cpython "$python"
done
# Each of OpenTelemetry's instrumentations has its own version of what it instruments.
OTEL="opentelemetry-sdk==1.45.1 opentelemetry-test-utils==0.66b1 opentelemetry-instrumentation==0.66b1 opentelemetry-util-http==0.66b1"
package opentelemetry-api "$OTEL" tests
package opentelemetry-sdk "$OTEL psutil flaky" tests
package opentelemetry-instrumentation "$OTEL" tests
package opentelemetry-instrumentation-threading "$OTEL" tests
package opentelemetry-instrumentation-asyncio "$OTEL pytest-asyncio" tests
package opentelemetry-instrumentation-asgi "$OTEL pytest-asyncio" tests
package opentelemetry-instrumentation-wsgi "$OTEL" tests
package opentelemetry-instrumentation-requests "$OTEL requests mocket" tests
package opentelemetry-instrumentation-urllib3 "$OTEL urllib3 mocket" tests
package opentelemetry-instrumentation-logging "$OTEL" tests
package opentelemetry-instrumentation-fastapi "$OTEL fastapi httpx" tests
package opentelemetry-instrumentation-starlette "$OTEL starlette httpx" tests
package opentelemetry-instrumentation-aiohttp-client "$OTEL aiohttp http_server_mock" tests
package starlette "opentelemetry-sdk httpx httpx2[zstd] blockbuster anyio trio python-multipart itsdangerous jinja2 pyyaml" tests
package uvicorn "httpx2 websockets wsproto zttp httptools a2wsgi trustme cryptography python-dotenv watchfiles pytest-mock pytest-codspeed
    anyio pyyaml uvloop" tests
# The tests that start and end processes, and of workers of each kind, without the thousands of tests of parsers
package gunicorn "gevent eventlet setuptools pytest-cov pytest-asyncio httpx h2 uvloop cryptography" tests \
    --ignore-glob "*/test_asgi_*" --ignore-glob "*/test_http*" --ignore-glob "*_requests.py"
package aiohttp "pytest-mock pytest-cov re-assert freezegun trustme proxy.py brotli isal zlib_ng blockbuster pytest-codspeed" \
    tests/test_web_app.py tests/test_web_functional.py tests/test_web_middleware.py tests/test_client_functional.py tests/test_connector.py \
    tests/test_worker.py tests/test_run_app.py
suites_end
