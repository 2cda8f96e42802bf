"""Properties of every public function, for values that Hypothesis chooses, the same ones in each run."""

import asyncio
import contextvars
import os
import pickle
import threading
import unittest

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import cuspan
from cuspan import _link
from cuspan._steps import Steps
from cuspan._trace_context import parse, to_native, valid_context
from cuspan.fleet import Problem, _arguments
from tests import hostile
from tests.support import native, native_state, stub

# derandomize: a failure is the same in each run, on every machine.
settings.register_profile("cuspan", derandomize=True, database=None, deadline=None, max_examples=60)
settings.load_profile("cuspan")

odd_text = st.text(st.characters(categories=["Cs", "Cc", "Lu"]), max_size=5)  # text() has no surrogates
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.binary() | st.text() | odd_text
hostiles = st.integers(0, len(hostile.values()) - 1).map(lambda at: ("hostile", at))  # Hypothesis looks at its values
anything = st.recursive(
    plain | hostiles,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.none() | st.binary(max_size=2), inner, max_size=3)
    ),
    max_leaves=5,
)
attributes = st.dictionaries(st.text(max_size=4), anything, max_size=3)
trace_ids, span_ids = st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1)
contexts = st.builds(
    lambda trace, span, flags: f"00-{trace:032x}-{span:016x}-{flags:02x}", trace_ids, span_ids, st.integers(0, 3)
)
states = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=100)


def real(value):
    if isinstance(value, tuple):
        return hostile.values()[value[1]]
    if isinstance(value, list):
        return [real(inner) for inner in value]
    return {key: real(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def lines():
    return stub.stub_text().decode("utf-8", "replace").splitlines()


class Values(unittest.TestCase):
    def setUp(self):
        import logging

        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.addCleanup(stub.stub_forget)

    @given(st.sampled_from(sorted(hostile.CALLS)), anything)
    @settings(max_examples=400)
    def test_no_value_raises_or_leaves_a_context(self, name, value):
        stub.stub_forget()
        hostile.CALLS[name](real(value))
        self.assertIsNone(native())
        self.assertEqual(stub.stub_depth(), 0)
        self.assertIsNone(_link.EXPLICIT.get(None))

    @given(st.text(max_size=20), attributes, attributes)
    def test_each_range_span_and_mark_arrives_once(self, name, first, more):
        stub.stub_forget()
        first, more = real(first), real(more)
        with cuspan.range(name, first, **more), cuspan.span(name, first, **more) as opened:
            opened.end(**{key: value for key, value in more.items() if key not in ("self", "error")})
        self.assertTrue(cuspan.mark(name, first, **more))
        # A name with a line break is several lines of the stub.
        verbs = [line.split(" ")[0] for line in lines() if line.split(" ")[0] in ("range", "span", "end", "mark")]
        for verb, count in ("range", 1), ("span", 1), ("mark", 1), ("end", 2):
            self.assertGreaterEqual(verbs.count(verb), count)

    @given(st.integers())
    def test_steps_arrive_as_they_are(self, number):
        stub.stub_forget()
        fits = -(2**63) <= number < 2**63
        cuspan.step(number)
        if fits:
            self.assertEqual(lines(), [f"step {number % 2**64} kind 0 source 0"])

    @given(st.floats() | st.integers())
    def test_flush_takes_any_timeout(self, timeout):
        stub.stub_forget()
        self.assertIn(cuspan.flush(timeout), (True, False))

    @given(st.text(max_size=10))
    def test_a_loop_runs_once_or_as_often_as_the_agent_says(self, name):
        stub.stub_forget()
        self.assertEqual(list(cuspan.loop(name)), [0, 1, 2] if name == "thrice" else [0])

    def test_what_takes_nothing(self):
        for function in cuspan.is_on, cuspan.stop, cuspan.finish, cuspan.library, cuspan.current_traceparent:
            for wrong in hostile.values():
                function(wrong)
        self.assertRegex(cuspan.__version__, r"^\d")
        self.assertEqual(set(cuspan.__all__) - set(dir(cuspan)), set())


class Contexts(unittest.TestCase):
    @given(contexts, states)
    def test_a_valid_context_is_attached_unchanged(self, traceparent, tracestate):
        with cuspan.attach(traceparent, tracestate):
            self.assertEqual(cuspan.current_traceparent(), traceparent)
            self.assertEqual(native_state() or "", tracestate)
            made = cuspan.environment({"A": "1", "TRACESTATE": "old"})
            self.assertEqual(made.pop("TRACEPARENT"), traceparent)
            self.assertEqual(made.pop("TRACESTATE", ""), tracestate)
            self.assertEqual(made, {"A": "1"})
            child, carried = cuspan.child(os.getpid), cuspan.carried(cuspan.current_traceparent)
        self.assertEqual((pickle.loads(pickle.dumps(child))(), carried()), (os.getpid(), traceparent))

    @given(st.dictionaries(st.text(), st.text()))
    def test_without_a_context_the_environment_is_unchanged(self, base):
        self.assertEqual(cuspan.environment(base), base)

    @given(st.text() | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?") | anything, anything)
    @settings(max_examples=200)
    def test_what_is_parsed_can_be_attached(self, traceparent, tracestate):
        traceparent, tracestate = real(traceparent), real(tracestate)
        try:
            found = parse(traceparent, tracestate)
        except hostile.Refused:
            return
        if found is not None:
            self.assertRegex(found.traceparent(), r"^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$")
            self.assertEqual(len(to_native(found)[0]), 40)

    @given(st.integers(), st.integers(), st.integers())
    def test_numbers_of_a_span_that_do_not_fit(self, trace, span, flags):
        found = valid_context(trace, span, flags)
        self.assertEqual(found is not None, 0 < trace < 2**128 and 0 < span < 2**64)
        if found:
            to_native(found)


class Attached(RuleBasedStateMachine):
    """Generators with attach() that start and end in three contexts, in any order: each context has its innermost."""

    def __init__(self):
        super().__init__()
        self.contexts = [contextvars.Context() for _ in range(3)]
        self.open = [[] for _ in self.contexts]
        self.count = 0

    @rule(place=st.integers(0, 2))
    def begin(self, place):
        self.count += 1
        traceparent = f"00-{1:032x}-{self.count:016x}-01"

        def attached():
            with cuspan.attach(traceparent):
                yield

        generator = attached()
        self.contexts[place].run(next, generator)
        self.open[place].append((traceparent, generator))

    @rule(place=st.integers(0, 2), at=st.integers(0, 5), by=st.integers(0, 2))
    def end(self, place, at, by):
        if self.open[place]:
            _, generator = self.open[place].pop(at % len(self.open[place]))
            self.contexts[by].run(generator.close)

    @invariant()
    def innermost(self):
        for context, opened in zip(self.contexts, self.open):
            context.run(_link.link.sync)
            assert native() == (opened[-1][0] if opened else None), (native(), opened)

    def teardown(self):
        for opened in self.open:
            for _, generator in opened:
                generator.close()
        _link.link.sync()


Attached.TestCase.settings = settings(max_examples=25, stateful_step_count=20)
TestAttached = Attached.TestCase

# --- decorated functions ---

actions = st.lists(st.sampled_from(["next", "send", "key", "value", "close", "base"]), max_size=6)
bodies = st.lists(st.sampled_from(["yield", "catch", "raise", "stop", "return"]), max_size=5)
ERRORS = {"key": KeyError("k"), "value": ValueError("v"), "base": hostile.Refused("r")}


def generator_of(body):
    def generate():
        for part in body:
            if part == "yield":
                seen.append((yield part))
            elif part == "catch":
                try:
                    yield part
                except KeyError as error:
                    yield repr(error)
                finally:
                    seen.append("finally")
            elif part == "raise":
                raise ERRORS["value"]
            elif part == "stop":
                raise StopIteration("not allowed")
            else:
                return "returned"

    seen = []
    return generate, seen


def async_generator_of(body):
    async def generate():
        for part in body:
            await asyncio.sleep(0)
            if part == "yield":
                seen.append((yield part))
            elif part == "catch":
                try:
                    yield part
                except KeyError as error:
                    yield repr(error)
                finally:
                    seen.append("finally")
            elif part == "raise":
                raise ERRORS["value"]
            elif part == "stop":
                raise StopAsyncIteration("not allowed")
            else:
                return

    seen = []
    return generate, seen


def played(made, script):
    said = []
    for action in script:
        try:
            if action == "next":
                said.append(next(made))
            elif action == "send":
                said.append(made.send("sent"))
            elif action == "close":
                said.append(made.close())
            else:
                said.append(made.throw(ERRORS[action]))
        except BaseException as error:
            said.append((type(error), str(error)))
    made.close()
    return said


async def played_async(made, script):
    said = []
    for action in script:
        try:
            if action == "next":
                said.append(await made.__anext__())
            elif action == "send":
                said.append(await made.asend("sent"))
            elif action == "close":
                said.append(await made.aclose())
            else:
                said.append(await made.athrow(ERRORS[action]))
        except BaseException as error:
            said.append((type(error), str(error)))
    await made.aclose()
    return said


class DecoratedFunctions(unittest.TestCase):
    def tearDown(self):
        stub.stub_forget()

    @given(bodies, actions)
    @settings(max_examples=150)
    def test_generators(self, body, script):
        stub.stub_forget()
        (plain, plain_seen), (inner, seen) = generator_of(body), generator_of(body)
        self.assertEqual(played(cuspan.range("g")(inner)(), script), played(plain(), script))
        self.assertEqual(seen, plain_seen)
        verbs = [line.split()[0] for line in lines()]
        self.assertEqual(verbs.count("range"), verbs.count("end"))

    @given(bodies, actions)
    @settings(max_examples=100)
    def test_asynchronous_generators(self, body, script):
        stub.stub_forget()
        (plain, plain_seen), (inner, seen) = async_generator_of(body), async_generator_of(body)
        made = cuspan.range("g")(inner)
        self.assertEqual(asyncio.run(played_async(made(), script)), asyncio.run(played_async(plain(), script)))
        self.assertEqual(seen, plain_seen)
        verbs = [line.split()[0] for line in lines()]
        self.assertEqual(verbs.count("range"), verbs.count("end"))

    @given(st.lists(anything, max_size=3), st.dictionaries(st.text(max_size=3), anything, max_size=3))
    def test_arguments_and_results_pass_unchanged(self, args, kwargs):
        args, kwargs = real(args), real(kwargs)

        def function(*given_args, **given_kwargs):
            return given_args, given_kwargs

        async def coroutine(*given_args, **given_kwargs):
            return given_args, given_kwargs

        for decorate in cuspan.range, cuspan.range("x"), cuspan.attach():
            got_args, got_kwargs = decorate(function)(*args, **kwargs)
            self.assertTrue(all(map(lambda a, b: a is b, got_args, args)) and len(got_args) == len(args))
            self.assertTrue(
                got_kwargs.keys() == kwargs.keys() and all(got_kwargs[key] is kwargs[key] for key in kwargs)
            )
            waiting = decorate(coroutine)(*args)
            with self.assertRaises(StopIteration) as stopped:
                waiting.send(None)
            self.assertTrue(all(map(lambda a, b: a is b, stopped.exception.value[0], args)))


class FleetArguments(unittest.TestCase):
    """Of the questions of cuspan.fleet: each is converted, or refused with one line."""

    @given(st.sampled_from([*_arguments._CONVERTED, "unknown"]), anything | st.datetimes() | st.dates())
    @settings(max_examples=200)
    def test_filters(self, name, value):
        try:
            filters = _arguments.filters_of({name: real(value)})
        except Problem as problem:
            self.assertEqual(len(str(problem).splitlines()), 1)
            return
        for made in filters.values().values():
            self.assertIn(type(made), (int, str))

    @given(anything)
    def test_others(self, value):
        for convert in (
            _arguments.by_of,
            _arguments.top_of,
            lambda value: _arguments.flag_of("distinct", value),
            lambda value: _arguments.query_of(value, value),
            lambda value: _arguments.folder_of(value, value, value),
        ):
            try:
                convert(real(value))
            except Problem as problem:
                self.assertEqual(len(str(problem).splitlines()), 1)


class TrainingLoops(unittest.TestCase):
    @given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["B", 1, 2, "eval", "train", "save"])), max_size=60))
    @settings(max_examples=40)
    def test_any_events_on_any_threads(self, events):
        reports = []
        steps = Steps(lambda *report: reports.append(report))
        turns = [threading.Semaphore(0) for _ in range(3)]
        done, failed = threading.Semaphore(0), []

        def play(thread):
            for event in [event for of, event in events if of == thread]:
                turns[thread].acquire()
                try:
                    self.one(steps, event)
                except BaseException as error:
                    failed.append(error)
                done.release()

        threads = [threading.Thread(target=play, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for of, _ in events:
            turns[of].release()
            done.acquire()
        for thread in threads:
            thread.join()
        numbers = [number for number, _, _ in reports]
        self.assertEqual((failed, numbers), ([], sorted(numbers)))
        self.assertTrue(all(later - number <= 1 for number, later in zip(numbers, numbers[1:])))

    def one(self, steps, event):
        if event == "save":
            kind = steps.checkpoint()
            if kind is not None:
                steps.end_checkpoint(kind)
        elif event in ("B", "eval", "train"):
            {"B": steps.backward, "eval": steps.evaluation, "train": steps.training}[event]()
        else:
            steps.optimizer(event)


if __name__ == "__main__":
    unittest.main()
