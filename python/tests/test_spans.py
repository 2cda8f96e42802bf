"""Spans, threads, pools and generators."""

import os
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from opentelemetry import context as otel_context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from tests.support import native, native_state, of, of_current, stub, trace, tracer


class Spans(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(native())
        self.assertEqual(stub.stub_depth(), 0)

    def test_nesting(self):
        with tracer.start_as_current_span("outer") as outer:
            self.assertEqual(native(), of(outer))
            with tracer.start_as_current_span("inner") as inner:
                self.assertEqual(native(), of(inner))
                self.assertEqual(stub.stub_depth(), 1)
            self.assertEqual(native(), of(outer))

    def test_flags_and_tracestate_as_they_are(self):
        for flags in (0, 1, 3):
            span = NonRecordingSpan(SpanContext(7, 9, True, TraceFlags(flags), TraceState([("a", "b"), ("c", "d")])))
            with trace.use_span(span):
                self.assertEqual(native(), f"00-{7:032x}-{9:016x}-{flags:02x}")
                self.assertEqual(native_state(), "a=b,c=d")

    def test_an_exception_leaves_the_context_of_before(self):
        with tracer.start_as_current_span("outer") as outer:
            with self.assertRaises(ValueError), tracer.start_as_current_span("inner"):
                raise ValueError
            self.assertEqual(native(), of(outer))

    def test_the_same_span_again_costs_no_native_call(self):
        with tracer.start_as_current_span("outer") as outer:
            before = stub.stub_calls()
            for i in range(100):
                token = otel_context.attach(otel_context.set_value("key", i))
                self.assertEqual(native(), of(outer))
                otel_context.detach(token)
            self.assertEqual(stub.stub_calls(), before)

    def test_detach_in_the_wrong_order(self):
        outer, inner = tracer.start_span("outer"), tracer.start_span("inner")
        first = otel_context.attach(trace.set_span_in_context(outer))
        second = otel_context.attach(trace.set_span_in_context(inner))
        otel_context.detach(first)
        self.assertEqual(native(), of_current())
        self.assertIsNone(native())
        otel_context.detach(second)
        self.assertEqual(native(), of_current())
        self.assertEqual(native(), of(outer))
        otel_context.attach(otel_context.Context())

    def test_detach_of_another_threads_token(self):
        span = tracer.start_span("elsewhere")
        tokens = []
        thread = threading.Thread(target=lambda: tokens.append(otel_context.attach(trace.set_span_in_context(span))))
        thread.start()
        thread.join()
        with tracer.start_as_current_span("here") as here:
            with self.assertLogs("opentelemetry.context", "ERROR"):
                otel_context.detach(tokens[0])
            self.assertEqual(native(), of(here))


class Generators(unittest.TestCase):
    def steps(self, name, count):
        with tracer.start_as_current_span(name) as span:
            for _ in range(count):
                self.assertEqual(of_current(), native())
                yield span

    def test_what_a_generator_leaves_current_is_the_threads(self):
        for span in self.steps("generator", 3):
            self.assertEqual(native(), of_current())
            self.assertEqual(native(), of(span))
        self.assertIsNone(native())

    def test_interleaved(self):
        first, second = self.steps("first", 2), self.steps("second", 2)
        for generator in (first, second, first, second):
            next(generator)
            self.assertEqual(native(), of_current())
        for generator in (first, second):  # the first ends before the second, which started inside it
            next(generator, None)
            self.assertEqual(native(), of_current())
        otel_context.attach(otel_context.Context())
        self.assertIsNone(native())

    def test_closed_in_the_middle(self):
        generator = self.steps("generator", 2)
        next(generator)
        generator.close()
        self.assertIsNone(native())


class Threads(unittest.TestCase):
    def test_a_new_thread_has_none(self):
        seen = []
        with tracer.start_as_current_span("request"):
            thread = threading.Thread(target=lambda: seen.append((native(), of_current())))
            thread.start()
            thread.join()
        self.assertEqual(seen[0][0], seen[0][1])

    def test_each_thread_its_own(self):
        together = threading.Barrier(8)

        def work(number):
            with tracer.start_as_current_span(f"request {number}") as span:
                for _ in range(50):
                    together.wait()
                    if native() != of(span):
                        return False
            return native() is None

        with ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(8))))

    def test_a_pool_has_what_the_instrumentation_gives_it(self):
        from opentelemetry.instrumentation.threading import ThreadingInstrumentor

        def seen():
            return native(), of_current()

        with ThreadPoolExecutor(2) as pool:
            with tracer.start_as_current_span("request"):
                self.assertEqual(pool.submit(seen).result(), (None, None))
            ThreadingInstrumentor().instrument()
            self.addCleanup(ThreadingInstrumentor().uninstrument)
            with tracer.start_as_current_span("request") as span:
                self.assertEqual(pool.submit(seen).result(), (of(span), of(span)))
                thread_saw = []
                thread = threading.Thread(target=lambda: thread_saw.append(native()))
                thread.start()
                thread.join()
                self.assertEqual(thread_saw, [of(span)])
            self.assertEqual(pool.submit(seen).result(), (None, None))

    def test_a_fork_keeps_the_span(self):
        with tracer.start_as_current_span("request") as span:
            child = os.fork()
            if child == 0:
                right = native() == of(span) and stub.stub_depth() == 1
                with tracer.start_as_current_span("in the child") as inner:
                    right = right and native() == of(inner)
                os._exit(0 if right and native() == of(span) else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
