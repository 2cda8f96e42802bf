"""Measures the cost of each hook, in ns of CPU time.

CUDA_INJECTION64_PATH= python -m tests.cost                        without an agent
CUDA_INJECTION64_PATH= python -m tests.cost contextvars_context    the same with OpenTelemetry's own runtime context
python -m tests.cost                                               with the stub agent
"""

import asyncio
import os
import sys
import time
import timeit

os.environ["OTEL_PYTHON_CONTEXT"] = sys.argv[1] if len(sys.argv) > 1 else "cuspan"

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import cuspan
from cuspan import _agent
from cuspan._iterations import Rank, Schedule

ROUNDS = 2000
REPEATS = 50  # the minimum is used: the machine also does other things


def least(function, rounds):
    return min(timeit.repeat(function, time.process_time, number=rounds, repeat=REPEATS))


def show(name, function, rounds=ROUNDS):
    print(f"{name:50} {least(function, rounds) / rounds * 1e9:7.0f} ns")


def attach_and_detach(context):
    return lambda: otel_context.detach(otel_context.attach(context))


def with_range():
    with cuspan.range("decode"):
        pass


def with_attach():
    with cuspan.attach():
        pass


def iteration(are_columns):
    """The adapter of an engine, in an iteration of 256 requests that decode."""
    schedule, rank, keys = Schedule(), Rank(_agent.look_now(), "engine"), [f"request-{at}" for at in range(256)]
    members = [schedule.admit(key, key, 100) for key in keys]

    def as_parts():
        rank.begin(schedule.stamp([(member, 1, 100, 0, False) for member in members]))
        rank.end()

    def as_columns():
        rank.begin(schedule.stamp(columns=(keys, None, [100] * 256, {})))
        rank.end()

    return as_columns if are_columns else as_parts


def awaits():
    async def main():
        for _ in range(ROUNDS):
            await asyncio.sleep(0)

    asyncio.run(main())


def main():
    span = trace.set_span_in_context(TracerProvider().get_tracer("cost").start_span("request"))
    print("with" if cuspan.is_on() else "without", "an agent;", type(otel_context._RUNTIME_CONTEXT).__module__)
    show("OpenTelemetry's attach() and detach() of a span", attach_and_detach(span))
    show("the same of a context without a span", attach_and_detach(otel_context.set_value("a", 1)))
    show("with cuspan.range()", with_range)
    show("with cuspan.attach()", with_attach)
    show("cuspan.current_traceparent()", cuspan.current_traceparent)
    if cuspan.is_on():
        show("an iteration of 256 requests, in columns", iteration(are_columns=True), 50)
        show("the same, request by request", iteration(are_columns=False), 50)
    print(f"{'an await':50} {least(awaits, 1) / ROUNDS * 1e9:7.0f} ns")


if __name__ == "__main__":
    main()
