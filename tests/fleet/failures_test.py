#!/usr/bin/env python3
"""Failures of each part of deploy/fleet that must lose no span: kill -9 at several moments, no answers, a full queue.
For each case, the number of different spans in the store must be the number that the agents report as delivered.

    failures_test.py --build DIRECTORY --collector FILE --jars FOLDER [--seed N] [--rounds N] [CASE...]

Agents with a spool replay recordings for several seconds: into a node's Collector, Kafka, an ingester and the store. The moments:
before the agents start, while they run, and right after the last acknowledgment. Each case prints a line of the table in
docs/fleet-tier.md."""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from tier import ROOT, Agent, Failed, Kafka, Store, Tier, wait_for  # noqa: E402

MOMENTS = "before", "during", "after"
DOWN_S = 3  # a killed part starts again after this time, unless the case says otherwise
DISK_BYTES = 64 << 20  # of the node's queue, in the case of a full queue
FULL_DISK_BYTES = 6 << 20
QUEUE_BYTES = 4 << 20  # less than the load has, more than a request
# The recordings of a case, with how often each is replayed: traces of requests, and long ones.
LOAD = ("torch_inference", 6), ("service", 6)
RUN_S = 5  # approximately


class Case:
    """Kills the parts in order at a moment, and starts them again in the same order."""

    def __init__(self, name, parts, action="kill", moments=MOMENTS, down_s=DOWN_S, gap_s=1.0):
        self.name, self.parts, self.action, self.moments, self.down_s, self.gap_s = name, parts, action, moments, down_s, gap_s


CASES = [
    Case("kafka", ["kafka"]),
    Case("kafka, then ingester", ["kafka", "ingester"]),
    Case("kafka, then node", ["kafka", "node"]),
    Case("node", ["node"]),
    Case("ingester", ["ingester"]),
    Case("store", ["store"]),
    Case("store, then ingester", ["store", "ingester"]),
    Case("everything", ["node", "kafka", "ingester", "store"], gap_s=0.3),
    # As behind a cut network: connections stay open, and nothing answers. Longer than the agent's timeout of 2 s here.
    Case("node is silent", ["node"], "freeze", down_s=6),
    Case("kafka is silent", ["kafka"], "freeze", down_s=15),
    Case("store is silent", ["store"], "freeze", down_s=6),
    Case("agent", ["agent"], "agent", moments=("during",)),
    Case("queue of the node is full", ["kafka"], "full", moments=("during",)),
    Case("disk of the node is full", ["kafka"], "disk", moments=("during",)),
    Case("queue of the node is damaged", ["node"], "damage", moments=("after",)),
]


class Cases:
    def __init__(self, tier, seed):
        self.tier, self.chance, self.number = tier, random.Random(seed), 0
        self.kafka, self.store = Kafka(tier), Store(tier)
        self.node = tier.node(self.kafka)
        self.ingester = tier.ingester(self.kafka, self.store, CLICKHOUSE_TIMEOUT="10s")
        self.store.start(wait=False)
        self.node.start(wait=False)
        self.kafka.start()
        self.store.wait()
        self.node.wait()
        self.ingester.start()

    def part(self, name):
        return getattr(self, name)

    def break_parts(self, case):
        for position, name in enumerate(case.parts):
            if position:
                time.sleep(self.chance.uniform(0, case.gap_s))
            if case.action == "freeze":
                self.part(name).pause()
            else:
                self.part(name).kill()

    def restore_parts(self, case):
        for name in case.parts:
            if case.action == "freeze":
                self.part(name).resume()
            else:
                self.part(name).start(wait=False)
        for name in case.parts:
            self.part(name).wait()

    def agents(self, service):
        # A short timeout, so that the agent repeats requests to a part that is silent.
        return [Agent(self.tier, f"http://127.0.0.1:{self.node.otlp}", service=service, repeat=repeat,
                      recording=ROOT / f"examples/recordings/{name}.cuspanrec", exit_deadline_ms=1000) for name, repeat in LOAD]

    def run(self, case, moment):
        """Delivered by the agents, different spans in the store, the largest number of repeated ones, and a remark."""
        self.number += 1
        service = f"case-{self.number}"
        remark = ""
        if case.action in ("agent", "full", "disk", "damage"):
            delivered, remark = getattr(self, f"run_{case.action}")(service)
        else:
            if moment == "before":
                self.break_parts(case)
            agents = self.agents(service)
            if moment == "during":
                time.sleep(self.chance.uniform(0.5, RUN_S - 1))
                self.break_parts(case)
            if moment in ("before", "during"):
                time.sleep(case.down_s)
                self.restore_parts(case)
            reports = [agent.end() for agent in agents]
            if moment == "after":
                self.break_parts(case)
                time.sleep(case.down_s)
                self.restore_parts(case)
            delivered = self.delivered(agents, reports)
        if delivered is None:  # counted by the case itself
            return "", "", 0, remark
        return delivered, *self.arrived(service, delivered), remark

    def delivered(self, agents, reports):
        """With what `cuspan send` delivers of the spool that all agents share."""
        for agent, report in zip(agents, reports):
            if report["losses"]:
                raise Failed(f"the agent lost spans: {report['losses']}; its log: {agent.log}")
        made, delivered = (sum(report[key] for report in reports) for key in ("spans", "delivered"))
        recovered = sum(report["counters"]["recovered_spans"] for report in reports)
        left = sum(report["counters"]["spans_spooled_left"] for report in reports)
        if left:
            delivered += self.tier.send(agents[0].endpoint, agents[0].spool)
        # An agent may have delivered what another one left.
        if not made - recovered <= delivered <= made:
            raise Failed(f"of {made} spans, {delivered} were delivered, {recovered} by other agents")
        return made

    def arrived(self, service, expected):
        repeated = 0

        def all_there():
            nonlocal repeated
            rows, spans = self.store.counts(service)
            repeated = max(repeated, rows - spans)
            if spans > expected:
                raise Failed(f"{spans} spans in the store, {expected} delivered")
            return spans == expected

        try:
            wait_for(all_there, "spans in the store", pause_s=0.3)
        except Failed as failed:
            raise Failed(f"{failed}: {self.store.counts(service)[1]} of {expected}") from None
        wait_for(lambda: self.node.metrics()["otelcol_exporter_queue_size"] + self.ingester.metrics()[
            "otelcol_exporter_queue_size"] == 0, "empty queues")
        all_there()
        if (answered := self.store.answered(service)) != expected:
            raise Failed(f"questions see {answered} spans, {expected} were delivered")
        return self.store.counts(service)[1], repeated

    def run_agent(self, service):
        """The agent is killed. The spans in its spool arrive, and the rest is counted."""
        agent = Agent(self.tier, f"http://127.0.0.1:{self.node.otlp}", service=service, repeat=1000)
        child = agent.child()
        wait_for(lambda: self.store.counts(service)[1] > 0, "first spans")
        self.node.pause()  # so that something is in the spool
        time.sleep(self.chance.uniform(0.5, 2))
        os.kill(child, signal.SIGKILL)
        self.node.resume()
        agent.process.wait()
        done = subprocess.run([self.tier.build / "cuspan", "send", "--timeout", "60", "--endpoint", agent.endpoint, agent.spool],
                              text=True, capture_output=True, check=False)
        told = re.search(r"of (\d+) spans that it is known to have created, (\d+) were delivered, (\d+) are in the spool and will "
                         r"be sent now, (\d+) are lost", done.stderr)
        if not told or done.returncode:
            raise Failed(f"cuspan send: {done.stdout}{done.stderr}")
        made, before, later, lost = map(int, told.groups())
        if made != before + later + lost:
            raise Failed(f"{made} spans are not {before} + {later} + {lost}")
        return before + later, f"{lost} of {made} spans that the agent had made were lost with it, and counted"

    @contextlib.contextmanager
    def small_disk(self, size, **environment):
        """The node's Collector with its queue on a file system of this size, and without Kafka."""
        self.node.stop()
        self.kafka.kill()
        self.node.queue.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.node.queue], check=True)
        before = dict(self.node.environment)
        self.node.environment |= environment
        try:
            self.node.start()
            yield
        finally:
            self.node.environment = before
            self.node.stop()
            subprocess.run(["umount", self.node.queue], check=True)
            if self.kafka.process.poll() is not None:
                self.kafka.start()
            self.node.start()

    def refused_while_kafka_is_away(self, service):
        """The agents, their reports, and how many spans are left in the spool."""
        agents = self.agents(service)
        reports = [agent.end() for agent in agents]
        left = sum(report["counters"]["spans_spooled_left"] for report in reports)
        refused = self.node.metrics().get("otelcol_exporter_enqueue_failed_spans", 0)
        if not refused or not left:
            raise Failed(f"{refused} spans refused, {left} left in the spool")
        return agents, reports, left

    def run_full(self, service):
        """The node's queue reaches its limit, on a disk with room: the Collector refuses, and the agents keep the spans."""
        with self.small_disk(DISK_BYTES, QUEUE_BYTES=str(QUEUE_BYTES)):
            agents, reports, left = self.refused_while_kafka_is_away(service)
            self.kafka.start()
            delivered = self.delivered(agents, reports)
            self.arrived(service, delivered)
        return delivered, f"{left:,} spans waited in the spool"

    def run_disk(self, service):
        """The disk is full before the queue is at its limit. The Collector refuses; but it cannot update its queue either, and
        then forgets requests that it has acknowledged, and may refuse until somebody makes room. docs/fleet-tier.md names this loss."""
        with self.small_disk(FULL_DISK_BYTES):
            agents, reports, left = self.refused_while_kafka_is_away(service)
            self.kafka.start()
            subprocess.run(["mount", "-o", f"remount,size={DISK_BYTES}", self.node.queue], check=True)
            delivered = self.delivered(agents, reports)
            wait_for(lambda: self.node.metrics()["otelcol_exporter_queue_size"] == 0, "empty queue")
        wait_for(lambda: self.ingester.metrics()["otelcol_exporter_queue_size"] == 0, "empty queue")
        last = -1
        while last != (last := self.store.counts(service)[1]):
            time.sleep(5)
        if not 0 < last <= delivered:
            raise Failed(f"{last} spans in the store, {delivered} delivered")
        return None, f"known loss: {delivered - last:,} of {delivered:,} spans; {left:,} waited in the spool"

    def run_damage(self, service):
        """The queue's file is overwritten while Kafka is away. Its spans are lost. The Collector starts and goes on, and keeps
        the file, or says that it is damaged."""
        self.kafka.kill()
        agents = self.agents(f"{service}-damaged")
        held = self.delivered(agents, [agent.end() for agent in agents])
        self.node.kill()
        (path,) = (path for path in self.node.queue.iterdir() if path.is_file())
        with open(path, "r+b") as file:
            file.seek(8192)  # behind the two pages that tell whether the file is a database
            file.write(b"\xff" * (path.stat().st_size - 8192))
        self.kafka.start()
        self.node.start(wait=False)
        try:
            self.node.wait()
            kept = [item.name for item in self.node.queue.iterdir() if item.name.endswith(".backup")]
            remark = f"the Collector has kept the file as {'.backup' if kept else 'nothing'}"
        except Failed:
            remark = "the Collector did not start until the file was moved away"
            path.rename(path.with_suffix(".damaged"))
            self.node.start()
        agents = self.agents(service)
        delivered = self.delivered(agents, [agent.end() for agent in agents])
        return delivered, f"known loss: the {held:,} spans in the queue; {remark}"


def run_all(cases, wanted, rounds):
    passed, failed, skipped = 0, [], []
    print("| part | moment | delivered | different spans in the store | repeated | s | |\n|---|---|---|---|---|---|---|", flush=True)
    for case in CASES:
        if wanted and case.name not in wanted:
            continue
        if case.action in ("full", "disk") and os.geteuid():
            skipped.append(f"{case.name}: only root can mount a small file system")
            continue
        for moment in case.moments * rounds:
            began = time.monotonic()
            try:
                delivered, spans, repeated, remark = cases.run(case, moment)
                passed += 1
                delivered, spans = (f"{number:,}" if number else "" for number in (delivered, spans))
                print(f"| {case.name} | {moment} | {delivered} | {spans} | {repeated:,} | {time.monotonic() - began:.0f} "
                      f"| {remark} |", flush=True)
            except Failed as error:
                failed.append(f"{case.name}, {moment}")
                print(f"not ok {case.name}, {moment}: {error}", flush=True)
                for service in (cases.node, cases.kafka, cases.ingester, cases.store):
                    print(f"    {service.name}: {service.tail(3)}", flush=True)
                    with contextlib.suppress(Failed, ProcessLookupError, AttributeError):
                        service.resume()
                        if service.process.poll() is not None:
                            service.start()
    for line in skipped:
        print(f"skipped: {line}")
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--collector", required=True)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if unknown := set(options.cases) - {case.name for case in CASES}:
        parser.error(f"unknown case {unknown}; there are {[case.name for case in CASES]}")
    folder = tempfile.mkdtemp(prefix="cuspan-fleet.")
    tier = Tier(folder, options.build.resolve(), options.collector, options.jars)
    print(f"seed {options.seed}, logs in {folder}", flush=True)
    status = 1
    try:
        status = run_all(Cases(tier, options.seed), options.cases, options.rounds)
    finally:
        tier.close()
        if status == 0:
            shutil.rmtree(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
