"""A real Jaeger and, in front of it, the same binary again as an OpenTelemetry Collector, each on its own ports.
Returns the results of Jaeger's API as plain spans."""

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


HELD = []  # sockets that keep ports from other processes until this process ends


def hold(host, port):
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    HELD.append(held)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind((host, port))
    return held.getsockname()[1]


def free_ports(count, *others):
    """Ports that are unused at 127.0.0.1 and at the other addresses, and that no other process gets. A server may use them
    if it sets SO_REUSEADDR, as most do; while none does, connections are refused."""
    ports = []
    while len(ports) < count:
        port = hold("127.0.0.1", 0)
        with contextlib.suppress(OSError):  # in use at one of the others
            for host in others:
                hold(host, port)
            ports.append(port)
    return ports


def get(url, timeout=30):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read()


def post_nothing(port):
    """Sends an empty request, which an OTLP receiver accepts when it is ready."""
    request = urllib.request.Request(f"http://localhost:{port}/v1/traces", b'{"resourceSpans":[]}',
                                     {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=60).close()


class Process:
    """One instance of the binary, from its start until close()."""

    def __init__(self, binary, config, directory, name, environment, ready, options=()):
        self.log = Path(directory, f"{name}.log")
        self.name = name
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([binary, "--config", str(config), *options], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, env={**os.environ, **environment})
        deadline = time.monotonic() + 300
        while True:
            try:
                ready()
                return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.close()
                    raise RuntimeError(f"{name} does not start ({error}); its log: {self.log}") from None
                time.sleep(0.1)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Span:
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    status: int
    attributes: dict
    resource: dict
    links: list = field(default_factory=list)
    events: list = field(default_factory=list)


def value_of(any_value):
    """OTLP's AnyValue in JSON as a Python value."""
    for kind, value in any_value.items():
        if kind == "intValue":
            return int(value)
        if kind == "arrayValue":
            return [value_of(item) for item in value.get("values", [])]
        return value
    return None


def attributes_of(item):
    pairs = [(pair["key"], value_of(pair["value"])) for pair in item.get("attributes", [])]
    assert len(dict(pairs)) == len(pairs), f"an attribute stands twice: {pairs}"
    return dict(pairs)


def spans_of(traces_data):
    """All spans of one OTLP JSON document."""
    for of_resource in traces_data.get("resourceSpans", []):
        resource = attributes_of(of_resource.get("resource", {}))
        for of_scope in of_resource.get("scopeSpans", []):
            for span in of_scope.get("spans", []):
                yield Span(span["traceId"], span["spanId"], span.get("parentSpanId", ""), span["name"],
                           int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]),
                           span.get("status", {}).get("code", 0), attributes_of(span), resource, span.get("links", []),
                           span.get("events", []))


class Jaeger:
    def __init__(self, binary, directory):
        self.port, grpc, self.otlp_grpc, self.otlp_http = free_ports(4)
        self.api = f"http://localhost:{self.port}/api/v3"
        environment = {"JAEGER_PORT": str(self.port), "JAEGER_GRPC_PORT": str(grpc),
                       "OTLP_GRPC_PORT": str(self.otlp_grpc), "OTLP_HTTP_PORT": str(self.otlp_http)}

        def ready():
            get(f"{self.api}/services", 2)
            post_nothing(self.otlp_http)

        self.process = Process(binary, ROOT / "tools/jaeger.yaml", directory, "jaeger", environment, ready)

    def close(self):
        self.process.close()

    def _read(self, what):
        try:
            answer = get(f"{self.api}/traces{what}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return []
            raise
        return list(spans_of(json.loads(answer)["result"]))

    def traces(self, trace_ids, expected, seconds=20):
        """The spans of the traces as they were sent, once there are as many as expected or the time has passed. A
        Collector forwards them a little later."""
        deadline = time.monotonic() + seconds
        while True:  # Jaeger 2.13 knows the first spelling, later versions the second.
            spans = [span for trace_id in trace_ids for span in self._read(f"/{trace_id}?raw_traces=true&rawTraces=true")]
            if len(spans) >= expected or time.monotonic() > deadline:
                return spans
            time.sleep(0.2)

    def of_service(self, service, expected, seconds=20):
        """The same of all traces of one service."""
        question = {"query.service_name": service, "query.start_time_min": "2020-01-01T00:00:00Z", "query.start_time_max": "2100-01-01T00:00:00Z",
                    "query.search_depth": 10000, "query.num_traces": 10000, "query.raw_traces": "true"}
        deadline = time.monotonic() + seconds
        while True:
            spans = self._read(f"?{urllib.parse.urlencode(question)}")
            if len(spans) >= expected or time.monotonic() > deadline:
                return spans
            time.sleep(0.2)

    def _page(self, trace_id):
        """The trace's spans as its page gets them, by an API of its own. Call this last: Jaeger's memory store keeps its corrections
        in the spans themselves."""
        try:
            traces = json.loads(get(f"http://localhost:{self.port}/api/traces/{trace_id}"))["data"]
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return []
            raise
        return [span for trace in traces for span in trace["spans"]]

    def warnings(self, trace_id):
        """Jaeger's warnings about the spans: api/v3 lacks those about clock skew."""
        return [f"{span['operationName']}: {warning}" for span in self._page(trace_id) for warning in span.get("warnings") or []]

    def orphans(self, trace_id):
        """The spans for which the page calls the trace incomplete: they refer to spans, of which the trace has none."""
        spans = self._page(trace_id)
        ids = {span["spanID"] for span in spans}
        return [span["operationName"] for span in spans if span["references"] and not any(other["spanID"] in ids for other in span["references"])]


class Collector:
    """The gateway of docker/collector.yaml, or of another configuration, with Jaeger behind it."""

    def __init__(self, binary, directory, jaeger, config="docker/collector.yaml", **environment):
        self.otlp_grpc, self.otlp_http, prometheus = free_ports(3)
        environment |= {"COLLECTOR_HOST": "localhost", "OTLP_GRPC_PORT": str(self.otlp_grpc),
                        "OTLP_HTTP_PORT": str(self.otlp_http), "PROMETHEUS_PORT": str(prometheus),
                        "COLLECTOR_TO": f"http://localhost:{jaeger.otlp_http}"}
        self.process = Process(binary, ROOT / config, directory, "collector", environment,
                               lambda: post_nothing(self.otlp_http))

    def close(self):
        self.process.close()
