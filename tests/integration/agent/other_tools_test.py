#!/usr/bin/env python3
"""Other tools in the process: a program with its own profiler (other_tool_host, which uses CUPTI like PyTorch's profiler)
together with the agent, in each mode of cupti.others, on the replay library that supports several subscribers.

    other_tools_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import agent_case  # noqa: E402
import compare  # noqa: E402
import recording  # noqa: E402
from preload import preloadable  # noqa: E402

NAME = "threads"
SMALL = "vector_add"  # several plays fit in one of the tool's buffers
RETRY = {"cupti.others_retry_ms": 3000}  # longer than a busy machine delays a call after the one before it
SOON = {"cupti.others_retry_ms": 200}
GONE = 39  # CUPTI's result for the second subscriber
SECONDS = 300


def work_of(name):
    """The counts of a profiler that records kernels and copies, in one play: kernels, copies, ns."""
    work = [a for a in agent_case.recorded(name).gpu_work() if a.kind in (recording.KERNEL, recording.MEMCPY)]
    kernels = sum(a.kind == recording.KERNEL for a in work)
    return kernels, len(work) - kernels, sum(a.end_ns - a.start_ns for a in work)


class Case(agent_case.Case):
    def build(self, name):
        return agent_case.BUILD / name

    def tool(self, *steps, way="hold", settings=None, preload=True, agent=True, env=None, name=NAME, double=None,
             host="other_tool_host"):
        """Runs other_tool_host, in whose process the agent starts at the step inject."""
        self.runs += 1
        target, report = self.directory / f"{self.runs}.jsonl", self.directory / f"report-{self.runs}"
        double = double or self.build("libcuspan-replay.so")
        options = {"cupti.library": double, "cupti.others": way, "output_file": target, "accounts_file": report,
                   "exit_deadline_ms": 60000, **(settings or {})}
        extra = {"CUSPAN_SET": ";".join(f"{key}={value}" for key, value in options.items())}
        if preload:
            extra["LD_PRELOAD"] = self.preloaded()
            extra["CUSPAN_SHARE"] = way
            extra["CUSPAN_SHARE_CUPTI"] = str(double)
        if agent:
            extra["CUDA_INJECTION64_PATH"] = str(self.build("libcuspan.so"))
        result = self.start([self.build(host), agent_case.path_of(name), self.build("libcuspan.so"), *steps],
                            {**extra, **agent_case.FORKS, **(env or {})}, SECONDS)
        self.assertEqual(result.status, agent_case.HOST_STATUS, result.err + result.out)
        self.assertTrue(result.out.endswith(agent_case.HOST_OUTPUT), result.out)
        result.text = target.read_text() if target.exists() else ""
        for path in self.directory.glob(f"report-{self.runs}.*"):
            result.report = json.loads(path.read_text())
        result.answers = [int(answer) for answer in re.findall(r"^[a-z=0-9-]+: (-?\d+)$", result.out, re.MULTILINE)]
        result.buffers = [tuple(int(number) for number in found) for found in
                          re.findall(r"^count: .* buffers (\d+) lent (\d+)$", result.out, re.MULTILINE)]
        result.counts = [tuple(int(number) for number in found) for found in
                         re.findall(r"^count: kernels (\d+) copies (\d+) wrong (\d+) ns (\d+)", result.out, re.MULTILINE)]
        return result

    def preloaded(self):
        """A sanitizer's library must come first."""
        library = preloadable(self.build("libcuspan-share.so"))
        if "address" in agent_case.SANITIZERS or "thread" in agent_case.SANITIZERS:
            tool = "libasan.so" if "address" in agent_case.SANITIZERS else "libtsan.so"
            found = os.popen(f"gcc -print-file-name={tool}").read().strip()
            return f"{os.path.realpath(found)}:{library}"
        return library

    def assert_all_well(self, result, answers=None):
        answered = re.findall(r"^([a-z=0-9-]+): (-?\d+)$", result.out, re.MULTILINE)
        wrong = [int(answer) for step, answer in answered if int(answer) != (step == "inject")]
        self.assertEqual(wrong, answers or [], result.out + result.err)

    def assert_tool_saw(self, count, plays=1, name=NAME):
        """As often as it was enabled, with the times of its own clock."""
        kernels, copies, ns = work_of(name)
        self.assertEqual(count, (kernels * plays, copies * plays, 0, ns * plays))

    def assert_agent_has(self, result, plays, name=NAME, is_first=True):
        """Every call and every record of this many plays, each below its call. Later plays than the first have other
        times."""
        self.assertEqual(result.report["losses"], {}, result.err)
        self.assertEqual(result.report["delivered"], result.report["spans"])
        self.assert_same_work(name, result.spans, plays, is_first)


class Alone(Case):
    """With the library preloaded and no agent, nothing changes."""

    def test_a_lone_tool_passes_through(self):
        steps = ["tool-on", "play", "tool-off", "count", "subscribe"]
        plain, passed = self.tool(*steps, preload=False, agent=False), self.tool(*steps, way="share", agent=False)
        self.assertEqual(plain.out, passed.out)
        self.assert_tool_saw(passed.counts[0])
        self.assertEqual(passed.answers[-1], GONE)

    def test_finalize_is_cupti_s_own(self):
        """The replay library plays nothing to later subscribers; the agent's presence would prevent that."""
        for agent, seen in ((False, 0), (True, 1)):
            result = self.tool(*(["inject"] if agent else []), "tool-on", "finalize", "tool-on", "play", "tool-off",
                                "count", way="share", agent=agent)
            self.assertEqual(result.counts[0][0], work_of(NAME)[0] * seen)

    def test_it_is_libc_alone_and_shows_its_own_names_alone(self):
        found = subprocess.run(["readelf", "-d", self.build("libcuspan-share.so")], stdout=subprocess.PIPE, text=True, check=True).stdout
        needed = [name for name in re.findall(r"NEEDED.*\[(.*)\]", found) if not re.match("lib[at]san|libubsan", name)]
        self.assertLessEqual(set(needed), {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "libm.so.6"})
        names = subprocess.run(["nm", "-D", "--defined-only", self.build("libcuspan-share.so")], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split("\n")
        shown = {line.split()[-1] for line in names if line}
        self.assertTrue(all(re.match("cupti[A-Z]|cuspan_share_api$", name) for name in shown), shown)


class Share(Case):
    def test_before_during_and_after(self):
        result = self.tool("inject", "play", "tool-on", "play", "tool-off", "count", "play", "count", way="share")
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assertEqual(result.counts[1][:2], (0, 0))
        self.assert_agent_has(result, 3)
        self.assertEqual(result.report["counters"]["pauses"], 1)
        self.assertEqual(result.agent_lines(), [])

    def test_a_tool_that_comes_first(self):
        result = self.tool("tool-on", "inject", "play", "tool-off", "count", "play", way="share")
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 2)
        self.assertEqual(result.report["counters"]["pauses"], 0)  # nothing of ours was enabled

    def test_one_that_needs_no_subscription(self):
        result = self.tool("inject", "register", "kinds", "play", "tool-off", "count", way="share")
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 1)

    def test_a_flush_of_ours_does_not_hold_its_records_back(self):
        """A flush affects all subscribers, and ours takes 100 ms here: the other tool's own returns when all of its records
        have arrived."""
        rounds = 8
        result = self.tool("inject", *["tool-on", "play", "nap=170", "tool-off", "count"] * rounds, way="share",
                           settings={"cupti.flush_interval_ms": 100}, env={"CUSPAN_REPLAY_FAIL": "flush-slow=100"})
        self.assert_all_well(result)
        self.assertEqual(len(result.counts), rounds)
        for count in result.counts:
            self.assert_tool_saw(count)
        self.assertEqual(result.report["losses"], {})

    def test_its_clock_is_its_own(self):
        """Without a clock of its own it has CUPTI's; in both cases the agent has the recorded times
        (assert_agent_has)."""
        result = self.tool("inject", "subscribe", "register", "kinds", "play", "tool-off", "count", "clock", "kinds",
                            "play", "tool-off", "count", way="share")
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_tool_saw(result.counts[1])
        self.assert_agent_has(result, 2)

    def test_it_comes_and_goes(self):
        """Each time with the call that would end CUPTI if it were alone. The clock is set once, so no later pause
        occurs, and is the same in between, when CUPTI reads it, too."""
        rounds = 8
        steps = ["tool-on", "play", "tool-off", "count", "fini-callback", "agent-flush"]
        result = self.tool("inject", *steps * rounds, "play", way="share")
        self.assert_all_well(result)
        self.assertEqual(len(result.counts), rounds)
        for count in result.counts:
            self.assert_tool_saw(count)
        self.assert_agent_has(result, 2 * rounds + 1)
        self.assertEqual(result.report["counters"]["pauses"], 1)

    def test_it_comes_again_without_its_clock(self):
        result = self.tool("inject", "tool-on", "play", "tool-off", "count", "fini-callback", "no-clock", "subscribe",
                           "register", "kinds", "play", "tool-off", "count", way="share")
        self.assert_all_well(result)
        for count in result.counts:
            self.assert_tool_saw(count)
        self.assert_agent_has(result, 3)
        self.assertEqual(result.report["counters"]["pauses"], 2)

    def test_it_comes_and_goes_while_the_program_works(self):
        result = self.tool("inject", "play-on", *["tool-on", "nap=100", "tool-off", "nap=5", "unsubscribe"] * 5, "play-off",
                            "count", way="share")
        self.assert_all_well(result)
        kernels, copies, wrong, _ = result.counts[0]
        self.assertTrue(kernels and copies)
        self.assertEqual(wrong, 0)
        # Work launched in the one pause has no record: nothing else may be missing.
        self.assertEqual(result.report["losses"], {})
        calls = sum(map(agent_case.is_call, result.spans))
        self.assertEqual(result.report["counters"]["calls_captured"], calls)
        self.assertEqual(result.report["counters"]["pauses"], 1)
        self.assertTrue(all("cuda.orphan" not in s.attributes for s in result.spans))

    def test_its_records_are_not_switched_during_our_flush(self):
        """A third of the time is a flush, and a switch during one would end the program, as with CUPTI."""
        result = self.tool("inject", "play-on", *["tool-on", "nap=20", "tool-off", "nap=50", "unsubscribe"] * 10, "play-off",
                           way="share", settings={"cupti.flush_interval_ms": 60}, env={"CUSPAN_REPLAY_FAIL": "flush-alone=20"})
        self.assert_all_well(result)
        self.assertEqual(result.report["losses"], {})

    def test_our_records_are_not_switched_during_its_flush(self):
        """It flushes most of the time, while we start and end, and pause for its clock."""
        for steps in ["tool-on", "flush-on", "nap=50", "inject", "play"], ["inject", "play", "subscribe", "register", "kinds", "flush-on", "nap=50", "clock", "play"]:
            result = self.tool(*steps, way="share", env={"CUSPAN_REPLAY_FAIL": "flush-alone=20"})
            self.assert_all_well(result)
            self.assertEqual(result.report["losses"], {})

    def test_its_threads_have_no_buffers_of_their_own(self):
        """A flush of such buffers would end the program here, as it may with CUPTI, whose default they are."""
        for asked in [], ["thread-buffers"]:
            result = self.tool("inject", "subscribe", *asked, "clock", "register", "kinds", "play", "agent-flush", "tool-off", "count", way="share",
                               env={"CUSPAN_REPLAY_FAIL": "flush-alone=20"})
            self.assert_all_well(result)
            self.assert_tool_saw(result.counts[0])
            self.assert_agent_has(result, 1)

    def test_our_flushes_take_no_records_from_it(self):
        """Nothing forces a flush while the other tool records, not even the agent's end: a forced flush would take this
        long."""
        result = self.tool("inject", "tool-on", "play", way="share", env={"CUSPAN_REPLAY_FAIL": f"flush-blocks={agent_case.FOREVER_MS}"})
        self.assert_agent_has(result, 1)

    def test_its_flush_takes_nothing_of_ours_after_its_end(self):
        """PyTorch's profiler forces one then. A forced flush would take this long."""
        result = self.tool("inject", "tool-on", "play", "tool-off", "count", "flush-forced", "finalize", "kinds", way="share",
                           env={"CUSPAN_REPLAY_FAIL": f"flush-blocks={agent_case.FOREVER_MS}"})
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 1)

    def test_our_flush_divides_no_records_of_its(self):
        """Its records from before our flush and from after it come in one buffer, as without us."""
        result = self.tool("inject", "tool-on", "play", "agent-flush", "play", "agent-flush", "agent-flush", "play",
                           "tool-off", "count", way="share", name=SMALL)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0], 3, SMALL)
        self.assertEqual(result.buffers, [(1, 0)])
        self.assert_agent_has(result, 3, SMALL)

    def test_our_flush_does_not_return_its_buffer(self):
        """PyTorch's profiler has no GPU work at all if CUPTI has none of its buffers when it ends."""
        result = self.tool("inject", "tool-on", "play", "agent-flush", "kinds-off", "count", "flush", "count", way="share")
        self.assert_all_well(result)
        (returned, lent), (returned_later, lent_later) = result.buffers
        self.assertEqual((returned, returned_later, lent_later), (0, 1, 0))
        self.assertGreaterEqual(lent, 1)
        self.assert_tool_saw(result.counts[1])

    def test_our_flushes_fill_its_buffers_as_cupti_does(self):
        rounds = 80  # more than it has buffers
        seen = []
        for flush in ["agent-flush"], []:
            result = self.tool("bytes=4096", "inject", "tool-on", *["play", *flush] * rounds, "count", "flush", "count",
                               way="share", name=SMALL)
            self.assert_all_well(result)
            self.assertEqual([sum(column) for column in zip(*result.counts)][:3], [*(n * rounds for n in work_of(SMALL)[:2]), 0])
            self.assert_agent_has(result, rounds, SMALL)
            seen.append(result.buffers)
        with_flushes, without = (sum(count for count, _ in buffers) for buffers in seen)
        self.assertGreater(seen[0][0][0], 1)
        self.assertAlmostEqual(with_flushes, without, delta=1)  # a record at a buffer's end may be larger or smaller
        self.assertEqual(seen[0][1][1], 0)  # it has all its memory back

    def test_what_our_flush_held_back_is_filled_up(self):
        """Also by the records of smaller buffers, and nobody flushes."""
        result = self.tool("inject", "tool-on", "play", "agent-flush", "bytes=4096", *["play"] * 12, "count", "flush",
                           "count", way="share", name=SMALL)
        self.assert_all_well(result)
        self.assertEqual(result.counts[0][:2], (0, 0))
        self.assert_tool_saw(result.counts[1], 13, SMALL)

    def test_what_our_flush_held_back_comes_when_it_ends(self):
        result = self.tool("inject", "tool-on", "play", "agent-flush", "kinds-off", "fini-callback", "count", way="share")
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])

    def test_its_buffers_with_few_records_stay_as_they_are(self):
        result = self.tool("records=2", "inject", "tool-on", "play", "agent-flush", "play", "tool-off", "count", way="share",
                           name=SMALL)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0], 2, SMALL)
        self.assertGreaterEqual(result.buffers[0][0], sum(result.counts[0][:2]) // 2)
        self.assert_agent_has(result, 2, SMALL)

    def test_it_may_have_cupti_flush_now_and_then(self):
        """Then it wants buffers that are not full."""
        result = self.tool("inject", "tool-on", "period=60000", "play", "agent-flush", "count", way="share")
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assertEqual(result.buffers[0][1], 0)

    def test_it_may_change_its_mind(self):
        """The next buffer then comes with what was held back before."""
        result = self.tool("inject", "tool-on", "play", "agent-flush", "count", "period=60000", "play", "agent-flush",
                           "count", way="share", name=SMALL)  # both plays would fit in what was held back
        self.assert_all_well(result)
        self.assertEqual([buffers for buffers, _ in result.buffers], [0, 2])
        self.assert_tool_saw(result.counts[1], 2, SMALL)

    def test_graphs_show_their_nodes(self):
        """The first subscriber chooses for all: a record for each execution would leave the other tool without kernels."""
        result = self.tool("inject", "tool-on", "play", "tool-off", "count", way="share", name="graph")
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0], name="graph")
        self.assertIn(recording.GRAPH_TRACE, {a.kind for a in agent_case.recorded("graph").gpu_work()})
        self.assertNotIn("graph", {s.attributes["cuda.activity"] for s in result.spans if compare.is_gpu_span(s)})

    def test_without_the_library(self):
        """The agent has what the library does, and redirects the tool's calls, if it starts before the tool."""
        result = self.tool("inject", "play", "tool-on", "play", "tool-off", "count", "play", way="share", preload=False)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 3)
        self.assertEqual(result.agent_lines(), [])

    def test_a_tool_that_comes_first_and_is_expected(self):
        result = self.tool("expect", "tool-on", "inject", "play", "tool-off", "count", "play", way="share", preload=False,
                           host="by_name_host", env={"CUSPAN_SHARE": "share", "CUSPAN_SHARE_CUPTI": str(self.build("libcuspan-replay.so"))})
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 2)
        self.assertEqual(result.agent_lines(), [])

    def test_beside_an_old_cupti_it_gives_way(self):
        for preload in True, False:
            result = self.tool("inject", "tool-on", "play", "tool-off", "count", way="share", preload=preload, settings=RETRY,
                               env={"CUSPAN_REPLAY_VERSION": "12.9"})
            self.assert_all_well(result)
            self.assert_tool_saw(result.counts[0])
            said = result.agent_lines()
            self.assertEqual(len(said), 2, said)
            self.assertRegex(said[0], "share needs the subscriber API of CUPTI 13.3.*gives way")
            self.assertRegex(said[1], "another tool used CUPTI 1 time, for")


class GiveWay(Case):
    # Unlike "tool-off", this ends with the call that makes the tool idle: before a later call, the agent may
    # use CUPTI again, and would have to release it once more.
    OFF = "flush", "kinds-off"

    def check_line(self, result):
        """It says in one line what is left out."""
        lines = result.agent_lines()
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"another tool used CUPTI 1 time, for \d+\.\d s in all: cuspan has no spans of that time$")

    def test_before_during_and_after(self):
        result = self.tool("inject", "play", "tool-on", "play", *self.OFF, "count", "on", "play", "count",
                            way="give-way", settings=RETRY)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 2)
        self.check_line(result)
        counters = result.report["counters"]
        self.assertEqual(counters["releases"], 1)
        self.assertGreater(counters["released_ns"], 0)
        ends = [s.attributes["cuda.session.end_reason"] for s in agent_case.sessions_of(result.spans)]
        self.assertEqual(ends, ["release", "exit"])

    def test_a_tool_that_comes_first_is_waited_for(self):
        result = self.tool("tool-on", "inject", "play", "tool-off", "count", "on", "play", way="give-way", settings=RETRY)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 1, is_first=False)

    def test_it_does_not_come_back_unasked(self):
        result = self.tool("inject", "play", "tool-on", "play", "tool-off", "nap=300", "play", "count", way="give-way",
                           settings={"cupti.others_retry_ms": 0})
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 1)

    def test_while_the_tool_has_it_it_is_left_alone(self):
        result = self.tool("inject", "play", "tool-on", "nap=500", "play", "tool-off", "count", way="give-way",
                           settings=SOON)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 1)

    def test_a_tool_that_reads_what_it_has_is_not_idle(self):
        for _ in range(5):  # on a busy machine a step may take longer than the retry interval
            result = self.tool("inject", "tool-on", "tool-off", *["flush", "nap=20"] * 40, "play", way="give-way",
                               settings={"cupti.others_retry_ms": 500})
            self.assert_all_well(result)
            if not any(map(compare.is_gpu_span, result.spans)):
                return
        self.fail("the agent used CUPTI again")

    def test_a_tool_that_waits_for_a_call_is_not_idle(self):
        """It ends CUPTI in the program's next call, however late that is: until then it keeps what it enabled."""
        result = self.tool("inject", "tool-on", "play", "ask-fini", "tool-off", "count", "nap=4000", "play", "has-fini",
                            way="give-way", settings=RETRY)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assertEqual(result.report["counters"]["releases"], 1)

    def test_by_the_subscriber_s_calls(self):
        """While the other tool has recorded nothing; then CUPTI accepts only the classic ones."""
        result = self.tool("inject", "play", "tool-on", "play", *self.OFF, "count", "on", "play", way="give-way",
                           settings={**RETRY, "cupti.api": "subscriber"})
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 2)
        self.check_line(result)

    def test_its_subscription_holds_when_it_comes_again(self):
        """Taken back while it was idle, it is restored, and ends as the other tool ends it."""
        result = self.tool("inject", "tool-on", "play", *self.OFF, "count", "on", "play", "tool-on", "play",
                            "flush", "count", "fini-callback", way="give-way", settings=RETRY)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_tool_saw(result.counts[1])
        self.assert_agent_has(result, 1, is_first=False)
        self.assertEqual(result.report["counters"]["releases"], 2)

    def test_a_start_on_request_takes_it_back(self):
        """As well as after the retry interval: the tool's subscription and clock return when the tool comes again."""
        result = self.tool("inject", "play", "tool-on", "play", *self.OFF, "count", "agent-start", "play", "tool-on", "play",
                           *self.OFF, "count", way="give-way", settings={"cupti.others_retry_ms": 0})
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_tool_saw(result.counts[1])
        self.assert_agent_has(result, 2)
        self.assertEqual(result.report["counters"]["releases"], 2)

    def test_a_start_on_request_leaves_a_tool_that_records(self):
        result = self.tool("inject", "register", "kinds", "agent-start", "play", "kinds-off", "flush", "count", way="give-way",
                           settings={"cupti.others_retry_ms": 0, "cupti.api": "classic"})
        self.assert_all_well(result, [1])
        self.assertIn("another tool uses CUPTI", result.err)
        self.assert_tool_saw(result.counts[0])
        self.assertEqual(result.spans, [])

    def test_it_comes_and_goes_while_the_program_works(self):
        patience = {"cupti.others_wait_ms": 15000} if agent_case.SANITIZERS else {}  # everything is slow then
        result = self.tool("inject", "play-on", *["tool-on", "nap=10", "tool-off", "on", "nap=20"] * 4, "play-off", "count",
                            way="give-way", settings={**SOON, **patience})
        self.assert_all_well(result)
        self.assertEqual(result.counts[0][2], 0)
        self.assertGreaterEqual(result.report["counters"]["releases"], 4)
        self.assertLessEqual(set(result.report["losses"]), {"lost_in_flight"})
        self.assertLessEqual(result.report["counters"]["orphans"], result.report["losses"].get("lost_in_flight", 0))


class Auto(Case):
    """The default, which needs no preloaded library."""

    def test_it_gives_way_and_comes_back(self):
        result = self.tool("inject", "play", "tool-on", "play", *GiveWay.OFF, "count", "on", "play", "count", way="auto",
                           settings=RETRY, preload=False)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assertEqual(result.counts[1][:2], (0, 0))
        self.assert_agent_has(result, 2)
        GiveWay.check_line(self, result)

    def test_two_windows(self):
        """Between them, the agent takes the tool's subscription, and the tool does not notice."""
        window = ["tool-on", "play", *GiveWay.OFF, "count", "on", "play"]
        result = self.tool("inject", "play", *window, *window, way="auto", settings=RETRY, preload=False)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_tool_saw(result.counts[1])
        self.assert_agent_has(result, 3)
        self.assertEqual(result.report["counters"]["releases"], 2)
        self.assertEqual(len(result.agent_lines()), 1)
        self.assertIn("another tool used CUPTI 2 times, for", result.agent_lines()[0])

    def test_a_tool_that_comes_first_is_waited_for(self):
        """Its handle may be another library's, so its calls are not redirected before it has unsubscribed. If that never
        happens, one line reports it."""
        result = self.tool("tool-on", "inject", "play", "tool-off", "count", way="auto", preload=False)
        self.assert_tool_saw(result.counts[0])
        self.assertEqual(len(result.agent_lines()), 1, result.err)
        result = self.tool("tool-on", "inject", "play", "tool-off", "count", "unsubscribe", "on", "play", "tool-on", "play",
                           *GiveWay.OFF, "count", way="auto", settings=RETRY, preload=False)
        self.assert_tool_saw(result.counts[0])
        self.assert_tool_saw(result.counts[1])
        self.assert_agent_has(result, 1, is_first=False)
        self.assertIn("traces nothing until CUPTI is free", result.agent_lines()[0])

    def test_a_tool_that_comes_first_and_is_expected(self):
        """The Python package expects PyTorch's profiler. It never unsubscribes, and the agent has CUPTI between its
        windows."""
        window = ["tool-on", "inject", "play", *GiveWay.OFF, "count", "on", "play", "tool-on", "play", *GiveWay.OFF, "count"]
        options = {"way": "auto", "preload": False, "host": "by_name_host",
                   "env": {"CUSPAN_SHARE_CUPTI": str(self.build("libcuspan-replay.so"))}}
        result = self.tool("expect", *window, settings=RETRY, **options)
        self.assert_all_well(result)
        for count in result.counts:
            self.assert_tool_saw(count)
        self.assert_agent_has(result, 1, is_first=False)
        self.assertEqual(len(result.agent_lines()), 2, result.err)
        self.assertIn("traces nothing until CUPTI is free", result.agent_lines()[0])
        alone = self.tool("expect", "tool-on", "play", *GiveWay.OFF, "count", **options)
        self.assert_tool_saw(alone.counts[0])

    def test_a_tool_with_the_subscriber_api(self):
        """Like the monitor of later PyTorch versions. The agent does not see what it enables, so CUPTI decides when it is free."""
        result = self.tool("inject", "play", "subscribe-several", "nap=1200", "play", "unsubscribe", "on", "play", way="auto",
                           settings=SOON, preload=False)
        self.assert_all_well(result)
        self.assert_agent_has(result, 2)
        self.assertEqual(result.report["counters"]["releases"], 1)

    def test_a_tool_that_finds_cupti_by_name(self):
        """Like JAX's, in a library whose name tells. The program itself must not look like one that is linked with CUPTI."""
        cupti = self.directory / "cupti.so"
        cupti.symlink_to(self.build("libcuspan-replay.so"))
        result = self.tool("inject", "play", "tool-on", "play", *GiveWay.OFF, "count", way="auto", settings=RETRY,
                           preload=False, host="by_name_host", double=cupti)
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0])
        self.assert_agent_has(result, 1)

    def test_without_another_tool_it_is_as_hold(self):
        """The same spans, and the same API of CUPTI."""
        for name in NAME, "graph":
            seen = [self.tool("inject", "play", way=way, preload=False, name=name) for way in ("auto", "hold")]
            self.assertEqual(*(sorted(span.name for span in result.spans) for result in seen))
            self.assertEqual(*(result.report["counters"]["releases"] for result in seen), 0)
            self.assertEqual([result.agent_lines() for result in seen], [[], []])

    def test_it_shares_where_graphs_show_their_nodes(self):
        """Sharing then changes nothing for the program, and both tools have all."""
        result = self.tool("inject", "tool-on", "play", "tool-off", "count", "play", way="auto", preload=False, name="graph",
                           settings={"detail": "graph-nodes"})
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0], name="graph")
        self.assertEqual(result.report["counters"]["releases"], 0)
        self.assertEqual(result.report["losses"], {})
        self.assertEqual(result.agent_lines(), [])

    def test_it_gives_way_with_nodes_and_an_old_cupti(self):
        result = self.tool("inject", "tool-on", "play", "tool-off", "count", way="auto", preload=False, name="graph",
                           settings={"detail": "graph-nodes", **RETRY},
                           env={"CUSPAN_REPLAY_VERSION": "13.0"})
        self.assert_all_well(result)
        self.assert_tool_saw(result.counts[0], name="graph")
        GiveWay.check_line(self, result)


class Hold(Case):
    def test_a_tool_is_refused_and_all_is_well(self):
        for preload in (False, True):
            result = self.tool("inject", "play", "tool-on", "play", "count", preload=preload)
            self.assert_all_well(result, [GONE])
            self.assertEqual(result.counts[0][:2], (0, 0))
            self.assert_agent_has(result, 2)
            self.assertEqual(result.agent_lines(), [])

    def test_one_that_came_first_has_it(self):
        result = self.tool("tool-on", "inject", "play", "tool-off", "count")
        self.assert_tool_saw(result.counts[0])
        self.assertEqual(result.spans, [])
        self.assertRegex(result.err, "another tool .* already uses CUPTI")

    def test_buffers_that_stop_to_come_are_noticed(self):
        """As where PyTorch's profiler registers its callbacks with the classic calls."""
        result = self.tool("inject", "play", "register", *["play"] * 40, "nap=500", preload=False,
                           settings={"cupti.api": "classic", "cupti.flush_interval_ms": 20})
        self.assertEqual(result.report["counters"]["silences"], 1)
        said = [line for line in result.agent_lines() if "returns no more buffers" in line]
        self.assertEqual(len(said), 1, result.err)
        self.assertIn("cuspan run --share", said[0])


class Tools(Case):
    MARKS = [("NSYS_PROFILING_SESSION_ID", "1", "Nsight Systems"), ("NV_NSIGHT_INJECTION_PORT_BASE", "1", "Nsight Compute")]

    def test_under_one_of_nvidia_s_it_stays_out(self):
        for variable, value, tool in self.MARKS:
            result = self.tool("inject", "tool-on", "play", "tool-off", "count", env={variable: value})
            self.assert_all_well(result)
            self.assert_tool_saw(result.counts[0])
            self.assertEqual(result.spans, [])
            self.assertEqual(len(result.err.splitlines()), 1, result.err)
            self.assertIn(f"started under {tool} ({variable} is set)", result.err)

    def test_run_leaves_the_tool_s_injection(self):
        tool = "/opt/nvidia/nsight-systems/libToolsInjection64.so"
        result = self.start([self.build("cuspan"), "run", "--", "sh", "-c", "echo $CUDA_INJECTION64_PATH; exit 3"],
                            {"CUDA_INJECTION64_PATH": tool}, SECONDS)
        self.assertEqual((result.status, result.out), (3, tool + "\n"), result.err)
        self.assertIn("one of NVIDIA's tools", result.err)

    def test_what_run_tells_the_program(self):
        """It preloads nothing, because a program of another architecture or C library could not load it."""
        shell = "echo $LD_PRELOAD $CUSPAN_SHARE"
        folder = self.directory / "a folder: für cuspan"
        folder.mkdir()
        for name in ("cuspan", "libcuspan.so"):
            (folder / name).write_bytes(self.build(name).read_bytes())
        (folder / "cuspan").chmod(0o755)
        result = self.start([folder / "cuspan", "run", "-q", "--share", "--", "sh", "-c", "echo $CUDA_INJECTION64_PATH"], {}, SECONDS)
        self.assertEqual((result.out, result.err), (f"{folder.resolve() / 'libcuspan.so'}\n", ""))
        for options, way in ((["--share"], "share"), (["--give-way"], "give-way"), ([], "")):
            result = self.start([self.build("cuspan"), "run", "-q", *options, "--", "sh", "-c", shell], {}, SECONDS)
            self.assertEqual(result.out, f"{way}\n", result.err)
        result = self.start([self.build("cuspan"), "run", "--share", "--give-way", "true"], {}, SECONDS)
        self.assertEqual(result.status, 2)
        self.assertIn("exclude each other", result.err)


if __name__ == "__main__":
    agent_case.main()
