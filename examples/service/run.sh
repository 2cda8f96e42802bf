#!/bin/bash
# A traced service on this machine, without Docker: load -> gateway -> two workers. Their spans go through a Collector,
# which keeps those of slow and failed requests, into Jaeger. With a GPU, the workers run with the agent, and their
# spans have CUDA calls and GPU work as children. Without a GPU, the model only waits; everything else is the same.
#
#   examples/service/run.sh [OPTION OF load.py...]    sends requests, prints the slowest with links, and ends
#   examples/service/run.sh --serve                   runs until Ctrl-C, for client.py and load.py in another terminal
#
# Jaeger keeps running; examples/demo.sh --stop stops one that this script or the demo started.
set -u
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=prepare.sh
. "$ROOT/examples/service/prepare.sh"

# shellcheck disable=SC2034 # for step
STEPS=5
API=http://localhost:16686
OTLP=http://localhost:4318
OUT=$ROOT/build/service
DECISION_WAIT_S=5
PIDS=()

port_near() { if port_is_free "$1"; then echo "$1"; else free_port; fi; }

# start NAME COMMAND...: runs it in the background until the end of this script.
start() {
    "${@:2}" >"$OUT/$1.log" 2>&1 </dev/null &
    PIDS+=($!)
}
# In reverse order: the Collector still runs when the service sends its last spans.
stop_all() {
    local i
    for ((i = ${#PIDS[@]} - 1; i >= 0; i--)); do
        kill "${PIDS[i]}" 2>/dev/null && wait "${PIDS[i]}" 2>/dev/null
    done
    PIDS=()
}
ready() { # ready NAME SECONDS COMMAND...
    wait_until "$2" "${@:3}" || fail "$1 does not start: $(tail -n 3 "$OUT/$1.log")"
}

# Jaeger on its default ports: one that already runs there, or else our own.
find_jaeger() {
    local port
    jaeger_binary || fail "Jaeger is not available; its binary is also needed as the Collector"
    if jaeger_answers "$API" "$OTLP"; then
        say "Jaeger runs on ports 16686 and 4318"
        return
    fi
    if ! port_is_free 16686 || ! port_is_free 4318; then
        fail "port 16686 or 4318 is taken by something other than Jaeger"
    fi
    for port in 4317:OTLP_GRPC_PORT 16685:JAEGER_GRPC_PORT; do
        export "${port#*:}=$(port_near "${port%:*}")"
    done
    jaeger_start "$JAEGER" "$CACHE/demo" # the demo's folder, so its --stop finds it
    wait_until 15 jaeger_answers "$API" "$OTLP" || fail "Jaeger does not start: $(tail -n 1 "$CACHE/demo/jaeger.log")"
    say "started Jaeger; examples/demo.sh --stop stops it"
}

start_collector() {
    COLLECTOR_PORT=$(free_port)
    start collector env COLLECTOR_HOST=localhost OTLP_GRPC_PORT="$(free_port)" OTLP_HTTP_PORT="$COLLECTOR_PORT" \
        COLLECTOR_TO="$OTLP" DECISION_WAIT="${DECISION_WAIT_S}s" "$JAEGER" --config "$SERVICE/collector.yaml"
    ready collector 15 otlp_answers "http://localhost:$COLLECTOR_PORT"
}

has_gpu() { [ "$("$ROOT/tools/get-cuda.sh" driver)" -gt 0 ] && { [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1; }; }

# Leaves the workers' environment in AGENT and their kind of model in MODEL.
prepare_model() {
    AGENT=(PYTHONPATH="$SITE" OTEL_PYTHON_CONTEXT=cuspan CUDA_INJECTION64_PATH="$ROOT/build/libcuspan.so")
    MODEL=none
    if ! has_gpu; then
        say "no GPU on this machine: the traces will have no CUDA spans"
        return
    fi
    waiting "$OUT/get-cupti.log" "$ROOT/tools/get-cuda.sh" cupti "$ROOT/build/cupti" ||
        say "could not fetch the CUPTI that ships with cuspan: using the one on this machine"
    if "$PYTHON" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
        MODEL=torch
    else
        waiting "$OUT/nvcc.log" service_library || fail "neither PyTorch with a GPU nor nvcc: $(tail -n 1 "$OUT/nvcc.log")"
        MODEL=cuda
    fi
}

start_service() {
    local number port urls=()
    export OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:$COLLECTOR_PORT OTEL_BSP_SCHEDULE_DELAY=500
    for number in 1 2; do
        port=$(port_near $((8080 + number)))
        start "worker-$number" env "${AGENT[@]}" OTEL_SERVICE_NAME=worker \
            OTEL_RESOURCE_ATTRIBUTES="service.instance.id=worker-$number" "$PYTHON" "$SERVICE/worker.py" "$port" "$MODEL"
        ready "worker-$number" 90 answers "http://localhost:$port/healthz"
        say "$(tail -n 1 "$OUT/worker-$number.log")"
        urls+=("http://localhost:$port")
    done
    port=$(port_near 8080)
    GATEWAY=http://localhost:$port
    start gateway "$PYTHON" "$SERVICE/gateway.py" "$port" "${urls[@]}"
    ready gateway 15 answers "$GATEWAY/healthz"
    say "$(tail -n 1 "$OUT/gateway.log")"
}

link() { # link TRACE
    if jaeger_has_page "$API"; then echo "$API/trace/$1"; else echo "$API/api/v3/traces/$1"; fi
}
show_kept() {
    local trace
    say "waiting a little more than ${DECISION_WAIT_S} s for the Collector's decisions"
    sleep $((DECISION_WAIT_S + 3))
    while read -r trace; do
        if answers "$API/api/v3/traces/$trace"; then
            say "kept: ${BOLD}$(link "$trace")$PLAIN"
        else
            say "not kept: $trace"
        fi
    done < <(sed -nE 's/.* trace ([0-9a-f]{32})$/\1/p' "$OUT/load.out")
}

main() {
    local serve=''
    case ${1:-} in
    --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; return ;;
    --serve) serve=1 ;;
    esac
    mkdir -p "$OUT"
    # Variables of the caller must not decide where the spans go.
    unset TRACEPARENT TRACESTATE "${!OTEL_@}" "${!CUSPAN_SET@}" "${!CUSPAN_CONFIG_FILE@}"
    export PYTHONDONTWRITEBYTECODE=1

    step "Install what is missing, build cuspan"
    packages_install "$PACKAGES_BUILD py:ensurepip python3-venv"
    build_cuspan
    service_python || fail "Python with OpenTelemetry is needed"
    cuspan_package || fail "cuspan's Python package is needed"

    step "Find a Jaeger, start a Collector"
    find_jaeger
    trap stop_all EXIT
    trap 'exit 130' INT TERM
    start_collector

    step "Start gateway and workers"
    prepare_model
    start_service

    if [ -n "$serve" ]; then
        say "OTEL_EXPORTER_OTLP_ENDPOINT=$OTEL_EXPORTER_OTLP_ENDPOINT $PYTHON $SERVICE/client.py --gateway $GATEWAY"
        say "Jaeger: $API      Logs: $OUT      Ctrl-C ends it"
        wait "${PIDS[@]}"
        return
    fi
    step "Send requests"
    "$PYTHON" "$SERVICE/load.py" --gateway "$GATEWAY" "$@" | tee "$OUT/load.out"
    [ "${PIPESTATUS[0]}" = 0 ] || fail "the load failed; logs: $OUT"

    step "Look at the slowest"
    show_kept
    say "Jaeger: $API, services load, gateway, worker.      Logs: $OUT      ($SECONDS s in total)"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
