#!/bin/bash
# Runs the tests with everything that they need: packages, builds with and without sanitizers, a Jaeger.
#
#   tests/run.sh quick                  the everyday command: build, unit and integration tests without sanitizers (except
#                                       the slow ones), layering, format. At most 6 minutes on two cores
#   tests/run.sh                        everything that CI runs. At most 38 minutes on two cores
#   tests/run.sh PART...                only these parts, by the names that a run shows
#   tests/run.sh --no-sanitizers        everything but asan and tsan
#   tests/run.sh --list                 prints the names of the parts
#   tests/run.sh --release [PART...]    what takes longer than CI allows, in parts of at most 60 minutes
#
# The output of each part is in build/log/test-PART.log. Parts and tests that cannot run here are listed at the end with
# the reason. With CI=true only those in MAY_SKIP may be skipped. Exit status: 0 if nothing failed. The last line
# is "N passed, N failed, N skipped". tests/README.md lists the parts with their times.
set -u
# shellcheck source=../tools/lib.sh
. "$(dirname "$0")/../tools/lib.sh"
cd "$ROOT" || exit

PASSED=0 FAILED=0
FAILURES=() SKIPS=()
QUICK='' RELEASE='' LIST='' WITHOUT='' ONLY=() KNOWN=' ' BESIDE=''
# The parts and tests that CI may skip. bench/guard is where this compiler has no committed figures.
MAY_SKIP=" gpu gpu-service gpu-numbers processes bench/guard "

# ---- The parts -------------------------------------------------------------------------------------------------------
# Each is a function that prints to its log and returns 0, 1, or 77 with its last line "skipped: WHY". Where it runs
# several tests, its log has ctest's summary or a line "N passed, N failed, N skipped"; otherwise it counts as one test.

part_release() {
    local compiled=build/log/compiled.log
    cached build_quietly release -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}" 2>&1 | tee "$compiled"
    [ "${PIPESTATUS[0]}" = 0 ] || return
    if [ "${CI:-}" = true ] && grep -E ': warning: ' "$compiled"; then
        echo "failed: the compiler has warnings"
        return 1
    fi
    if [ ${#ONLY[@]} -eq 0 ]; then
        behind tidy tools/check-tidy.py build && behind analyze tools/analyze.sh build && behind shellcheck tools/check-shell.sh
    fi
    if [ -n "$QUICK" ]; then
        echo "left out: $(ctest --test-dir build -N -L "^slow\$" | sed -n 's/.*Test *#[0-9]*: //p' | paste -sd ' ')"
        tests_of build -LE '^slow$'
    else
        tests_of build
    fi
}

# under_asan, under_tsan CTEST'S OPTIONS...
under_asan() {
    cached build_quietly asan -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}" || return
    ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1 \
        UBSAN_OPTIONS=print_stacktrace=1 tests_of build-asan "$@"
}

under_tsan() {
    cached build_quietly tsan -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}" || return
    # Threads of ours that a deadline at exit leaves behind are not leaks.
    TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0 \
        tests_of build-tsan "$@" -E "^unit/($(without_threads build-tsan))\$"
}
part_asan() { under_asan -LE 'release-only|slow'; }
part_tsan() { under_tsan -LE 'release-only|slow'; }
# without_threads BUILD: the unit tests that never start a thread, so that ThreadSanitizer can find nothing, for a pattern.
without_threads() {
    local test
    for test in "$1"/*_test; do
        nm -u "$test" | grep -q pthread_create || basename "$test" _test
    done | paste -sd '|'
}

# behind NAME COMMAND...: runs a command at the lowest priority, while tests wait for time to pass.
behind() {
    rm -f "build/log/behind-$1".*
    # shellcheck disable=SC2016 # the inner shell's
    setsid nice -n 19 bash -c 'log=$1; shift
        { echo 19 >/proc/self/autogroup; } 2>/dev/null # Linux shares the time among sessions, and only then among processes
        "$@" >"$log.log" 2>&1; echo $? >"$log.status"' - "build/log/behind-$1" "${@:2}" >/dev/null 2>&1 </dev/null &
    echo $! >"build/log/behind-$1.pid"
}
# result_of NAME COMMAND...: waits for that command, or runs it here if it was not started.
result_of() {
    local log=build/log/behind-$1
    [ -f "$log.pid" ] || { "${@:2}"; return; }
    while kill -0 "$(cat "$log.pid")" 2>/dev/null; do sleep 1; done
    rm "$log.pid"
    cat "$log.log"
    return "$(cat "$log.status")"
}
# beside PART...: runs these parts, one after the other, while the parts that follow run: each of them waits for much of its time.
beside() {
    [ ${#ONLY[@]} -eq 0 ] && [ -z "$LIST" ] || return 0
    rm -f build/log/beside-*
    set -m # a process group, for stop_behind
    (
        for part in "$@"; do
            began=$SECONDS status=0
            "part_$part" >"build/log/beside-$part.log" 2>&1 </dev/null || status=$?
            echo "$status $((SECONDS - began))" >"build/log/beside-$part.new"
            mv "build/log/beside-$part.new" "build/log/beside-$part.status"
        done
    ) &
    set +m
    echo $! >build/log/behind-parts.pid
    BESIDE=" $* "
}
result_beside() {
    local log=build/log/beside-$1 status=1
    while [ ! -f "$log.status" ] && kill -0 "$(cat build/log/behind-parts.pid)" 2>/dev/null; do sleep 0.5; done
    cat "$log.log"
    [ ! -f "$log.status" ] || read -r status _ <"$log.status"
    return "$status"
}
stop_behind() {
    local pid
    for pid in build/log/behind-*.pid; do
        [ ! -f "$pid" ] || kill -- "-$(cat "$pid")" 2>/dev/null
        rm -f "$pid"
    done
}

# tests_of BUILD [CTEST'S OPTIONS...]. Some tests send to a real Jaeger. Sanitizers of older compilers cannot cope with
# the address space layout of newer kernels, hence setarch.
tests_of() {
    local still=() status=0
    [ -n "$QUICK" ] || ! wait_for_jaeger || export JAEGER
    ! setarch "$(uname -m)" -R true 2>/dev/null || still=(setarch "$(uname -m)" -R)
    # The timeout ends a test that hangs. It does not judge speed. More tests than processors, because most of them wait.
    "${still[@]}" ctest --test-dir "$1" --output-on-failure --timeout 900 -j $((2 * $(nproc))) "${@:2}" || status=$?
    # ctest writes to a log of its own why a test was skipped.
    grep '^skipped: ' "$1/Testing/Temporary/LastTest.log"
    return "$status"
}

# cached COMMAND...: what it compiles was perhaps compiled before from the same text, in any checkout. Not for what is
# released.
export CCACHE_DIR=$CACHE/ccache CCACHE_MAXSIZE=2G CCACHE_BASEDIR=$ROOT CCACHE_NOHASHDIR=1
cached() {
    [ -z "$QUICK" ] || { "$@"; return; }
    local -x CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    "$@"
}

# The build that most parts need, if no part has made it before, or if it has no tests, like the demo's.
release_build() { cached build_quietly release -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}"; }
built() {
    (
        flock 9 # parts run beside each other
        if grep -qsx 'CUSPAN_BUILD_TESTS:BOOL=ON' build/CMakeCache.txt; then cmake --build build; else release_build; fi
    ) 9>build/log/built.lock
}

part_layering() { tests/integration/project/layering_test.py; }
part_format() { tools/check-format.sh; }
part_tidy() { built && result_of tidy tools/check-tidy.py build; }

part_shellcheck() { result_of shellcheck tools/check-shell.sh; }

# Vale, and that it finds what is planted.
part_prose() { wait_for_vale && tests/prose/check_test.sh && tools/check-prose.sh; }

# The committed tables of CUPTI's numbers are what the generator makes of NVIDIA's headers.
part_tables() { python_with pip && PATH=$(dirname "$PYTHON"):$PATH tests/integration/project/tables_regenerate.sh; }

# NVTX through NVIDIA's own headers and Python's package.
part_nvtx() {
    python_with pip && built && "$PYTHON" tests/integration/agent/nvtx_test.py --build build
}

part_fuzz() { cached tests/fuzz/run.sh 5; }
# Each call of the agent's fails in turn; needs the release build, whose allocator is libc's.
part_torture() { built && tests/torture/torture.py --build build; }
part_memcheck() { built && tests/torture/memcheck.py --build build; }
part_analyze() { built && result_of analyze tools/analyze.sh build; }
part_docker() { wait_for_jaeger && tests/integration/project/docker_check.sh; }

# Fresh machines in a Docker engine of our own.
part_containers() {
    if [ "${CI:-}" != true ] && [ ${#ONLY[@]} -eq 0 ]; then
        echo "skipped: a Docker engine changes this machine's firewall; to run it: tests/run.sh containers"
        return 77
    fi
    result_of containers-fetch tests/containers/run.sh --fetch && wait_for_jaeger && tests/containers/run.sh
}
# The files that users install, of this commit.
part_dist() { result_of release-builds tools/release/build.sh x86_64 && tests/release/run.sh quick; }
part_demo() { tests/integration/project/demo_test.sh; }

part_python() { python/tests/run.sh; }

part_e2e() { built && wait_for_jaeger && tests/e2e/run.sh; }

part_fleet-fuzz() { built && tests/fleet/fuzz.sh build; }
part_fleet-scale() { built && tests/fleet/scale.sh build --spans 500000; }
# Kafka and Collectors as deploy/fleet has them.
part_fleet() { result_of fleet-fetch tests/fleet/run.sh --fetch && built && tests/fleet/run.sh; }

# Whole training steps, or nothing of them.
part_job() { built && wait_for_jaeger && tests/e2e/job.sh; }
part_service() { built && wait_for_jaeger && tests/integration/project/service_run_test.sh && tests/e2e/service.sh; }

needs_gpu() {
    if [ "$(tools/get-cuda.sh driver)" -eq 0 ]; then
        echo "skipped: no GPU with NVIDIA's driver on this machine"
        return 77
    fi
}
part_gpu() { needs_gpu && tests/gpu/run.sh && tests/gpu/graphs.sh; }
part_gpu-service() { needs_gpu && tests/gpu/service.sh build/log/gpu-service; }
part_gpu-numbers() { needs_gpu && tests/gpu/numbers/numbers.sh build/log/gpu-numbers; }

# Other projects' tests, whose sources are in $SUITES.
part_suites-gpu() { # part_suites-gpu SUITE...
    needs_gpu && tests/suites/gpu.sh build/log/suites-gpu "$@"
}

part_processes() { needs_gpu && tests/gpu/processes.sh build/gpu-processes build; }

# ---- The parts of a release -----------------------------------------------------------------------------------------

# fuzzers N: those of the Nth part, as many as run at once.
fuzzers() {
    local files=(tests/fuzz/*_fuzz.c) chosen
    chosen=("${files[@]:($1 - 1) * $(nproc):$(nproc)}")
    chosen=("${chosen[@]#tests/fuzz/}")
    printf '%s\n' "${chosen[@]%_fuzz.c}"
}
fuzz_long() {
    local names
    mapfile -t names < <(fuzzers "$1")
    tests/fuzz/run.sh 3300 "${names[@]}"
}

part_asan-slow() { under_asan -L slow -LE release-only; }
part_tsan-slow() { under_tsan -L slow -LE release-only; }
part_soak() {
    release_build && CUSPAN_LONG=1 tests/integration/agent/agent_test.py --build build Soak &&
        CUSPAN_LONG=1 tests/integration/agent/agent_requests_test.py --build build Requests
}
# The build, the minutes before and after the outage, and the outage fit into an hour.
part_outage() { release_build && tests/integration/delivery/faults_outage_test.py --build build --long --outage-s 3300 Outage; }
part_outage-spool() { release_build && tests/integration/delivery/spool_test.py --build build --long Outage Killed; }

torture_long() {
    local kinds=()
    case $1 in
    file) kinds=(file.memory file.file file.thread file.cupti) ;;
    http) kinds=(http.memory http.file http.network http.thread) ;;
    record) kinds=(record.memory record.file record.thread classic.cupti) ;;
    esac
    release_build && tests/torture/torture.py --build build --long "${kinds[@]}"
}

part_memcheck-unit() { release_build && tests/torture/memcheck.py --build build --long; }
part_stays() { cached tools/count_stays.py --most 40; }
part_python-mutants() { python/tests/run.sh --mutants; }
part_suites-python() {
    if [ -z "${SUITES:-}" ]; then
        echo "skipped: no sources of other projects' tests; unpack them (tests/suites/python.sh says which), and set SUITES"
        return 77
    fi
    release_build && tests/suites/python.sh build/log/suites-python
}
part_dist-full() { tests/release/run.sh; }
part_hostile-hosts() {
    have runsc || apt_install runsc || echo "skipped: gVisor: its package runsc cannot be installed"
    release_build && tests/integration/agent/hostile_hosts_test.py --build build --long
}
# Many more attaches than CI makes, and how long they stop a thread.
part_attach() {
    release_build && tests/integration/agent/attach_test.py --build build --attaches 1000 Loops &&
        tests/bench/attach.py --runs 1000 && tests/bench/attach.py --runs 100 --agent
}
part_python-versions() { release_build && tests/python-versions/run.sh; }
part_wheel-full() { tools/release.sh --arch "$(uname -m)" wheel && tests/wheel/run.sh --release; }
part_kubernetes() { built && wait_for_jaeger && tests/kubernetes/run.sh; }
part_podman() { tools/release.sh --arch x86_64 image && tests/containers/podman.sh --stage build/release/stage-x86_64; }
part_slurm() { wait_for_jaeger && tools/release/build.sh x86_64 && tests/slurm/run.sh --torch --prefix build/release/stage-x86_64; }
part_places() { # part_places PLACE [ARGUMENT...]
    if [ "$(id -u)" != 0 ]; then
        echo "skipped: only root can make users and Debian systems for it"
        return 77
    fi
    wait_for_jaeger && tests/places/run.sh "$@"
}
part_containers-full() { wait_for_jaeger && tests/containers/run.sh suite; }

part_fleet-failures() { release_build && wait_for_jaeger && tests/fleet/run.sh --failures; }
part_ranks() {
    release_build && tests/training/jobs_test.py --build build --long --jobs "$(nproc)" &&
        tests/training/acceptance.py --driver build/ranks_driver --long && build/hang_simulate 200 1
}
part_engines() { release_build && tests/engines/run.sh main build; }
part_engines-versions() { release_build && tests/engines/run.sh versions build; }
part_engines-sglang() { release_build && tests/engines/run.sh sglang build; }
part_engines-triton() { release_build && tests/engines/run.sh triton build; }
part_engines-newest() { python_with pip && "$PYTHON" tools/check_engines.py; }
part_trainers() { release_build && python/tests/trainers.sh build; }
part_profiles() { release_build && tests/e2e/profiles.sh; }
part_fleet-fuzz-long() { release_build && tests/fleet/fuzz.sh build 10000 "$(date +%s)"; }
part_fleet-spark() { release_build && tests/fleet/spark.sh build; }
part_fleet-2m() { release_build && tests/fleet/scale.sh build; }
part_fleet-long() {
    release_build && CUSPAN_LONG=1 tests/integration/cli/fleet_test.sh build && CUSPAN_LONG=1 tests/fleet/clickhouse_test.sh build
}
part_fleet-50m() { release_build && tests/fleet/scale.sh build --spans 50000000 --no-clickhouse; }
part_fleet-exporter() { release_build && tests/fleet/exporter_test.sh build; }
part_job-balanced() { release_build && wait_for_jaeger && tests/e2e/job.sh --balanced; }

# Every integration test 50 times while other load keeps all processors busy, less than an hour at a time.
part_stress() { release_build && wait_for_jaeger && JAEGER=$JAEGER tests/stress.py --build build --runs 50; }
# A forked child of this test hung in 1 of 130 runs.
part_stress-fork() {
    cached build_quietly asan -DCUSPAN_BUILD_TESTS=ON "${LIBRARY_OPTIONS[@]}" || return
    tests/stress.py --build build-asan --runs 500 '^integration/control_socket$'
}

# until_done PART TITLE: runs a part again until all runs are done or one failed.
until_done() {
    local before=$FAILED
    KNOWN+="$1 "
    [ -n "$LIST" ] || [ ${#ONLY[@]} -eq 0 ] || [[ " ${ONLY[*]} " == *" $1 "* ]] || return 0
    while :; do
        run_part "$1" "$2"
        [ -z "$LIST" ] && [ "$FAILED" = "$before" ] && ! grep -qx 'all runs are done' "build/log/test-$1.log" || return 0
    done
}

# ---- Running them ----------------------------------------------------------------------------------------------------

# Jaeger, Vale and Docker Compose may have to be built, which takes minutes: that happens while the compilers run.
JAEGER_PID='' VALE_PID=''
start_getting_tools() {
    if ! tools/get-jaeger.sh --present >/dev/null; then
        say "getting a Jaeger meanwhile (log: build/log/get-jaeger.log)"
        tools/get-jaeger.sh >build/log/get-jaeger.log 2>&1 </dev/null &
        JAEGER_PID=$!
    fi
    tools/get-vale.sh >build/log/get-vale.log 2>&1 </dev/null &
    VALE_PID=$!
    if [ "${CI:-}" = true ] || [[ " ${ONLY[*]} " == *" containers "* ]]; then
        behind containers-fetch tests/containers/run.sh --fetch
    fi
    [ ${#ONLY[@]} -gt 0 ] || behind fleet-fetch tests/fleet/run.sh --fetch
    if [ ${#ONLY[@]} -eq 0 ] || [[ " ${ONLY[*]} " == *" dist "* ]]; then
        CUSPAN_NEWER_SOURCES=1 behind release-builds bash -c 'tools/release/build.sh x86_64 && tools/release/build.sh aarch64'
    fi
}
wait_for_vale() {
    while kill -0 "$VALE_PID" 2>/dev/null; do sleep 1; done # not a child of this subshell
    tail -n 5 build/log/get-vale.log
}
wait_for_jaeger() {
    # Parts run in a subshell, which cannot wait for a process that it has not started.
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
    grep -nE 'error:|Failed|SUMMARY: .*(Sanitizer|libFuzzer)|^FAILED|not ok|not formatted|^wrong|^failed' "$1"
}

# run_part PART TITLE [COMMAND...]
run_part() {
    local part=$1 title=$2 command=("${@:3}") log=build/log/test-$1.log began=$SECONDS took status=0 color=$GREEN RESULT
    KNOWN+="$part "
    [ -z "$LIST" ] || { echo "$part"; return; }
    [ ${#ONLY[@]} -eq 0 ] || [[ " ${ONLY[*]} " == *" $part "* ]] || return 0
    [[ " $WITHOUT " != *" $part "* ]] || return 0
    printf '%-14s %s\n' "$part" "$title"
    [ ${#command[@]} -gt 0 ] || command=("part_$part")
    [[ $BESIDE != *" $part "* ]] || command=(result_beside "$part")
    waiting "$log" "${command[@]}" || status=$?
    took=$((SECONDS - began))
    [ "${command[0]}" != result_beside ] || [ ! -f "build/log/beside-$part.status" ] || read -r _ took <"build/log/beside-$part.status"
    if [ "$status" = 77 ]; then
        skipped "$part" "$(sed -n 's/^skipped: //p' "$log" | tail -n 1)"
        RESULT=skipped color=$DIM
    else
        count "$part" "$log" "$status"
    fi
    if [ "$status" != 0 ] && [ "$status" != 77 ]; then
        color=$RED
        FAILURES+=("$part: see $ROOT/$log")
        {
            why "$log" | head -n 60
            echo ...
            tail -n 12 "$log"
        } | sed 's/^/    | /' # set off: its lines must not be taken for the summary
    fi
    printf '%-14s %s%s%s in %s s\n' '' "$color" "$RESULT" "$PLAIN" "$took"
}

summary() {
    local line
    for line in "${ONLY[@]}"; do
        [[ $KNOWN == *" $line "* ]] || { FAILED=$((FAILED + 1)) && FAILURES+=("$line: there is no such part"); }
    done
    echo
    for line in "${SKIPS[@]}"; do echo "skipped  $line"; done
    for line in "${FAILURES[@]}"; do echo "${RED}failed$PLAIN   $line"; done
    echo "$SECONDS s in all"
    echo "$PASSED passed, $FAILED failed, ${#SKIPS[@]} skipped"
    [ "$FAILED" = 0 ]
}

install_packages() {
    if [ -n "$QUICK" ]; then
        packages_install "$PACKAGES_BUILD $PACKAGES_TEST"
    else
        packages_install "$PACKAGES_BUILD $PACKAGES_TEST $PACKAGES_TEST_ALL"
        # The fuzzers' runtime is a package of its own in some releases, named after the compiler's version.
        is_there fuzz:clang || packages_install "fuzz:clang libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    fi
    prepare_libraries
}

ci_parts() {
    run_part layering "who may include what"
    run_part format "clang-format"
    run_part release "build; unit and integration tests"
    run_part asan "the same under AddressSanitizer and UndefinedBehaviorSanitizer, except slow ones"
    run_part tsan "the same under ThreadSanitizer, except slow ones"
    run_part shellcheck "all scripts"
    run_part tidy "clang-tidy"
    run_part analyze "gcc's static analysis"
    run_part prose "words and phrases, by Vale"
    run_part tables "CUPTI's numbers, made again from NVIDIA's headers"
    run_part nvtx "NVTX's own headers and Python's package"
    run_part fuzz "each fuzzer for a while"
    beside e2e service job demo fleet
    run_part torture "each allocation, file and network operation, thread and CUPTI call fails in turn"
    run_part memcheck "valgrind's memcheck over replays"
    run_part python "the Python package, with OpenTelemetry's SDK and uvloop"
    run_part fleet-fuzz "cuspan fleet and cuspan export with damaged and hostile files"
    run_part fleet-scale "500,000 spans: cuspan stat, DuckDB and ClickHouse's engine have the same rows"
    run_part docker "Dockerfile and compose file, without an engine"
    run_part e2e "recordings through the agent into Jaeger and a Collector, and back"
    run_part service "the service of examples/service, into a Collector with tail sampling and Jaeger"
    run_part job "a training job's ranks, into a Collector that keeps whole steps"
    run_part demo "examples/demo.sh"
    run_part fleet "deploy/fleet: agents, Collectors, Kafka and a store, with kill -9"
    # These two make build/release/ and take the same ports as the parts before them: only one at a time.
    run_part containers "examples/demo.sh on bare Debian 12 and 13, docker/Dockerfile, docker/compose.yaml"
    run_part dist "the release: deb, wheel and image for x86-64, arm64 through qemu-user"
    run_part gpu "programs on this machine's GPU"
    run_part gpu-service "the service of examples/service on it, a hundred requests at once"
    run_part gpu-numbers "tables, comparisons and metrics on it, beside what others say; what they cost"
    run_part processes "several processes, GPUs and threads on this machine's GPUs"
}

release_parts() {
    local n scenario
    for ((n = 1; $(fuzzers $n | grep -c .) > 0; n++)); do
        run_part "fuzz-$n" "55 minutes for each of: $(fuzzers $n | paste -sd ' ')" fuzz_long $n
    done
    run_part asan-slow "the slow tests under AddressSanitizer and UndefinedBehaviorSanitizer"
    run_part tsan-slow "the slow tests under ThreadSanitizer"
    run_part soak "a hundred times the rounds of the soak test; ten thousand requests"
    run_part outage "an hour without a collector, in real time"
    run_part outage-spool "the spans of an hour without a collector, in the spool; twenty killed processes"
    for scenario in file http record; do
        run_part "torture-$scenario" "every call of the agent's fails in turn, output: $scenario" torture_long $scenario
    done
    run_part memcheck-unit "valgrind's memcheck over replays and all unit tests"
    run_part stays "a kernel's record changes folders at most 40 times on its way through the agent"
    run_part python-mutants "the Python package's tests find planted faults"
    run_part suites-python "tests of CPython and of Python packages with the agent and without it, test by test"
    run_part dist-full "everything in dist/, made twice; packages, wheels and images in bare systems"
    run_part python-versions "the walk of Python frames in Python 3.9 to 3.15, with greenlet, and free-threaded"
    run_part wheel-full "the wheel with the Pythons of all Debian suites, from PyPI's extras, beside PyTorch"
    run_part attach "1,000 attaches into loops of malloc, of dlopen, of both, and Python, and how long they stop a thread"
    run_part hostile-hosts "programs that close, limit, forbid, cancel or unload what the agent needs, at each moment, with each Python"
    run_part kubernetes "the policy and the chart, with a real kube-apiserver"
    run_part podman "cuspan cdi with Podman and Docker"
    run_part slurm "recipes, modules and prolog with Debian's Slurm and MPI"
    run_part containers-full "tests/run.sh quick on bare Debian 12 and 13"
    run_part places-path "tests/run.sh in a clone whose path has a space and a non-ASCII letter" part_places path
    run_part places-user "the same as a user without root and sudo" part_places user
    run_part places-empty "the same with a cache that was empty" part_places empty
    run_part places-order "one run for each part, in the opposite order, with a copy of the cache" part_places order
    run_part places-bookworm "the same on bare Debian 12, as a user with sudo" part_places bookworm
    run_part places-trixie "the same on bare Debian 13" part_places trixie
    run_part places-bytes "the release has the same bytes from two folders of different names" part_places bytes
    run_part fleet-failures "deploy/fleet: every part fails at several moments, and no delivered span is missing"
    run_part ranks "findings across ranks: 200 seeds; 1,024 ranks with 500 collectives a step"
    run_part trainers "steps of PyTorch's and JAX's trainers on a CPU (4 GB to download)"
    run_part engines "transformers and vLLM on a CPU: iterations, requests and tokens are the engine's own (8 GB to download)"
    run_part engines-versions "the same with an older and a newer vLLM (8 GB more to download)"
    run_part engines-sglang "the same with SGLang"
    run_part engines-triton "the same with Python models of Triton (200 MB to download)"
    run_part engines-newest "hook points in the newest wheels of serving engines, as PyPI has them today"
    run_part suites-gpu "tests of PyTorch, Triton and NVIDIA's samples with and without the agent, on this machine's GPU" \
        part_suites-gpu torch-cuda torch-profiler triton-core triton-language triton-runtime samples
    run_part suites-gpu-cupy "the same with CuPy's tests" part_suites-gpu cupy-cuda cupy-core
    run_part fleet-exporter "the Collector's ClickHouse exporter with the tables of deploy/fleet, in ClickHouse's engine"
    run_part job-balanced "a training job's ranks, through Collectors that balance by trace"
    run_part profiles "OTLP profiles, through a Collector"
    run_part fleet-fuzz-long "cuspan fleet and cuspan export with 30,000 damaged and hostile files"
    run_part fleet-spark "examples/fleet/spark_fleet.py, in Spark's local-cluster mode (500 MB to download)"
    run_part fleet-2m "2 million spans: the same as fleet-scale"
    run_part fleet-long "each question of cuspan fleet by each group; each query with hostile values; more moments of a kill"
    run_part fleet-50m "50 million spans: cuspan stat and cuspan fleet have the same rows, within their memory"
    until_done stress "every integration test 50 times beside other load"
    until_done stress-fork "the control test with forked children 500 times under AddressSanitizer, beside other load"
}

main() {
    local argument
    for argument in "$@"; do
        case $argument in
        --release) RELEASE=1 ;;
        --no-sanitizers) WITHOUT="asan tsan" ;;
        --list) LIST=1 ;;
        -*) sed -n '2,15s/^# \{0,1\}//p' "$0"; [ "$argument" = --help ]; return ;;
        quick) QUICK=1 && ONLY+=(layering format release) ;;
        *) ONLY+=("$argument") ;;
        esac
    done
    if [ -n "$LIST" ]; then
        if [ -n "$RELEASE" ]; then release_parts; else ci_parts; fi
        return
    fi
    export TESTS_WITHOUT_ROOT=skip
    mkdir -p build/log
    stop_behind # of a run that was killed
    trap stop_behind EXIT
    echo "install        what is missing"
    install_packages
    if [ -n "$RELEASE" ]; then
        start_getting_tools
        release_parts
    else
        [ -n "$QUICK" ] || start_getting_tools
        ci_parts
    fi
    summary
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
