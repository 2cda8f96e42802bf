"""Tasks: after each await, the native thread has the span of the task that resumes."""

import asyncio
import contextvars
import os
import signal
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.support import HAS_WATCHERS, native, of, of_current, stub, tracer

TASKS = 100


class Tasks(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(native())
        self.assertEqual(stub.stub_depth(), 0)

    async def request(self, number):
        with tracer.start_as_current_span(f"request {number}") as span:
            for step in range(10):
                await asyncio.sleep(0 if (number + step) % 3 else 0.001)
                self.assertEqual(native(), of(span))
                with tracer.start_as_current_span("step") as inner:
                    self.assertEqual(native(), of(inner))
                    await asyncio.sleep(0)
                    self.assertEqual(native(), of(inner))
                self.assertEqual(native(), of(span))
        self.assertIsNone(native())
        return True

    async def without_span(self):
        for _ in range(20):
            await asyncio.sleep(0)
            self.assertIsNone(native())
        return True

    def test_a_hundred_at_once(self):
        async def main():
            jobs = [self.request(number) for number in range(TASKS)] + [self.without_span() for _ in range(10)]
            return await asyncio.gather(*jobs)

        self.assertTrue(all(asyncio.run(main())))

    def test_in_a_thread_of_its_own(self):
        async def main():
            return await asyncio.to_thread(asyncio.run, self.request(0))

        self.assertTrue(asyncio.run(main()))

    def test_the_loops_thread_is_as_before_when_it_ends(self):
        async def main():
            with tracer.start_as_current_span("request"):
                await asyncio.sleep(0)
                asyncio.get_running_loop().call_soon(lambda: None)

        with tracer.start_as_current_span("outside") as outside:
            asyncio.run(main())
            self.assertEqual(native(), of(outside))

    def test_a_loop_that_is_stopped_inside_a_span(self):
        loop = asyncio.new_event_loop()

        async def main():
            with tracer.start_as_current_span("request"):
                await asyncio.sleep(0)
                loop.stop()
                await asyncio.sleep(0)

        task = loop.create_task(main())
        loop.run_forever()
        self.assertIsNone(native())
        loop.run_until_complete(task)
        loop.close()

    def test_a_handle_inside_a_handle(self):
        """Runs the tasks like nest_asyncio."""

        async def main():
            loop = asyncio.get_running_loop()
            with tracer.start_as_current_span("inner") as inner:
                seen = []
                handle = asyncio.Handle(lambda: seen.append(native()), (), loop)
            with tracer.start_as_current_span("outer") as outer:
                handle._run()
                self.assertEqual(seen, [of(inner)])
                self.assertEqual(native(), of(outer))

        asyncio.run(main())

    def test_callbacks_and_timers(self):
        seen = []

        async def main():
            loop = asyncio.get_running_loop()
            with tracer.start_as_current_span("request") as span:
                loop.call_soon(lambda: seen.append(native() == of(span)))
                loop.call_later(0.001, lambda: seen.append(native() == of(span)))
            loop.call_soon(lambda: seen.append(native() is None))
            loop.call_soon(lambda: seen.append(native() is None), context=contextvars.Context())
            await asyncio.sleep(0.01)

        asyncio.run(main())
        self.assertEqual(seen, [True] * 4)

    def test_to_thread(self):
        async def main():
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))  # the same thread for all
            with tracer.start_as_current_span("request") as span:
                self.assertEqual(await asyncio.to_thread(native), of(span))
                self.assertIsNone(await asyncio.get_running_loop().run_in_executor(None, native))
                with self.assertRaises(ZeroDivisionError):
                    await asyncio.to_thread(lambda: 1 / 0)
                self.assertEqual(native(), of(span))
            self.assertIsNone(await asyncio.to_thread(native))

        asyncio.run(main())

    def test_anyio_as_starlette_uses_it(self):
        import anyio.to_thread

        async def main():
            with tracer.start_as_current_span("request") as span:
                self.assertEqual(await anyio.to_thread.run_sync(native), of(span))
            self.assertIsNone(await anyio.to_thread.run_sync(native))

        asyncio.run(main())

    def test_asynchronous_generators(self):
        async def steps():
            with tracer.start_as_current_span("generator") as span:
                for _ in range(3):
                    await asyncio.sleep(0)
                    self.assertEqual(native(), of(span))
                    yield span

        async def consume():
            async for _ in steps():
                self.assertEqual(native(), of_current())
            self.assertIsNone(native())

        async def main():
            await asyncio.gather(*[consume() for _ in range(10)])

        asyncio.run(main())

    def test_exceptions_and_cancelling(self):
        async def fails():
            with tracer.start_as_current_span("fails"):
                await asyncio.sleep(0)
                raise ValueError("as it should")

        async def main():
            with tracer.start_as_current_span("request") as span:
                sleeper = asyncio.create_task(self.request(1))
                results = await asyncio.gather(fails(), fails(), return_exceptions=True)
                self.assertEqual([str(result) for result in results], ["as it should"] * 2)
                sleeper.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await sleeper
                self.assertEqual(native(), of(span))

        asyncio.run(main())


if sys.version_info >= (3, 12):

    class EagerTasks(unittest.TestCase):
        def test_they_run_inside_create_task(self):
            async def child():
                with tracer.start_as_current_span("child") as span:
                    self.assertEqual(native(), of(span))
                    await asyncio.sleep(0)
                    self.assertEqual(native(), of(span))

            async def main():
                asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
                with tracer.start_as_current_span("request") as span:
                    task = asyncio.create_task(child())
                    self.assertEqual(native(), of(span))
                    await task
                    self.assertEqual(native(), of(span))

            asyncio.run(main())
            self.assertIsNone(native())


if HAS_WATCHERS:

    class Watchers(unittest.TestCase):
        """With the interpreter's own notifications, nothing in asyncio is replaced."""

        def test_asyncio_is_as_it_was(self):
            self.assertEqual(asyncio.Handle._run.__module__, "asyncio.events")
            self.assertFalse(hasattr(asyncio.Handle._run, "__wrapped__"))

        def test_any_context(self):
            with tracer.start_as_current_span("request") as span:
                inside = contextvars.copy_context()
            self.assertIsNone(native())
            self.assertEqual(inside.run(native), of(span))
            self.assertIsNone(native())

        def test_exceptions_pass_through_a_switch(self):
            with tracer.start_as_current_span("request"):
                inside = contextvars.copy_context()
            for error in (ValueError("mine"), KeyboardInterrupt(), SystemExit(3), StopIteration(4)):
                with self.assertRaises(type(error)) as caught:
                    inside.run(self.throw, error)
                self.assertIs(caught.exception, error)
                self.assertIsNone(native())

        def throw(self, error):
            raise error

        def test_ctrl_c_is_not_lost(self):
            with tracer.start_as_current_span("request"):
                inside = contextvars.copy_context()
            for _ in range(10):
                threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
                with self.assertRaises(KeyboardInterrupt):
                    end = time.monotonic() + 10
                    while time.monotonic() < end:
                        inside.run(int)
                self.assertIsNone(native())
