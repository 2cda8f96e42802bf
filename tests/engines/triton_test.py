#!/usr/bin/env python3
"""The real Triton on a CPU (nvidia-pytriton has it) with an agent that records, in each process of a Python model:
iterations, their requests and rows are those that the model logs, and each request has its context. A hook that is
missing or raises costs one line. With the real agent, the spans are those of the log. Needs nvidia-pytriton in this Python
and the build; no network.

    tests/engines/triton_test.py [BUILD] [TEST...]"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import random
import shutil
import sys
import sysconfig
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy
import spans_test
import tritonclient.grpc as client
from servers import REQUESTS, Events, running, traceparent, warnings_of

HERE = Path(__file__).resolve().parent
FINISHED, ABORTED, FAILED = range(3)
RAISES, FAILS, WAITS = -1, -2, -3
PORT = 27815
PACKAGES = Path(importlib.util.find_spec("pytriton").origin).parents[1]
CONFIG = """
backend: "python"
max_batch_size: {rows}
input [{{name: "IN" data_type: TYPE_INT32 dims: [-1]}}]
output [{{name: "OUT" data_type: TYPE_INT32 dims: [-1]}}]
instance_group [{{count: {instances} kind: KIND_CPU}}]
"""
BATCHES = "dynamic_batching { max_queue_delay_microseconds: 5000 }"
MODELS = {
    "plain": CONFIG.format(rows=8, instances=1) + BATCHES,
    "two": CONFIG.format(rows=8, instances=2) + BATCHES,
    "whole": CONFIG.format(rows=0, instances=1),
    "coroutine": CONFIG.format(rows=8, instances=1) + BATCHES,
    "decoupled": CONFIG.format(rows=8, instances=1) + "model_transaction_policy { decoupled: true }",
}
TRACES = ["--trace-config=mode=opentelemetry", "--trace-config=rate=1", "--trace-config=level=TIMESTAMPS"]
TRACES += ["--trace-config=opentelemetry,url=http://127.0.0.1:9/v1/traces"]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.made = tempfile.TemporaryDirectory(prefix="cuspan-engines-")
        cls.addClassCleanup(cls.made.cleanup)
        server, backend = PACKAGES / "pytriton/tritonserver", Path(cls.made.name, "backends/python")
        shutil.copytree(server / "backends/python", backend)
        shutil.copy(server / f"python_backend_stubs/3.{sys.version_info.minor}/triton_python_backend_stub", backend)
        cls.server = [server / "bin/tritonserver", f"--backend-directory={backend.parent}"]

    @contextlib.contextmanager
    def serving(self, model: str, *arguments: str, **environment: str) -> Iterator[None]:
        self.model, self.folder = model, Path(tempfile.mkdtemp(dir=self.made.name))
        version = self.folder / "models" / model / "1"
        version.mkdir(parents=True)
        shutil.copy(HERE / "triton_model.py", version / "model.py")
        (version.parent / "config.pbtxt").write_text(MODELS[model])
        libraries = [sysconfig.get_config_var("LIBDIR"), str(PACKAGES / "nvidia_pytriton.libs")]
        variables = {
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "ENGINE_EVENTS": str(self.folder),
            "TRITON_LOGS": str(self.folder),
            "TRITON_PATH": os.pathsep.join([str(HERE / "site"), str(PACKAGES)]),
            **environment,
        }
        options = [f"--model-repository={self.folder}/models", f"--http-port={PORT}", f"--grpc-port={PORT + 1}"]
        options += ["--http-header-forward-pattern=(?i)traceparent", "--grpc-header-forward-pattern=(?i)traceparent"]
        command = [*self.server, *options, "--allow-metrics=false", "--exit-timeout-secs=5", *arguments]
        with running(command, self.folder / "log", **variables) as process:
            for _ in range(300):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"http://127.0.0.1:{PORT}/v2/health/ready", timeout=5).close()
                    break
                self.assertIsNone(process.poll(), self.log()[-3000:])
                time.sleep(0.1)
            yield
            process.terminate()
            self.assertEqual(process.wait(timeout=60), 0, self.log()[-3000:])

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def logged(self) -> dict[str, list[list]]:
        """The batches of the model, by process."""
        return {path.stem: list(map(json.loads, path.read_text().splitlines())) for path in self.folder.glob("*.log")}

    def infer(self, at: int, rows: list[list[int]]) -> object:
        """Its answer, or the status of an error."""
        shape = [len(rows), len(rows[0])] if self.model != "whole" else [len(rows[0])]
        data = [value for row in rows for value in row]
        body = {"id": f"r{at}", "inputs": [{"name": "IN", "shape": shape, "datatype": "INT32", "data": data}]}
        body["parameters"] = {"traceparents": "x", "number": at}
        headers = {"TraceParent": traceparent(at)}
        url = f"http://127.0.0.1:{PORT}/v2/models/{self.model}/infer"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=60) as out:
                return json.load(out)["outputs"][0]["data"]
        except urllib.error.HTTPError as error:
            return error.code

    def infer_all(self) -> None:
        rng, answers = random.Random(7), {}
        prompts = {at: [[at] * 3] * rng.choice([1, 1, 2, 3]) for at in range(REQUESTS)}
        threads = [
            threading.Thread(target=lambda at=at, rows=rows: answers.update({at: self.infer(at, rows)}))
            for at, rows in prompts.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, {at: [2 * at] * 3 * len(rows) for at, rows in prompts.items()})

    def check(self, requests: int, reasons: dict[str, int] = {}, span_of=lambda context: context) -> Events:  # noqa: B006
        """Compares with the model's log."""
        events = Events(self.folder)
        batches = 0
        for process, logged in self.logged().items():
            records = events.by_process.get(process, [])
            made = [record for record in records if record["what"] == "iteration"]
            names = {record["number"]: record["id"] for record in records if record["what"] == "request"}
            rows = 1 if self.model == "whole" else None
            self.assertEqual(
                [[[names[part[0]], part[3]] for part in one["parts"]] for one in made],
                [[[name, rows or count] for name, count in batch] for batch in logged],
            )
            self.assertEqual([one["number"] for one in made], list(range(1, len(made) + 1)))
            self.assertEqual({one["engine"] for one in made}, {f"triton {self.model}"} if made else set())
            self.assertEqual(sum(record["what"] == "iteration_end" for record in records), len(made))
            batches += len(logged)
        named = {made["id"]: made for made in events.requests.values()}
        self.assertEqual(len(named), requests)
        for name, made in named.items():
            self.assertEqual(span_of(made["context"]), span_of(traceparent(int(name[1:]))))
            self.assertEqual(made["reason"], reasons.get(name, FINISHED))
        self.assertEqual(warnings_of(self.log()), [])
        print(f"{self.id().split('.')[-1]}: {batches} batches in the model's log, {len(named)} requests")
        return events


class Models(Case):
    def test_plain(self) -> None:
        with self.serving("plain"):
            self.infer_all()
        events = self.check(REQUESTS)
        self.assertLess(len(events.iterations), REQUESTS)

    def test_two_instances(self) -> None:
        """Each has a seed and numbers of its own."""
        with self.serving("two"):
            self.infer_all()
        self.assertEqual(len({made["seed"] for made in self.check(REQUESTS).iterations}), 2)

    def test_without_batches(self) -> None:
        with self.serving("whole"):
            self.assertEqual([self.infer(at, [[at, 1]]) for at in range(3)], [[2 * at, 2] for at in range(3)])
        self.check(3)

    def test_coroutine(self) -> None:
        with self.serving("coroutine"):
            self.infer_all()
        self.check(REQUESTS)

    def test_triton_traces(self) -> None:
        """The parent is Triton's own span, in the client's trace."""
        with self.serving("plain", *TRACES):
            self.infer_all()
        events = self.check(REQUESTS, span_of=lambda context: context.split("-")[1])
        spans = {made["context"].split("-")[2] for made in events.requests.values()}
        self.assertEqual(len(spans - {traceparent(at).split("-")[2] for at in range(REQUESTS)}), REQUESTS)

    def test_errors(self) -> None:
        with self.serving("plain"):
            found = [self.infer(at, [[first]]) for at, first in enumerate([1, RAISES, 2, FAILS, 3])]
        self.assertEqual(found, [[2], 500, [4], 500, [6]])
        self.check(5, {"r1": FAILED, "r3": FAILED})


class Grpc(Case):
    def request(self, at: int, first: int) -> dict:
        values = client.InferInput("IN", [1, 1], "INT32")
        values.set_data_from_numpy(numpy.array([[first]], dtype=numpy.int32))
        return {"model_name": self.model, "inputs": [values], "request_id": f"r{at}"}

    def test_cancelled(self) -> None:
        done: queue.Queue = queue.Queue()
        with self.serving("plain"), client.InferenceServerClient(f"127.0.0.1:{PORT + 1}") as server:
            for at, first in enumerate([WAITS, 5]):
                call = server.async_infer(
                    **self.request(at, first),
                    headers={"traceparent": traceparent(at)},
                    callback=lambda result, error: done.put((result, error)),
                )
                if first == WAITS:
                    time.sleep(0.5)
                    call.cancel()
                result, error = done.get(timeout=60)
                self.assertEqual(error is not None, first == WAITS)
        self.check(2, {"r0": ABORTED})

    def test_decoupled(self) -> None:
        done: queue.Queue = queue.Queue()
        with self.serving("decoupled"), client.InferenceServerClient(f"127.0.0.1:{PORT + 1}") as server:
            server.start_stream(lambda result, error: done.put((result, error)), headers={"traceparent": traceparent(7)})
            server.async_stream_infer(**self.request(7, 4))
            answers = [done.get(timeout=60) for _ in range(3)]
            server.stop_stream()
        self.assertEqual([int(result.as_numpy("OUT")[0, 0]) for result, _ in answers], [8, 8, 8])
        self.check(1)


class Spans(Case):
    """With the real agent."""

    def test_spans(self) -> None:
        build, support = spans_test.BUILD, spans_test.ROOT / "tests/support"
        file = Path(self.made.name, "spans.jsonl")
        environment = {
            "ENGINE_EVENTS": "",
            "ENGINE_AGENT": str(support),
            "CUDA_INJECTION64_PATH": f"{build}/libcuspan.so",
            "HOST_DOUBLE": f"{build}/libcuspan-replay.so",
            "HOST_RECORDING": f"{spans_test.ROOT}/examples/recordings/vector_add.cuspanrec",
            "CUSPAN_SET": f"cupti.library={build}/libcuspan-replay.so;output_file={file};engine.ratio=1",
        }
        with self.serving("plain", **environment):
            self.infer_all()
        spans = [
            span
            for line in file.read_text().splitlines()
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]
        [logged] = (batches for batches in self.logged().values() if batches)
        rows = {name: count for batch in logged for name, count in batch}
        requests = [span for span in spans if span["name"] == "triton plain request"]
        self.assertEqual(len(requests), REQUESTS)
        for span in requests:
            found = spans_test.attributes(span)
            at = int(found["gen_ai.request.id"][1:])
            self.assertEqual(f"00-{span['traceId']}-{span['parentSpanId']}-01", traceparent(at))
            self.assertEqual((found["engine.request.prompt_tokens"], found["engine.request.iterations"]), (rows[f"r{at}"], 1))
        iterations = {span["traceId"]: span for span in spans if span["name"].startswith("iteration ")}
        made = sorted(iterations.values(), key=lambda span: int(span["name"].split()[1]))
        counts = [spans_test.attributes(span)["engine.iteration.requests"] for span in made]
        self.assertEqual(counts, [len(batch) for batch in logged])
        kernels = [span for span in spans if "cuda.kernel.name" in spans_test.attributes(span) or "vector" in span["name"]]
        self.assertEqual(sum(span["traceId"] in iterations for span in kernels), len(kernels))
        self.assertEqual(len(kernels), len(logged))
        print(f"test_spans: {len(requests)} requests, {len(made)} iterations, {len(kernels)} kernels")


class Broken(Case):
    """Each hook is missing, or raises, in turn: the same line in each process, and the same answers."""

    def test_each_hook(self) -> None:
        for point in "initialize", "execute":
            for how in "missing", "raising":
                broken = {"ENGINE_BROKEN": f"tritonserver TritonPythonModel.{point}:{how}"}
                with self.subTest(point, how=how):
                    with self.serving("plain", **broken):
                        self.infer_all()
                    self.assertEqual(len(set(warnings_of(self.log()))), 1, warnings_of(self.log()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
