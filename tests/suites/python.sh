#!/bin/bash
# Tests of CPython and of Python packages: bare, with the agent and the hooks of the Python package in each process, and bare again,
# compared test by test (compare.py). No GPU is needed: the agent plays a recording.
#   [SUITES=DIR] [PYTHONS=...] tests/suites/python.sh OUTDIR [SUITE...]
# PYTHONS: interpreters (python3). CPython's tests are the interpreter's own package `test`, or SUITES/cpython-3.X/test: in Debian,
# unpack libpython3.X-testsuite there. Those of packages are in SUITES/PACKAGE, the unpacked source archive of PyPI. Without a
# suite's sources, it is listed as not run. The last line is "N passed, N failed, N skipped". Results: docs/compatibility.md.
set -u
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
cd "$ROOT" || exit
[ $# -ge 1 ] || fail "usage: SUITES=DIR tests/suites/python.sh OUTDIR [SUITE...]"
mkdir -p "$1"
OUTDIR=$(realpath "$1")
shift
SUITES=$(realpath -m "${SUITES:-/nonexistent}")
BUILD=$(realpath "${BUILD:-build}")
HERE=$ROOT/tests/suites

# Names in all versions; those that a version lacks are left out.
CPYTHON="test_asyncio test_contextlib test_contextlib_async test_context test_coroutines test_asyncgen test_generators test_threading
    test_thread test_threading_local test_subprocess test_os test_posix test_signal test_io test_fork1 test_wait3 test_wait4
    test_multiprocessing_fork test_multiprocessing_forkserver test_multiprocessing_spawn test_multiprocessing_main_handling
    test_concurrent_futures test_resource test_pickle test_copy test_inspect test_functools test_weakref test_gc test_atexit
    test_exceptions test_select test_selectors test_socket test_queue test_faulthandler test_mmap test_pty test_signal"

# Name, folder of SUITES, packages that its tests need, and pytest's arguments in that folder.
PACKAGES="
starlette|starlette|opentelemetry-sdk httpx httpx2[zstd] blockbuster anyio trio python-multipart itsdangerous jinja2 pyyaml|tests
uvicorn|uvicorn|httpx2 websockets wsproto zttp httptools a2wsgi trustme cryptography python-dotenv watchfiles pytest-mock pytest-codspeed anyio pyyaml uvloop|tests
gunicorn|gunicorn|gevent eventlet setuptools pytest-cov pytest-asyncio httpx h2 uvloop cryptography|tests
aiohttp|aiohttp|pytest-mock pytest-aiohttp pytest-asyncio re-assert freezegun trustme proxy.py brotli isal blockbuster pytest-codspeed pytest-cov pytest-xdist|tests/test_web_app.py tests/test_web_functional.py tests/test_client_functional.py tests/test_web_middleware.py tests/test_connector.py
opentelemetry-sdk|opentelemetry-sdk|opentelemetry-test-utils psutil|tests/trace tests/context
"

# venv_of PYTHON FOLDER: an environment whose processes can start the agent
venv_of() {
    [ -x "$2/bin/python" ] || "$1" -m venv "$2" || return
    local site
    site=$("$2/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    cp "$HERE/agent_in_python.py" "$site/"
    echo 'import agent_in_python' >"$site/agent_in_python.pth"
}

# with_agent REPORTS COMMAND...: each process writes a report
with_agent() {
    local reports=$1
    shift
    mkdir -p "$reports"
    (
        export CUSPAN_SUITE="$ROOT/tests/support:$ROOT/python" CUDA_INJECTION64_PATH="$BUILD/libcuspan.so"
        export HOST_DOUBLE="$BUILD/libcuspan-replay.so" HOST_RECORDING="$ROOT/examples/recordings/vector_add.cuspanrec"
        export CUSPAN_SET="cupti.library=$BUILD/libcuspan-replay.so;output_file=$reports.jsonl;report_file=$reports/report"
        export OTEL_PYTHON_CONTEXT=cuspan
        "$@"
    )
}

# three_times SUITE COMMAND...: the command gets the file for its results as its last argument
PASSED=0 FAILED=0 SKIPPED=0
three_times() {
    local suite=$1 began=$SECONDS line passed failed skipped
    shift
    rm -rf "$OUTDIR/$suite-reports"
    "$@" "$OUTDIR/$suite-bare.xml" >"$OUTDIR/$suite-bare.log" 2>&1 </dev/null
    with_agent "$OUTDIR/$suite-reports" "$@" "$OUTDIR/$suite-traced.xml" >"$OUTDIR/$suite-traced.log" 2>&1 </dev/null
    "$@" "$OUTDIR/$suite-again.xml" >"$OUTDIR/$suite-again.log" 2>&1 </dev/null
    python3 "$HERE/compare.py" --name "$suite" --bare "$OUTDIR/$suite-bare.xml" --bare "$OUTDIR/$suite-again.xml" \
        --traced "$OUTDIR/$suite-traced.xml" >"$OUTDIR/$suite.txt" 2>&1
    cat "$OUTDIR/$suite.txt"
    echo "$suite: the agent ran in $(find "$OUTDIR/$suite-reports" -type f 2>/dev/null | wc -l) processes, $((SECONDS - began)) s"
    if line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$OUTDIR/$suite.txt"); then
        read -r passed _ failed _ skipped _ < <(tr -d , <<<"$line")
        PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
    else
        FAILED=$((FAILED + 1))
    fi
}

not_run() {
    echo "skipped: $1: $2"
    SKIPPED=$((SKIPPED + 1))
}

wanted() { [ ${#CHOSEN[@]} -eq 0 ] || [[ " ${CHOSEN[*]} " == *" $1 "* ]]; }
CHOSEN=("$@")

# regrtest PYTHON TEST... FILE: in a process for each test; no network
regrtest() {
    local python=$1 file=${*: -1} tests=("${@:2:$#-2}")
    (cd "$OUTDIR" && "$python" -m test -j2 --timeout 300 --junit-xml "$file" "${tests[@]}")
}

cpython() {
    local python=$1 version suite tests
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || return
    suite=cpython-$version
    wanted "$suite" || return 0
    local venv=$OUTDIR/venv-$version
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
    three_times "$suite" regrtest "$venv/bin/python" "${tests[@]}"
}

# pytest_in PYTHON FOLDER ARGUMENTS... FILE
pytest_in() {
    local python=$1 folder=$2 file=${*: -1} arguments=("${@:3:$#-3}")
    (cd "$folder" && "$python" -m pytest -q -p no:cacheprovider -o addopts= --timeout 120 --junitxml "$file" "${arguments[@]}")
}

package() {
    local suite=$1 folder=$2 needs=$3 venv=$OUTDIR/venv-$1 words
    wanted "$suite" || return 0
    if [ ! -d "$SUITES/$folder" ]; then
        not_run "$suite" "no sources in SUITES/$folder"
        return
    fi
    venv_of "${PYTHONS%% *}" "$venv" || return
    [ -d "$OUTDIR/package" ] || cp -r "$ROOT/python" "$OUTDIR/package" # for its entry point; building leaves files there
    # shellcheck disable=SC2086
    if ! "$venv/bin/python" -m pip install -q --disable-pip-version-check pytest pytest-timeout $needs \
        "$SUITES/$folder" "$OUTDIR/package" >"$OUTDIR/$suite-pip.log" 2>&1; then
        not_run "$suite" "pip could not install it ($OUTDIR/$suite-pip.log)"
        return
    fi
    read -ra words <<<"$4"
    three_times "$suite" pytest_in "$venv/bin/python" "$SUITES/$folder" "${words[@]}"
}

PYTHONS=${PYTHONS:-$(command -v python3)}
for python in $PYTHONS; do # words
    cpython "$python"
done
while IFS='|' read -r suite folder needs arguments; do
    [ -z "$suite" ] || package "$suite" "$folder" "$needs" "$arguments"
done <<<"$PACKAGES"
echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
[ "$FAILED" = 0 ]
