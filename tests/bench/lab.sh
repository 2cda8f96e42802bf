#!/bin/bash
# What cuspan costs an application on a GPU, beside CUPTI's own price and other tracers, interleaved round by round.
#   [DETAILS="default full"] tests/bench/lab.sh LAB-FOLDER [ROUNDS] [BUILD-FOLDER]
# cuspan sends OTLP/HTTP with gzip, as by default.
# LAB-FOLDER holds launch.cu, torch_load.py and compare.py, which are not in this repository. Needs nvcc; PyTorch and Nsight
# Systems (NSYS=.../nsys) where they are. The floor is CUPTI with exactly cuspan's callbacks, kinds and fields and empty
# handlers (floor.c).
set -eu
LAB=$(realpath "$1")
ROUNDS=${2:-5}
BUILD=$(realpath "${3:-build}")
WORK=$(mktemp -d)
PIN="taskset -c 2-9"

# A collector that takes everything and looks at nothing, on processors of its own.
taskset -c 10-11 python3 - "$WORK/port" <<'SINK' &
import http.server, sys
class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
open(sys.argv[1], "w").write(str(server.server_port))
server.serve_forever()
SINK
trap 'kill %1; rm -rf "$WORK"' EXIT
until [ -s "$WORK/port" ]; do sleep 0.1; done
CUSPAN="CUSPAN_SET='endpoint=http://127.0.0.1:$(cat "$WORK/port");DETAIL' CUDA_INJECTION64_PATH=$BUILD/libcuspan.so $PIN"
FLOOR="CUSPAN_SET='cupti.library=$BUILD/cupti/libcupti.so.13;DETAIL' CUDA_INJECTION64_PATH=$BUILD/libcuspan-floor.so $PIN"
configurations=("none=$PIN")
for detail in ${DETAILS:-default full}; do
    configurations+=("floor-$detail=${FLOOR//DETAIL/detail=$detail}" "cuspan-$detail=${CUSPAN//DETAIL/detail=$detail}")
done
configurations+=("cuspan-asleep=OTEL_TRACES_SAMPLER=always_off CUDA_INJECTION64_PATH=$BUILD/libcuspan.so $PIN")
if [ -x "${NSYS:-}" ]; then
    configurations+=("nsys=$PIN $NSYS profile -t cuda -s none --cpuctxsw=none -f true -o $WORK/nsys")
fi
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
nvcc -O2 -arch=native -std=c++17 "$LAB/launch.cu" -o "$WORK/launch"
python3 "$LAB/compare.py" "$ROUNDS" "${configurations[@]}" -- "$WORK/launch"
if python3 -c 'import torch' 2>/dev/null; then
    python3 "$LAB/compare.py" "$ROUNDS" "${configurations[@]}" -- python3 "$LAB/torch_load.py"
fi
