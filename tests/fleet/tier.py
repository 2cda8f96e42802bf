"""The tier of deploy/fleet on this machine, with its own configuration files: Kafka, Collectors and a store, each a process that can
be killed and started again, and agents that replay recordings into it.

Everything listens on the loopback interface, with the certificates and passwords of deploy/fleet/certificates.sh."""

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy/fleet"
sys.path[:0] = [str(ROOT / "tests/support")]

from backend import free_ports  # noqa: E402

LIMIT_S = 300  # a limit for hangs
RECORDING = ROOT / "examples/recordings/threads.cuspanrec"


class Failed(Exception):
    pass


def wait_for(condition, what, limit_s=LIMIT_S, pause_s=0.1):
    """The first value of condition() that is true. A connection that is refused is not an error."""
    deadline = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(OSError):
            if value := condition():
                return value
        if time.monotonic() > deadline:
            raise Failed(f"{what}: not within {limit_s} s")
        time.sleep(pause_s)


def clean_environment(**more):
    kept = {key: value for key, value in os.environ.items()
            if not re.match("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|FLEET_|.*_proxy$", key, re.I)}
    return {**kept, "no_proxy": "*", **{key: str(value) for key, value in more.items()}}


class Service:
    """A process that may be killed and started again, with the same folder and ports."""

    def __init__(self, tier, name, command, environment, ready):
        self.tier, self.name, self.command, self.ready = tier, name, [str(part) for part in command], ready
        self.environment = clean_environment(TMPDIR=tier.folder, **environment)
        self.log = tier.folder / f"{name}.log"
        self.process = None
        tier.services.append(self)

    def start(self, wait=True):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment,
                                            cwd=self.tier.folder, start_new_session=True)
        if wait:
            self.wait()
        return self

    def wait(self):
        def is_ready():
            if self.process.poll() is not None:
                raise Failed(f"{self.name} ended with status {self.process.returncode}: {self.tail()}")
            return self.ready()

        wait_for(is_ready, f"start of {self.name}; its log: {self.log}")

    def kill(self):
        """kill -9, also of its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def pause(self):
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    def stop(self, limit_s=60):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(limit_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def tail(self, lines=5):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""


class Collector(Service):
    def __init__(self, tier, name, config, **environment):
        self.otlp, self.grpc, self.health, self.metrics_port = free_ports(4)
        self.queue = tier.folder / f"{name}-queue"
        super().__init__(tier, name, [tier.collector, "--config", DEPLOY / "collector" / config], {
            "SECRETS": tier.secrets, "QUEUE_DIR": self.queue, "OTLP_HTTP_PORT": self.otlp,
            "OTLP_GRPC_PORT": self.grpc, "HEALTH_HOST": "127.0.0.1", "HEALTH_PORT": self.health, "METRICS_HOST": "127.0.0.1",
            "METRICS_PORT": self.metrics_port, "LOG_LEVEL": "warn", **environment}, self.is_healthy)

    def is_healthy(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/", timeout=5) as answer:
            return answer.status == 200

    def metrics(self):
        """Sums over the attributes, by name."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = {}
        for line in text.splitlines():
            if match := re.match(r"(otelcol_\w+)(?:\{.*\})? (\S+)$", line):
                found[match[1]] = found.get(match[1], 0) + float(match[2])
        return found


class Kafka(Service):
    """A broker. The first start() also creates the topic."""

    def __init__(self, tier, partitions=2):
        self.internal, self.nodes, controller = free_ports(3)
        data = tier.folder / "kafka-data"
        super().__init__(tier, "kafka", [DEPLOY / "kafka/start.sh"], {
            "KAFKA_JARS": tier.jars, "KAFKA_HEAP_OPTS": "-Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC", "FLEET_DATA": data,
            "FLEET_CONFIG": tier.folder / "server.properties", "FLEET_SECRETS": tier.secrets, "FLEET_LISTEN": "127.0.0.1",
            "FLEET_PORT_INTERNAL": self.internal, "FLEET_PORT_NODES": self.nodes, "FLEET_PORT_CONTROLLER": controller,
            "FLEET_HOST_INTERNAL": "127.0.0.1", "FLEET_HOST_NODES": "127.0.0.1", "FLEET_PARTITIONS": partitions}, self.answers)
        self.is_new = True

    def answers(self):
        """TLS and the protocol's request for the versions of its API."""
        with socket.create_connection(("127.0.0.1", self.nodes), 5) as plain, \
                self.tier.context().wrap_socket(plain, server_hostname="localhost") as tls:
            tls.sendall(b"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x01\xff\xff")
            return len(tls.recv(4)) > 0

    def start(self, wait=True):
        super().start(wait or self.is_new)
        if self.is_new:
            done = subprocess.run([DEPLOY / "kafka/init.sh"], env=self.environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Failed(f"kafka/init.sh: {done.stdout}{done.stderr}")
            self.is_new = False
        return self


class Store(Service):
    """ClickHouse's engine behind its HTTP interface, with the tables of deploy/fleet/clickhouse."""

    def __init__(self, tier, *options):
        (self.port,) = free_ports(1)
        users = [f"--user={name}:{role}:{tier.password(f'clickhouse-{name}')}"
                 for name, role in (("admin", "admin"), ("collector", "writer"), ("reader", "reader"))]
        super().__init__(tier, "store", [sys.executable, ROOT / "tests/fleet/chdb_server.py", "--data", tier.folder / "store-data",
                                         "--port", self.port, "--init", DEPLOY / "clickhouse/schema.sql", "--cert",
                                         tier.secrets / "clickhouse.crt", "--key", tier.secrets / "clickhouse.key", *users,
                                         *options], {}, self.answers)
        self.endpoint = f"https://localhost:{self.port}"
        self.context = tier.context()

    def answers(self):
        with urllib.request.urlopen(f"{self.endpoint}/ping", timeout=10, context=self.context):
            return True

    def query(self, sql, user="reader", **parameters):
        token = base64.b64encode(f"{user}:{self.tier.password(f'clickhouse-{user}')}".encode()).decode()
        url = f"{self.endpoint}/?{urllib.parse.urlencode({'query': sql + ' FORMAT JSONCompact', **parameters})}"
        request = urllib.request.Request(url, headers={"Authorization": f"Basic {token}"})
        try:
            with urllib.request.urlopen(request, timeout=120, context=self.context) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise Failed(f"{sql}: {error.read().decode()}") from None

    def counts(self, service):
        """Rows and different spans of a service."""
        ((rows, spans),) = self.query("SELECT count(), uniqExact(trace_id, span_id) FROM cuspan.stored_spans WHERE service = "
                                      "{service:String}", param_service=service)
        return int(rows), int(spans)

    def answered(self, service):
        """Spans as questions see them, without duplicates."""
        ((spans,),) = self.query("SELECT count() FROM cuspan.spans WHERE service_name = {service:String}", param_service=service)
        return int(spans)


class Agent:
    """`cuspan replay` with a spool, until its end."""

    def __init__(self, tier, endpoint, *options, paced=True, repeat=10, recording=RECORDING, environment=None, service=None, **settings):
        tier.agents += 1
        self.tier, self.endpoint = tier, endpoint
        self.accounts_file = tier.folder / f"report-{tier.agents}"
        self.log = tier.folder / f"agent-{tier.agents}.log"
        self.spool = tier.folder / "spool"
        # A paced replay does not wait for the agent. With this much memory, nothing is lost even if it gets no CPU for seconds.
        settings = {"accounts_file": self.accounts_file, "spool.directory": self.spool, "rings.bytes": 1 << 20, "rings.total_bytes": 1 << 28,
                    "memory_bytes_max": 1 << 30, **settings}
        # The store keeps spans for days, and the recordings are older.
        command = [tier.build / "cuspan", "replay", "--now", "--endpoint", endpoint, "--repeat", repeat, *(["--paced"] if paced else []), *(["--service-name", service] if service else []),
                   *(part for key, value in settings.items() for part in ("--set", f"{key}={value}")), *options, recording]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=clean_environment(OTEL_LOG_LEVEL="info", **(environment or {})), cwd=tier.folder,
                                            start_new_session=True)
        tier.running.append(self.process)

    def child(self):
        """The replayed program."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(wait_for(lambda: path.read_text().split(), "child of cuspan replay")[0])

    def interrupt(self):
        """Ends the replayed program with a signal after which its agent delivers (on_signal)."""
        os.kill(self.child(), signal.SIGTERM)

    def report(self):
        """The newest report, also while it runs."""
        def read():
            with contextlib.suppress(ValueError):
                for path in self.tier.folder.glob(f"{self.accounts_file.name}.*"):
                    return json.loads(path.read_text())

        return wait_for(read, f"report of the agent; its log: {self.log}")

    def end(self):
        self.process.wait(LIMIT_S)
        return self.report()

    def deliver(self, also_lost=()):
        """The end of the agent and of its spool: how many spans a Collector acknowledged, after `cuspan send`."""
        report = self.end()
        if report["losses"].keys() - set(also_lost):
            raise Failed(f"the agent lost spans: {report['losses']}; its log: {self.log}")
        left = report["counters"]["spans_spooled_left"]
        sent = self.tier.send(self.endpoint, self.spool) if left else 0
        if report["delivered"] + sent != report["spans"]:
            raise Failed(f"of {report['spans']} spans, {report['delivered']} were delivered and {sent} of {left} sent later")
        return report["spans"]


class Tier:
    """A folder with everything, and its processes until close()."""

    def __init__(self, folder, build, collector, jars):
        self.folder, self.build, self.collector, self.jars = Path(folder), Path(build), collector, jars
        self.secrets = self.folder / "secrets"
        self.services, self.running, self.agents = [], [], 0
        self.folder.mkdir(parents=True, exist_ok=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that close() runs
        subprocess.run([DEPLOY / "certificates.sh", self.secrets], check=True, capture_output=True)

    def context(self):
        """Of TLS clients."""
        return ssl.create_default_context(cafile=str(self.secrets / "ca.crt"))

    def password(self, name):
        return (self.secrets / f"{name}.password").read_text()

    def node(self, kafka, name="node", **environment):
        return Collector(self, name, "node.yaml", KAFKA_BROKERS=f"127.0.0.1:{kafka.nodes}", **environment)

    def ingester(self, kafka, store, name="ingester", **environment):
        return Collector(self, name, "ingester.yaml", KAFKA_BROKERS=f"127.0.0.1:{kafka.internal}", CLICKHOUSE_ENDPOINT=store.endpoint,
                         INSERT_WAIT="500ms", **environment)

    def send(self, endpoint, spool):
        """`cuspan send`: the number of spans that it delivered."""
        done = subprocess.run([self.build / "cuspan", "send", "--timeout", "120", "--endpoint", endpoint, spool], text=True,
                              capture_output=True, env=clean_environment(OTEL_LOG_LEVEL="info"), check=False, timeout=LIMIT_S)
        if done.returncode:
            raise Failed(f"cuspan send: status {done.returncode}: {done.stdout}{done.stderr}")
        found = re.search(r"^cuspan: ([\d,]+) spans? delivered to", done.stdout + done.stderr, re.MULTILINE)
        if not found:
            raise Failed(f"cuspan send did not say what it delivered: {done.stdout}{done.stderr}")
        return int(found[1].replace(",", ""))

    def close(self):
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for service in reversed(self.services):
            if service.process:
                service.kill()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
