#!/bin/bash
# The exporter with a real Jaeger: OTLP over HTTP and gRPC, with and without gzip, zstd and TLS, and rejected requests.
#   export_jaeger.sh EXPORT_CLIENT      JAEGER names the Jaeger 2 binary; without one, exit status 77 (skipped)
set -euo pipefail

client=$1
jaeger=${JAEGER:-$(command -v jaeger || true)}
[ -x "$jaeger" ] || { echo "skipped: integration/export_jaeger: no Jaeger binary (set JAEGER)"; exit 77; }
for tool in openssl curl jq; do
    command -v $tool >/dev/null || { echo "skipped: integration/export_jaeger: $tool is missing"; exit 77; }
done
# A proxy of the developer's must not be used between the test and its server.
export no_proxy='*'

work=$(mktemp -d)
jaeger_pid='' ports_pid=''
finish() {
    for pid in $jaeger_pid $ports_pid; do
        kill "$pid" 2>/dev/null || true
    done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

make_certificates() {
    cd "$work"
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem
    local name
    for name in server client; do
        openssl req -newkey rsa:2048 -nodes -subj "/CN=$name" -keyout $name.key -out $name.csr
        openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out $name.pem \
            -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1")
    done
    cd - >/dev/null
}

# Prints unused ports, and keeps them from other processes until it is ended. A server that sets SO_REUSEADDR, like
# Jaeger, may use them; while none does, connections are refused.
hold_ports() {
    exec python3 -c '
import signal, socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets], flush=True)
signal.pause()' "$1"
}

receiver() { # NAME GRPC_PORT HTTP_PORT TLS_LINES
    printf '  %s:\n    protocols:\n' "$1"
    printf '      grpc:\n        endpoint: 127.0.0.1:%s\n%b' "$2" "$4"
    printf '      http:\n        endpoint: 127.0.0.1:%s\n%b' "$3" "$4"
}

write_config() {
    local tls="        tls:\n          cert_file: $work/server.pem\n          key_file: $work/server.key\n"
    cat <<YAML
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces:
      receivers: [otlp, otlp/tls, otlp/mutual]
      exporters: [jaeger_storage_exporter]
  telemetry:
    metrics:
      level: none
extensions:
  jaeger_query:
    storage:
      traces: memory
    http:
      endpoint: 127.0.0.1:$query
    grpc:
      endpoint: 127.0.0.1:$query_grpc
  jaeger_storage:
    backends:
      memory:
        memory:
          max_traces: 1000
exporters:
  jaeger_storage_exporter:
    trace_storage: memory
receivers:
$(receiver otlp "$grpc" "$http" "")
$(receiver otlp/tls "$grpcs" "$https" "$tls")
$(receiver otlp/mutual "$grpc_mutual" "$https_mutual" "$tls          client_ca_file: $work/ca.pem\n")
YAML
}

start_jaeger() {
    write_config >"$work/jaeger.yaml"
    "$jaeger" --config "$work/jaeger.yaml" >"$work/jaeger.log" 2>&1 &
    jaeger_pid=$!
    local i
    for ((i = 0; i < 600; i++)); do
        curl -fs -o /dev/null "http://127.0.0.1:$query/api/v3/services" && return
        kill -0 "$jaeger_pid" 2>/dev/null || break
        sleep 0.2
    done
    tail -20 "$work/jaeger.log"
    echo "Jaeger did not start"
    exit 1
}

failed=0
passed=0
result() { # NAME OK(0/1) DETAILS
    if [ "$2" = 0 ]; then
        passed=$((passed + 1)); echo "ok      $1"
    else
        failed=$((failed + 1)); echo "FAILED  $1"; echo "        ${3//$'\n'/$'\n'        }"
    fi
}

# NAME EXPECTED ARGUMENTS...: EXPECTED is a counter that must be 1; with spans_delivered Jaeger must have the span. A
# further "TEXT" must be in the log.
check() {
    local name=$1 expected=$2 text=$3 kind=$4 endpoint=$5 trace timeout_ms out found='' is_right=
    shift 5
    trace=$(openssl rand -hex 16)
    for timeout_ms in 2500 10000 40000; do # the last ones for a machine that is busy with other work
        out=$(EXPORT_CLIENT_TIMEOUT_MS=$timeout_ms "$client" "$kind" "$endpoint" "$trace" "export-$trace" "$@" 2>&1) &&
            grep -qx "$expected 1" <<<"$out" && grep -qF -- "$text" <<<"$out" && is_right=1 && break
    done
    [ -n "$is_right" ] || { result "$name" 1 "$out"; return; }
    [ "$expected" = spans_delivered ] || { result "$name" 0 ""; return; }
    local i
    for ((i = 0; i < 600 && ${#found} == 0; i++)); do
        found=$(curl -fs "http://127.0.0.1:$query/api/v3/traces/$trace" |
            jq -r '.result.resourceSpans[].scopeSpans[].spans[].name' 2>/dev/null) || sleep 0.1
    done
    [ "$found" = vector_add ]; result "$name" $? "$out
in Jaeger: '$found'"
}

make_certificates >"$work/openssl.log" 2>&1 || { cat "$work/openssl.log"; exit 1; }
exec {ports}< <(hold_ports 9)
ports_pid=$!
read -r grpc http grpcs https grpc_mutual https_mutual query query_grpc nobody <&"$ports"
start_jaeger

path=v1/traces
for compression in "" gzip zstd; do
    # shellcheck disable=SC2086
    {
        check "http/protobuf $compression" spans_delivered "" http "http://localhost:$http/$path" $compression
        check "http/json $compression" spans_delivered "" http "http://localhost:$http/$path" json $compression
        check "grpc $compression" spans_delivered "" grpc "http://localhost:$grpc" $compression
        check "https/protobuf $compression" spans_delivered "" http "https://localhost:$https/$path" "ca=$work/ca.pem" $compression
        check "grpc with TLS $compression" spans_delivered "" grpc "https://localhost:$grpcs" "ca=$work/ca.pem" $compression
    }
done
check "grpc without a scheme, insecure" spans_delivered "" grpc "localhost:$grpc" insecure
check "grpc without a scheme, secure" spans_delivered "" grpc "localhost:$grpcs" "ca=$work/ca.pem"
check "https, unverified on request" spans_delivered "" http "https://localhost:$https/$path" noverify
check "https with a client certificate" spans_delivered "" http "https://localhost:$https_mutual/$path" \
    "ca=$work/ca.pem" "cert=$work/client.pem" "key=$work/client.key"
check "grpc with a client certificate" spans_delivered "" grpc "https://localhost:$grpc_mutual" \
    "ca=$work/ca.pem" "cert=$work/client.pem" "key=$work/client.key"
SSL_CERT_FILE=$work/ca.pem check "https, authorities from SSL_CERT_FILE" spans_delivered "" http "https://localhost:$https/$path"

check "https from an unknown authority" lost_unreachable "certificate" http "https://localhost:$https/$path"
check "grpc from an unknown authority" lost_unreachable "certificate" grpc "https://localhost:$grpcs"
check "https without the client certificate it wants" lost_unreachable "cannot deliver to" http "https://localhost:$https_mutual/$path" "ca=$work/ca.pem"
check "http: garbage" lost_refused "refuses spans, which are lost: HTTP 400" http "http://localhost:$http/$path" garbage
check "http/json: garbage" lost_refused "HTTP 400" http "http://localhost:$http/$path" json garbage
check "grpc: garbage" lost_refused "gRPC INTERNAL" grpc "http://localhost:$grpc" garbage
check "http: wrong path" lost_refused "HTTP 404" http "http://localhost:$http/nowhere"
check "grpc on the HTTP port" lost_unreachable "HTTP/2" grpc "http://localhost:$http"
check "http: nobody there" lost_unreachable "connection refused" http "http://localhost:$nobody/$path"
check "grpc: nobody there" lost_unreachable "connection refused" grpc "http://localhost:$nobody"

echo "export_jaeger: $passed passed, $failed failed"
[ "$failed" = 0 ]
