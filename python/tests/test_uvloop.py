"""uvloop's handles are in C: before Python 3.14 its switches are not reported, and attach() must be used."""

import asyncio
import unittest

import uvloop

import cuspan
from tests.support import HAS_WATCHERS, native, of, stub, tracer


def run(coroutine):
    loop = uvloop.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


async def count_right(with_attach):
    async def request(number):
        right = 0
        with tracer.start_as_current_span(f"request {number}") as span:
            for _ in range(10):
                await asyncio.sleep(0)
                if with_attach:
                    with cuspan.attach():
                        right += native() == of(span)
                else:
                    right += native() == of(span)
        return right

    return sum(await asyncio.gather(*[request(number) for number in range(100)]))


class Uvloop(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(native())
        self.assertEqual(stub.stub_depth(), 0)

    def test_with_attach(self):
        self.assertEqual(run(count_right(with_attach=True)), 1000)

    def test_without_attach(self):
        self.assertEqual(run(count_right(with_attach=False)), 1000 if HAS_WATCHERS else 0)

    def test_spans_inside_attach(self):
        async def main():
            with tracer.start_as_current_span("request") as span:
                with cuspan.attach():
                    self.assertEqual(native(), of(span))
                    with tracer.start_as_current_span("inner") as inner:
                        self.assertEqual(native(), of(inner))
                        with cuspan.attach():
                            self.assertEqual(native(), of(inner))
                        self.assertEqual(native(), of(inner))
                    self.assertEqual(native(), of(span))
                return native() == (of(span) if HAS_WATCHERS else None)

        self.assertTrue(run(main()))

    def test_nobody_gets_anothers_context(self):
        async def with_span():
            with tracer.start_as_current_span("request"), cuspan.attach():
                pass
            with tracer.start_as_current_span("request"):
                for _ in range(20):
                    await asyncio.sleep(0)

        async def without_span():
            for _ in range(20):
                await asyncio.sleep(0)
                self.assertIsNone(native())

        async def main():
            await asyncio.gather(*[with_span() for _ in range(10)], *[without_span() for _ in range(10)])

        run(main())

    def test_a_task_begun_inside_attach_outlives_it(self):
        async def child():
            await asyncio.sleep(0)
            with tracer.start_as_current_span("child"):
                await asyncio.sleep(0)

        async def main():
            with tracer.start_as_current_span("request"), cuspan.attach():
                task = asyncio.ensure_future(child())
            for _ in range(5):
                await asyncio.sleep(0)
                self.assertIsNone(native())
            await task

        run(main())

    def test_to_thread(self):
        async def main():
            with tracer.start_as_current_span("request") as span:
                return await asyncio.to_thread(native) == of(span)

        self.assertTrue(run(main()))
