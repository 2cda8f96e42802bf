#!/usr/bin/env python3
"""Cost of each stage of deploy/fleet: CPU time a span, so spans per second and core, and bytes a span on its way.

    fleet_tier.py --build DIRECTORY --collector FILE --jars FOLDER --jaeger FILE [--spans N] [--recording FILE]

An agent replays a recording as fast as it can through the node's Collector, Kafka, the ingester into the store, and through the
sampler into Jaeger. CPU times are those of the processes until all spans have arrived, less what they use while idle. The store is
chDB: ClickHouse's engine, with Python's HTTP server in front of it. Prints rows for tests/bench/RESULTS.md."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/fleet")]

from sampling_test import Jaeger  # noqa: E402
from tier import Agent, Collector, Kafka, Store, Tier, wait_for  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
IDLE_S = 10


def cpu_s(service):
    fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_mb(service):
    for line in Path(f"/proc/{service.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1000
    return 0


def bytes_of(folder, pattern):
    return sum(path.stat().st_size for path in folder.rglob(pattern))


def run(tier, jaeger_binary, recording, wanted):
    kafka, store, jaeger = Kafka(tier, partitions=2), Store(tier), Jaeger(tier, jaeger_binary)
    node = tier.node(kafka)
    ingester = Collector(tier, "ingester", "ingester.yaml", KAFKA_BROKERS=f"127.0.0.1:{kafka.internal}", CLICKHOUSE_ENDPOINT=store.endpoint)
    sampler = Collector(tier, "sampler", "sampler.yaml", KAFKA_BROKERS=f"127.0.0.1:{kafka.internal}",
                        JAEGER_ENDPOINT=f"localhost:{jaeger.grpc}", DECISION_WAIT="5s", SLOW_STEP_MS=100000)
    for service in (store, node, jaeger):
        service.start(wait=False)
    kafka.start()
    services = (node, kafka, ingester, store, sampler, jaeger)
    for service in (store, node, jaeger, ingester.start(wait=False), sampler.start(wait=False)):
        service.wait()
    endpoint = f"http://localhost:{node.otlp}"
    # The first spans load code and open connections.
    first = Agent(tier, endpoint, paced=False, repeat=20, recording=recording, service="warm").deliver()
    wait_for(lambda: store.counts("warm")[1] == first, "first spans")
    per_repeat = first / 20
    time.sleep(5)
    before = {service.name: cpu_s(service) for service in services}
    time.sleep(IDLE_S)
    idle = {service.name: (cpu_s(service) - before[service.name]) / IDLE_S for service in services}
    topic = bytes_of(tier.folder / "kafka-data", "cuspan-spans-*/*.log")
    stored = bytes_of(tier.folder / "store-data", "*.bin")
    before, began = {service.name: cpu_s(service) for service in services}, time.monotonic()
    agent = Agent(tier, endpoint, paced=False, repeat=int(wanted / per_repeat), recording=recording, service="bench")
    spans = agent.deliver()
    report = agent.report()["counters"]
    wait_for(lambda: store.counts("bench")[1] == spans, "all spans")
    wait_for(lambda: sampler.metrics().get("otelcol_receiver_accepted_spans", 0) >= spans + first, "all spans at the sampler")
    time.sleep(8)  # the decisions
    took = time.monotonic() - began
    kept = sampler.metrics().get("otelcol_exporter_sent_spans", 0)
    messages = ingester.metrics().get("otelcol_kafka_receiver_records", 0)
    parts = store.query("SELECT count() FROM system.parts WHERE table = 'stored_spans'", user="admin")[0][0]
    print(f"{spans:,} spans of {recording.name}, {took:.0f} s; {messages:,.0f} messages, {parts} parts in the store; the sampler kept {kept:,.0f}")
    print("| stage | CPU time a span | spans/s per core | peak memory |\n|---|---|---|---|")
    for service in services:
        used = cpu_s(service) - before[service.name] - idle[service.name] * took
        count = kept if service is jaeger else spans
        if count and used > 0:
            print(f"| {service.name} | {used / count * 1e6:.2f} us | {count / used:,.0f} | {peak_mb(service)} MB |")
    print("| bytes a span | |\n|---|---|")
    print(f"| OTLP, before compression | {report['bytes_encoded'] / spans:.0f} |")
    print(f"| from the agent to the node's Collector (gzip) | {report['bytes_sent'] / spans:.1f} |")
    print(f"| in Kafka (zstd) | {(bytes_of(tier.folder / 'kafka-data', 'cuspan-spans-*/*.log') - topic) / spans:.1f} |")
    print(f"| in the store | {(bytes_of(tier.folder / 'store-data', '*.bin') - stored) / spans:.1f} |")


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "collector", "jars", "jaeger"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--spans", type=int, default=400_000)
    parser.add_argument("--recording", type=Path, default=ROOT / "examples/recordings/torch_inference.cuspanrec")
    options = parser.parse_args()
    tier = Tier(tempfile.mkdtemp(prefix="cuspan-fleet."), Path(options.build).resolve(), options.collector, options.jars)
    try:
        run(tier, options.jaeger, options.recording.resolve(), options.spans)
    finally:
        tier.close()
    shutil.rmtree(tier.folder)


if __name__ == "__main__":
    main()
