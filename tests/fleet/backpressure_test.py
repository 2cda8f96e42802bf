#!/usr/bin/env python3
"""Backpressure: the store refuses, the queue in front of it grows to its limit, the Collector refuses requests, and the spans stay in
the agent's spool. Each stage shows it: the Collector's metrics, `cuspan status`, and the agent's own metrics. Then all spans arrive.

    backpressure_test.py --build DIRECTORY --collector FILE [--jars FOLDER] [direct|kafka|store]...

direct: the node's Collector without Kafka. kafka: the same before a broker that is away. store: a store that is away behind Kafka,
which holds the spans, so that nothing else grows."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from tier import Agent, Collector, Failed, Kafka, Store, Tier, wait_for  # noqa: E402

QUEUE_BYTES = 4 << 20  # a few seconds of the load; a request has up to 3 MB


def spool_sizes(agent):
    """The values of cuspan.spool.size that the agent has exported."""
    found = []
    for line in agent.log.read_text(errors="replace").splitlines():
        if not line.startswith('{"resourceMetrics"'):
            continue
        for of_resource in json.loads(line)["resourceMetrics"]:
            for of_scope in of_resource["scopeMetrics"]:
                for metric in of_scope["metrics"]:
                    if metric["name"] == "cuspan.spool.size":
                        found += [int(point["asInt"]) for point in metric["sum"]["dataPoints"]]
    return found


class Case:
    def __init__(self, tier, name):
        self.tier, self.name = tier, name
        self.store = Store(tier)
        self.kafka = None
        if name == "direct":
            self.node = Collector(tier, "direct", "direct.yaml", CLICKHOUSE_ENDPOINT=self.store.endpoint, QUEUE_BYTES=QUEUE_BYTES,
                                  CLICKHOUSE_TIMEOUT="10s", INSERT_WAIT="500ms")
        else:
            self.kafka = Kafka(tier)
            self.node = tier.node(self.kafka, QUEUE_BYTES=QUEUE_BYTES if name == "kafka" else 1 << 30)
        self.store.start(wait=False)
        self.node.start(wait=False)
        if self.kafka:
            self.kafka.start()
        self.store.wait()
        self.node.wait()
        if self.kafka:
            self.ingester = tier.ingester(self.kafka, self.store, CLICKHOUSE_TIMEOUT="10s", QUEUE_BYTES=QUEUE_BYTES).start()

    def agent(self):
        # The replay ends when the test has seen what it waits for.
        return Agent(self.tier, f"http://127.0.0.1:{self.node.otlp}", service=self.name, repeat=100000, on_signal="TERM",
                     environment={"OTEL_METRICS_EXPORTER": "otlp/stdout", "OTEL_METRIC_EXPORT_INTERVAL": "500"})

    def status(self, agent, *options):
        return subprocess.run([self.tier.build / "cuspan", "status", *options, str(agent.child())], text=True, capture_output=True,
                              check=True).stdout

    def arrives(self, agent):
        """The program ends, and all its spans are in the store."""
        agent.interrupt()
        made = agent.deliver(also_lost={"lost_in_flight"})  # calls that the signal has interrupted
        wait_for(lambda: self.store.counts(self.name)[1] == made, f"{made} spans in the store; last: {self.store.counts(self.name)}")
        if self.store.answered(self.name) != made:
            raise Failed(f"questions see {self.store.answered(self.name)} spans of {made}")
        return made

    def run_to_the_spool(self):
        """direct and kafka: what is behind the node's Collector goes away, and comes back."""
        behind = self.kafka or self.store
        agent = self.agent()
        wait_for(lambda: self.store.counts(self.name)[1] > 0, "first spans")
        behind.kill()

        def refused():
            metrics = self.node.metrics()
            return metrics if metrics.get("otelcol_exporter_enqueue_failed_spans", 0) > 0 else None

        metrics = wait_for(refused, "refused requests")
        if metrics["otelcol_exporter_queue_size"] < QUEUE_BYTES / 4 or metrics["otelcol_exporter_queue_capacity"] != QUEUE_BYTES:
            raise Failed(f"a queue that is not full refuses: {metrics}")
        wait_for(lambda: json.loads(self.status(agent, "--json"))["outputs"][0]["spooled"] > 0, "spans in the spool")
        if " in the spool" not in (text := self.status(agent)) or "last error" not in text:
            raise Failed(f"cuspan status does not show the spool and the error: {text}")
        wait_for(lambda: max(spool_sizes(agent), default=0) > 0, "cuspan.spool.size in the agent's metrics")
        largest = max(spool_sizes(agent))

        def delivered():
            return json.loads(self.status(agent, "--json"))["delivered"]

        before = delivered()
        behind.start()
        wait_for(lambda: delivered() > before, "spans that a Collector takes again")
        made = self.arrives(agent)
        return f"{made} spans delivered and stored; up to {largest} waited in the spool; the queue was at {metrics['otelcol_exporter_queue_size']:.0f} of {QUEUE_BYTES} bytes"

    def run_store(self):
        """The ingester's queue is full, and it stops reading. Kafka holds the spans, and no other stage grows."""
        agent = self.agent()
        wait_for(lambda: self.store.counts(self.name)[1] > 0, "first spans")
        self.store.kill()
        metrics = wait_for(lambda: found if (found := self.ingester.metrics()).get("otelcol_exporter_enqueue_failed_spans", 0) > 0
                           else None, "a full queue")
        accepted = self.node.metrics()["otelcol_exporter_sent_spans"]
        wait_for(lambda: self.node.metrics()["otelcol_exporter_sent_spans"] > accepted + 5000, "spans that Kafka takes")
        if self.node.metrics().get("otelcol_exporter_enqueue_failed_spans", 0):
            raise Failed("the node's Collector refuses, although Kafka has room")
        self.store.start()
        made = self.arrives(agent)
        return f"{made} spans delivered and stored; the ingester's queue was at {metrics['otelcol_exporter_queue_size']:.0f} of {QUEUE_BYTES} bytes"

    def run(self):
        return self.run_store() if self.name == "store" else self.run_to_the_spool()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--collector", required=True)
    parser.add_argument("--jars")
    parser.add_argument("cases", nargs="*", default=[])
    options = parser.parse_args()
    passed, failed = 0, 0
    for name in options.cases or ["direct", "kafka", "store"]:
        tier = Tier(tempfile.mkdtemp(prefix="cuspan-fleet."), options.build.resolve(), options.collector, options.jars)
        try:
            print(f"ok {name}: {Case(tier, name).run()}", flush=True)
            passed += 1
        except Failed as error:
            print(f"not ok {name}: {error}; logs: {tier.folder}", flush=True)
            failed += 1
        finally:
            tier.close()
        if not failed:
            shutil.rmtree(tier.folder)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
