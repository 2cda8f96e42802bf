"""Links of a serving engine's requests and iterations, through the real agent and a Collector into Jaeger and back: each
leads to a span that Jaeger has. Called by tests/e2e/run.sh.

    engines_test.py JAEGER-BINARY BUILD-DIR OUT-DIR
"""

import json
import os
import subprocess
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

from backend import ROOT, Collector, Jaeger

CLIENT = 0xC11E << 64  # the high half of the trace IDs of made requests: the recorded ones have small numbers, too
BATCH, TOKENS = 300, 2000
LINKS_OF_ITERATION, LINKS_OF_REQUEST = 128, 64
LONE = 40  # requests that arrive at once, one in each iteration, and end with it
UNSAMPLED = 5
RATIO = 4  # of so many iterations, one is recorded
LINKS_MIN = 1000  # or the test says little
PACE_S = 0.001  # an iteration takes longer


def serve():
    """The engine, in a process with an agent. Numbers its requests from 1, which are also the IDs of their clients' spans."""
    sys.path.insert(0, str(ROOT / "python"))
    import python_host

    double = python_host.begin()
    from cuspan import _agent
    from cuspan._iterations import Rank, Schedule

    schedule = Schedule()
    rank = Rank(_agent.look_now(), "test")
    count = 0
    computed = Counter()

    def admit(flags="01"):
        nonlocal count
        count += 1
        schedule.admit(count, f"r{count}", 4, headers=(f"00-{CLIENT + count:032x}-{count:016x}-{flags}", ""), arrived_ns=time.time_ns())
        return count

    def iterate(keys, work=False):
        parts = []
        for key in keys:
            tokens = 1 if computed[key] else 4
            parts.append((schedule.members[key], tokens, computed[key], 0, False))
            computed[key] += tokens
        rank.begin(schedule.stamp(parts))
        if work:
            python_host.work(double)
        time.sleep(PACE_S)
        rank.end()

    batch = [admit() for _ in range(BATCH)]
    for at in range(4 * RATIO):
        iterate(batch, work=at == 0)
    for key in batch[1:]:
        schedule.end(key, tokens=computed[key] - 3)
    for _ in range(LONE):
        lone = admit()
        iterate([batch[0], lone])
        schedule.end(lone, tokens=1)
    unsampled = [admit("00") for _ in range(UNSAMPLED)]
    while computed[batch[0]] < TOKENS + 3:
        iterate([batch[0], *unsampled], work=computed[batch[0]] % 100 == 0)
    for key in [batch[0], *unsampled]:
        schedule.end(key, tokens=TOKENS)
    rank.begin(schedule.stamp(kind=-1))


class Links:
    """The tests of each engine: what Jaeger has of its spans."""

    SERVICE = ""

    @classmethod
    def settings(cls):
        return {"accounts_file": OUT / cls.SERVICE, "exit_deadline_ms": 60000, "service_name": cls.SERVICE,
                "endpoint": f"http://localhost:{COLLECTOR.otlp_http}"}

    @classmethod
    def send(cls, command, **more):
        """Runs the engine, and reads its spans back, once all of them are there."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_"))}
        subprocess.run([str(word) for word in command], env={**environment, **more}, timeout=120, check=True)
        (path,) = OUT.glob(f"{cls.SERVICE}.*")
        cls.report = json.loads(path.read_text())
        spans = JAEGER.of_service(cls.SERVICE, cls.report["spans"])
        cls.spans = {(span.trace_id, span.span_id): span for span in spans}
        cls.requests = {key: span for key, span in cls.spans.items() if span.name.endswith(" request")}
        cls.iterations = {key: span for key, span in cls.spans.items() if span.name.startswith("iteration ")}
        cls.ranks = {(span.trace_id, span.parent_id): span for span in cls.spans.values() if span.name == "rank 0"}  # by iteration

    def test_all_spans_arrive(self):
        self.assertEqual(len(self.spans), self.report["spans"])
        self.assertEqual(self.report["outputs"][0]["delivered"], self.report["spans"])
        self.assertFalse({name: count for name, count in self.report["losses"].items() if count})
        self.assertFalse(self.report["counters"].get("engine_events_lost"))

    def test_every_link_leads_to_a_span(self):
        to = Counter()
        self.assertEqual(self.ranks.keys(), self.iterations.keys())
        for here, there in (self.requests, self.iterations), (self.ranks, self.requests):
            for key, span in here.items():
                for link in links_of(span):
                    self.assertTrue(link in there, f"{span.name} {key} links to {link}")
                    to[span.name.split()[0]] += 1
        print(f"{self.SERVICE}: {len(self.requests)} requests, {len(self.iterations)} iterations, links {dict(to)}")

    def test_each_request_reaches_an_iteration_and_back(self):
        """If it says that some are recorded. An iteration that has no link back has as many as it can, and counts the others."""
        back = {key: set(links_of(span)) for key, span in self.ranks.items()}
        for key, span in self.requests.items():
            links = links_of(span)
            recorded = span.attributes["engine.request.iterations_recorded"]
            self.assertEqual(len(set(links)), len(links))
            self.assertEqual(bool(links), recorded > 0)
            self.assertLessEqual(len(links), min(recorded, LINKS_OF_REQUEST))
            for link in links:
                full = len(back[link]) == LINKS_OF_ITERATION and self.iterations[link].attributes["engine.iteration.links_left_out"]
                self.assertTrue(key in back[link] or full, f"{span.name} {key} {link}")


    def test_jaeger_calls_no_iteration_incomplete(self):
        """Its page does if a span has links or a parent, and none of these is in the trace."""
        for trace, _ in self.iterations:
            self.assertEqual(JAEGER.orphans(trace), [])


def links_of(span):
    return [(link["traceId"], link["spanId"]) for link in span.links]


class Recorded(Links, unittest.TestCase):
    """transformers on an H200."""

    SERVICE = "recorded"

    @classmethod
    def setUpClass(cls):
        words = [word for key, value in cls.settings().items() for word in ("--set", f"{key}={value}")]
        cls.send([BUILD / "cuspan", "replay", "--quiet", "--now", *words, ROOT / "examples/engines/transformers.cuspanrec"])

    def test_it_is_an_engine(self):
        self.assertEqual((len(self.requests), len(self.iterations)), (12, 15))

    def test_jaeger_shows_iterations_without_warnings(self):
        self.assertEqual([warning for trace, _ in self.iterations for warning in JAEGER.warnings(trace)], [])

    def test_requests_arrive_in_moved_times(self):
        for span in self.requests.values():
            self.assertLess(span.attributes["engine.request.queue_time"], 20e6)


class Made(Links, unittest.TestCase):
    SERVICE = "made"

    @classmethod
    def setUpClass(cls):
        settings = {**cls.settings(), "engine.ratio": 1 / RATIO, "cupti.library": BUILD / "libcuspan-replay.so"}
        cls.send([sys.executable, __file__, "serve"], CUSPAN_SET=";".join(f"{key}={value}" for key, value in settings.items()),
                 CUDA_INJECTION64_PATH=str(BUILD / "libcuspan.so"), HOST_DOUBLE=str(BUILD / "libcuspan-replay.so"),
                 HOST_RECORDING=str(ROOT / "examples/recordings/vector_add.cuspanrec"))
        cls.by_id = {span.attributes["gen_ai.request.id"]: span for span in cls.requests.values()}

    def test_there_are_enough_links(self):
        self.assertGreaterEqual(sum(len(span.links) for span in self.spans.values()), LINKS_MIN)

    def test_only_sampled_requests_have_spans(self):
        self.assertEqual(set(self.by_id), {f"r{n + 1}" for n in range(BATCH + LONE)})

    def test_a_long_request(self):
        long = self.by_id["r1"]
        self.assertEqual(long.attributes["engine.request.decode_tokens"], TOKENS - 1)
        self.assertGreater(long.attributes["engine.request.iterations_recorded"], TOKENS / RATIO / 2)
        self.assertEqual(long.parent_id, f"{1:016x}")
        self.assertLessEqual(LINKS_OF_REQUEST / 2, len(long.links))
        self.assertLessEqual(len(long.links), LINKS_OF_REQUEST)

    def test_a_large_batch(self):
        large = [span for span in self.iterations.values() if span.attributes["engine.iteration.requests"] == BATCH]
        self.assertGreaterEqual(len(large), 2)
        for span in large:
            self.assertEqual((len(self.ranks[span.trace_id, span.span_id].links), span.attributes["engine.iteration.links_left_out"]),
                             (LINKS_OF_ITERATION, BATCH - LINKS_OF_ITERATION))

    def test_requests_beyond_the_budget_say_so(self):
        lone = [self.by_id[f"r{BATCH + 1 + n}"] for n in range(LONE)]
        counts = Counter((span.attributes["engine.request.iterations_recorded"], len(span.links)) for span in lone)
        self.assertEqual(set(counts), {(0, 0), (1, 1)})
        self.assertGreaterEqual(counts[0, 0], LONE / 8)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
        sys.exit()
    BINARY, BUILD, OUT = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    JAEGER = Jaeger(BINARY, OUT)
    try:
        COLLECTOR = Collector(BINARY, OUT, JAEGER)
        try:
            unittest.main(argv=sys.argv[:1], verbosity=2)
        finally:
            COLLECTOR.close()
    finally:
        JAEGER.close()
