#!/bin/bash
# All tests, with everything that they need: packages, builds with and without sanitizers, a Jaeger.
#
#   tests/run.sh                 about half an hour on two cores, less the second time
#   tests/run.sh --long          an hour for each fuzzer, a hundred times the rounds for the soak test, torture with
#                                every call, memcheck over all unit tests
#   tests/run.sh PART...         only these parts, by the names that a run shows
#
# Each part's output is in build/log/test-PART.log. What can't be run here is named at the end with its reason; with
# CI=true nothing but a GPU and a Docker engine may be missing. Exit status: 0 if nothing failed.
set -u
# shellcheck source=../tools/lib.sh
. "$(dirname "$0")/../tools/lib.sh"
cd "$ROOT" || exit

PASSED=0 FAILED=0
FAILURES=() SKIPS=()
LONG='' ONLY=()
# The parts and tests that CI may skip. bench/guard is where this compiler has no committed figures.
MAY_SKIP=" gpu gpu-service gpu-numbers processes docker-engine bench/guard "

# ---- The parts -------------------------------------------------------------------------------------------------------
# Each is a function that prints to its log and returns 0, 1, or 77 with its last line "skipped: WHY". Where it runs
# several tests, its log has ctest's summary or a line "N passed, N failed, N skipped"; otherwise it counts as one test.

part_release() {
    build_quietly release -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}" || return
    [ ${#ONLY[@]} -gt 0 ] || { behind tidy tools/check-tidy.py build && behind analyze tools/analyze.sh build; }
    tests_of build
}

part_asan() {
    build_quietly asan -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}" || return
    ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1 \
        UBSAN_OPTIONS=print_stacktrace=1 tests_of build-asan
}

part_tsan() {
    build_quietly tsan -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}" || return
    # Threads of ours that a deadline at exit leaves behind are no leak.
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0 tests_of build-tsan
}

# behind NAME COMMAND...: at the lowest priority, while tests wait for time to pass.
behind() {
    rm -f "build/log/behind-$1".*
    # shellcheck disable=SC2016 # the inner shell's
    setsid nice -n 19 bash -c 'log=$1; shift; "$@" >"$log.log" 2>&1; echo $? >"$log.status"' - "build/log/behind-$1" "${@:2}" \
        >/dev/null 2>&1 </dev/null &
    echo $! >"build/log/behind-$1.pid"
}
# result_of NAME COMMAND...: of the same, once it has ended; where it was not begun, it is run here.
result_of() {
    local log=build/log/behind-$1
    [ -f "$log.pid" ] || { "${@:2}"; return; }
    while kill -0 "$(cat "$log.pid")" 2>/dev/null; do sleep 1; done
    rm "$log.pid"
    cat "$log.log"
    return "$(cat "$log.status")"
}
stop_behind() {
    local pid
    for pid in build/log/behind-*.pid; do
        [ ! -f "$pid" ] || kill -- "-$(cat "$pid")" 2>/dev/null
        rm -f "$pid"
    done
}

# Some tests send to a real Jaeger. Sanitizers of older compilers can't cope with the address space as newer kernels lay
# it out, hence setarch.
tests_of() {
    local still=() status=0
    ! wait_for_jaeger || export JAEGER
    ! setarch "$(uname -m)" -R true 2>/dev/null || still=(setarch "$(uname -m)" -R)
    "${still[@]}" ctest --test-dir "$1" --output-on-failure --timeout "$([ -n "$LONG" ] && echo 3600 || echo 180)" \
        -j "$(nproc)" || status=$?
    # Why a test was skipped, which ctest writes to a log of its own.
    grep '^skipped: ' "$1/Testing/Temporary/LastTest.log"
    return "$status"
}

part_layering() { tests/integration/project/layering_test.py; }
part_format() { tools/check-format.sh; }
part_tidy() { result_of tidy tools/check-tidy.py build; }

part_shellcheck() {
    local scripts
    mapfile -t scripts < <(git ls-files --cached --others --exclude-standard | grep -E '\.sh$|^\.ci/run$')
    shellcheck "${scripts[@]}" && echo "${#scripts[@]} scripts"
}

# Vale, and that it finds what is planted.
part_prose() { wait_for_vale && tests/prose/check_test.sh && tools/check-prose.sh; }

# The committed tables of CUPTI's numbers are what the generator makes of NVIDIA's headers.
part_tables() { python_with pip && PATH=$(dirname "$PYTHON"):$PATH tests/integration/project/tables_regenerate.sh; }

# NVTX through NVIDIA's own headers and Python's package.
part_nvtx() {
    python_with pip && cmake --build build >/dev/null && "$PYTHON" tests/integration/agent/nvtx_test.py --build build
}

part_fuzz() { tests/fuzz/run.sh "$([ -n "$LONG" ] && echo 3600 || echo 15)"; }
# Each call of the agent's fails in turn; needs the release build, whose allocator is libc's.
part_torture() { cmake --build build >/dev/null && tests/torture/torture.py --build build ${LONG:+--long}; }
part_memcheck() { cmake --build build >/dev/null && tests/torture/memcheck.py --build build ${LONG:+--long}; }
part_analyze() { result_of analyze tools/analyze.sh build; }
part_docker() { wait_for_jaeger && tests/integration/project/docker_check.sh files; }
part_docker-engine() { tests/integration/project/docker_check.sh engine; }
part_demo() { tests/integration/project/demo_test.sh; }

part_python() { python/tests/run.sh ${LONG:+--mutants}; }

part_e2e() {
    wait_for_jaeger || return
    tests/e2e/run.sh
}

part_service() { wait_for_jaeger && tests/integration/project/service_run_test.sh && tests/e2e/service.sh; }

needs_gpu() {
    if [ "$(tools/get-cuda.sh driver)" -eq 0 ]; then
        echo "skipped: no GPU with NVIDIA's driver on this machine"
        return 77
    fi
}
part_gpu() { needs_gpu && tests/gpu/run.sh; }
part_gpu-service() { needs_gpu && tests/gpu/service.sh build/log/gpu-service; }
part_gpu-numbers() { needs_gpu && tests/gpu/numbers/numbers.sh build/log/gpu-numbers; }

part_processes() { needs_gpu && tests/gpu/processes.sh build/gpu-processes build; }

# ---- Running them ----------------------------------------------------------------------------------------------------

# Jaeger and Vale may have to be built, which takes minutes: that happens while the compilers run.
JAEGER_PID='' VALE_PID=''
start_getting_tools() {
    if ! tools/get-jaeger.sh --present >/dev/null; then
        say "getting a Jaeger meanwhile (log: build/log/get-jaeger.log)"
        tools/get-jaeger.sh >build/log/get-jaeger.log 2>&1 </dev/null &
        JAEGER_PID=$!
    fi
    tools/get-vale.sh >build/log/get-vale.log 2>&1 </dev/null &
    VALE_PID=$!
}
wait_for_vale() {
    while kill -0 "$VALE_PID" 2>/dev/null; do sleep 1; done # not a child of this subshell
    tail -n 5 build/log/get-vale.log
}
wait_for_jaeger() {
    # Parts run in a subshell, of which the other one is no child: so it looks instead of waiting.
    while [ -n "$JAEGER_PID" ] && kill -0 "$JAEGER_PID" 2>/dev/null; do
        sleep 1
    done
    JAEGER=$(tools/get-jaeger.sh --present) && return
    tail -n 5 build/log/get-jaeger.log
    echo "there is no Jaeger"
    return 1
}

skipped() { # skipped PART-OR-TEST WHY: where CI may not skip it, it has failed
    if [ "${CI:-}" = true ] && [[ $MAY_SKIP != *" $1 "* ]]; then
        FAILED=$((FAILED + 1))
        FAILURES+=("$1: skipped, which CI may not: $2")
    else
        SKIPS+=("$1: $2")
    fi
}

# count PART LOG STATUS: adds what the part's log says of its tests.
count() {
    local part=$1 log=$2 status=$3 passed=0 failed=0 line name reason
    if line=$(grep -E '^[0-9]+% tests passed' "$log"); then # "97% tests passed, 1 tests failed out of 35"
        read -r failed passed < <(sed -E 's/.*, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/' <<<"$line")
        passed=$((passed - failed))
        while read -r name; do
            passed=$((passed - 1))
            reason=$(sed -n "s|^skipped: $name: ||p" "$log" | tail -n 1)
            skipped "$name" "${reason:-$part did not say why}"
        done < <(sed -nE 's/^\s*[0-9]+ - (\S+) \(Skipped\)$/\1/p' "$log")
    elif line=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log"); then
        line=${line##*$'\n'}
        read -r passed _ failed _ < <(tr -d , <<<"$line")
        while read -r name; do
            skipped "$part" "$name"
        done < <(sed -n 's/^skipped: //p' "$log")
    elif [ "$status" = 0 ]; then
        passed=1
    fi
    [ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed))
    RESULT="$passed passed$([ "$failed" = 0 ] || echo ", $failed failed")"
}

# why LOG: what failed, and of Python's and C's tests the assertion too.
why() {
    grep -nE -A 20 '^(FAIL|ERROR): ' "$1"
    grep -nE -B 4 '\[ +(FAILED|LINE) +\]' "$1"
    grep -nE 'error:|Failed|SUMMARY: .*Sanitizer|not ok|not formatted|^wrong|^failed' "$1"
}

run_part() {
    local part=$1 title=$2 log=build/log/test-$1.log began=$SECONDS status=0 color=$GREEN RESULT
    [ ${#ONLY[@]} -eq 0 ] || [[ " ${ONLY[*]} " == *" $part "* ]] || return 0
    printf '%-14s %s\n' "$part" "$title"
    waiting "$log" "part_$part" || status=$?
    if [ "$status" = 77 ]; then
        skipped "$part" "$(sed -n 's/^skipped: //p' "$log" | tail -n 1)"
        RESULT=skipped color=$DIM
    else
        count "$part" "$log" "$status"
    fi
    if [ "$status" != 0 ] && [ "$status" != 77 ]; then
        color=$RED
        FAILURES+=("$part: see $log")
        {
            why "$log" | head -n 60
            echo ...
            tail -n 12 "$log"
        } | sed 's/^/    | /' # set off: its lines must not be taken for the summary
    fi
    printf '%-14s %s%s%s in %s s\n' '' "$color" "$RESULT" "$PLAIN" $((SECONDS - began))
}

summary() {
    local line
    echo
    for line in "${SKIPS[@]}"; do echo "skipped  $line"; done
    for line in "${FAILURES[@]}"; do echo "${RED}failed$PLAIN   $line"; done
    echo "$SECONDS s in all"
    echo "$PASSED passed, $FAILED failed, ${#SKIPS[@]} skipped"
    [ "$FAILED" = 0 ]
}

install_packages() {
    packages_install "$PACKAGES_BUILD $PACKAGES_TEST"
    # The fuzzers' runtime is a package of its own in some releases, named after the compiler's version.
    is_there fuzz:clang || packages_install "fuzz:clang libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    prepare_libraries
}

main() {
    local argument
    for argument in "$@"; do
        case $argument in
        --long) LONG=1 && export CUSPAN_LONG=1 ;;
        -*) sed -n '2,11s/^# \{0,1\}//p' "$0"; [ "$argument" = --help ]; return ;;
        *) ONLY+=("$argument") ;;
        esac
    done
    mkdir -p build/log
    stop_behind # of a run that was killed
    trap stop_behind EXIT
    echo "install        what is missing"
    install_packages
    start_getting_tools

    run_part layering "who may include what"
    run_part format "clang-format"
    run_part shellcheck "all scripts"
    run_part release "build; unit and integration tests"
    run_part asan "the same under AddressSanitizer and UndefinedBehaviorSanitizer"
    run_part tsan "the same under ThreadSanitizer"
    run_part tidy "clang-tidy"
    run_part analyze "gcc's static analysis"
    run_part prose "words and phrases, by Vale"
    run_part tables "CUPTI's numbers, made again from NVIDIA's headers"
    run_part nvtx "NVTX's own headers and Python's package"
    run_part fuzz "each fuzzer for a while"
    run_part torture "each allocation, file and network operation, thread and CUPTI call fails in turn"
    run_part memcheck "valgrind's memcheck over replays"
    run_part python "the Python package, with OpenTelemetry's SDK and uvloop"
    run_part e2e "recordings through the agent into Jaeger and a Collector, and back"
    run_part service "the service of examples/service, into a Collector with tail sampling and Jaeger"
    run_part demo "examples/demo.sh"
    run_part docker "Dockerfile and compose file, without an engine"
    run_part docker-engine "the image and the compose file, for real"
    run_part gpu "programs on this machine's GPU"
    run_part gpu-service "the service of examples/service on it, a hundred requests at once"
    run_part gpu-numbers "tables, comparisons and metrics on it, beside what others say; what they cost"
    run_part processes "several processes, GPUs and threads on this machine's GPUs"
    summary
}

{ main "$@"; exit; } # in one piece: bash reads a script as it goes, and an edit must not change a run
