#!/usr/bin/env python3
"""Tests hangs_check.py with made verdicts, and with those of `cuspan hang` on real live states (tests/hang/ranks.c). Needs no GPU.

    hangs_check_test.py --build DIRECTORY"""

import ast
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/gpu"))
import hangs_check as checks  # noqa: E402

BUILD = Path("build")
PIDS = {100, 101}
TRUTH = {"culprit": 1, "ranks": 2, "number": 20, "operation": "all_reduce", "bytes": 32 << 20}
LINE = "/srv/torch_hang.py:100"
LOCK = {"kind": "host", "sure": True, "headline": "rank 1 is waiting for a lock",
        "culprits": [{"rank": 1, "pid": 101, "line": LINE}],
        "call": {"communicator": "abc", "size": 2, "number": 20, "operation": "all_reduce", "bytes": 32 << 20}}


def document_of(job, line=LINE):
    ranks = [{"pid": pid, "line": line, "communicators": [{"id": "abc"}]} for pid in sorted(PIDS)]
    return {"ranks": ranks, "jobs": [{"kind": "host", "culprits": [{"rank": 1, "pid": 7}], "sure": True, "headline": "another job"}, job]}


class Checks(unittest.TestCase):
    def judge(self, change=None, fault="lock", line=LINE):
        job = copy.deepcopy(LOCK)
        (change or (lambda _: None))(job)
        return checks.judge(fault, document_of(job, line), TRUTH, PIDS)

    def missing(self, *arguments, **keywords):
        return [name for name, is_right in self.judge(*arguments, **keywords)["right"].items() if not is_right]

    def test_all_right(self):
        judgment = self.judge()
        self.assertEqual(self.missing(), [])
        self.assertTrue(checks.is_named(judgment))
        self.assertFalse(judgment["wrong_sure"])

    def test_each_wrong_value_is_found(self):
        for name, change in {"communicator": lambda job: job["call"].update(size=3), "number": lambda job: job["call"].update(number=19),
                             "operation": lambda job: job["call"].update(operation="all_gather"),
                             "bytes": lambda job: job["call"].update(bytes=4), "kind": lambda job: job.update(kind="died"),
                             "line": lambda job: job["culprits"][0].update(line="/srv/threading.py:3")}.items():
            with self.subTest(name):
                self.assertEqual(self.missing(change), [name])
                self.assertEqual(checks.is_named(self.judge(change)), name == "kind")
        self.assertEqual(self.missing(lambda job: job.pop("call")), ["communicator", "number", "operation", "bytes"])

    def test_another_rank_is_wrong_though_sure(self):
        def blame(rank):
            return lambda job: job["culprits"][0].update(rank=rank)

        self.assertTrue(self.judge(blame(0))["wrong_sure"])
        self.assertFalse(self.judge(lambda job: (blame(0)(job), job.update(sure=False)))["wrong_sure"])

    def test_two_culprits_count_only_if_nobody_can_tell(self):
        def both(job):
            job["culprits"].append({"rank": 0, "pid": 100})
            job["sure"] = False

        self.assertIn("rank", self.missing(both))
        self.assertNotIn("rank", self.missing(both, fault="skip"))
        self.assertFalse(self.judge(both, fault="skip")["alone"])
        self.assertIn("rank", self.missing(lambda job: (both(job), job.update(sure=True)), fault="skip"))

    def test_where_nothing_can_look_at_the_culprit_a_line_of_others_is_enough(self):
        self.assertEqual(self.missing(lambda job: (job.update(kind="stopped"), job["culprits"][0].pop("line")), fault="stop"), [])
        self.assertEqual(self.missing(lambda job: job.update(kind="stopped"), fault="stop", line="x.py:1"), ["line"])

    def test_other_jobs_and_none(self):
        self.assertIsNone(checks.judge("lock", document_of({**LOCK, "kind": "none"}), TRUTH, PIDS))
        self.assertIsNone(checks.judge("lock", {"jobs": [], "ranks": []}, TRUTH, PIDS))
        self.assertIsNone(checks.judge("lock", {}, TRUTH, PIDS))

    def test_figures(self):
        judgment = self.judge()
        runs = [{"fault": "lock", "seconds": second, "judgment": judgment, "wrong_sure": False} for second in (6.0, 7.0, 16.0)]
        runs.append({"fault": "stop", "seconds": None, "judgment": None, "wrong_sure": False})
        figures = checks.summarize(runs)
        self.assertEqual((figures["runs"], figures["named"], figures["seconds_max"]), (4, 2, 7.0))
        self.assertEqual(figures["faults"]["stop"]["missing"], {"verdict": 1})
        self.assertFalse(checks.passes(figures))
        good = checks.summarize(24 * runs[:1] + 24 * runs[1:2] + 2 * runs[3:])
        self.assertTrue(checks.passes(good))
        self.assertFalse(checks.passes(checks.summarize(23 * runs[:1] + 24 * runs[1:2] + 3 * runs[3:])))
        self.assertFalse(checks.passes({**good, "wrong_sure": 1}))
        self.assertFalse(checks.passes(checks.summarize([])))

    def test_the_program_has_the_faults_and_their_functions(self):
        tree = ast.parse((ROOT / "tests/gpu/programs/torch_hang.py").read_text())
        faults, = [node.value for node in tree.body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "FAULTS"]
        self.assertEqual([key.value for key in faults.keys], list(checks.FAULTS))
        values = {key.value: getattr(value, "id", None) for key, value in zip(faults.keys, faults.values)}
        for fault, (_, function) in checks.FAULTS.items():
            if function:
                self.assertEqual(values[fault], function)


class RealVerdicts(unittest.TestCase):
    """The made documents look like real ones."""

    def verdict(self, fault):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            process = subprocess.Popen([BUILD / "hang_ranks", fault, "1", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            pids, blamed = {}, None
            for line in iter(process.stdout.readline, "ready\n"):
                rank, pid, *culprit = line.split()
                pids[int(pid)] = int(rank)
                blamed = int(rank) if culprit else blamed
            done = subprocess.run([BUILD / "cuspan", "hang", "--json", "--this-host"], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "CUSPAN_CONTROL_DIRECTORY": folder})
            process.stdin.close()
            process.wait()
            process.stdout.close()
        return json.loads(done.stdout), set(pids), blamed

    def test_a_killed_rank(self):
        document, pids, culprit = self.verdict("died")
        job, ranks = checks.job_of(document, pids)
        truth = {"culprit": culprit, "ranks": job["call"]["size"], **{key: job["call"][key] for key in ("number", "operation", "bytes")}}
        judgment = checks.judge("kill", document, truth, pids)
        self.assertEqual(len(ranks), 8)
        self.assertEqual([name for name, is_right in judgment["right"].items() if not is_right], ["line"])  # these ranks run no Python
        self.assertTrue(judgment["alone"] and judgment["sure"])

    def test_members_of_the_document(self):
        document, pids, _ = self.verdict("died")
        job, ranks = checks.job_of(document, pids)
        self.assertLessEqual(set(LOCK), set(job))
        self.assertLessEqual(set(LOCK["call"]), set(job["call"]))
        self.assertLessEqual(set(LOCK["culprits"][0]) - {"line"}, set(job["culprits"][0]))
        self.assertLessEqual({"pid", "communicators"}, set(ranks[0]))
        self.assertIn("id", ranks[0]["communicators"][0])


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--build":
        BUILD = Path(sys.argv[2]).resolve()
        del sys.argv[1:3]
    unittest.main()
