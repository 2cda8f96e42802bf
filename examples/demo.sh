#!/bin/bash
# From a fresh clone to a trace: installs what is missing, builds cuspan, finds or starts Jaeger, runs vector add with
# the agent (on the GPU, or else its recording), and shows the trace here and in Jaeger.
#
#   examples/demo.sh             can be repeated; later runs take seconds
#   examples/demo.sh --replay    plays the recording even if there is a GPU
#   examples/demo.sh --stop      stops a Jaeger that an earlier run started
#
# Outside the clone it writes only to ~/.cache/cuspan (or $CUSPAN_CACHE), apart from packages that it installs.
set -u
# shellcheck source=../tools/lib.sh
. "$(dirname "$0")/../tools/lib.sh"

# shellcheck disable=SC2034 # for step
STEPS=6
API=http://localhost:16686
OTLP=http://localhost:4318
OUT=$ROOT/build/demo
CUSPAN=$ROOT/build/cuspan
RECORDING=$ROOT/examples/recordings/vector_add.cuspanrec
CONTAINER=cuspan-jaeger
STATE=$CACHE/demo

# ---- Destination of the spans ----------------------------------------------------------------------------------------
# Each function sets BACKEND (jaeger, collector or file) or fails, with a reason if that is news to the user.

use_running_jaeger() {
    jaeger_answers "$API" "$OTLP" || return 1
    BACKEND=jaeger
    say "Jaeger runs on ports 16686 and 4318 and gets the spans"
}

use_running_collector() {
    otlp_answers "$OTLP" || return 1
    BACKEND=collector
    say "an OTLP receiver without Jaeger runs on port 4318 (probably a Collector) and gets the spans"
}

use_jaeger_in_docker() {
    have docker && timeout 5 docker info >/dev/null 2>&1 || return 1
    say "Docker is installed: starting Jaeger $JAEGER_VERSION in a container"
    docker start "$CONTAINER" >/dev/null 2>&1 ||
        waiting "$OUT/docker.log" docker run --detach --name "$CONTAINER" \
            -p 127.0.0.1:16686:16686 -p 127.0.0.1:4317:4317 -p 127.0.0.1:4318:4318 \
            "jaegertracing/jaeger:$JAEGER_VERSION" ||
        { say "Docker could not start it: $(tail -n 1 "$OUT/docker.log")"; return 1; }
    wait_until 30 jaeger_answers "$API" "$OTLP" || { say "the container does not answer"; return 1; }
    BACKEND=jaeger
}

use_jaeger_of_our_own() {
    local port
    if ! "$ROOT/tools/get-jaeger.sh" --present >/dev/null; then
        say "Jaeger is not installed: downloading its official release, or else building it once for this user"
        say "(the build takes about four minutes on two cores; later runs use the one in $CACHE)"
    fi
    jaeger_binary || return 1
    # The two other ports may be in use.
    for port in 4317:OTLP_GRPC_PORT 16685:JAEGER_GRPC_PORT; do
        port_is_free "${port%:*}" || export "${port#*:}=$(free_port)"
    done
    jaeger_start "$JAEGER" "$STATE"
    wait_until 15 jaeger_answers "$API" "$OTLP" ||
        { say "it does not start: $(tail -n 1 "$STATE/jaeger.log")"; return 1; }
    BACKEND=jaeger
    say "started Jaeger (process $(cat "$STATE/jaeger.pid")); it stays for the next run"
}

choose_backend() {
    use_running_jaeger && return
    use_running_collector && return
    if port_is_free 16686 && port_is_free 4318; then
        use_jaeger_in_docker && return
        use_jaeger_of_our_own && return
    else
        say "port 16686 or 4318 is taken by something that is neither Jaeger nor a Collector"
    fi
    BACKEND="file"
    say "Jaeger is not available: writing the spans to a file"
}

# Prints how to stop a Jaeger that this run or an earlier one started; nothing for another one.
stop_hint() {
    if own_jaeger_runs || docker_jaeger_runs; then
        say "Jaeger keeps running. To stop it: examples/demo.sh --stop"
    fi
}
own_jaeger_runs() {
    [ -f "$STATE/jaeger.pid" ] && tr '\0' ' ' 2>/dev/null <"/proc/$(cat "$STATE/jaeger.pid")/cmdline" | grep -q 'jaeger --config'
}
docker_jaeger_runs() {
    have docker && [ -n "$(timeout 5 docker ps -q --filter "name=^$CONTAINER\$" 2>/dev/null)" ]
}
stop_jaeger() {
    if own_jaeger_runs; then
        kill "$(cat "$STATE/jaeger.pid")" && rm "$STATE/jaeger.pid" && echo "stopped Jaeger"
    elif docker_jaeger_runs; then
        docker rm -f "$CONTAINER" >/dev/null && echo "stopped the container $CONTAINER"
    else
        echo "no Jaeger of this demo is running"
    fi
}

# ---- The traced program ----------------------------------------------------------------------------------------------

driver() { "$ROOT/tools/get-cuda.sh" driver; }

# Leaves the command to run in TARGET; fails if the GPU cannot be used.
prepare_gpu() {
    local nvcc version
    version=$(driver)
    say "a GPU with a driver for CUDA $((version / 1000)).$((version % 1000 / 10))"
    waiting "$OUT/get-cupti.log" "$ROOT/tools/get-cuda.sh" cupti "$ROOT/build/cupti" ||
        say "could not fetch the CUPTI that ships with cuspan ($(tail -n 1 "$OUT/get-cupti.log")): using the one on this machine"
    if ! nvcc=$(find_nvcc); then
        say "nvcc is not installed: fetching it from PyPI (about 90 MB, into build/cuda)"
        waiting "$OUT/get-nvcc.log" "$ROOT/tools/get-cuda.sh" nvcc "$ROOT/build/cuda" ||
            { say "$(tail -n 1 "$OUT/get-nvcc.log")"; return 1; }
        nvcc=$ROOT/build/cuda/bin/nvcc
    fi
    say "compiling examples/vector_add.cu"
    waiting "$OUT/nvcc.log" "$nvcc" -arch=native -o "$OUT/vector_add" "$ROOT/examples/vector_add.cu" ||
        waiting "$OUT/nvcc.log" "$nvcc" -o "$OUT/vector_add" "$ROOT/examples/vector_add.cu" ||
        { say "nvcc failed: $(tail -n 1 "$OUT/nvcc.log")"; return 1; }
    TARGET=(run "${OPTIONS[@]}" -- "$OUT/vector_add")
}

prepare_target() {
    if [ -z "$REPLAY" ] && [ "$(driver)" -gt 0 ] && { [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1; }; then
        prepare_gpu && return
        say "playing the recording instead"
    elif [ -n "$REPLAY" ]; then
        say "playing the recording, as requested"
    else
        say "no GPU on this machine: playing the recording of vector add from an H200 to the same agent"
    fi
    TARGET=(replay "${OPTIONS[@]}" "$RECORDING")
}

agent_options() {
    OPTIONS=(--quiet --service-name cuspan-demo --set "accounts_file=$OUT/report")
    case $BACKEND in
    jaeger) OPTIONS+=(--set "endpoint=$OTLP") ;;
    collector) # a Collector cannot be queried for spans, so a second output is needed for the picture
        cat >"$OUT/config.yaml" <<YAML
file_format: "1.1"
tracer_provider:
  processors:
    - batch: {exporter: {otlp_http: {endpoint: "$OTLP/v1/traces"}}}
    - batch: {exporter: {otlp_file/development: {output_stream: "file://$OUT/trace.jsonl"}}}
YAML
        OPTIONS+=(--config "$OUT/config.yaml") ;;
    file) OPTIONS+=(--set "output_file=$OUT/trace.jsonl") ;;
    esac
}

# ---- The result ------------------------------------------------------------------------------------------------------

# Reads the agent's report: TRACE, SPANS, DELIVERED, LOST.
read_report() {
    read -r TRACE SPANS DELIVERED LOST < <(python3 - "$OUT"/report.* <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
print(report["traces"][0], report["spans"], report["delivered"], sum(report["losses"].values()))
PYTHON
    ) && [ -n "${LOST:-}" ]
}

# jaeger_spans: prints how many spans of this trace Jaeger returns; its response goes to the file for the picture.
jaeger_spans() {
    curl -fsS --max-time 10 -o "$OUT/trace.jsonl" "$API/api/v3/traces/$TRACE?raw_traces=true&rawTraces=true" 2>/dev/null &&
        python3 - "$OUT/trace.jsonl" <<'PYTHON'
import json, sys
answer = json.load(open(sys.argv[1]))["result"]
print(sum(len(scope["spans"]) for resource in answer["resourceSpans"] for scope in resource["scopeSpans"]))
PYTHON
}
# The root span of `cuspan run` is not in any agent's report.
jaeger_has_all() {
    local root=0
    [ "${TARGET[0]}" != run ] || [ -n "${TRACEPARENT:-}" ] || root=1
    [ "$(jaeger_spans || echo 0)" = $((SPANS + root)) ]
}

show() {
    "$CUSPAN" show "$OUT/trace.jsonl" || fail "cuspan show could not draw $OUT/trace.jsonl"
    echo
    case $BACKEND in
    jaeger)
        if jaeger_has_page "$API"; then
            say "${BOLD}This trace in Jaeger: $API/trace/$TRACE$PLAIN"
        else
            say "${BOLD}This trace in Jaeger: $API/api/v3/traces/$TRACE$PLAIN"
            say "(This is its API: a Jaeger built from its Go module has no web page. The official release has one, on the"
            say "same port: start it or its container, and the next run of this demo uses it.)"
        fi
        stop_hint
        ;;
    collector) say "The Collector on port 4318 accepted trace $TRACE; its configuration says where it sent it." ;;
    file) say "The spans are in $OUT/trace.jsonl (OTLP JSON lines)." ;;
    esac
}

main() {
    REPLAY='' BACKEND=''
    case ${1:-} in
    '') ;;
    --replay) REPLAY=1 ;;
    --stop) stop_jaeger; return ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0"; [ "$1" = --help ]; return ;;
    esac

    step "Install what is missing"
    packages_install "$PACKAGES_BUILD py:ensurepip python3-venv"

    step "Build cuspan (no CUDA needed for that)"
    build_cuspan
    mkdir -p "$OUT" && rm -f "$OUT"/report.* "$OUT"/trace.*

    step "Find a Jaeger for the spans"
    choose_backend

    step "Get the program that is traced"
    agent_options
    prepare_target

    step "Run it under the agent"
    say "cuspan ${TARGET[*]/#$ROOT\//}"
    "$CUSPAN" "${TARGET[@]}" || fail "cuspan ended with exit status $?"
    read_report || fail "the agent left no report in $OUT; run cuspan doctor to find out why"
    say "$SPANS spans, $DELIVERED delivered, $LOST lost"

    step "Look at the trace"
    if [ "$BACKEND" = jaeger ]; then
        wait_until 15 jaeger_has_all ||
            fail "Jaeger has $(jaeger_spans || echo 0) of the $SPANS spans of trace $TRACE"
        say "Jaeger has all $SPANS spans of trace $TRACE"
    fi
    echo
    show
    say "Your own program: build/cuspan run PROGRAM      All tests: tests/run.sh      ($SECONDS s in total)"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
