#!/usr/bin/env python3
"""Steps of a training job: a program calls cuspan_step() in between the recorded calls.

    steps_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
from agent_case import Case, is_session, path_of, raw_spans_in, spans_in  # noqa: E402

IN_ONE = 32  # spans of one play of the recording, in its session


class Steps(Case):
    def play(self, *steps, rank=None, job="job", settings=None, env=None, lines=0):
        self.runs += 1
        target, report = self.directory / f"{self.runs}.jsonl", self.directory / f"steps-{self.runs}"
        double = agent_case.BUILD / "libcuspan-replay.so"
        chosen = {"cupti.library": double, "output_file": target, "accounts_file": report, "exit_deadline_ms": 60000,
                  "sampling.sleep": "never", **(settings or {})}
        launcher = {} if rank is None else {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
        result = self.start(
            [agent_case.BUILD / "control_host", double, path_of("vector_add"), agent_case.BUILD / "libcuspan.so", "inject", *steps],
            {"CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items()), "CUSPAN_JOB_ID": job,
             **launcher, **(env or {})})
        self.assertEqual((result.status, result.err.count("\n")), (0, lines), result.err)
        result.text = target.read_text()
        for path in self.directory.glob(f"steps-{self.runs}.*"):
            result.report = json.loads(path.read_text())
        self.ranks = {span.attributes["training.step.number"]: span for span in spans_in(result.text)
                      if "cuda.session.spans" in span.attributes and "training.step.number" in span.attributes}
        return result

    def below(self, result, span):
        return sum(other.trace_id == span.trace_id for other in result.spans)

    def places(self, result):
        """Which trace has which spans, in order of time."""
        order = sorted(result.spans, key=lambda span: span.start_ns)
        return "\n".join(f"{span.trace_id[:4]} {span.start_ns} {span.name}" for span in order)

    def test_a_step_is_one_trace_of_both_ranks(self):
        steps = ["step=3", "play", "step=4", "play", "step-end", "play"]
        first, ranks = self.play(*steps, rank=0), dict(self.ranks)
        second = self.play(*steps, rank=1)
        for number in 3, 4:
            mine, other = ranks[number], self.ranks[number]
            root = next(span for span in first.spans if span.name == f"step {number}")
            self.assertEqual((mine.name, other.name), ("rank 0", "rank 1"))
            self.assertEqual((mine.trace_id, mine.parent_id), (other.trace_id, other.parent_id))
            self.assertEqual((root.trace_id, root.span_id, root.parent_id), (mine.trace_id, mine.parent_id, ""))
            self.assertEqual(self.below(first, mine), IN_ONE + 2, self.places(first))
            self.assertEqual(self.below(second, other), IN_ONE + 1, self.places(second))
            self.assertNotEqual(mine.span_id, other.span_id)
        self.assertFalse([span for span in second.spans if span.name.startswith("step ")])
        self.assertNotEqual(ranks[3].trace_id, ranks[4].trace_id)
        self.assertEqual(sum(map(is_session, first.spans)), 1)
        self.assertEqual(first.report["counters"]["roots"], 2)

    def test_only_some_steps_are_sampled(self):
        steps = [word for number in range(1, 21) for word in (f"step={number}", "play")]
        result = self.play(*steps, rank=0, settings={"steps.ratio": 0.25})
        numbers = sorted(self.ranks)
        self.assertTrue({3, 4} <= set(numbers))
        taken = [number for number in numbers if number > 4]
        self.assertEqual(len(taken), 4)
        self.assertEqual({later - number for number, later in zip(taken, taken[1:])}, {4})
        self.assertEqual({self.state(result, self.ranks[number])[:8] for number in taken}, {"ot=th:c;"})
        self.assertEqual({self.state(result, self.ranks[number])[:8] for number in (3, 4)}, {"ot=th:0;"})
        self.assertEqual(result.report["counters"]["spans_unsampled"], IN_ONE * (20 - len(numbers)))

    def state(self, result, span):
        return next(raw.get("traceState", "") for raw in raw_spans_in(result.text) if raw["spanId"] == span.span_id)

    def test_another_start_of_the_job_has_other_traces(self):
        self.play("step=3", "play", rank=0)
        first = self.ranks[3].trace_id
        self.play("step=3", "play", rank=0)
        self.assertEqual(self.ranks[3].trace_id, first)
        self.play("step=3", "play", rank=0, env={"LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RESTART_COUNT": "1"})
        self.assertNotEqual(self.ranks[3].trace_id, first)

    def test_a_process_without_a_job_keeps_every_step(self):
        steps = [word for number in range(1, 9) for word in (f"step={number}", "play")]
        self.play(*steps, job="")
        self.assertEqual(sorted(self.ranks), list(range(1, 9)))
        self.assertEqual({span.name for span in self.ranks.values()}, {"control_host"})
        self.assertEqual({span.parent_id for span in self.ranks.values()}, {""})

    def test_ranks_of_an_unknown_job_are_alone_and_told_so(self):
        steps = [word for number in range(1, 9) for word in (f"step={number}", "play")]
        result = self.play(*steps, rank=1, job="", lines=1)
        self.assertIn("set CUSPAN_JOB_ID to the same value on all ranks", result.err)
        self.assertEqual(sorted(self.ranks), list(range(1, 9)))
        self.assertEqual({(span.name, span.parent_id) for span in self.ranks.values()}, {("rank 1", "")})

    def test_a_rank_sends_its_share(self):
        steps = [word for number in range(1, 5) for word in (f"step={number}", "play", "nap")]
        result = self.play(*steps, rank=1, settings={"steps.traced": "all", "steps.spans_max": 36})
        self.assertEqual(sorted(self.ranks), [1, 2, 3, 4])
        for rank in self.ranks.values():
            self.assertLessEqual(self.below(result, rank), 18)
        chosen, detailed = self.ranks[2], self.ranks[3]  # step 1 came as a surprise; step 3 is the turn of rank 1
        work = [span for span in result.spans if span.trace_id == chosen.trace_id and span != chosen]
        self.assertEqual(sorted(span.name for span in work), ["add", "memcpy DeviceToHost", "memcpy HostToDevice", "memcpy HostToDevice"])
        self.assertEqual({span.parent_id for span in work}, {chosen.span_id})
        root = next(span for span in result.spans if span.name == "step 3, rank 1")
        self.assertEqual(self.below(result, root), IN_ONE + 1)
        copies = [span for span in result.spans if span.trace_id == detailed.trace_id and span != detailed]
        self.assertEqual({span.attributes.get("training.step.copy") for span in copies}, {True})
        counters = result.report["counters"]
        self.assertEqual(counters["step_copies"], sum("training.step.copy" in span.attributes for span in result.spans))
        # Some of CUPTI's overhead is known only after the rank's span has left.
        missing = {rank.span_id: IN_ONE + 1 - self.below(result, rank) for rank in self.ranks.values()}
        for rank in self.ranks.values():
            self.assertTrue(0 < rank.attributes["training.step.left_out"] <= missing[rank.span_id], rank)
        self.assertEqual(counters["spans_left_out"], sum(missing.values()) - missing[detailed.span_id])

    def test_capture_sleeps_between_sampled_steps(self):
        asleep = [*["nap"] * 10, "on"]
        steps = ["step=3", "play", "step=5", *asleep, "play", "step=2", "on", "play", "step=4", "on", "play", "step=6", *asleep]
        result = self.play(*steps, rank=0, settings={"sampling.sleep": "always", "steps.ratio": 1 / 1024})
        on = [int(line.split()[1]) for line in result.out.splitlines() if line.startswith("on:")]
        self.assertEqual(on, [0, 1, 1, 0])
        self.assertEqual(sorted(self.ranks), [3, 4])
        self.assertEqual(self.below(result, self.ranks[4]), IN_ONE + 2)
        # Step 2 is not sampled, but the end of its GPU work is known. Nothing is known of the time before step 3.
        self.assertEqual(["training.step.gpu_backlog" in self.ranks[number].attributes for number in (3, 4)], [False, True])

    def record(self, *steps, rank, settings=None):
        """Plays and records the same steps as play(), and returns the recording."""
        path = self.directory / f"rank-{rank}.cuspanrec"
        double = agent_case.BUILD / "libcuspan-replay.so"
        chosen = {"cupti.library": double, "record_file": path, "exit_deadline_ms": 60000, "sampling.sleep": "never",
                  **(settings or {})}
        result = self.start(
            [agent_case.BUILD / "control_host", double, path_of("vector_add"), agent_case.BUILD / "libcuspan.so", "inject", *steps],
            {"CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items()), "CUSPAN_JOB_ID": "a job",
             "OTEL_RESOURCE_ATTRIBUTES": f"host.name=node-{rank}", "RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": "2"})
        self.assertEqual((result.status, result.err), (0, ""))
        return path

    def replay(self, recording, *options, env=None):
        """The ranks' spans of the recording, by number of the step. The recorded job wins over the variables of this one."""
        target = recording.with_suffix(".jsonl")
        target.unlink(missing_ok=True)
        result = self.start([agent_case.BUILD / "cuspan", "replay", "--quiet", "--file", target, *options, recording],
                            {"RANK": "7", "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "0", "CUSPAN_JOB_ID": "another", **(env or {})})
        self.assertEqual((result.status, result.err), (0, ""))
        return {span.attributes["training.step.number"]: span for span in spans_in(target.read_text())
                if "cuda.session.spans" in span.attributes and "training.step.number" in span.attributes}

    def test_a_recording_has_the_steps(self):
        steps = ["step=2", "play", "step=3", "play", "step=4", "play", "step-end", "play"]
        recordings = []
        for rank in 0, 1:
            recordings.append(self.record(*steps, rank=rank))
            self.play(*steps, rank=rank, job="a job")
            replayed = self.replay(recordings[-1])
            self.assertEqual(sorted(replayed), [3, 4])
            for number, span in replayed.items():
                here = self.ranks[number]
                self.assertEqual((span.name, span.trace_id, span.parent_id), (f"rank {rank}", here.trace_id, here.parent_id))
                self.assertEqual(span.start_ns, here.start_ns)
                self.assertEqual(span.attributes["training.step.source"], "api")
        everything = self.replay(recordings[0], "--set", "steps.traced=all")
        self.assertEqual(sorted(everything), [2, 3, 4])
        other = self.replay(recordings[0], "--set", "steps.job_id=mine")
        self.assertNotEqual(other[3].trace_id, everything[3].trace_id)
        table = self.start([agent_case.BUILD / "cuspan", "stat", "--table", "ranks", "--csv", *recordings], {"RANK": "7"})
        self.assertEqual(table.status, 0, table.err)
        for rank in 0, 1:
            self.assertIn(f"rank {rank} (node-{rank}, control_host)", table.out)

    def test_a_recording_keeps_the_sampling(self):
        steps = [word for number in range(1, 13) for word in (f"step={number}", "play")]
        recording = self.record(*steps, rank=1, settings={"steps.ratio": 0.25})
        self.play(*steps, rank=1, job="a job", settings={"steps.ratio": 0.25})
        self.assertEqual(sorted(self.replay(recording)), sorted(self.ranks))

    def test_a_recording_of_a_process_without_a_rank(self):
        path = self.directory / "alone.cuspanrec"
        double = agent_case.BUILD / "libcuspan-replay.so"
        result = self.start(
            [agent_case.BUILD / "control_host", double, path_of("vector_add"), agent_case.BUILD / "libcuspan.so", "inject",
             "step=1", "play", "step=2", "play"],
            {"CUSPAN_SET": f"cupti.library={double};record_file={path};exit_deadline_ms=60000"})
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertEqual({span.name for span in self.replay(path).values()}, {"control_host"})
        repeated = self.replay(path, "--repeat", "3")
        self.assertEqual(sorted(repeated), [1, 2])


class CollectiveSteps(Case):
    """Steps by the period of NCCL's collectives, in programs that do not report any. Their clock stands still between plays of
    the recording, so ranges belong to any step since the last one. Only the steps with a play are compared."""

    WARM = 200  # iterations of three all-reduces; after them the period is known

    def job(self, *words, rank=0, settings=None, env=None):
        self.runs += 1
        target, report = self.directory / f"{self.runs}.jsonl", self.directory / f"steps-{self.runs}"
        double = agent_case.BUILD / "libcuspan-replay.so"
        chosen = {"cupti.library": double, "output_file": target, "accounts_file": report, "exit_deadline_ms": 60000,
                  "sampling.sleep": "never", "steps.traced": "all", "steps.spans_max": 0, "rings.bytes": 1 << 20,
                  **(settings or {})}
        result = self.start(
            [agent_case.BUILD / "nccl_job_host", double, path_of("vector_add"), agent_case.BUILD / "libcuspan.so", "inject",
             f"init=2:{rank}", *words],
            {"CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items()), "CUSPAN_JOB_ID": "job",
             "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", **(env or {})})
        self.assertEqual((result.status, result.err), (0, ""))
        result.text = target.read_text()
        for path in self.directory.glob(f"steps-{self.runs}.*"):
            result.report = json.loads(path.read_text())
        self.assertEqual(result.report["counters"]["steps_missed"], 0)
        ranks = [span for span in result.spans if "training.step.source" in span.attributes and span.name == f"rank {rank}"]
        iterations = {span.trace_id: int(span.name.split()[1]) for span in result.spans if span.name.startswith("iteration ")}
        result.ranks = {span.attributes["training.step.number"]: span for span in ranks if span.trace_id in iterations}
        result.iterations = {number: iterations[span.trace_id] for number, span in result.ranks.items()}
        for span in result.ranks.values():
            self.assertGreaterEqual(sum(other.trace_id == span.trace_id for other in result.spans), IN_ONE + 1)
        return result

    def sources(self, result):
        return {number: span.attributes["training.step.source"] for number, span in result.ranks.items()}

    def assert_joint(self, first, second):
        """Both ranks have the same steps, in the same traces."""
        for results in (first, second):
            self.assertEqual(set(self.sources(results).values()), {"collectives"})
        self.assertEqual(first.iterations, second.iterations)
        for number, one in first.ranks.items():
            other = second.ranks[number]
            self.assertEqual((one.trace_id, one.parent_id), (other.trace_id, other.parent_id))
            root = next(span for span in first.spans if span.name == f"step {number}")
            self.assertEqual((root.trace_id, root.span_id), (one.trace_id, one.parent_id))

    def test_ranks_agree_whatever_their_pace(self):
        words = ["busy", f"train={self.WARM}", "play=5", "idle"]
        first, second = self.job("pace=0", *words, rank=0), self.job("pace=900", *words, rank=1)
        self.assert_joint(first, second)
        self.assertEqual(first.iterations, {number: number for number in range(self.WARM, self.WARM + 5)})

    def test_steps_go_on_after_an_evaluation(self):
        train = 5 * self.WARM
        words = [f"train={train}", "play=1", "evaluate=500", "play=5"]
        first, second = self.job("pace=0", *words, rank=0), self.job("pace=300", *words, rank=1)
        self.assert_joint(first, second)
        # One iteration of the second part shows that it is training again.
        self.assertEqual(first.iterations, {train: train, **{train + number: train + number + 1 for number in range(1, 5)}})
        lone = [span for span in first.spans if span.name == f"iteration {train + 1}"]
        self.assertNotIn(lone[0].trace_id, {span.trace_id for span in first.ranks.values()})

    def test_an_evaluation_before_the_period_is_certain(self):
        words = [f"train={self.WARM}", "play=1", "evaluate=500", "play=5", f"train={2 * self.WARM}", "play=2"]
        first, second = self.job("pace=0", *words, rank=0), self.job("pace=300", *words, rank=1)
        self.assert_joint(first, second)
        self.assertEqual([first.iterations[number] for number in sorted(first.iterations)],
                         [self.WARM, 3 * self.WARM + 6, 3 * self.WARM + 7])

    def test_collectives_count_while_capture_sleeps(self):
        settings = {"steps.traced": "auto", "steps.ratio": 0.125, "sampling.sleep": "always"}
        words = [f"train={self.WARM}", *["nap"] * 10, *[word for _ in range(32) for word in ("play=1", "on")]]
        first, second = (self.job(f"pace={pace}", *words, rank=rank, settings=settings) for rank, pace in enumerate((0, 2000)))
        self.assert_joint(first, second)
        numbers = sorted(first.ranks)
        self.assertEqual(len(numbers), 4)
        self.assertEqual({later - number for number, later in zip(numbers, numbers[1:])}, {8})
        self.assertEqual({number: number for number in numbers}, first.iterations)
        for result in first, second:
            self.assertGreater(result.report["counters"]["sleeps"], 0)
            on = [int(line.split()[1]) for line in result.out.splitlines() if line.startswith("on:")]
            for number in numbers:
                self.assertEqual(on[number - self.WARM], 1)
            # Four all-reduces in each iteration, with that of the loss: the step begins with the second one.
            ordinals = {span.attributes["collective.ordinal"] for span in result.spans
                        if span.name == "ncclAllReduce" and span.trace_id == result.ranks[numbers[1]].trace_id}
            self.assertIn(4 * numbers[1] + 1, ordinals)

    def test_a_better_source_takes_over(self):
        result = self.job(f"train={self.WARM}", "play=2", "step=7", "play=3")
        self.assertEqual(self.sources(result), {self.WARM: "collectives", self.WARM + 1: "collectives", 7: "api"})

    def test_where_no_steps_are_found(self):
        nobody = {"RANK": "", "WORLD_SIZE": "", "LOCAL_RANK": ""}
        for words, settings, env, expected in ((("step=3",), {}, {}, {3: "api"}),
                                               ((), {"steps.collectives": "false"}, {}, {}),
                                               ((), {"capture.nvtx": "false"}, {}, {}),
                                               ((), {}, nobody, {})):
            with self.subTest(words=words, settings=settings, env=env):
                result = self.job(*words, f"train={self.WARM}", "play=3", settings=settings, env=env)
                self.assertEqual(self.sources(result), expected)
                self.assertEqual(result.report["counters"]["steps"], len(expected))


if __name__ == "__main__":
    agent_case.main()
