#!/usr/bin/env python3
"""The analysis across ranks on recordings of real jobs: four ranks on four H200s of one host (tests/gpu/jobs.sh), with what the programs
themselves measured (recordings/truth.json: for each rank and iteration, microseconds from its start).

    tests/training/recorded_test.py --build build
"""

import json
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from built import BUILD  # noqa: E402

RECORDINGS = HERE / "recordings"
TRUTH = json.loads((RECORDINGS / "truth.json").read_text(encoding="utf-8"))
WARM_UP = 6  # iterations without a planted delay
CUSPAN = BUILD / "cuspan"


def stat(path, *options):
    return json.loads(subprocess.run([CUSPAN, "stat", "--json", *options, path], stdout=subprocess.PIPE, check=True).stdout)


def median_us(case, rank, *names):
    return statistics.median(sum(values) for values in zip(*(TRUTH[case][rank][name][WARM_UP:] for name in names)))


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def replay(self, case):
        folder = Path(self.folder, case)
        if not folder.is_dir():
            folder.mkdir()
            for recording in sorted((RECORDINGS / case).glob("*.cuspanrec")):
                subprocess.run([CUSPAN, "replay", "--set", "steps.traced=all", "--file", folder / f"{recording.stem}.jsonl", recording], check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return folder

    def findings(self, case):
        return stat(self.replay(case), "--table", "rank_findings")["rank_findings"]

    def is_near(self, found_ns, true_us):
        self.assertLessEqual(abs(found_ns / 1000 - true_us), max(200, 0.2 * true_us), (found_ns, true_us))

    def delay_of(self, finding):
        return float(finding["evidence"].split(", by ")[1].split(" ms")[0]) * 1e6

    def test_two_kinds_of_communicators(self):
        """FSDP over two tensor parallel groups: each rank is in a communicator of each kind, and all of them differ."""
        rows = stat(self.replay("fsdp_tp"), "--table", "collectives", "--top", "0")["collectives"]
        self.assertEqual({row["operation"] for row in rows if row["bytes"] > 1 << 20}, {"all_gather", "reduce_scatter", "all_reduce"})
        self.assertEqual(len({row["communicator"] for row in rows if row["ranks"] == 2 and row["bytes"] > 1 << 20}), 4)

    def test_no_finding_that_is_not_true(self):
        """Nothing was planted, but the program's own clock says that the host of rank 0 was slower."""
        finding, = self.findings("fsdp_tp")
        busy = [median_us("fsdp_tp", rank, "launched_us") for rank in range(4)]
        self.assertEqual(max(range(4), key=busy.__getitem__), 0)
        self.assertRegex(finding["evidence"], r"^rank 0 \(.* was late in 15 of 15 steps, .*the host is late with its launches")
        self.is_near(self.delay_of(finding), busy[0] - statistics.median(busy[1:]))
        self.assertEqual(self.findings("pipeline"), [])

    def test_a_late_rank(self):
        for case, rank in (("fsdp_tp-late", 2), ("ddp-gpu", 1)):
            with self.subTest(case):
                finding, = self.findings(case)
                self.assertRegex(finding["evidence"], rf"^rank {rank} \(")
                self.is_near(self.delay_of(finding), median_us(case, rank, "late_us"))

    def test_a_pause_on_a_rank_whose_host_is_faster(self):
        """Each rank waits for its GPU at the end of a step. Rank 1 pauses for 0.8 ms, but its host needs 0.4 ms less than the others
        for the same calls, so that they wait for 0.4 to 0.5 ms: by the clocks of all four programs, in two ways."""
        finding, = self.findings("ddp-pause")
        self.assertRegex(finding["evidence"], r"^rank 1 \(.*the host is late with its launches")
        busy, ends = ([median_us("ddp-pause", rank, name) for rank in range(4)] for name in ("launched_us", "end_us"))
        waits = [end - launched for end, launched in zip(ends, busy)]
        for true_us in (busy[1] - statistics.median(busy[:1] + busy[2:]), statistics.median(waits[:1] + waits[2:]) - waits[1]):
            self.assertLess(true_us, 600)
            self.is_near(self.delay_of(finding), true_us)

    def test_a_pipeline_with_a_late_stage(self):
        """Each stage has one rank, so it has no peers: more work than the mean of all is an imbalance."""
        finding, = self.findings("pipeline-late")
        self.assertEqual(finding["finding"], "imbalance")
        self.assertIn("rank 2 (", finding["evidence"])
        self.is_near(finding["saving_ns"], 3 / 4 * median_us("pipeline-late", 2, "late_us"))

    def test_a_selection(self):
        """Collectives and the longest work of each step. Without calls, there is no data loading, and with totals nothing is idle."""
        path = RECORDINGS / "ddp-selection.jsonl.gz"
        self.assertEqual(stat(path, "--table", "rank_findings")["rank_findings"], [])
        rows = stat(path, "--table", "steps", "--top", "0")["steps"]
        self.assertEqual(len(rows), 10 * 5)
        for row in rows:
            self.assertEqual(row["duration_ns"], row["compute_ns"] + row["exposed_communication_ns"] + row["copies_ns"] + row["idle_ns"])

    def test_first_and_last_steps(self):
        rows = stat(self.replay("ddp-gpu"), "--table", "steps", "--top", "0")["steps"]
        self.assertEqual({row["step"]: row["not_compared"] for row in rows if "not_compared" in row}, {1: "first", 31: "cut"})


if __name__ == "__main__":
    unittest.main()
