#!/usr/bin/env python3
"""Tests `cuspan hang` on real processes with live states (tests/hang/ranks.c), on files, and on JSON of other hosts."""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BUILD = Path("build")
RECORDING = Path(__file__).resolve().parents[2] / "training/recordings/ddp-gpu/rank1.cuspanrec"


class Job:
    """Eight ranks that hang. `pids` by rank."""

    def __init__(self, fault, seed, folder):
        self.process = subprocess.Popen([BUILD / "hang_ranks", fault, str(seed), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pids, self.culprit = {}, None
        for line in iter(self.process.stdout.readline, "ready\n"):
            rank, pid, *culprit = line.split()
            self.pids[int(rank)] = int(pid)
            self.culprit = int(rank) if culprit else self.culprit

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def wait_for_state(pid, state):
    for _ in range(6000):
        try:
            found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            found = "X"
        if found in state:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} does not reach state {state}")


class Hang(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o700)
        self.jobs = []

    def tearDown(self):
        for job in self.jobs:
            job.end()
        self.folder.cleanup()

    def start(self, fault, seed=1):
        self.jobs.append(Job(fault, seed, self.folder.name))
        return self.jobs[-1]

    def run_hang(self, *arguments, stdin=None):
        environment = {**os.environ, "CUSPAN_CONTROL_DIRECTORY": self.folder.name, "LC_ALL": "C"}
        return subprocess.run([BUILD / "cuspan", "hang", *arguments], capture_output=True, text=True, env=environment, input=stdin, timeout=60)

    def files(self, job, ranks):
        return [f"{self.folder.name}/{job.pids[rank]}.live" for rank in ranks]

    def verdict_of(self, job, *arguments, **kwargs):
        """Of the job with these processes: others may run on this machine."""
        done = self.run_hang("--json", *arguments, **kwargs)
        self.assertEqual(done.returncode, 3, done.stderr)
        found = [verdict for verdict in json.loads(done.stdout)["jobs"]
                 if any(culprit["pid"] in job.pids.values() for culprit in verdict["culprits"])]
        self.assertEqual(len(found), 1, done.stdout)
        return found[0]

    def test_a_killed_rank_is_known_from_its_file(self):
        job = self.start("died")
        wait_for_state(job.pids[job.culprit], "ZX")
        verdict = self.verdict_of(job)
        self.assertEqual((verdict["kind"], verdict["sure"], verdict["ended"], verdict["ranks_known"]), ("died", True, False, 8))
        self.assertEqual([culprit["rank"] for culprit in verdict["culprits"]], [job.culprit])

    def test_a_stopped_rank(self):
        job = self.start("stopped")
        wait_for_state(job.pids[job.culprit], "T")
        verdict = self.verdict_of(job)
        self.assertEqual((verdict["kind"], verdict["sure"]), ("stopped", True))
        self.assertEqual(verdict["culprits"][0]["pid"], job.pids[job.culprit])

    def test_another_size(self):
        job = self.start("size", 3)
        verdict = self.verdict_of(job)
        self.assertEqual(verdict["kind"], "size_mismatch")
        self.assertIn(job.culprit, [culprit["rank"] for culprit in verdict["culprits"]])
        self.assertRegex(verdict["call"]["communicator"], "^[0-9a-f]+$")
        self.assertGreater(verdict["call"]["bytes"], 0)

    def test_a_job_that_was_killed_hung_before(self):
        job = self.start("size", 3)
        files = self.files(job, range(8))
        job.end()
        self.jobs.remove(job)
        done = self.run_hang(*files)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("The job has ended since then", done.stdout)
        self.assertIn("where", done.stdout.splitlines()[0])
        # Without naming the files, it is reported, but nothing hangs now.
        found = [verdict for verdict in json.loads(self.run_hang("--json").stdout)["jobs"] if verdict["ended"]]
        self.assertEqual([verdict["kind"] for verdict in found], ["size_mismatch"])

    def test_hosts_are_merged(self):
        job = self.start("stopped")
        wait_for_state(job.pids[job.culprit], "T")
        whole = json.loads(self.run_hang("--json", "--this-host").stdout)
        mine = [rank for rank in whole["ranks"] if rank["pid"] in job.pids.values()]
        self.assertEqual(len(mine), 8)
        hosts = [json.dumps({"cuspan_hang": 1, "ranks": [{**rank, "host": f"node{half}"} for rank in mine if rank["rank"] // 4 == half]})
                 for half in (0, 1)]
        verdict = self.verdict_of(job, "-", stdin="\n".join(hosts) + "\n")
        self.assertEqual(verdict["kind"], "stopped")
        self.assertEqual(verdict["culprits"][0]["host"], f"node{job.culprit // 4}")
        self.assertEqual(verdict["ranks_known"], 8)
        one = Path(self.folder.name) / "one.json"
        one.write_text(hosts[0] + "\n")
        done = self.run_hang(one)
        self.assertIn("4 of 8 ranks known", done.stdout)
        self.assertRegex(done.stdout, re.compile(r"Unknown:.*4 of 8 ranks \(ranks 4-7\)", re.DOTALL))

    def test_the_text_names_what_to_do_with(self):
        job = self.start("stopped")
        wait_for_state(job.pids[job.culprit], "T")
        os.kill(job.pids[job.culprit], 0)
        exported = Path(self.folder.name) / "all.json"
        exported.write_text(self.run_hang("--json", "--this-host").stdout)
        done = self.run_hang("--width", "100", exported)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"rank {job.culprit} stopped by a signal or debugger; others wait for call", done.stdout)
        self.assertIn("This is sure.", done.stdout)
        self.assertIn(f"Rank {job.culprit} is process {job.pids[job.culprit]} on ", done.stdout)

    def test_the_agent_itself(self):
        """A real agent in a call of NCCL that does not return: its live state, its report and its file say the same."""
        logs = Path(self.folder.name) / "agent.jsonl"
        environment = {**os.environ, "CUSPAN_CONTROL_DIRECTORY": self.folder.name, "CUSPAN_REPLAY_FAIL": "nccl-hangs=60,nccl-hangs-ms=120000"}
        settings = [f"--set={one}" for one in ("hang.watch=on", "hang.after_ms=50", "steps.traced=all")]
        pid = None
        agent = subprocess.Popen([BUILD / "cuspan", "replay", "--quiet", "--file", logs, *settings, RECORDING], env=environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            pid = self.wait_for_report(logs)
            live, reported = self.wait_for_stall(pid, 60, logs)
        finally:
            if pid:
                os.kill(pid, signal.SIGKILL)
            agent.kill()
            agent.wait()
        self.assertEqual((live["where"], live["watch"], live["still"]), ("nccl", "stalled", True))
        self.assertEqual(reported.returncode, 3, reported.stderr)
        of_report, = json.loads(reported.stdout)["jobs"]
        wait_for_state(pid, "ZX")
        of_file, = json.loads(self.run_hang("--json", f"{self.folder.name}/{pid}.live").stdout)["jobs"]
        self.assertEqual((of_report["ended"], of_file["ended"]), (False, True))
        alive = Path(self.folder.name) / "live.json"
        alive.write_text(json.dumps({"cuspan_hang": 1, "ranks": [live]}))
        of_live, = json.loads(self.run_hang("--json", alive).stdout)["jobs"]
        for one in (of_report, of_file, of_live):
            self.assertEqual((one["kind"], one["ranks_known"], one["ranks_expected"]), ("no_report", 1, live["world_size"]))
        self.assertEqual(sum(seat["enqueued"] for seat in live["communicators"]), 60)
        only_logs = Path(self.folder.name) / "logs.jsonl"
        only_logs.write_text("".join(line + "\n" for line in logs.read_text().splitlines() if line.startswith('{"resourceLogs"')))
        for files in ([logs], [f"{self.folder.name}/{pid}.live"], [only_logs]):
            self.expect_finding(files, self.run_hang(*files).stdout.splitlines()[:2])

    def expect_finding(self, files, words):
        done = self.run_stat("--findings", "--json", *files)
        found = json.loads(done.stdout)["findings"]
        self.assertEqual(found[0]["finding"], "hang", done.stderr)
        self.assertEqual([one["finding"] for one in found].count("hang"), 1)
        for word in words:
            if not word.startswith("The job has ended"):
                self.assertIn(word, found[0]["evidence"])

    def run_stat(self, *arguments):
        return subprocess.run([BUILD / "cuspan", "stat", *arguments], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, timeout=60)

    def test_findings_name_the_rank(self):
        job = self.start("size", 3)
        files = self.files(job, range(8))
        job.end()
        self.jobs.remove(job)
        self.expect_finding(files, self.run_hang(*files).stdout.splitlines()[:1])
        found, = json.loads(self.run_stat("--findings", "--json", *files).stdout)["findings"]
        self.assertRegex(found["process"], f"^ranks? .*{job.culprit}")
        wrong = self.run_stat("--findings", *files, "/nowhere")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("/nowhere", wrong.stderr)
        broken = Path(self.folder.name) / "broken.live"
        broken.write_text("cuspanLV and no more")
        self.assertIn("not a live state", self.run_stat("--findings", broken).stderr)

    def test_a_job_that_moves_has_no_finding(self):
        """The last report of the process says that it moves again."""
        moves = Path(self.folder.name) / "moves.jsonl"
        lines = [json.dumps({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"logRecords": [{"attributes": [
            {"key": "cuspan.hang.report", "value": {"stringValue": json.dumps({"version": 1, "state": state, "pid": 7, "rank": 0, "time_ns": time_ns})}}]}]}]}]})
            for state, time_ns in (("begins", 1), ("ended", 2))]
        for text, count in (("\n".join(lines), 0), (lines[0], 1)):
            moves.write_text(text + "\n")
            self.assertEqual(len(json.loads(self.run_stat("--findings", "--json", moves).stdout)["findings"]), count)

    def wait_for_stall(self, pid, calls, logs):
        """Until the process stands still after so many collectives and has reported that: on a slow machine it pauses before, too."""
        for _ in range(600):
            exported = json.loads(self.run_hang("--json", "--this-host").stdout)
            live, = [rank for rank in exported["ranks"] if rank["pid"] == pid]
            reported = self.run_hang("--json", logs)
            if live["watch"] == "stalled" and sum(seat["enqueued"] for seat in live["communicators"]) == calls and reported.returncode == 3:
                return live, reported
            time.sleep(0.1)
        raise AssertionError(f"no stall after {calls} collectives: {live}, {reported}")

    def wait_for_report(self, logs):
        for _ in range(6000):
            found = re.search(r'"resourceLogs".*\\"pid\\":(\d+)', logs.read_text()) if logs.exists() else None
            if found:
                return int(found[1])
            time.sleep(0.01)
        raise AssertionError("the agent reports no hang")

    def test_wrong_files(self):
        wrong = Path(self.folder.name) / "wrong"
        for text, part in (("", "empty"), ("[1]", "neither OTLP nor"), ("{", "neither a live state nor JSON"), ('{"cuspan_hang": 2}', "neither OTLP nor"),
                           ("cuspanLV and no more", "not a live state")):
            wrong.write_text(text)
            done = self.run_hang(wrong)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"cuspan hang: {wrong}: ", done.stderr)
            self.assertIn(part, done.stderr)
        done = self.run_hang("/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot read /nowhere", done.stderr)
        wrong.write_text('{"cuspan_hang": 1, "ranks": []}')
        done = self.run_hang(wrong)
        self.assertEqual((done.returncode, done.stderr), (1, "cuspan hang: the files have no ranks\n"))
        self.assertEqual(self.run_hang("--nonsense").returncode, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = arguments.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
