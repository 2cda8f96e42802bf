#!/usr/bin/env python3
"""Tests the tables of `cuspan stat` about a training job, on simulated OTLP files whose faults are known.

    tests/training/stat_ranks_test.py --build build
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jobs
import jobs_spans

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from built import BUILD  # noqa: E402

CUSPAN = BUILD / "cuspan"


def stat(path, *options):
    done = subprocess.run([CUSPAN, "stat", "--json", *options, path], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def simulate(self, *options):
        job, truth = Path(self.folder, "job.jsonl"), Path(self.folder, "truth.json")
        subprocess.run([sys.executable, HERE / "simulate.py", "--otlp", job, "--truth", truth, *map(str, options)], check=True)
        return job, json.loads(truth.read_text(encoding="utf-8"))

    def test_a_late_rank(self):
        job, truth = self.simulate("--ranks", 16, "--steps", 8, "--fault", "late-always", "--seed", 4)
        tables = stat(job)
        name = f"rank {truth['rank']} (node-{truth['rank'] // 8}, trainer)"
        self.assertEqual([row["rank"] for row in tables["ranks"]], list(range(16)))
        row = tables["ranks"][truth["rank"]]
        self.assertEqual((row["process"], row["host"]), (name, f"node-{truth['rank'] // 8}"))
        self.assertLess(row["score"], 0.995)
        self.assertEqual(row["lateness_ns"], max(row["lateness_ns"] for row in tables["ranks"]))
        self.assertEqual(tables["collectives"][0]["last"], name)
        stragglers = [row for row in tables["rank_findings"] if row["finding"] == "straggler"]
        self.assertEqual(len(stragglers), 1)
        self.assertIn(f"rank {truth['rank']} ", stragglers[0]["evidence"])
        self.assertIn(stragglers[0]["trace_id"], job.read_text(encoding="utf-8"))

    def test_two_real_ranks(self):
        """Spans of two H100s. Their collectives are no work of their own beside their kernels."""
        tables = stat(HERE.parents[1] / "examples/training/late_rank.jsonl.gz", "--top", "0")
        self.assertEqual([row["finding"] for row in tables["rank_findings"]], ["straggler"])
        # The GPU worked for the step before when the first kernels were launched, so it was not idle.
        self.assertNotIn("tiny-launches", [row["finding"] for row in tables["findings"]])
        self.assertRegex(tables["rank_findings"][0]["evidence"], r"^rank 1 \(vm, GPU 1, NVIDIA H100 .*\) was late in 5 of 5 steps, by .*its kernels take longer")
        self.assertIn("clocks, power", tables["rank_findings"][0]["advice"])

        self.assertLess(tables["ranks"][0]["lateness_ns"], 0)
        self.assertEqual([row["gpu"] for row in tables["ranks"]],
                         ["GPU 0, NVIDIA H100 80GB HBM3", "GPU 1, NVIDIA H100 80GB HBM3"])
        self.assertGreater(tables["ranks"][0]["score"], 4)  # its peer has 30 ms more work; its own host needs 9 ms
        kernels = sum(row["count"] for row in tables["kernels"])
        self.assertEqual(sum(row["kernels"] for row in tables["headline"]), kernels)
        self.assertEqual(sum(row["count"] for row in tables["collectives"]), 25)
        for row in tables["devices"]:
            self.assertLess(row["concurrency"], 1.1)

    def test_steps(self):
        job, _ = self.simulate("--ranks", 4, "--steps", 3, "--overlap")
        rows = stat(job, "--table", "steps")["steps"]
        self.assertEqual(len(rows), 3 * (4 + 1))
        for row in rows:
            self.assertEqual(row["duration_ns"], row["compute_ns"] + row["exposed_communication_ns"] + row["copies_ns"] +
                             row["idle_ns"])
            self.assertGreaterEqual(row["exposed_communication_ns"], row["waiting_ns"])
        self.assertEqual([row["step"] for row in rows], sorted(row["step"] for row in rows))

    def test_clocks(self):
        job, truth = self.simulate("--ranks", 16, "--steps", 12)
        rows = stat(job, "--table", "clocks")["clocks"]
        self.assertEqual([row["host"] for row in rows[:2]], ["node-0", "node-1"])
        planted = [clock["offset_ns"] for clock in truth["clocks"]]
        self.assertLess(abs(rows[1]["offset_ns"] - (planted[1] - planted[0])), 20000)
        self.assertEqual(rows[1]["contradictions"], 0)

    def test_clocks_are_aligned(self):
        """If all times are corrected, nothing is left to correct. All other tables stay as they are."""
        job, _ = self.simulate("--ranks", 16, "--steps", 12)
        before, after = stat(job), stat(job, "--align-clocks")
        self.assertGreater(abs(before["clocks"][1]["offset_ns"]), 100000)
        self.assertLess(abs(after["clocks"][1]["offset_ns"]), 1000)
        self.assertLess(abs(after["clocks"][1]["drift_ppm"]), 0.1)
        for old, new in zip(before["collectives"], after["collectives"]):
            self.assertEqual(old["communicator"], new["communicator"])
            self.assertAlmostEqual(old["wait_ns"], new["wait_ns"], delta=0.001 * old["wait_ns"] + 10)
        self.assertEqual(len(before["steps"]), len(after["steps"]))

    def test_clocks_cannot_be_aligned(self):
        job, _ = self.simulate("--ranks", 2, "--steps", 3)
        done = subprocess.run([CUSPAN, "stat", "--align-clocks", job], capture_output=True, text=True, check=True)
        self.assertIn("no clocks to align", done.stderr)
        done = subprocess.run([CUSPAN, "stat", "--align-clocks", "-"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("reads the input twice", done.stderr)

    def test_findings(self):
        """One option prints those of the processes and those across ranks."""
        job, truth = self.simulate("--ranks", 16, "--steps", 8, "--fault", "late-always", "--seed", 4)
        tables = stat(job, "--findings")
        self.assertEqual(sorted(tables), ["findings", "rank_findings"])
        self.assertEqual(tables["rank_findings"][0]["finding"], "straggler")
        text = subprocess.run([CUSPAN, "stat", "--findings", job], capture_output=True, text=True, check=True).stdout
        self.assertTrue(text.startswith("straggler,"), text)
        self.assertIn(f"rank {truth['rank']} ", text)
        job, _ = self.simulate("--ranks", 16, "--steps", 8)
        text = subprocess.run([CUSPAN, "stat", "--findings", job], capture_output=True, text=True, check=True).stdout
        self.assertTrue(text.startswith("No findings"), text)

    def test_copies_of_spans_count_once(self):
        """In turn, a rank with too many spans sends all of them in a trace of its own, and some of them twice."""
        job, _ = self.simulate("--ranks", 4, "--steps", 3)
        before = stat(job, "--top", "0")
        copy = {"key": "training.step.copy", "value": {"boolValue": True}}
        lines = [json.loads(line) for line in job.read_text(encoding="utf-8").splitlines()]
        spans = [span for line in lines for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"] if span["name"] == "compute"]
        for span in spans[:10]:
            span["attributes"].append(copy)
        job.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        after = stat(job, "--top", "0")
        self.assertEqual(after["steps"], before["steps"])
        self.assertEqual(after["headline"][0]["kernels"], before["headline"][0]["kernels"] - 10)

    def test_by_rank(self):
        job, _ = self.simulate("--ranks", 12, "--steps", 3)
        whole, tables = stat(job, "--top", "0"), stat(job, "--top", "0", "--by", "rank")
        self.assertEqual([row["group"] for row in tables["headline"]], [str(rank) for rank in range(12)])
        self.assertEqual(sum(row["kernels"] for row in tables["headline"]), whole["headline"][0]["kernels"])
        self.assertNotIn("collectives", tables)

    def test_by_step(self):
        job, _ = self.simulate("--ranks", 4, "--steps", 12)
        whole, tables = stat(job, "--top", "0"), stat(job, "--top", "0", "--by", "step")
        self.assertEqual([row["group"] for row in tables["headline"]], [str(step) for step in range(1, 13)])
        self.assertEqual(sum(row["kernels"] for row in tables["headline"]), whole["headline"][0]["kernels"])
        self.assertEqual(sum(row["count"] for row in tables["collectives"]), sum(row["count"] for row in whole["collectives"]))
        for row in tables["steps"]:
            self.assertEqual(row.pop("group"), str(row["step"]))
        self.assertEqual(tables["steps"], whole["steps"])

    def test_several_tables(self):
        job, _ = self.simulate("--ranks", 4, "--steps", 3)
        whole = stat(job)
        tables = stat(job, "--table", "ranks,steps,ranks")
        self.assertEqual(list(tables), ["ranks", "steps"])
        self.assertEqual(tables, {"ranks": whole["ranks"], "steps": whole["steps"]})
        for option, line in (("--csv", "# {}"), ("--markdown", "### {}"), ("--color=never", "{} (--table {})")):
            done = subprocess.run([CUSPAN, "stat", option, "--table", "ranks,collectives", job], capture_output=True, text=True, check=True)
            name = str if option == "--csv" else str.capitalize
            titles = [line.format(name(key), key) for key in ("ranks", "collectives")]
            self.assertEqual([shown for shown in done.stdout.splitlines() if shown in titles], titles)

    def test_missing_tables_are_explained(self):
        job, _ = self.simulate("--ranks", 4, "--steps", 3)
        for options, reason in ((["--table", "clocks"], "all ranks ran on one host"),
                                (["--table", "ranks,clocks", "--by", "step"], "leave out --by"),
                                (["--table", "ranks", "--by", "device"], "a group lacks the other ranks"),
                                (["--table", "ranks,"], 'no table "" for this input; there are: headline'),
                                (["--table", "ranks,rank"], 'no table "rank" for this input; there are: headline')):
            done = subprocess.run([CUSPAN, "stat", *options, job], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(reason, done.stderr)
        job.write_text(job.read_text(encoding="utf-8").replace("training.step.", "other.step."), encoding="utf-8")
        done = subprocess.run([CUSPAN, "stat", "--table", "steps", job], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no spans of training steps", done.stderr)

    def test_pairs(self):
        job, truth = self.simulate("--ranks", 16, "--pairs", "--fault", "link", "--seed", 6)
        rows = stat(job, "--table", "rank_findings")["rank_findings"]
        links = [row["evidence"] for row in rows if row["finding"] == "slow-link"]
        self.assertEqual(len(links), 1)
        for rank in truth["link_ranks"]:
            self.assertIn(f"rank {rank} ", links[0])

    def test_a_program_without_steps_has_no_such_tables(self):
        job, _ = self.simulate("--ranks", 2, "--steps", 1)
        text = job.read_text(encoding="utf-8").replace("training.step.", "other.step.")
        job.write_text(text, encoding="utf-8")
        self.assertNotIn("ranks", stat(job))


class Jobs(unittest.TestCase):
    """On jobs of jobs.py, in the agent's own format."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, name="job", program="fsdp_tp", ranks=8, fault="none", seed=1, steps=8, **options):
        job = jobs.Job(jobs.Plan(program, ranks=ranks, steps=steps, seed=seed, fault=fault, per_host=ranks // 2, strength=0.2))
        job.run()
        jobs_spans.Writer(job, Path(self.folder, name), **options).write()
        return Path(self.folder, name), job.truth

    def findings(self, *paths):
        done = subprocess.run([CUSPAN, "stat", "--json", "--findings", *paths], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)["rank_findings"]

    def test_keys_in_all_formats(self):
        """Several communicators stay several. The agent writes 0x and no leading zeros."""
        for number in ("0x{:x}", "0x{:016x}", "{:016x}", "{:016X}", "0X{:x}", "{:d}", "0x{0:016x}{0:016x}", "0xffffffffffffffff{:016x}"):
            with self.subTest(number):
                folder, truth = self.write(fault="throttled", number_format=number)
                self.assertEqual(len({row["communicator"] for row in stat(folder)["collectives"]}), 6)
                status, found = self.findings(folder)
                self.assertEqual((status, [row["finding"] for row in found]), (0, ["straggler"]))
                self.assertRegex(found[0]["evidence"], rf"^rank {truth['rank']} \(")
                self.assertEqual((found[0]["steps"], found[0]["of_steps"]), (7, 7))

    def test_keys_that_cannot_be_read_are_counted(self):
        for number in ("unknown", "0x", "0x{:016x}z", "{:f}"):
            with self.subTest(number):
                folder, _ = self.write(program="ddp", number_format=number)
                status, found = self.findings(folder)
                self.assertEqual((status, [row["finding"] for row in found]), (1, ["not-compared"]))
                self.assertRegex(found[0]["evidence"], "the keys of [0-9]+ collectives cannot be read")

    def test_what_was_not_compared_is_a_finding(self):
        folder, _ = self.write(program="ddp")
        self.assertEqual(self.findings(folder), (0, []))
        files = sorted(folder.iterdir())
        for paths, reason in ((files[:-2], "6 of 8 ranks are there; missing: 6, 7"), (files[:1], "1 of 8 ranks are there"),
                              ([*files, folder], "the same file was given more than once"),
                              ([*files, files[3]], "the same file was given more than once")):
            status, found = self.findings(*paths)
            self.assertEqual((status, [row["finding"] for row in found]), (1, ["not-compared"]))
            self.assertIn(reason, found[0]["evidence"])
        text = subprocess.run([CUSPAN, "stat", "--findings", files[0]], capture_output=True, text=True)
        self.assertEqual(text.returncode, 1)
        self.assertNotIn("No findings", text.stdout)

    def test_two_jobs_are_separate(self):
        """Also if their hosts and process IDs are equal, as in containers."""
        first, _ = self.write("a", program="ddp")
        second, truth = self.write("b", program="ddp", fault="throttled", seed=1001)  # the seeds' last digits make the process IDs
        alone = self.findings(second)[1]
        status, found = self.findings(first, second)
        job = found[0].pop("job")
        self.assertEqual((status, found), (0, alone))
        self.assertRegex(found[0]["evidence"], rf"^rank {truth['rank']} \(")
        rows = stat(first, "--table", "ranks", "--top", "0")["ranks"]
        both = json.loads(subprocess.run([CUSPAN, "stat", "--json", "--table", "ranks", "--top", "0", first, second],
                                         stdout=subprocess.PIPE, check=True).stdout)["ranks"]
        self.assertEqual(sorted(row["job"] for row in both), 8 * [1] + 8 * [2])
        self.assertEqual([row["own_ns"] for row in both if row["job"] != job], [row["own_ns"] for row in rows])

    def test_a_slow_link_is_that_of_its_job(self):
        """In two jobs, once the first and once the second has it."""
        def own(*paths):
            done = subprocess.run([CUSPAN, "stat", "--json", "--table", "ranks", "--top", "0", *paths], stdout=subprocess.PIPE, check=True)
            return json.loads(done.stdout)["ranks"]
        jobs_with_it = set()
        for seeds in (1, 1001), (1001, 1):
            well, _ = self.write(f"well{seeds[0]}", program="fsdp_tp", seed=seeds[0])
            slow, _ = self.write(f"slow{seeds[1]}", program="fsdp_tp", fault="slow_link", seed=seeds[1])
            times = {row["own_ns"] for row in own(slow)}
            wanted = {row["job"] for row in own(well, slow) if row["own_ns"] in times}
            self.assertEqual({row["job"] for row in self.findings(well, slow)[1] if row["finding"] == "slow-link"}, wanted)
            jobs_with_it |= wanted
        self.assertEqual(jobs_with_it, {1, 2})

    def test_one_of_two_ranks_loads_slowly(self):
        """That rank is late. Not all of them load data while their GPUs are idle."""
        folder, truth = self.write(program="ddp", ranks=2, fault="loader")
        found = self.findings(folder)[1]
        self.assertEqual([row["finding"] for row in found], ["straggler"])
        self.assertRegex(found[0]["evidence"], rf"^rank {truth['rank']} \(.*it starts its steps late")

    def test_a_late_host(self):
        folder, truth = self.write(fault="late_host")
        status, found = self.findings(folder)
        self.assertEqual((status, [row["finding"] for row in found]), (0, ["straggler"]))
        self.assertIn(f"host {truth['host']} (all of its 4 ranks", found[0]["evidence"])

    def test_ranks_that_trace_other_steps(self):
        """Their peers wait in sends and receives of which the other side is not there. That is not their own work."""
        job = jobs.Job(jobs.Plan("pipeline", ranks=16, steps=16, seed=7020, per_host=8))
        job.run()
        job.ranks[5].steps, job.ranks[2].steps = job.ranks[5].steps[6:], job.ranks[2].steps[:-5]
        jobs_spans.Writer(job, Path(self.folder, "job")).write()
        self.assertNotIn("straggler", [row["finding"] for row in self.findings(Path(self.folder, "job"))[1]])

    def test_a_late_rank_in_a_pipeline_with_tensor_parallelism(self):
        """It passes its lateness on to the other rank of its pair, to later stages, and to the sends that go on beside their work."""
        for fault, cause in (("late_host_thread", "the host is late with its launches"), ("throttled", "its kernels take longer")):
            with self.subTest(fault):
                folder, truth = self.write(fault, program="grid", ranks=16, fault=fault)
                status, found = self.findings(folder)
                self.assertEqual((status, [row["finding"] for row in found]), (0, ["straggler"]))
                self.assertRegex(found[0]["evidence"], rf"^rank {truth['rank']} \(.* in 7 of 7 steps, .*{cause}")

    def test_steps_that_are_not_whole(self):
        """The program's exit takes long on one rank, and its span records this."""
        folder, _ = self.write(program="ddp")
        rows = stat(folder, "--table", "steps", "--top", "0")["steps"]
        partial = {row["step"]: row.get("not_compared") for row in rows}
        self.assertEqual(partial, {1: "first", **{step: None for step in range(2, 9)}, 9: "cut"})

    def test_show_and_stat_agree(self):
        """The late rank of a step, its delay and the waiting times."""
        for program, fault in (("ddp", "late"), ("fsdp_tp", "late_host_thread"), ("pipeline", "none")):
            with self.subTest(program):
                folder, truth = self.write(fault, program=program, ranks=16, fault=fault)
                found, file = self.findings(folder)[1], folder.with_suffix(".jsonl")
                self.assertEqual(bool(found), fault != "none")
                file.write_bytes(b"".join(path.read_bytes() for path in sorted(folder.iterdir())))
                rows = [row for row in stat(file, "--table", "steps", "--top", "0")["steps"] if row["step"] == 5 and "rank" in row["process"]]
                trace = re.search(r'"traceId": "(\w+)"[^{}]*"name": "step 5"', file.read_text(encoding="utf-8")).group(1)
                picture = subprocess.run([CUSPAN, "show", "--rows", "0", "--width", "160", "--trace", trace, file], capture_output=True, text=True,
                                         env={**os.environ, "LC_ALL": "C"}, check=True).stdout
                lines = {int(rank): line for rank, line in re.findall(r"(?m)^rank (\d+) +(.*)$", picture)}
                for row in rows:
                    line = lines[int(row["process"].split()[1])]
                    self.assert_shown(row["waiting_ns"], re.search(r"(\d[\d.]* [mun]?s) [ #~+.]*$", line).group(1))
                late = {rank: line.split("late by ")[1] for rank, line in lines.items() if "late by" in line}
                self.assertEqual(list(late), [truth["rank"]] if found else [])
                for rank, text in late.items():
                    self.assert_shown(next(row["delay_ns"] for row in rows if row["process"].startswith(f"rank {rank} ")), text)
                    self.assertIn(f"rank {rank} (", found[0]["evidence"])

    def assert_shown(self, expected_ns, text):
        value, unit = text.split()[:2]
        self.assertAlmostEqual(float(value) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit], expected_ns, delta=0.006 * expected_ns)

    def test_a_selection_loads_no_data(self):
        """Its calls have no spans, so when the first one began is unknown."""
        folder, _ = self.write(program="ddp", ranks=8, selection=16)
        self.assertIn("training.step.left_out", (folder / "rank1.jsonl").read_text(encoding="utf-8"))
        self.assertEqual(self.findings(folder), (0, []))


if __name__ == "__main__":
    unittest.main()
