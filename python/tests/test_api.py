"""The functions of the package that a service calls itself."""

import asyncio
import threading
import unittest

import cuspan
from tests.support import native, native_state, of, stub, tracer

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-00"


class Attach(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(native())
        self.assertEqual(stub.stub_depth(), 0)

    def test_a_traceparent(self):
        with cuspan.attach(GIVEN, "a=b"):
            self.assertEqual(native(), GIVEN)
            self.assertEqual(native_state(), "a=b")
            self.assertEqual(cuspan.current_traceparent(), GIVEN)
            with cuspan.attach(OTHER):
                self.assertEqual(native(), OTHER)
            self.assertEqual(native(), GIVEN)

    def test_spans_inside_count_before_it(self):
        with tracer.start_as_current_span("outer") as outer:
            with cuspan.attach(GIVEN):
                self.assertEqual(native(), GIVEN)
                with tracer.start_as_current_span("inner") as inner:
                    self.assertEqual(native(), of(inner))
                self.assertEqual(native(), GIVEN)
            self.assertEqual(native(), of(outer))

    def test_the_current_span_and_none(self):
        with cuspan.attach():
            self.assertIsNone(native())
        with tracer.start_as_current_span("request") as span, cuspan.attach():
            self.assertEqual(native(), of(span))

    def test_as_a_decorator(self):
        @cuspan.attach(GIVEN)
        def work():
            return native()

        self.assertEqual([work(), work()], [GIVEN, GIVEN])

    def test_invalid_traceparents(self):
        for wrong in (
            "nonsense",
            GIVEN.upper(),
            GIVEN[:-1],
            GIVEN + "-more",
            "ff" + GIVEN[2:],
            GIVEN + "\n",
            "00-" + "0" * 32 + GIVEN[35:],
            GIVEN[:36] + "0" * 16 + "-01",
        ):
            with cuspan.attach(wrong):
                self.assertIsNone(native(), wrong)
        with cuspan.attach("01" + GIVEN[2:-2] + "ff-more"):
            self.assertEqual(native(), GIVEN[:-2] + "03")

    def test_it_belongs_to_the_task(self):
        async def request(traceparent):
            with cuspan.attach(traceparent):
                for _ in range(5):
                    await asyncio.sleep(0)
                    self.assertEqual(native(), traceparent)

        async def main():
            await asyncio.gather(*[request(GIVEN), request(OTHER)] * 1)

        asyncio.run(main())


class Ranges(unittest.TestCase):
    def setUp(self):
        stub.stub_forget()

    def lines(self):
        return [" ".join(line.split(" ")[:1] + line.split(" ")[2:]) for line in stub.stub_text().decode().splitlines()]

    def test_attributes_of_each_type(self):
        with cuspan.range("decode", {"a.b": 1.5}, tokens=7, ok=True, model="naïve", huge=2**70) as opened:
            self.assertIsInstance(opened, cuspan.range)
        self.assertEqual(self.lines()[0], f"range decode a.b=1.5 tokens=7 ok=true model='naïve' huge='{2**70}'")
        self.assertEqual(self.lines()[1:], ["end 0 -"])

    def test_an_exception_is_an_error(self):
        with self.assertRaises(ValueError), cuspan.range("decode"):
            raise ValueError("too long")
        self.assertEqual(self.lines(), ["range decode", "end 2 too long error.type='ValueError'"])

    def test_cancelling_is_none(self):
        with self.assertRaises(asyncio.CancelledError), cuspan.range("decode"):
            raise asyncio.CancelledError
        self.assertEqual(self.lines()[1:], ["end 0 -"])

    def test_decorators(self):
        @cuspan.range("work", size=1)
        def work(depth):
            """Documented."""
            return work(depth - 1) if depth else 5

        @cuspan.range("wait")
        async def wait():
            await asyncio.sleep(0)
            raise KeyError("x")

        self.assertEqual((work(1), work.__name__, work.__doc__), (5, "work", "Documented."))
        self.assertEqual(self.lines(), ["range work size=1"] * 2 + ["end 0 -"] * 2)
        stub.stub_forget()
        with self.assertRaises(KeyError):
            asyncio.run(wait())
        self.assertEqual(self.lines(), ["range wait", "end 2 'x' error.type='KeyError'"])

    def test_a_span_ends_once_on_any_thread(self):
        opened = cuspan.span("transfer", bytes=4)
        thread = threading.Thread(target=lambda: opened.end(status="done"))
        thread.start()
        thread.join()
        opened.end()
        self.assertEqual(self.lines(), ["span transfer bytes=4", "end 0 - status='done'"])

    def test_a_span_as_context_manager(self):
        with self.assertRaises(OSError), cuspan.span("transfer"):
            raise OSError("gone")
        self.assertEqual(self.lines(), ["span transfer", "end 2 gone error.type='OSError'"])

    def test_a_loop_runs_as_often_as_the_agent_wants(self):
        self.assertEqual(list(cuspan.loop("thrice")), [0, 1, 2])
        self.assertEqual(self.lines(), ["loop thrice", "again ?", "again ?", "again ?", "end 0 -"])
        stub.stub_forget()
        self.assertEqual(list(cuspan.loop("once")), [0])
        self.assertEqual(self.lines(), ["loop once", "again ?", "end 0 -"])

    def test_a_loop_that_is_left_ends(self):
        for _ in cuspan.loop("thrice"):
            break
        self.assertEqual(self.lines(), ["loop thrice", "end 0 -"])
        stub.stub_forget()
        with self.assertRaises(ValueError):
            for _ in cuspan.loop("thrice"):
                raise ValueError
        self.assertEqual(self.lines(), ["loop thrice", "end 0 -"])

    def test_mark(self):
        self.assertTrue(cuspan.mark("token", number=3))
        self.assertEqual(self.lines(), ["mark token number=3"])

    def test_is_on(self):
        self.assertTrue(cuspan.is_on())

    def test_tracing_begins_and_ends(self):
        self.assertTrue(cuspan.start())
        cuspan.stop()
        self.assertTrue(cuspan.flush(timeout=0.25))
        self.assertFalse(cuspan.flush(timeout=0))
        self.assertTrue(cuspan.flush(timeout=float("inf")))  # the agent's maximum
        verbs = [line.split()[0] for line in self.lines()]
        self.assertEqual(verbs, ["start", "stop", "flush", "flush", "flush"])
