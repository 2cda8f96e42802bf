#!/usr/bin/env python3
"""examples/training/hang.py: `cuspan hang` names the rank in which each fault is planted, and what it waits for.

    hang_example_test.py --build DIRECTORY"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "examples/training")]
import nccl_without_gpu  # noqa: E402
from backend import spans_of  # noqa: E402

EXAMPLE, CULPRIT = "examples/training/hang.py", 2
BUILD = None
KINDS = {"skip": "skipped_call", "order": "skipped_call", "size": "size_mismatch", "lock": "host", "stop": "stopped", "kill": "died",
         "loader": "host"}
# A rank that goes on to another call than the others may have left one out or calls two in another order: one moment of the job does not tell.
UNSURE = {"skip", "order"}
BYTES = {"skip": 9 << 20, "order": 4 << 20, "size": 17 << 20}  # of the call that the others wait for
LINES = {"lock": "write_metrics", "loader": "_recv"}
TIMEOUT_S = 600


class HangExample(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))}
        self.environment["CUSPAN_CONTROL_DIRECTORY"] = folder.name

    def start(self, *options, settings=()):
        words = [word for setting in settings for word in ("--set", setting)]
        self.file = self.folder / f"{options[1]}.jsonl"
        job = subprocess.Popen([BUILD / "cuspan", "run", "--file", self.file, *words, sys.executable, EXAMPLE, *options], cwd=ROOT,
                               env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(job.communicate)
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)

    def verdicts(self, job, *files):
        """Of this job: others may run on this machine."""
        done = subprocess.run([BUILD / "cuspan", "hang", "--json", *files], env=self.environment, capture_output=True, text=True, check=False)
        jobs = json.loads(done.stdout)["jobs"] if done.stdout else []
        return [one for one in jobs if any(os.getpgid(culprit["pid"]) == job.pid for culprit in one["culprits"] if is_there(culprit["pid"]))]

    def wait_for(self, read):
        deadline = time.monotonic() + TIMEOUT_S
        while not (found := read()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        return found

    def named(self, job, kind, *files):
        """The verdict that names rank 2. A busy machine may stand still before that."""
        def look():
            for verdict in self.verdicts(job, *files):
                culprits = [culprit["rank"] for culprit in verdict["culprits"]]
                if (verdict["sure"], verdict["kind"], culprits) == (kind not in UNSURE, KINDS[kind], [CULPRIT]):
                    return verdict
            return None
        return self.wait_for(look)

    def test_each_kind(self):
        for kind in KINDS:
            with self.subTest(kind):
                job = self.start("--hang", kind, settings=["hang.after_ms=50"])
                verdict = self.named(job, kind)
                if kind in BYTES:
                    self.assertEqual(verdict["call"]["bytes"], BYTES[kind])
                if kind in LINES:  # which only reports have
                    self.assertIn(LINES[kind], json.dumps(self.named(job, kind, self.file)))
                self.end(job)

    def test_without_one_it_ends(self):
        job = self.start("--hang", "none", "--steps", "30")
        self.assertEqual(job.wait(TIMEOUT_S), 0)
        self.assertNotIn("resourceLogs", self.file.read_text())

    def test_it_runs_without_cuspan(self):
        done = subprocess.run([sys.executable, EXAMPLE, "--steps", "3"], cwd=ROOT, env=self.environment, capture_output=True, text=True,
                              check=False, timeout=TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_stands_in_for_nccl_names_values_as_nccl_does(self):
        """On two GPUs, a real job was recorded."""
        spans = self.folder / "ddp.jsonl"
        subprocess.run([BUILD / "cuspan", "replay", "--quiet", "--file", spans, "--set", "steps.traced=all",
                        ROOT / "tests/training/recordings/ddp-gpu/rank1.cuspanrec"], env=self.environment, check=True)
        real = [span.attributes for line in spans.read_text().splitlines() for span in spans_of(json.loads(line)) if span.name == "ncclAllReduce"]
        told = []
        nccl_without_gpu.tell, tell = lambda name, values: told.append(values), nccl_without_gpu.tell
        self.addCleanup(setattr, nccl_without_gpu, "tell", tell)
        nccl_without_gpu.Communicator(self.folder, [3], 3).all_reduce(4096)
        self.assertTrue(real)
        for key in told[0]:
            self.assertTrue(all(key.decode() in attributes for attributes in real), key)


def is_there(pid):
    return Path(f"/proc/{pid}").exists()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    options, rest = parser.parse_known_args()
    BUILD = options.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
