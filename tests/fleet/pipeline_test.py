#!/usr/bin/env python3
"""The tier as shipped, with a real Kafka and real Collectors: agents with a spool -> node.yaml -> Kafka -> ingester.yaml -> the store.
While the agents run, kill -9 ends the node's Collector and the ingester. The number of different spans in the store must be the number
that the agents report as delivered. And nobody gets in without TLS and a password.

    pipeline_test.py --build DIRECTORY --collector FILE --jars FOLDER [--seed N]"""

import argparse
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from tier import ROOT, Agent, Collector, Failed, Kafka, Store, Tier, wait_for  # noqa: E402

LOAD = ("torch_inference", 5), ("service", 5)


def everything(tier, chance):
    kafka, store = Kafka(tier), Store(tier)
    node = tier.node(kafka)
    ingester = tier.ingester(kafka, store)
    store.start(wait=False)
    node.start(wait=False)
    kafka.start()
    store.wait()
    node.wait()
    ingester.start()
    return kafka, store, node, ingester


def test_kills(tier, chance, kafka, store, node, ingester):
    agents = [Agent(tier, f"http://localhost:{node.otlp}", repeat=repeat, recording=ROOT / f"examples/recordings/{name}.cuspanrec",
                    service="fleet") for name, repeat in LOAD]
    wait_for(lambda: store.counts("fleet")[1] > 0, "first spans")
    for part in chance.sample([node, ingester], 2):
        part.kill()
        time.sleep(chance.uniform(0, 1))
        part.start()
        time.sleep(chance.uniform(0, 1))
    reports = [agent.end() for agent in agents]
    made = sum(report["spans"] for report in reports)
    lost = {name: count for report in reports for name, count in report["losses"].items()}
    delivered = sum(report["delivered"] for report in reports)
    if sum(report["counters"]["spans_spooled_left"] for report in reports):
        delivered += tier.send(agents[0].endpoint, agents[0].spool)
    if lost or delivered != made:
        raise Failed(f"of {made} spans, {delivered} were delivered; lost: {lost}")
    wait_for(lambda: store.counts("fleet")[1] >= made, f"{made} spans in the store; last: {store.counts('fleet')}")
    rows, spans = store.counts("fleet")
    if spans != made or store.answered("fleet") != made:
        raise Failed(f"{spans} different spans in the store, questions see {store.answered('fleet')}, {made} were delivered")
    return f"{made} spans delivered and stored, {rows - spans} of them twice"


def test_strangers(tier, chance, kafka, store, node, ingester):
    """Kafka and the store want TLS with their names, and a password. The node's Collector is only at the loopback interface."""
    for name, port in (("Kafka", kafka.nodes), ("Kafka", kafka.internal), ("the store", store.port)):
        with socket.create_connection(("127.0.0.1", port), 10) as plain:
            plain.settimeout(10)
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try:
                answer = plain.recv(100)
            except OSError:
                answer = b""
            if answer.startswith(b"HTTP/1.1 200"):
                raise Failed(f"{name} answers without TLS")
        for context, host in (ssl.create_default_context(), "localhost"), (tier.context(), "elsewhere"):
            try:
                with socket.create_connection(("127.0.0.1", port), 10) as plain, context.wrap_socket(plain, server_hostname=host):
                    raise Failed(f"{name} has a certificate for {host} of an authority that it should not have")
            except ssl.SSLCertVerificationError:
                pass
    before = store.counts("fleet")[1]  # rows of earlier tests may still arrive twice
    (tier.folder / "stranger").mkdir()
    for name in ("ca.crt", "kafka-node.password"):
        shutil.copy(tier.secrets / name, tier.folder / "stranger" / name)
    (tier.folder / "stranger/kafka-node.password").write_text("p0000")
    stranger = Collector(tier, "stranger", "node.yaml", KAFKA_BROKERS=f"127.0.0.1:{kafka.nodes}", KAFKA_TIMEOUT="2s",
                         SECRETS=tier.folder / "stranger").start()
    made = Agent(tier, f"http://localhost:{stranger.otlp}", paced=False, repeat=1, service="stranger").deliver()
    wait_for(lambda: "SASL" in stranger.log.read_text() or "auth" in stranger.log.read_text().lower(), "refusal of a wrong password")
    size = stranger.metrics()["otelcol_exporter_queue_size"]
    stranger.stop()
    if not size or store.counts("fleet")[1] != before or store.counts("stranger")[1]:
        raise Failed(f"with a wrong password: a queue of {size} bytes, {store.counts('stranger')} in the store")
    # With the right one, it delivers what it has kept.
    stranger.environment["SECRETS"] = str(tier.secrets)
    stranger.start()
    wait_for(lambda: store.counts("stranger")[1] == made, "spans that waited for the right password")
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    for address in (item for item in addresses if not item.startswith("127.")):
        try:
            socket.create_connection((address, node.otlp), 2).close()
        except OSError:
            continue
        raise Failed(f"the node's Collector listens on {address}")
    return f"{made} spans waited in the queue for the right password"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--collector", required=True)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    tier = Tier(tempfile.mkdtemp(prefix="cuspan-fleet."), options.build.resolve(), options.collector, options.jars)
    chance = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    passed = failed = 0
    try:
        parts = everything(tier, chance)
        for test in test_kills, test_strangers:
            try:
                print(f"ok {test.__name__}: {test(tier, chance, *parts)}", flush=True)
                passed += 1
            except Failed as error:
                print(f"not ok {test.__name__}: {error}; logs: {tier.folder}", flush=True)
                failed += 1
    finally:
        tier.close()
        if passed and not failed:
            shutil.rmtree(tier.folder)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
