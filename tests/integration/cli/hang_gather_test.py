#!/usr/bin/env python3
"""Tests `cuspan hang` with --job, --pods and --hosts, with stand-ins for srun, kubectl and ssh (gather_double.py)."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path("build")
TOOLS = ("srun", "squeue", "scontrol", "kubectl", "ssh")


class Gather(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run([BUILD / "hang_simulate", "json", "0", "stopped", "3"], capture_output=True, text=True, timeout=60, check=True)
        cls.ranks = json.loads(made.stdout)["ranks"]
        alone = subprocess.run([BUILD / "cuspan", "hang", "--json", "-"], input=made.stdout, capture_output=True, text=True, timeout=60, check=False)
        cls.whole, = json.loads(alone.stdout)["jobs"]

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        for tool in TOOLS:
            (self.folder / tool).symlink_to(Path(__file__).resolve().with_name("gather_double.py"))
        for node in (0, 1):
            ranks = [{**rank, "host": f"node{node}"} for rank in self.ranks if rank["rank"] // 4 == node]
            (self.folder / f"node{node}.json").write_text(json.dumps({"cuspan_hang": 1, "ranks": ranks, "jobs": []}))

    def hang(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "GATHER_DOUBLE": str(self.folder), "LC_ALL": "C"}
        return subprocess.run([BUILD / "cuspan", "hang", *arguments], capture_output=True, text=True, env=environment, timeout=300, check=False)

    def words(self):
        return [json.loads(line) for line in (self.folder / "words").read_text().splitlines()]

    def expect_whole(self, done, unknown=()):
        self.assertEqual(done.returncode, 3, done.stderr)
        found = json.loads(done.stdout)
        job, = found["jobs"]
        self.assertEqual((job["kind"], job["ranks_known"]), (self.whole["kind"], 8))
        self.assertEqual([one["rank"] for one in job["culprits"]], [one["rank"] for one in self.whole["culprits"]])
        self.assertEqual(found["unknown_hosts"], list(unknown))

    def test_a_slurm_job(self):
        self.expect_whole(self.hang("--json", "--job", "4711"))
        self.assertEqual([one[0] for one in self.words()[:2]], ["squeue", "scontrol"])
        self.assertEqual(sorted(one[0] for one in self.words()[2:]), ["srun", "srun"])

    def test_a_slurm_job_without_hosts(self):
        for job, words in (("5", "5 has no hosts"), ("1", "squeue ended with status 1: slurm_load_jobs error: Invalid job id specified")):
            done = self.hang("--job", job)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)

    def test_pods(self):
        self.expect_whole(self.hang("--json", "--pods", "app in (train, $t), x=y; true"))
        self.assertIn("--selector=app in (train, $t), x=y; true", self.words()[0])
        self.assertNotIn("--namespace", " ".join(" ".join(one) for one in self.words()))
        self.expect_whole(self.hang("--json", "--pods", "app=train", "-n", "ml"), ["pod/garbage-2"])
        self.assertIn("--namespace=ml", self.words()[-1])
        done = self.hang("--pods", "app=none")
        self.assertEqual((done.returncode, done.stderr), (1, "cuspan hang: app=none has no hosts\n"))

    def test_hosts_that_fail_are_unknown(self):
        done = self.hang("--json", "--timeout", "200000", "--hosts", "node0,broken,garbage,,flood,node1")
        self.expect_whole(done, ["broken", "garbage", "flood"])
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 3, done.stderr)
        self.assertEqual(lines[0], "cuspan hang: nothing is known of broken (ssh ended with status 255: ?[1mPermission denied)")
        self.assertIn("nothing is known of garbage (neither a live state nor JSON", lines[1])
        self.assertEqual(lines[2], "cuspan hang: nothing is known of flood (more than 64 MiB of output)")
        self.assertTrue((self.folder / "bounded").exists())  # however fast it writes

    def test_a_host_that_hangs_is_unknown(self):
        for timeout_ms in (500, 2000, 8000, 32000, 128000):  # until the others answer in time
            done = self.hang("--json", "--timeout", str(timeout_ms), "--hosts", "node0,slow,node1")
            if json.loads(done.stdout)["unknown_hosts"] == ["slow"]:
                break
        self.expect_whole(done, ["slow"])
        self.assertEqual(done.stderr, f"cuspan hang: nothing is known of slow (no answer within {timeout_ms} ms)\n")

    def test_ranks_of_unknown_hosts_are_unknown(self):
        done = self.hang("--hosts", "node0,broken")
        self.assertEqual(done.returncode, 3)
        self.assertIn("4 of 8 ranks known", done.stdout)
        self.assertIn("4 of 8 ranks (ranks 4-7)", done.stdout)

    def test_no_hang_is_sure_only_if_all_hosts_answer(self):
        quiet = json.loads((self.folder / "node0.json").read_text())
        for rank in quiet["ranks"]:
            rank["watch"] = "moving"
        (self.folder / "node0.json").write_text(json.dumps(quiet))
        self.assertEqual(self.hang("--hosts", "node0").returncode, 0)
        self.assertEqual(self.hang("--hosts", "node0,broken").returncode, 1)
        self.assertEqual(self.hang("--hosts", "broken").returncode, 1)

    def test_nothing_goes_through_a_shell(self):
        made = self.folder / "made"
        done = self.hang("--hosts", f"$(touch {made}),-oProxyCommand=touch {made},`touch {made}`")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(made.exists())
        for words in self.words():
            self.assertEqual(words[5], "--")

    def test_wrong_command_lines(self):
        self.assertIn("give one of", self.hang("--hosts", "a", "--job", "5").stderr)
        (self.folder / "ssh").unlink()
        done = subprocess.run([BUILD / "cuspan", "hang", "--hosts", "a"], capture_output=True, text=True, env={"PATH": str(self.folder)}, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot run ssh: No such file or directory", done.stderr)


class TheRealTools(unittest.TestCase):
    """Installed tools accept the same arguments as the stand-ins."""

    def accepts(self, *words):
        return subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 0

    @unittest.skipUnless(shutil.which("ssh"), "no ssh")
    def test_ssh(self):
        self.assertTrue(self.accepts("ssh", "-G", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", "host", "cuspan", "hang"))
        self.assertFalse(self.accepts("ssh", "-G", "-o", "Nonsense=yes", "--", "host"))
        self.assertFalse(self.accepts("ssh", "-G", "--", "-oProxyCommand=true"))

    @unittest.skipUnless(shutil.which("kubectl"), "no kubectl")
    def test_kubectl(self):
        flags = ["--namespace=ml", "--selector=app=x", "--field-selector=status.phase=Running", "--output=name"]
        self.assertTrue(self.accepts("kubectl", "get", "pods", *flags, "--help"))
        self.assertTrue(self.accepts("kubectl", "exec", "--namespace=ml", "pod/x", "--help"))
        self.assertFalse(self.accepts("kubectl", "exec", "--nonsense=ml", "pod/x", "--help"))

    @unittest.skipUnless(shutil.which("srun"), "no Slurm")
    def test_slurm(self):
        """They do not even show their help without a configuration. tests/slurm/run.sh has a cluster."""
        config = tempfile.NamedTemporaryFile("w", suffix=".conf")
        self.addCleanup(config.close)
        print("ClusterName=c\nSlurmctldHost=localhost\nNodeName=n\nPartitionName=p Nodes=n", file=config, flush=True)
        for tool, names in (("srun", ("--jobid", "--overlap", "--nodes", "--ntasks", "--nodelist")), ("squeue", ("--noheader", "--job", "--format")),
                            ("scontrol", ("hostnames",))):
            text = subprocess.run([tool, "--help"], capture_output=True, text=True, timeout=60, check=False,
                                  env={**os.environ, "SLURM_CONF": config.name}).stdout
            for name in names:
                self.assertIn(name, text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = arguments.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
