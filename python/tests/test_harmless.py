"""Nothing of the package reaches the program: no exception, no changed object, no state that stays."""

import _thread
import asyncio
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import functools
import gc
import inspect
import logging
import os
import pickle
import signal
import sys
import threading
import time
import types
import unittest
import weakref
from unittest import mock

import cuspan
from cuspan import _agent, _guard, _job_steps, _link, _steps
from cuspan._steps import CHECKPOINT, EVALUATION, TRAIN, Steps
from tests import hostile
from tests.hostile import CALLS, GIVEN
from tests.support import HAS_WATCHERS, native, of, run_python, stub, tracer

OTHER = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-00"


class Arguments(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.addCleanup(stub.stub_forget)

    def tearDown(self):
        self.assertIsNone(native())
        self.assertEqual(stub.stub_depth(), 0)
        with cuspan.attach(GIVEN):  # a good request afterward
            self.assertEqual(native(), GIVEN)

    def test_any_value_in_any_place(self):
        for name, call in CALLS.items():
            for value in hostile.values():
                stub.stub_forget()
                with self.subTest(name, kind=_guard.name_of_type(value)):
                    call(value)
                    self.assertIsNone(native())

    CALLED = (
        f"import logging, sys; logging.disable(50); sys.path.insert(0, {os.path.dirname(hostile.__file__)!r})\n"
        "import cuspan, hostile\n"
        "for call in hostile.CALLS.values():\n"
        "    for value in hostile.values(): call(value)\n"
        "assert not cuspan.is_on()"
    )

    def test_any_value_without_an_agent(self):
        done = run_python(self.CALLED, CUDA_INJECTION64_PATH="")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_any_value_without_ctypes(self):
        """As in a Python that was built without libffi."""
        done = run_python(f"import sys; sys.modules['ctypes'] = None\n{self.CALLED}\nimport cuspan.otel")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_in_a_subinterpreter(self):
        """With a lock of its own, which ctypes refuses since 3.12."""
        interpreters = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
        made = interpreters.create("isolated") if sys.version_info >= (3, 13) else interpreters.create()
        self.addCleanup(interpreters.destroy, made)
        self.assertIsNone(interpreters.run_string(made, "import cuspan\nwith cuspan.range('r'): cuspan.mark('m')"))

    def test_what_can_be_converted_is_kept(self):
        stub.stub_forget()
        cuspan.mark(
            b"name", {1: hostile.HostileNumber(5), "t": hostile.HostileText("text"), "b": b"bytes"}, h=hostile.Hostile()
        )
        cuspan.mark("\udc80", {"many": 1, "a": "\ud800", "b": mock.Mock(__str__=lambda _: "\ud800")})
        self.assertEqual(
            stub.stub_text().decode(), "mark 0 name 1=5 t='text' b='bytes' h='<Hostile>'\nmark 0 ? many=1 a='?' b='?'\n"
        )

    def test_a_tracestate_that_is_not_ascii_is_left_out(self):
        for wrong in "a=\udc80", "a=ü", "a=\0", "a=b\n", hostile.Hostile(), 5:
            with cuspan.attach(GIVEN, wrong):
                self.assertEqual(native(), GIVEN if not isinstance(wrong, hostile.Hostile) else None)
                self.assertNotIn("TRACESTATE", cuspan.environment({}))

    def test_spans_of_the_program_that_raise(self):
        from opentelemetry import trace
        from opentelemetry.trace import NonRecordingSpan, SpanContext

        class Broken(NonRecordingSpan):
            def get_span_context(self):
                raise hostile.Refused

        with tracer.start_as_current_span("good") as good:
            for span in Broken(None), NonRecordingSpan(SpanContext(2**200, 2**90, True)):
                with trace.use_span(span):
                    self.assertIsNone(native())
                    with cuspan.attach():
                        pass
                self.assertEqual(native(), of(good))


class Errors(unittest.TestCase):
    """Of the package itself, in any of its parts."""

    PARTS = [
        "_agent.look",
        "_link.current_explicit",
        "_link.Link.mirror",
        "_link.Link._give",
        "_ranges.utf8",
        "_ranges._native",
    ]
    RAISED = [
        ValueError("x"),
        RecursionError(),
        MemoryError(),
        SystemExit(1),
        GeneratorExit(),
        StopIteration(),
        hostile.Refused(),
    ]

    def tearDown(self):
        _link.link.sync()
        self.assertIsNone(native())

    def test_none_leaves(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

        def fails(error):
            def call(*_args, **_kwargs):
                raise_(error)

            return call

        def raise_(error):  # not in the code of the package
            raise error

        for part in self.PARTS:
            for error in self.RAISED:
                with self.subTest(part, error=error), mock.patch(f"cuspan.{part}", fails(error)):
                    for call in CALLS.values():
                        call("text")
                    self.assertEqual(cuspan.range(lambda: 5)(), 5)
                    with tracer.start_as_current_span("request"):
                        asyncio.run(asyncio.sleep(0))

    def test_one_line_for_each_place(self):
        with mock.patch("cuspan._guard._logged", set()), self.assertLogs("cuspan", "WARNING") as logged:
            for _ in range(3):
                cuspan.environment(5)
                with cuspan.range(hostile.Hostile()):
                    pass
        self.assertEqual(len(logged.output), 2, logged.output)

    def test_logging_that_raises(self):
        class Handler(logging.Handler):
            def handle(self, _record):
                raise hostile.Refused

        handler = Handler()
        logging.getLogger("cuspan").addHandler(handler)
        self.addCleanup(logging.getLogger("cuspan").removeHandler, handler)
        with mock.patch("cuspan._guard._logged", set()):
            cuspan.environment(5)

    def test_the_end_of_the_stack(self):
        """Where the program's own functions still have room, ours do not raise."""

        def deep(left, function):
            return deep(left - 1, function) if left else function()

        def manager(made):
            with made:
                pass

        calls = [
            lambda: cuspan.mark("x", a=1),
            lambda: manager(cuspan.range("x", a=1)),
            lambda: manager(cuspan.attach(GIVEN)),
            cuspan.current_traceparent,
            lambda: cuspan.step(1),
        ]
        raised, limit = [], sys.getrecursionlimit()
        for call in calls:
            for left in range(limit - 120, limit):
                try:
                    deep(left, call)
                except RecursionError as error:
                    raised.append(error.__traceback__)
                _link.link.sync()
                self.assertIsNone(native())
        self.assertGreater(len(raised), len(calls))
        folder = os.path.dirname(cuspan.__file__)
        for trace in raised:  # of deep(), and at most of the call of our function, never in it
            while trace is not None:
                self.assertFalse(trace.tb_frame.f_code.co_filename.startswith(folder), trace.tb_frame)
                trace = trace.tb_next


class TheProgramsOwn(unittest.TestCase):
    """Its exceptions pass, unchanged."""

    def setUp(self):
        stub.stub_forget()

    def test_an_exception_whose_text_or_name_cannot_be_made(self):
        for error in hostile.HostileError(), hostile.NamelessError():
            for manager in cuspan.range("x"), cuspan.span("x"), cuspan.attach(GIVEN):
                caught = None
                try:
                    with manager:
                        raise error
                except Exception as raised:
                    caught = raised
                self.assertIs(caught, error)
                self.assertIsNone(error.__context__)
                self.assertIsNone(error.__cause__)
        ends = [line.split()[2] for line in stub.stub_text().decode().splitlines() if line.startswith("end")]
        self.assertEqual(ends, ["2"] * 4)

    def test_ctrl_c(self):
        class Interrupted:
            def __str__(self):
                raise KeyboardInterrupt

        for call in (lambda: cuspan.mark(Interrupted()), lambda: cuspan.range(Interrupted()).__enter__()):
            with self.assertRaises(KeyboardInterrupt):
                call()

    def test_what_a_signal_handler_raises(self):
        class Alarm(Exception):
            pass

        class Slow:
            def __str__(self):
                signal.raise_signal(signal.SIGUSR1)

        class Handler:
            def __call__(self, *_args):
                raise Alarm

            def method(self, *_args):
                raise SystemExit(3)

        def exits(code, *_args):
            sys.exit(code)

        for handler, expected in (
            (Handler(), Alarm),
            (Handler().method, SystemExit),
            (functools.partial(exits, 3), SystemExit),
        ):
            before = signal.signal(signal.SIGUSR1, handler)
            try:
                with self.assertRaises(expected):
                    cuspan.mark("x", slow=Slow())
            finally:
                signal.signal(signal.SIGUSR1, before)

    def test_a_handler_that_is_used_once(self):
        class Slow:
            def __str__(self):
                signal.raise_signal(signal.SIGUSR1)

        def once(*_args):
            signal.signal(signal.SIGUSR1, before)
            raise KeyError

        before = signal.signal(signal.SIGUSR1, once)
        self.assertRaises(KeyError, cuspan.mark, Slow())

    def test_what_a_trace_function_raises(self):
        """The interpreter then removes it."""

        def trace(frame, _event, _argument):
            if frame.f_globals["__name__"] == "cuspan._ranges":
                return trace_line

        def trace_line(_frame, _event, _argument):
            raise KeyError

        def profile(frame, _event, _argument):
            if frame.f_globals["__name__"] == "cuspan._ranges":
                raise KeyError

        for start, function in (sys.settrace, trace), (sys.setprofile, profile):
            before = sys.gettrace() if start is sys.settrace else sys.getprofile()
            start(function)
            try:
                with self.assertRaises(KeyError):
                    cuspan.mark("x")
            finally:
                start(before)

    def test_what_another_thread_raises(self):
        """PyThreadState_SetAsyncExc() raises between two instructions, wherever the thread is."""
        here = ctypes.c_ulong(threading.get_ident())

        class TookTooLong(Exception):
            pass

        def interrupt(error):
            loops.wait()
            ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(error))

        def loop():
            loops.set()
            end = time.monotonic() + 60
            while time.monotonic() < end:
                with cuspan.attach(GIVEN):  # nothing here releases the interpreter lock
                    pass

        for error in (SystemExit, TookTooLong, TimeoutError) * 10:
            loops = threading.Event()
            thread = threading.Thread(target=interrupt, args=(error,))
            thread.start()
            self.assertRaises(error, loop)
            thread.join()
            _link.EXPLICIT.set(None)  # if it was raised before the body or after it
            _link.link.sync()


class Finding(unittest.TestCase):
    """The agent is looked for by one thread at a time."""

    def test_a_signal_handler_and_a_child_that_look_meanwhile(self):
        code = """
import logging, os, signal, threading
import cuspan
from cuspan import _agent
logging.disable(50)
find, found = _agent._find, []
def slow():
    if not found:
        found.append(1)
        signal.raise_signal(signal.SIGUSR1)
    return find()
_agent._find = slow
signal.signal(signal.SIGUSR1, lambda *_: cuspan.start("/nowhere/x.so"))
cuspan.start("/nowhere/x.so")
_agent._find = find
holds, ends = threading.Event(), threading.Event()
def hold():
    with _agent._finding:
        holds.set()
        ends.wait()
threading.Thread(target=hold).start()
holds.wait()
child = os.fork()
if child == 0:
    cuspan.start("/nowhere/x.so")
    os._exit(0)
print(os.waitpid(child, 0)[1])
ends.set()
"""
        done = run_python(code, CUDA_INJECTION64_PATH="")
        self.assertEqual((done.returncode, done.stdout), (0, "0\n"), done.stderr)


class ClosedElsewhere(unittest.TestCase):
    """attach() in a generator that another thread, task or context closes."""

    def tearDown(self):
        self.assertIsNone(_link.current_explicit())
        self.assertIsNone(cuspan.current_traceparent())
        self.assertIsNone(native())

    @staticmethod
    def stream(traceparent=GIVEN):
        with cuspan.attach(traceparent):
            yield 1
            yield 2

    def close_in_thread(self, function):
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()

    def test_another_thread(self):
        generator, closed = self.stream(), []
        next(generator)
        self.close_in_thread(lambda: closed.append(generator.close()))
        self.assertEqual(closed, [None])
        with cuspan.attach(OTHER):
            self.assertEqual(native(), OTHER)

    def test_the_programs_exception_in_it(self):
        generator, caught = self.stream(), []
        next(generator)

        def throw():
            try:
                generator.throw(KeyError("mine"))
            except BaseException as error:
                caught.append(error)

        self.close_in_thread(throw)
        self.assertEqual([repr(error) for error in caught], ["KeyError('mine')"])
        self.assertIsNone(caught[0].__context__)
        with cuspan.attach(OTHER):
            pass

    def test_a_copy_of_the_context_that_has_it(self):
        generator = self.stream()
        next(generator)
        contextvars.copy_context().run(generator.close)
        with cuspan.attach(OTHER):
            pass

    def test_in_the_order_in_which_they_began(self):
        first, second, third = self.stream(GIVEN), self.stream(OTHER), self.stream(GIVEN)
        for generator in first, second, third:
            next(generator)
        second.close()
        self.assertEqual(native(), GIVEN)
        first.close()
        self.assertEqual(native(), GIVEN)
        third.close()

    def test_what_was_attached_before_counts_again(self):
        with cuspan.attach(OTHER):
            generator = self.stream()
            next(generator)
            self.close_in_thread(generator.close)
            with cuspan.attach(GIVEN):
                pass
            self.assertEqual(native(), OTHER)

    def test_tasks(self):
        async def stream():
            with cuspan.attach(GIVEN):
                for _ in range(3):
                    yield native()
                    await asyncio.sleep(0)

        async def read(generator):
            self.assertEqual(await generator.__anext__(), GIVEN)

        async def main():
            generator = stream()
            await asyncio.create_task(read(generator))
            await asyncio.create_task(generator.aclose())
            with cuspan.attach(OTHER):
                self.assertEqual(native(), OTHER)
            self.assertIsNone(native())

        asyncio.run(main())

    def test_a_task_started_inside_keeps_it(self):
        seen = []

        async def later():
            await asyncio.sleep(0)
            with cuspan.attach(OTHER):
                pass
            seen.append(native())

        async def main():
            with cuspan.attach(GIVEN):
                task = asyncio.create_task(later())
            await task

        asyncio.run(main())
        self.assertEqual(seen, [GIVEN])

    def test_chains_do_not_grow(self):
        async def task(left):
            with cuspan.attach(GIVEN):
                inner = asyncio.create_task(task(left - 1)) if left else None
            length, explicit = 0, _link.EXPLICIT.get()
            while explicit is not None:
                length, explicit = length + 1, explicit.outer
            self.assertLess(length, 4)
            if inner:
                await inner

        asyncio.run(task(30))

    def test_one_object_used_by_many(self):
        shared, wrong = cuspan.attach(GIVEN), []
        together = threading.Barrier(4)

        def work():
            for _ in range(50):
                together.wait()
                with shared:
                    together.wait()
                    with shared:
                        wrong.append(native() != GIVEN)
                    together.wait()
                    wrong.append(native() != GIVEN)
                wrong.append(native() is not None)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertFalse(any(wrong))
        self.assertEqual(len(wrong), 600)

    def test_one_range_used_by_many(self):
        stub.stub_forget()
        shared = cuspan.range("x")
        together = threading.Barrier(2)

        def work():
            together.wait()
            with shared, shared:
                together.wait()

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines = [line.split()[:2] for line in stub.stub_text().decode().splitlines()]
        begun = sorted(number for verb, number in lines if verb == "range")
        self.assertEqual(begun, sorted(number for verb, number in lines if verb == "end"))
        self.assertEqual(len(set(begun)), 4)

    def test_each_thread_ends_its_own(self):
        stub.stub_forget()
        shared, entered, leaves = cuspan.range("x"), threading.Event(), threading.Event()

        def work():
            with shared:
                entered.set()
                leaves.wait()

        thread = threading.Thread(target=work)
        thread.start()
        entered.wait()
        with shared:
            leaves.set()
            thread.join()
        (_, first), (_, second), *ends = (line.split()[:2] for line in stub.stub_text().decode().splitlines())
        self.assertEqual(ends, [["end", first], ["end", second]])


def plain(a: int, b: str = "x", *, c=3) -> tuple:
    """Documented."""
    return a, b, c


decorated_plain = plain
plain = cuspan.range("plain")(plain)


class Callable:
    def __init__(self):
        self.items = [1, 2]

    def __call__(self, a):
        return a, self

    def __len__(self):
        return 2


@cuspan.range("cached")
@functools.cache
def cached(a):
    return a


@dataclasses.dataclass
class Point:
    x: int
    __iter__ = None
    __getitem__ = None

    def __call__(self):
        return self.x


class Kinds(unittest.TestCase):
    """Decorated objects look and work as before."""

    def setUp(self):
        stub.stub_forget()

    def verbs(self):
        return [line.split()[0] for line in stub.stub_text().decode().splitlines()]

    def test_a_function(self):
        self.assertEqual(plain(1, c=4), (1, "x", 4))
        self.assertEqual(inspect.signature(plain), inspect.signature(decorated_plain))
        self.assertEqual((plain.__doc__, plain.__name__, plain.__module__), ("Documented.", "plain", __name__))
        self.assertIs(plain.__wrapped__, decorated_plain)
        self.assertIs(pickle.loads(pickle.dumps(plain)), plain)
        self.assertIs(copy.deepcopy(plain), plain)
        self.assertTrue(inspect.isfunction(plain))

    def test_without_parentheses(self):
        @cuspan.range
        def alone(a):
            return a

        @cuspan.range()
        def empty(a):
            return a

        class Model:
            @cuspan.range
            def forward(self):
                return self

            @cuspan.range
            @staticmethod
            def of_none():
                return 1

        model = Model()
        self.assertEqual((alone(3), empty(4), model.forward(), model.of_none()), (3, 4, model, 1))
        names = [line.split()[2] for line in stub.stub_text().decode().splitlines() if line.startswith("range")]
        self.assertEqual(names, ["alone", "empty", "Model.forward", "Model.of_none"])

    def test_a_generator(self):
        returned = []

        @cuspan.range("g")
        def generate(n):
            try:
                got = yield len(self.verbs())
                yield got
            except KeyError:
                yield "caught"
            return n

        def outer():
            returned.append((yield from generate(9)))

        self.assertTrue(inspect.isgeneratorfunction(generate))
        generator = outer()
        self.assertEqual(self.verbs(), [])
        self.assertEqual(next(generator), 1)
        self.assertEqual(generator.send("sent"), "sent")
        self.assertEqual(self.verbs(), ["range"])
        self.assertEqual(generator.throw(KeyError()), "caught")
        self.assertEqual(list(generator), [])
        self.assertEqual((returned, self.verbs()), ([9], ["range", "end"]))
        generator = generate(1)
        next(generator)
        generator.close()
        self.assertEqual(self.verbs(), ["range", "end"] * 2)
        self.assertIn("end 2 0 -", stub.stub_text().decode().replace(self.last_id(), "2"))

    def last_id(self):
        return stub.stub_text().decode().splitlines()[-1].split()[1]

    def test_an_asynchronous_generator(self):
        closed = []

        @cuspan.range("g")
        async def generate():
            try:
                got = yield 1
                try:
                    yield got
                except KeyError:
                    yield "caught"
            finally:
                closed.append(len(self.verbs()))

        async def main():
            generator = generate()
            self.assertEqual(await generator.asend(None), 1)
            self.assertEqual(await generator.asend("sent"), "sent")
            self.assertEqual(await generator.athrow(KeyError()), "caught")
            with self.assertRaises(StopAsyncIteration):
                await generator.__anext__()
            generator = generate()
            await generator.__anext__()
            await generator.aclose()
            generator = generate()
            await generator.__anext__()
            with self.assertRaises(ValueError):
                await generator.athrow(ValueError())
            left = generate()
            await left.__anext__()  # closed by the loop

        self.assertTrue(inspect.isasyncgenfunction(generate))
        asyncio.run(main())
        self.assertEqual(closed, [1, 3, 5, 7])
        self.assertEqual(self.verbs(), ["range", "end"] * 4)

    def test_how_a_generator_ends(self):
        """By GeneratorExit, which the body may catch, and without references that keep what it used."""

        def body(kind):
            try:
                yield 1
            except GeneratorExit:
                if kind == "yields":
                    yield 2
                return 7

        ends = [
            lambda generator: generator.close(),
            lambda generator: generator.throw(GeneratorExit()),
            lambda generator: generator.throw(KeyError(1)),
            lambda generator: generator.throw(StopIteration(1)),
        ]
        decorated = cuspan.range("g")(body)
        for kind in "returns", "yields":
            for end in ends:
                self.assertEqual(self.how(end, decorated(kind)), self.how(end, body(kind)))

    def how(self, end, generator):
        next(generator)
        try:
            return end(generator)
        except BaseException as error:
            return repr(error), repr(error.__context__), repr(getattr(error, "value", None))

    def test_what_a_generator_keeps(self):
        class Big:
            pass

        @cuspan.range("g")
        def generate():
            yield Big()
            yield seen()

        @cuspan.range("g")
        async def generate_async():
            yield Big()
            yield seen()

        async def main():
            generator = generate_async()
            seen.last = weakref.ref(await generator.__anext__())
            self.assertIsNone(await generator.__anext__())
            await self.raises(generator)

        def seen():
            return seen.last()

        generator = generate()
        seen.last = weakref.ref(next(generator))
        self.assertIsNone(next(generator))
        asyncio.run(main())

    def test_arguments_that_the_body_drops(self):
        class Big:
            pass

        def drops(made):
            def generate(big):
                del big
                yield seen()

            async def generate_async(big):
                del big
                yield seen()

            async def wait(big):
                del big
                await asyncio.sleep(0)
                return seen()

            return [made(function) for function in (generate, generate_async, wait)]

        def big():
            made = Big()
            seen.last = weakref.ref(made)
            return made

        def seen():
            return seen.last()

        async def main(generate, generate_async, wait):
            return next(generate(big())), await generate_async(big=big()).__anext__(), await wait(big())

        for made in cuspan.range, cuspan.attach(GIVEN):
            self.assertEqual(asyncio.run(main(*drops(made))), (None, None, None))

    async def raises(self, generator):
        class Error(Exception):
            pass

        gc.disable()
        self.addCleanup(gc.enable)
        error = Error()
        with contextlib.suppress(Error):
            await generator.athrow(error)
        error = weakref.ref(error)
        self.assertIsNone(error())

    def test_how_an_asynchronous_generator_ends(self):
        async def body(kind):
            try:
                yield 1
            except GeneratorExit:
                if kind == "yields":
                    yield 2

        async def how(end, generator):
            await generator.__anext__()
            try:
                return await end(generator)
            except BaseException as error:
                return repr(error)

        async def main():
            for kind in "returns", "yields":
                for end in (lambda made: made.aclose(), lambda made: made.athrow(GeneratorExit())):
                    self.assertEqual(await how(end, cuspan.range("g")(body)(kind)), await how(end, body(kind)))

        asyncio.run(main())

    def test_an_asynchronous_generator_that_the_loop_closes(self):
        closed, wrong = [], []

        @cuspan.range("g")
        async def generate():
            try:
                yield 1
            finally:
                await asyncio.sleep(0)
                closed.append(1)

        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda _loop, context: wrong.append(context))
            async for _ in generate():
                break
            gc.collect()
            while not closed:
                await asyncio.sleep(0)
            left.append(generate())
            await left[0].__anext__()

        left = []
        asyncio.run(main())
        self.assertEqual((wrong, closed), ([], [1, 1]))

    def test_a_coroutine_function(self):
        @cuspan.attach(GIVEN)
        @cuspan.range("c")
        async def wait():
            await asyncio.sleep(0)
            return native()

        @types.coroutine
        def old():
            yield
            return 5

        async def main():
            return await cuspan.range("old")(old)()

        self.assertTrue(inspect.iscoroutinefunction(wait))
        self.assertEqual(asyncio.run(wait()), GIVEN)
        self.assertEqual(asyncio.run(main()), 5)
        self.assertTrue(inspect.iscoroutinefunction(functools.partial(cuspan.range("p")(functools.partial(wait)))))

    def test_methods_and_descriptors(self):
        class Model:
            @cuspan.range("s")
            @staticmethod
            def static(a):
                return a

            @cuspan.range("c")
            @classmethod
            def of_class(cls):
                return cls

            @cuspan.range("p")
            @property
            def value(self):
                """Documented."""
                return 7

            @cuspan.range("l")
            @functools.cache
            def cached(self, a):
                return self, a

        model = Model()
        self.assertIsInstance(vars(Model)["static"], staticmethod)
        self.assertIsInstance(vars(Model)["of_class"], classmethod)
        self.assertEqual((model.static(1), Model.static(2)), (1, 2))
        self.assertEqual((model.of_class(), Model.of_class()), (Model, Model))
        self.assertEqual((model.value, Model.value.__doc__), (7, "Documented."))
        self.assertEqual(model.cached(3), (model, 3))
        bound = cuspan.range("b")(model.of_class)
        self.assertIs(bound.__self__, Model)
        self.assertEqual(self.verbs().count("range"), 6)
        self.assertEqual(bound(), Model)

    def test_partial(self):
        part = functools.partial(decorated_plain, 1, c=5)
        made = cuspan.range("p")(part)
        self.assertIs(type(made), functools.partial)
        self.assertEqual((made("y"), made.args, made.keywords), ((1, "y", 5), (1,), {"c": 5}))
        self.assertEqual(inspect.signature(made), inspect.signature(part))
        self.assertEqual(self.verbs(), ["range", "end"])

    def test_callable_objects(self):
        target = Callable()
        made = cuspan.range("x")(target)
        self.assertIsInstance(made, Callable)
        self.assertEqual((made(1), len(made), inspect.signature(made)), ((1, target), 2, inspect.signature(target)))
        made.items.append(3)
        made.other = 5
        self.assertEqual((target.items, target.other, type(target)), ([1, 2, 3], 5, Callable))
        for copied in copy.deepcopy(made), pickle.loads(pickle.dumps(made)):
            self.assertEqual((copied.items, copied(2)[0]), ([1, 2, 3], 2))
            self.assertIsNot(copied.items, target.items)
        self.assertEqual(self.verbs().count("range"), 3)
        self.assertEqual((cached(2), cached(2), cached.cache_info().hits), (2, 2, 1))
        self.assertIs(pickle.loads(pickle.dumps(cached)), cached)
        self.assertEqual(cuspan.range("x")(len)([1]), 1)

    def test_an_object_without_parentheses(self):
        """It is decorated, but `with` takes it for a name."""
        made = cuspan.range(Callable())
        self.assertEqual((made(1)[0], len(made)), (1, 2))
        with made:
            pass
        names = [line.split()[2] for line in stub.stub_text().decode().splitlines() if line.startswith("range")]
        self.assertEqual(names, ["Callable", f"<{__name__}.Callable"])
        with cuspan.range(mock.Mock()), cuspan.range(mock.MagicMock()):
            pass

        class Model:
            @cuspan.range
            @functools.cached_property
            def value(self):
                return 5

            @cuspan.range
            @functools.singledispatchmethod
            def of_any(self, _value):
                return "any"

            @of_any.register
            def of_number(self, _value: int):
                return "number"

        model = Model()
        self.assertEqual(
            (model.value, vars(model), model.of_any(1), model.of_any("")), (5, {"value": 5}, "number", "any")
        )

    def test_a_descriptor_that_learns_its_name(self):
        class Named:
            def __set_name__(self, owner, name):
                self.name = owner.__name__, name

            def __get__(self, _instance, _owner=None):
                return self.name

            def __call__(self):
                return 1

        with self.assertNoLogs("cuspan") if hasattr(self, "assertNoLogs") else contextlib.nullcontext():
            model = type("Model", (), {"field": cuspan.range("x")(Named())})
            self.assertEqual(model().field, ("Model", "field"))

    def test_a_dataclass(self):
        made = cuspan.range("x")(Point(3))
        self.assertEqual((made(), dataclasses.asdict(made), dataclasses.replace(made, x=4)), (3, {"x": 3}, Point(4)))
        self.assertRaises(TypeError, hash, made)
        self.assertRaises(TypeError, iter, made)

    def test_a_subclass(self):
        class Named(cuspan.range):
            def __init__(self, function):
                super().__init__(function.__name__)
                self.function = function

        self.assertIs(Named(len).function, len)

    def test_copies_of_what_is_in_use(self):
        opened = cuspan.range("x"), cuspan.span("x"), cuspan.attach(GIVEN)
        stub.stub_forget()
        with opened[0], opened[2]:
            for made in opened:
                for copied in copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)):
                    copied.__exit__(None, None, None)
            self.assertEqual((self.verbs(), native()), (["range"], GIVEN))
        opened[1].end()
        self.assertEqual(self.verbs(), ["range", "end", "end"])

    def test_keywords_with_the_names_of_parameters(self):
        def work(self, func=0):
            return self, func

        _agent.look_now()
        self.assertEqual(asyncio.run(asyncio.to_thread(work, self=1, func=2)), (1, 2))
        self.assertEqual((cuspan.carried(work)(self=1), cuspan.child(work)(self=1)), ((1, 0), (1, 0)))
        opened = cuspan.span("x", self=1, name=2)
        opened.end(self=3)
        self.assertIn("self=3", stub.stub_text().decode())

    def test_a_class_is_returned_unchanged(self):
        with self.assertLogs("cuspan"), mock.patch("cuspan._guard._logged", set()):
            self.assertIs(cuspan.range("x")(Callable), Callable)

    def test_child_and_carried(self):
        for wrapper in cuspan.child, cuspan.carried:
            made = wrapper(plain)
            self.assertEqual((inspect.signature(made), made.__name__), (inspect.signature(plain), "plain"))
            self.assertEqual(pickle.loads(pickle.dumps(made))(1), (1, "x", 3))
            self.assertEqual(copy.deepcopy(made)(1), (1, "x", 3))

    def test_carried_coroutines(self):
        async def where():
            await asyncio.sleep(0)
            return native()

        with cuspan.attach(GIVEN):
            carried = cuspan.carried(where)
        self.assertEqual(asyncio.run(carried()), GIVEN)


class Hooks(unittest.TestCase):
    """Of asyncio, torch and the import system."""

    def test_to_thread_stays_a_coroutine_function(self):
        import anyio.to_thread

        _agent.look_now()
        for function in asyncio.to_thread, anyio.to_thread.run_sync:
            self.assertTrue(inspect.iscoroutinefunction(function))
        self.assertIs(asyncio.to_thread, asyncio.threads.to_thread)
        self.assertIs(pickle.loads(pickle.dumps(asyncio.to_thread)), asyncio.to_thread)
        self.assertEqual(asyncio.run(anyio.to_thread.run_sync(func=lambda: 5)), 5)
        with self.assertRaises(TypeError):
            asyncio.run(asyncio.to_thread())

    def test_a_handle_without_context(self):
        class Handle(asyncio.Handle):
            answers = iter([hostile.Hostile()])
            _context = property(lambda _self: next(Handle.answers, contextvars.copy_context()), lambda *_: None)

        loop, ran = asyncio.new_event_loop(), []
        self.addCleanup(loop.close)
        with mock.patch("cuspan._guard.keep"):
            Handle(lambda: ran.append(1), (), loop)._run()
        self.assertEqual(ran, [1])

    def test_asking_for_a_module_is_not_importing_it(self):
        done = run_python(
            "import cuspan, importlib.util, sys, tempfile, os\n"
            "from cuspan import _imports\n"
            "folder = tempfile.mkdtemp(); sys.path.insert(0, folder)\n"
            "open(os.path.join(folder, 'followed.py'), 'w').write('')\n"
            "seen = []; _imports.when_imported('followed', seen.append)\n"
            "_imports.when_imported('broken', seen.append); _imports.when_imported('missing', seen.append)\n"
            "open(os.path.join(folder, 'broken.py'), 'w').write('1 / 0')\n"
            "assert importlib.util.find_spec('followed') and importlib.util.find_spec('missing') is None\n"
            "for name in 'broken', 'missing':\n"
            "    try: __import__(name)\n"
            "    except (ZeroDivisionError, ModuleNotFoundError): pass\n"
            "    else: raise SystemExit(name)\n"
            "assert seen == []\n"
            "import followed\n"
            "assert seen == [followed] and 'exec_module' not in vars(followed.__loader__)\n"
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_modules_that_are_imported_lazily(self):
        """They are loaded by the program, when it uses them."""
        for place in "before", "path", "module":
            done = run_python(
                "import cuspan, importlib.util, os, sys, tempfile, types\n"
                "from importlib.machinery import PathFinder\n"
                "from cuspan import _imports\n"
                f"place = {place!r}; folder = tempfile.mkdtemp(); seen = []\n"
                "open(os.path.join(folder, 'late.py'), 'w').write('import builtins; builtins.loaded = True; X = 1')\n"
                "def find():\n"
                "    spec = PathFinder.find_spec('late', [folder])\n"
                "    spec.loader = importlib.util.LazyLoader(spec.loader)\n"
                "    return spec\n"
                "def follow():\n"
                "    for number in 1, 2: _imports.when_imported('late', lambda module: seen.append((number, module.X)))\n"
                "if place == 'path':\n"
                "    finder = types.SimpleNamespace(find_spec=lambda name, *_: find() if name == 'late' else None)\n"
                "    sys.meta_path.append(finder)\n"
                "    follow()\n"
                "    import late\n"
                "else:\n"
                "    if place == 'before': follow()\n"
                "    spec = find(); late = sys.modules['late'] = importlib.util.module_from_spec(spec)\n"
                "    spec.loader.exec_module(late)\n"
                "    if place == 'module': follow()\n"
                "import builtins\n"
                "assert not hasattr(builtins, 'loaded') and seen == [], (place, seen)\n"
                "assert late.X == 1 and builtins.loaded and type(late) is types.ModuleType\n"
                "assert len(seen) == (0 if place == 'before' else 2), (place, seen)\n"
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_modules_that_the_program_does_not_use(self):
        """A program may be the first to import threading, on any of its threads; asyncio takes 30 ms."""
        code = (
            "import ctypes, sys\n"  # since 3.14, ctypes imports threading
            "before = set(sys.modules)\n"
            "from cuspan import _agent\n"
            "assert _agent.look_now()\n"
            "print({'asyncio', 'logging', 'threading'} & set(sys.modules) - before)\n"
            "import asyncio\n"
            "print(hasattr(asyncio.Handle._run, '__wrapped__'))\n"
        )
        done = run_python(None, "-S", "-c", code)
        self.assertEqual((done.stdout, done.stderr), (f"set()\n{not HAS_WATCHERS}\n", ""))

    def test_a_loader_that_others_have_changed(self):
        from cuspan import _imports

        class Loader:
            def exec_module(self, module):
                module.ran = True

        def check(name, before, after):
            loader, module, seen = Loader(), types.ModuleType(name), []
            if before:
                loader.exec_module = before
            _imports._call_after_exec(loader, "m", lambda: [seen.append])
            if after:
                loader.exec_module = functools.partial(after, loader.exec_module)
            loader.exec_module(module)
            return vars(loader).get("exec_module"), seen

        self.assertEqual(check("m", None, None)[0], None)
        own = lambda module: None  # noqa: E731
        self.assertEqual(check("m", own, None)[0], own)
        left, seen = check("m", None, lambda original, module: original(module))
        self.assertTrue(isinstance(left, functools.partial) and len(seen) == 1)
        self.assertEqual(check("other", None, None)[1], [])


def fake_torch():
    """The parts of PyTorch that the hooks need. As there, errors in a hook of Optimizer.step() reach the program."""
    torch, inside, optimizer = (
        types.ModuleType(name) for name in ("torch", "torch.serialization", "torch.optim.optimizer")
    )
    hooks = []

    class Optimizer:
        def step(self):
            for hook in hooks:
                hook(self, (), {})

    class Module:
        def __init__(self, *parts):
            self._modules = dict(enumerate(parts))

        def modules(self):
            yield self
            for part in self._modules.values():
                yield from part.modules()

        def train(self, mode=True):
            """Documented."""
            for part in self._modules.values():
                part.train(mode)
            return self

        def eval(self):
            return self.train(False)

    def run_backward(*_args, **_keywords):
        pass

    def save(_value, file):
        file()

    for function in Module.train, save:
        function.__module__ = "torch.serialization" if function is save else "torch"
        function.__qualname__ = function.__qualname__.rpartition("<locals>.")[2]
    optimizer.register_optimizer_step_post_hook = hooks.append
    inside.save = torch.save = save
    torch.serialization = inside
    torch.autograd = types.SimpleNamespace(_engine_run_backward=run_backward)
    torch.nn = types.SimpleNamespace(Module=Module)
    torch.Module = Module
    torch.Optimizer = Optimizer
    return torch, {module.__name__: module for module in (torch, inside, optimizer)}


class Torch(unittest.TestCase):
    def setUp(self):
        self.torch, modules = fake_torch()
        patch = mock.patch.dict(sys.modules, modules)
        patch.start()
        self.addCleanup(patch.stop)
        self.reports = []
        self.steps = Steps(lambda *report: self.reports.append(report))
        self.originals = self.torch.save, self.torch.Module.train
        _job_steps.follow_torch(self.torch, self.steps)

    def train(self, optimizer=None):
        self.torch.autograd._engine_run_backward(accumulate_grad=True)
        (optimizer or self.torch.Optimizer()).step()

    def kinds(self):
        return [kind for _, kind, _ in self.reports]

    def test_what_is_replaced_can_be_pickled(self):
        for original, now in zip(self.originals, (self.torch.save, self.torch.Module.train)):
            self.assertIs(pickle.loads(pickle.dumps(now)), now)
            self.assertEqual(inspect.signature(now), inspect.signature(original))
            self.assertIs(now.__wrapped__, original)
        self.assertIs(self.torch.save, self.torch.serialization.save)

    def test_a_checkpoint(self):
        self.train()
        self.reports.clear()
        self.torch.save({}, file=lambda: self.assertEqual(self.kinds(), [CHECKPOINT]))
        with self.assertRaises(KeyError):
            self.torch.save({}, mock.Mock(side_effect=KeyError))
        self.assertEqual(self.kinds(), [CHECKPOINT, TRAIN] * 2)

    def test_inside_of_save(self):
        """PyTorch's own torch.save stays the same object."""
        torch, modules = fake_torch()
        original, called = torch.save, []
        torch.serialization._save = lambda: called.append(1)
        with mock.patch.dict(sys.modules, modules):
            _job_steps.follow_torch(torch, self.steps)
            self.assertIs(torch.save, original)
            self.train()
            self.reports.clear()
            torch.serialization._save()
        self.assertEqual((called, self.kinds()), ([1], [CHECKPOINT, TRAIN]))

    def test_a_train_of_the_program(self):
        before, calls = self.torch.Module.train, []

        def train(module, mode=True):
            calls.append(mode)
            return before(module, mode)

        self.torch.Module.train = train
        model = self.torch.Module(self.torch.Module(), self.torch.Module())
        for _ in range(3):
            self.assertIs(model.train(), model)
            self.train()
            model.eval()
        self.assertEqual(len(calls), 18)
        self.assertIs(self.torch.Module.train, train)
        self.assertEqual(self.kinds().count(EVALUATION), 3)
        self.torch.Module.train = before
        self.assertIs(self.torch.Module.train, before)

    def test_subclasses_and_errors(self):
        class Model(self.torch.Module):
            def train(self, mode=True, extra=None):
                if extra:
                    raise extra
                return super().train(mode)

        model = Model()
        error = KeyError("mine")
        with self.assertRaises(KeyError) as caught:
            model.train(extra=error)
        self.assertIs(caught.exception, error)
        with self.assertRaises(TypeError):
            self.torch.Module.train()
        self.train()
        model.train()
        model.train(mode=False)
        self.assertEqual(self.kinds()[-1], EVALUATION)
        odd = Model()
        odd._modules = odd.modules = None  # what a hook looks at
        odd.eval = None
        with mock.patch.object(Model, "train", self.torch.Module.train), self.assertRaises(AttributeError):
            odd.train()  # its own error

    def test_an_agent_that_fails(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.steps._report = mock.Mock(side_effect=hostile.Refused)
        for _ in range(20):
            self.train()
            self.torch.Module().eval()
            self.torch.save({}, lambda: None)

    def test_threads_that_train_at_the_same_time(self):
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        self.addCleanup(sys.setswitchinterval, interval)
        failed, logged = [], []
        keep = mock.patch("cuspan._guard.keep", lambda error, place="": logged.append(error))

        def learn(number):
            optimizers = [self.torch.Optimizer() for _ in range(1 + number % 2)]
            try:
                for _ in range(400):
                    self.torch.autograd._engine_run_backward(accumulate_grad=True)
                    for optimizer in optimizers:
                        optimizer.step()
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=learn, args=(number,)) for number in range(4)]
        with keep:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual((failed, logged), ([], []))

    def test_one_thread_at_a_time(self):
        thread = threading.Thread(target=self.train)
        with _steps._lock:
            thread.start()
            thread.join(0.2)
            self.assertEqual(self.reports, [])
        thread.join()
        self.assertEqual(self.kinds(), [TRAIN, TRAIN])

    def test_nested_backward_passes(self):
        """Checkpointing runs one inside another, on a thread of PyTorch."""
        original, ran = self.torch.autograd._engine_run_backward.__wrapped__, []
        self.assertTrue(original)
        torch, modules = fake_torch()

        def nested(*_args, inside=None, **_keywords):
            ran.append(1)
            if inside:
                inside()

        torch.autograd._engine_run_backward = nested
        with mock.patch.dict(sys.modules, modules):
            _job_steps.follow_torch(torch, self.steps)
        backward = functools.partial(torch.autograd._engine_run_backward, accumulate_grad=True)
        self.steps.backward = mock.Mock()

        def on_a_foreign_thread():
            lock = threading.Lock()
            lock.acquire()
            _thread.start_new_thread(lambda: (backward(), lock.release()), ())
            lock.acquire()

        names = {thread.name for thread in threading.enumerate()}
        backward(inside=backward)
        backward(inside=on_a_foreign_thread)
        self.assertEqual((len(ran), self.steps.backward.call_count), (4, 2))
        self.assertEqual({thread.name for thread in threading.enumerate()}, names)

    def test_a_fork_while_another_thread_steps(self):
        holds, ends = threading.Event(), threading.Event()

        def hold():
            with _steps._lock:
                holds.set()
                ends.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        holds.wait()
        child = os.fork()
        if child == 0:
            self.train()
            os._exit(0)
        ends.set()
        thread.join()
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
