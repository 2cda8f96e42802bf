"""Iterations of serving engines: the public functions, and what the adapters share."""

import collections
import pickle
import random
import threading
import unittest
from unittest import mock

import cuspan
from cuspan import _agent
from cuspan._iterations import ABORTED, DUMMY, NO_ITERATION, TRANSFER, Rank, Schedule
from tests.fake_engine_agent import DECODE, PREFILL, FakeAgent
from tests.support import native, of_current, run_python, stub, tracer

SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01"
UNSAMPLED = SAMPLED[:-1] + "0"


def said():
    """The calls of the stub since the last time."""
    lines = stub.stub_text().decode().splitlines()
    stub.stub_forget()
    return lines


class Public(unittest.TestCase):
    def setUp(self):
        _agent.look_now()
        stub.stub_forget()
        self.addCleanup(stub.stub_forget)

    def test_a_request_and_its_iterations(self):
        made = cuspan.request("r17", 5, 2, traceparent=SAMPLED, tracestate="a=b")
        with cuspan.iteration("mine", 41, [(made, 3)], seed=7):
            pass
        with cuspan.iteration("mine", 42, [(made, 2, 5, 1)], seed=7, rank=0, ranks=2, recorded=True):
            pass
        with cuspan.iteration("mine", 43, [(made, 1, 0)], seed=7, kind="transfer"):
            pass
        made.end(9, "aborted")
        made.end(9)
        lines = [line for line in said() if "iteration_summary" not in line]
        number = lines[0].split()[1]
        self.assertEqual(
            lines,
            [
                f"request {number} r17 {SAMPLED} a=b prompt 5 cached 2 arrived",
                f"iteration 41 mine seed 7 kind 0 recorded 0 rank 0 of 1; "
                f"{number} phase 0 resumed 0 tokens 3 computed 2 drafts 0",
                "iteration_end 0 ",
                f"iteration 42 mine seed 7 kind 0 recorded 1 rank 0 of 2; "
                f"{number} phase 1 resumed 0 tokens 2 computed 5 drafts 1",
                "iteration_end 0 ",
                f"iteration 43 mine seed 7 kind 2 recorded 0 rank 0 of 1; "
                f"{number} phase 0 resumed 1 tokens 1 computed 0 drafts 0",
                "iteration_end 0 ",
                f"request_end {number} reason 1 tokens 9",
            ],
        )

    def test_headers_that_the_setting_names(self):
        self.assertEqual(_agent.look_now().engine_headers, ("x-tenant", "x-model"))
        cuspan.request("a", headers={"X-Tenant": "one", "authorization": "secret", "x-model": "\udc80"})
        cuspan.request("b")
        first, second = said()
        self.assertTrue(first.endswith(" arrived X-Tenant=one x-model=?"), first)
        self.assertTrue(second.endswith(" arrived"))
        agent = _agent.look_now()
        with mock.patch.object(agent, "_engine_headers", None):
            self.assertEqual(agent.engine_headers, ())

    def test_the_context_is_the_current_one(self):
        cuspan.request("a")
        with cuspan.attach(SAMPLED):
            cuspan.request("b")
        with tracer.start_as_current_span("x"):
            current = of_current()
            cuspan.request("c")
        cuspan.request("d", traceparent="invalid")
        self.assertEqual([line.split()[3] for line in said()], ["-", SAMPLED, current, "-"])

    def test_an_engine_keeps_its_seed(self):
        for name in "mine", "mine", "other":
            with cuspan.iteration(name, 1):
                pass
        seeds = [line.split()[4] for line in said() if line.startswith("iteration ")]
        self.assertEqual(seeds[0], seeds[1])
        self.assertNotEqual(seeds[0], seeds[2])

    def test_an_exception_of_the_program_ends_it(self):
        with self.assertRaises(ZeroDivisionError), cuspan.iteration("mine", 1):
            1 / 0  # noqa: B018
        self.assertEqual(said()[-1], "iteration_end 0 ")

    def test_wrong_arguments_begin_nothing(self):
        with self.assertLogs("cuspan", "WARNING"), mock.patch("cuspan._guard._logged", set()):
            with cuspan.iteration("mine", 1, kind="unknown"):
                pass
            with cuspan.iteration("mine", "no number"):
                pass
        self.assertEqual(said(), [])

    @mock.patch("cuspan._iterations.time.monotonic_ns", return_value=1_000_000_000)
    def test_slow_iterations_of_an_own_engine_are_sent_afterwards(self, clock):
        def run(number, ms, made, **keywords):
            with cuspan.iteration("timed", number, [(made, 1)], **keywords):
                clock.return_value += ms * 1_000_000
            return [line.split()[:2] for line in said() if "summary" in line or line.startswith("request_end")]

        made = cuspan.request("r17", 5, traceparent=SAMPLED)
        late = cuspan.request("r18", 5, traceparent=UNSAMPLED)
        self.assertFalse(any(run(number, 10, made) for number in range(1, 65)))
        self.assertEqual(run(65, 40, made), [["iteration_summary", "65"]])
        made.end()  # its slowest was sent
        self.assertEqual([line.split()[0] for line in said()], ["request_end"])
        self.assertEqual(run(66, 50, late), [])  # no sampled request waits for it
        self.assertEqual(run(67, 90, cuspan.request("r19"), ranks=2), [])  # ranks would decide differently
        last = cuspan.request("r20")
        self.assertEqual(run(68, 5, last), [])
        last.end()
        self.assertEqual([line.split()[:2] for line in said()][0], ["iteration_summary", "68"])

    def test_without_an_agent(self):
        code = (
            "import cuspan\nmade = cuspan.request('a', 3)\n"
            "with cuspan.iteration('mine', 1, [(made, 3)]): pass\nmade.end(1)"
        )
        done = run_python(code, CUDA_INJECTION64_PATH="")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_an_agent_that_has_no_iterations(self):
        agent = _agent.look_now()
        with mock.patch.object(agent, "has_iterations", False):
            made = cuspan.request("a", 3)
            with cuspan.iteration("mine", 1, [(made, 3)]):
                pass
            made.end(1)
        self.assertEqual(said(), [])


class Shared(unittest.TestCase):
    def setUp(self):
        self.agent = FakeAgent()
        self.schedule = Schedule(seed=5)
        self.rank = Rank(self.agent, "engine", 0, 2)

    def begin(self, *parts, kind=0):
        stamp = pickle.loads(pickle.dumps(self.schedule.stamp(parts, kind)))
        return self.rank.begin(stamp)

    def test_a_stamp_travels(self):
        first = self.schedule.admit("a", "name", 10, 4, (SAMPLED, "x=y"), 123)
        second = self.schedule.admit("b", "other", 3)
        self.assertTrue(self.begin((first, 6, 4, 0, False), (second, 2, 0, 0, True)))
        self.schedule.end("a", ABORTED, 2)
        self.schedule.end("never", ABORTED, 2)
        self.begin((second, 4, 3, 3, False))
        agent = self.agent
        self.assertEqual([made["id"] for made in agent.requests.values()], ["name", "other"])
        name = agent.requests[101]
        self.assertEqual((name["context"].traceparent(), name["context"].tracestate), (SAMPLED, "x=y"))
        self.assertEqual((name["arrived"], name["prompt"], name["cached"]), (123, 10, 4))
        self.assertEqual(agent.requests[102]["context"], None)
        parts = [made["parts"] for made in agent.iterations]
        self.assertEqual(parts[0], [(101, PREFILL, 0, 6, 4, 0), (102, PREFILL, 1, 2, 0, 0)])
        self.assertEqual(parts[1], [(102, DECODE, 0, 4, 3, 3)])
        self.assertEqual([made["number"] for made in agent.iterations], [1, 2])
        self.assertEqual([made["recorded"] for made in agent.iterations], [1, 0])
        self.assertEqual(agent.iterations[0]["seed"], 5)
        self.assertEqual((agent.iterations[0]["rank"], agent.iterations[0]["ranks"]), (0, 2))
        kinds = [event[0] for event in agent.events]
        self.assertEqual(kinds, ["request", "request", "iteration", "end", "iteration"])
        self.assertEqual(agent.events[3], ("end", 101, ABORTED, 2))

    def test_a_stamp_brings_attributes(self):
        self.schedule.admit("a", "name", 10, attributes=(("x-tenant", "one"), ("x-model", "é")))
        self.begin()
        self.assertEqual(self.agent.requests[101]["headers"], {"x-tenant": "one", "x-model": "é"})

    def test_a_stamp_is_plain(self):
        """Processes without this package can unpickle it."""
        self.schedule.admit("a", "name", 10, 4, (SAMPLED, ""), 123)
        self.assertNotIn(b"cuspan", pickle.dumps(self.schedule.stamp()))

    def test_columns_say_what_parts_say(self):
        """Requests come, are computed in chunks, are preempted, and end; some have the ID of an earlier one."""
        rng, agent = random.Random(3), FakeAgent()
        schedule, rank, computed = Schedule(seed=5), Rank(agent, "engine", 0, 2), {}
        for _ in range(600):
            for key in rng.sample("abcdefghij", rng.choice((0, 0, 1, 2))):
                has_ended = computed.pop(key, None) is not None
                for one in schedule, self.schedule:
                    one.end(key)
                if not has_ended or rng.random() < 0.3:
                    prompt = rng.randint(1, 9)
                    for one in schedule, self.schedule:
                        one.admit(key, key, prompt)
                    computed[key] = 0
            for key in rng.sample(sorted(computed), min(len(computed), rng.choice((0, 0, 0, 1)))):
                schedule.prefill_again(key, computed[key])
                self.schedule.members[key].prefill = computed[key]
                computed[key] = 0
            keys = rng.sample(sorted(computed), rng.randint(0, len(computed))) if rng.random() < 0.3 else list(computed)
            tokens = dict.fromkeys(keys, 1) if rng.random() < 0.5 else {key: rng.randint(1, 5) for key in keys}
            drafts = {key: [0] * rng.randint(1, 4) for key in keys if rng.random() < 0.2}
            columns = keys, None if set(tokens.values()) == {1} else tokens, [computed[key] for key in keys], drafts
            rank.begin(schedule.stamp(columns=columns))
            self.begin(*((self.schedule.members[key], tokens[key], computed[key], len(drafts.get(key, ())), False) for key in keys))
            for key in keys:
                computed[key] += tokens[key]
        for key in computed:
            schedule.end(key)
        self.assertEqual((schedule.members, schedule._before, schedule._numbers), ({}, {}, {}))
        self.assertEqual(agent.iterations, self.agent.iterations)
        self.assertEqual(agent.events, self.agent.events)
        phases = collections.Counter(part[1] for made in agent.iterations for part in made["parts"])
        self.assertGreater(min(phases[PREFILL], phases[DECODE]), 500)

    def run_iteration(self, member, clock, ms, key=None):
        """One of this length. The request may end after it."""
        stamp = self.schedule.stamp([(member, 1, 99, 0, False)])
        self.rank.begin(stamp)
        clock.return_value += ms * 1_000_000
        self.schedule.done(stamp[1])
        if key is not None:
            self.schedule.end(key)
        return stamp[1]

    def summaries(self):
        made = [(made["number"], made["seed"], made["rank"], made["ranks"]) for made in self.agent.summaries]
        self.agent.summaries.clear()
        return made

    @mock.patch("cuspan._iterations.time.monotonic_ns", return_value=1_000_000_000)
    def test_a_slow_iteration_is_sent_afterwards(self, clock):
        member = self.schedule.admit("a", "name", 10, 4, (SAMPLED, ""))
        for _ in range(64):
            self.run_iteration(member, clock, 10)
        self.run_iteration(member, clock, 19)
        slow = self.run_iteration(member, clock, 25)
        self.assertEqual(self.summaries(), [])
        self.begin()
        self.assertEqual(self.summaries(), [(slow, 5, 0, 2)])
        self.begin()
        self.assertEqual(self.summaries(), [])

    @mock.patch("cuspan._iterations.time.monotonic_ns", return_value=1_000_000_000)
    def test_a_requests_slowest_is_sent_before_its_end(self, clock):
        before = self.schedule.admit("before", "b", 10, 4, (UNSAMPLED, ""))
        self.run_iteration(before, clock, 50)
        member = self.schedule.admit("a", "name", 10, 4, (SAMPLED, ""))
        first = self.run_iteration(member, clock, 5)  # recorded, because it begins the request
        self.run_iteration(member, clock, 3)
        slowest = self.run_iteration(member, clock, 6)
        last = self.run_iteration(member, clock, 4, "a")
        self.assertEqual((first, last), (2, 5))
        other = Rank(FakeAgent(), "engine", 1, 2)
        stamp = self.schedule.stamp(kind=NO_ITERATION)
        self.rank.begin(stamp)
        other.begin(stamp)
        self.assertEqual(self.agent.events[-2:], [("summary", slowest), ("end", 102, 0, 0)])
        self.assertEqual(other._agent.events, [("summary", slowest)])
        self.schedule.end("before")  # not sampled
        self.assertEqual(self.schedule.stamp()[-1], ())

    @mock.patch("cuspan._iterations.time.monotonic_ns", return_value=1_000_000_000)
    def test_what_was_recorded_is_not_sent_again(self, clock):
        member = self.schedule.admit("a", "name", 10, 4, (SAMPLED, ""))
        self.run_iteration(member, clock, 9, "a")
        self.assertEqual(self.schedule.stamp(kind=NO_ITERATION)[-1], ())

    @mock.patch("cuspan._iterations.time.monotonic_ns", return_value=1_000_000_000)
    def test_the_slowest_is_one_that_the_agents_still_have(self, clock):
        self.schedule._budget = mock.Mock(take=lambda: False)
        member = self.schedule.admit("a", "name", 10, 4, (SAMPLED, ""))
        for number in range(1, 600):
            ms = {1: 90, 200: 9, 300: 8}.get(number, 5)
            self.assertEqual(self.run_iteration(member, clock, ms), number)
            self.schedule._recent._slow_ns = 1 << 62
        self.schedule.end("a")
        self.assertEqual(self.schedule.stamp()[-1], (200,))
        self.assertLess(len(self.schedule._recent._slowest), 449)

    @mock.patch("cuspan._iterations.time.monotonic_ns", return_value=1_000_000_000)
    def test_iterations_may_overlap_and_idle_time_does_not_count(self, clock):
        self.schedule._budget = mock.Mock(take=lambda: False)
        member = self.schedule.admit("a", "name", 10, 4, (SAMPLED, ""))
        first, second = (self.schedule.stamp([(member, 1, 0, 0, False)])[1] for _ in range(2))
        clock.return_value += 7_000_000
        self.schedule.done(first)
        clock.return_value += 5_000_000
        self.schedule.done(second)  # 12 ms after its stamp
        clock.return_value += 900_000_000
        self.run_iteration(member, clock, 6, "a")
        self.assertEqual(self.schedule.stamp()[-1], (first,))

    @mock.patch("cuspan._iterations.time.monotonic", return_value=100.0)
    @mock.patch("cuspan._iterations.time.monotonic_ns", return_value=1_000_000_000)
    def test_summaries_have_a_budget(self, clock, now):
        self.schedule = Schedule(seed=5)
        self.schedule._budget = mock.Mock(take=lambda: False)
        for key in range(9):
            self.run_iteration(self.schedule.admit(key, "name", 10, 4, (SAMPLED, "")), clock, 5, key)
        self.begin()
        self.assertEqual([made[0] for made in self.summaries()], [1, 2, 3, 4])
        now.return_value += 0.25
        self.run_iteration(self.schedule.admit(9, "name", 10, 4), clock, 5, 9)  # without a context
        self.begin()
        self.assertEqual([made[0] for made in self.summaries()], [11])

    def test_ranks_that_each_decide_send_none(self):
        self.schedule = Schedule(5, 0)
        self.run_iteration(self.schedule.admit("a", "name", 10, 4, (SAMPLED, "")), mock.Mock(return_value=0), 5, "a")
        self.assertEqual(self.schedule.stamp()[-1], ())

    def test_an_agent_without_summaries(self):
        self.agent.iteration_summary = None
        self.run_iteration(self.schedule.admit("a", "name", 10, 4), mock.Mock(return_value=0), 5, "a")
        self.assertTrue(self.begin())

    def test_an_engine_that_never_reports_ends_keeps_little(self):
        for _ in range(1000):
            self.schedule.stamp()
        self.assertLessEqual(len(self.schedule._recent._begun), 64)

    def test_other_ranks_report_only_the_iteration(self):
        other = Rank(self.agent, "engine", 1, 2)
        member = self.schedule.admit("a", "name", 10)
        other.begin(self.schedule.stamp([(member, 1, 0, 0, False)]))
        self.assertEqual(self.agent.requests, {})
        self.assertEqual(self.agent.iterations[0]["parts"], [])
        self.assertEqual(self.agent.iterations[0]["rank"], 1)

    def test_without_an_iteration(self):
        self.schedule.admit("a", "name", 10, headers=(SAMPLED, ""))
        self.assertFalse(self.begin(kind=NO_ITERATION))
        self.assertFalse(self.rank.begin(None))
        self.assertEqual(self.agent.iterations, [])
        self.assertEqual(len(self.agent.requests), 1)
        self.assertTrue(self.begin(kind=TRANSFER))
        made = self.agent.iterations[0]
        self.assertEqual((made["number"], made["kind"], made["recorded"]), (1, TRANSFER, 1))

    def test_dummies_have_numbers_of_their_own(self):
        self.assertFalse(self.rank.begin_dummy())  # the seed is not known yet
        self.begin()
        self.rank.begin_dummy()
        self.rank.begin_dummy()
        self.begin()
        made = [(one["seed"], one["number"], one["kind"]) for one in self.agent.iterations]
        self.assertEqual([number for _, number, _ in made], [1, 1, 2, 2])
        self.assertEqual([seed == 5 for seed, _, _ in made], [True, False, False, True])
        self.assertEqual(made[1][::2], (made[2][0], DUMMY))

    def test_recorded_iterations_have_a_budget(self):
        with mock.patch("cuspan._iterations.time.monotonic", return_value=100.0) as clock:
            schedule, recorded = Schedule(), []
            for at in range(20):
                schedule.admit(at, "a", 1, headers=(UNSAMPLED if at == 0 else SAMPLED, ""))
                recorded.append(schedule.stamp()[3])
            self.assertEqual(recorded, [0, 1, 1, 1, 1] + 15 * [0])
            clock.return_value = 100.5
            for at in range(20, 23):
                schedule.admit(at, "a", 1, headers=(SAMPLED, ""))
                recorded.append(schedule.stamp()[3])
            self.assertEqual(recorded[20:], [1, 1, 0])
            self.assertEqual(schedule.stamp()[3], 0)  # begins no request

    def test_another_thread(self):
        _agent.look_now()
        rank = Rank(_agent.look_now(), "engine")
        stamp = self.schedule.stamp()
        seen = []

        def work():
            token = rank.attach(stamp)
            seen.append(native())
            rank.detach(token)
            rank.detach(0)
            seen.append(native())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(seen, [f"00-01{30 * '0'}-01{14 * '0'}-01", None])

    def test_many_requests_are_cheap(self):
        """No object for each part is left, and the array is freed."""
        members = [self.schedule.admit(at, "a", 1) for at in range(1024)]
        self.begin(*[(member, 1, 7, 0, False) for member in members])
        self.assertEqual(len(self.agent.iterations[0]["parts"]), 1024)
        self.assertEqual(self.agent.iterations[0]["parts"][-1], (1124, DECODE, 0, 1, 7, 0))
        for at in range(1024):
            self.schedule.end(at)
        self.begin()
        self.assertEqual((self.rank._numbers, self.schedule.members), ({}, {}))


class Layout(unittest.TestCase):
    def test_the_structs_are_those_of_the_header(self):
        self.assertEqual(_agent.ctypes.sizeof(_agent.RequestInfo), stub.stub_bytes_of_request())
        self.assertEqual(_agent.ctypes.sizeof(_agent.IterationInfo), stub.stub_bytes_of_iteration())


if __name__ == "__main__":
    unittest.main()
