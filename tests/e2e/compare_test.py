"""Tests the comparison: spans that match the recording pass, and each single deviation is found."""

import copy
import unittest

from backend import Span
from compare import compare, shorten
from recording import GRAPH_TRACE, KERNEL, MEMCPY, MEMSET, Activity, Call, Recording

TRACE = "0af7651916cd43dd8448eb211c80319c"
ADD = "_Z3addPKfS0_Pfi"


def a_recording():
    calls = [Call(2, 211, 7, 1000 * i, 1000 * i + 500, i, 1, 0) for i in range(1, 5)]
    calls.append(Call(2, 31, 7, 9000, 9100, 9, 1, 2))
    work = [Activity(KERNEL, 0, 1600, 1900, 0, 0, 1, 0, 1, 7, ADD,
                     {13: 4096, 14: 1, 15: 1, 16: 256, 17: 1, 18: 1}),
            Activity(MEMCPY, 0, 2600, 2900, 0, 0, 2, 0, 1, 7, None, {5: 4194304}),
            Activity(MEMSET, 0, 3600, 3600, 0, 0, 3, 0, 1, 8, None, {2: 64}),
            Activity(GRAPH_TRACE, 0, 4600, 4900, 0, 3, 4, 0, 1, 8, None),
            Activity(MEMCPY, 0, 8600, 8900, 0, 0, 77, 0, 1, 7, None, {5: 16})]
    return Recording({}, {}, calls, work, {})


def its_spans():
    resource, device = {"host.id": "h"}, {"host.id": "h", "cuda.device.id": 0}
    spans = [Span(TRACE, "root", "", "vector_add", 1000, 9100, 0, {}, resource)]
    for i in range(1, 5):
        spans.append(Span(TRACE, f"call{i}", "root", "cudaLaunchKernel", 1000 * i, 1000 * i + 500, 0,
                          {"cuda.api": "runtime", "cuspan.thread.id": 7}, resource))
    spans.append(Span(TRACE, "failed", "root", "cudaMemcpy", 9000, 9100, 2, {"cuda.api": "runtime", "cuspan.thread.id": 7}, resource))

    def gpu(name, kind, parent, start_ns, end_ns, stream, correlation, **more):
        attributes = {"cuda.activity": kind, "cuda.context.id": 1, "cuda.stream.id": stream,
                      "cuda.correlation.id": correlation}
        attributes.update({key.replace("__", "."): value for key, value in more.items()})
        spans.append(Span(TRACE, f"gpu{len(spans)}", parent, name, start_ns, end_ns, 0, attributes, device))

    gpu("add", "kernel", "call1", 1600, 1900, 7, 1, cuda__kernel__grid=[4096, 1, 1], cuda__kernel__block=[256, 1, 1],
        cuda__kernel__name="add(float const*, float const*, float*, int)")
    gpu("memcpy HtoD", "memcpy", "call2", 2600, 2900, 7, 2, cuda__memcpy__bytes=4194304)
    gpu("memset", "memset", "call3", 3600, 3601, 8, 3, cuda__memset__bytes=64, cuda__zero_length=True)
    gpu("graph", "graph", "call4", 4600, 4900, 8, 4)
    gpu("memcpy HtoD", "memcpy", "root", 8600, 8900, 7, 77, cuda__memcpy__bytes=16, cuda__orphan=True)
    return spans


class OwnCalls(unittest.TestCase):
    def test_what_the_runtime_asks_of_the_driver_is_not_the_programs(self):
        def call(domain, start, end, number=1, tid=7):
            return Call(domain, 0, tid, start, end, number, 1, 0)
        runtime = call(2, 100, 200)
        left = [runtime, call(1, 120, 200, tid=8), call(1, 120, 150, number=2), call(1, 200, 220), call(1, 250, 300),
                call(2, 120, 130), call(1, 110, 120, number=0)]
        self.assertEqual(Recording(calls=[*left, call(1, 100, 150), call(1, 150, 200)]).own_calls(), left)


class CompareTest(unittest.TestCase):
    def test_the_truth_passes(self):
        self.assertEqual(compare(a_recording(), its_spans()), [])

    def test_every_lie_is_found(self):
        def attribute(index, key, value):
            return lambda spans: spans[index].attributes.__setitem__(key, value)

        def member(index, key, value):
            return lambda spans: setattr(spans[index], key, value)

        lies = {
            "start": member(6, "start_ns", 1601), "end": member(7, "end_ns", 2901), "name": member(6, "name", "sub"),
            "parent": member(6, "parent_id", "call2"), "no parent": member(6, "parent_id", "gone"),
            "below the session": member(6, "parent_id", "root"), "second root": member(6, "parent_id", ""),
            "grid": attribute(6, "cuda.kernel.grid", [4096, 1, 2]), "block": attribute(6, "cuda.kernel.block", [256, 2, 1]),
            "full name": attribute(6, "cuda.kernel.name", "add(int)"), "bytes": attribute(7, "cuda.memcpy.bytes", 1),
            "stream": attribute(7, "cuda.stream.id", 8), "context": attribute(7, "cuda.context.id", 2),
            "correlation": attribute(7, "cuda.correlation.id", 1), "kind": attribute(7, "cuda.activity", "memset"),
            "device": member(6, "resource", {"cuda.device.id": 1}),
            "no mark of zero length": attribute(8, "cuda.zero_length", False),
            "wrong mark of zero length": attribute(7, "cuda.zero_length", True),
            "no mark of an orphan": attribute(10, "cuda.orphan", False),
            "one is missing": lambda spans: spans.pop(7), "one stands twice": lambda spans: spans.append(spans[7]),
            "one too many": lambda spans: spans.append(with_another_id(spans[7])),
            "a call is missing": lambda spans: spans.pop(5), "a failure is no failure": member(5, "status", 0),
            "a call's time": member(5, "end_ns", 9101), "a call's thread": attribute(5, "cuspan.thread.id", 8),
        }
        for name, lie in lies.items():
            with self.subTest(name):
                spans = copy.deepcopy(its_spans())
                lie(spans)
                self.assertNotEqual(compare(a_recording(), spans), [])

    def test_calls_may_be_left_out(self):
        spans = its_spans()
        spans.pop(5)  # caused no GPU work
        self.assertEqual(compare(a_recording(), spans, every_call=False), [])
        spans.pop(4)
        self.assertNotEqual(compare(a_recording(), spans, every_call=False), [])

    def test_names(self):
        for full, short in {
                "add(float const*, int)": "add", "ampere_sgemm_128x64_tn": "ampere_sgemm_128x64_tn",
                "void (anonymous namespace)::f<int>(int)": "(anonymous namespace)::f",
                "void at::native::k<4, at::F<float>(at::T&)::{lambda(int)#1}>(int, char*)": "at::native::k",
                "void at::u<int, q::{lambda()#3}::operator()() const::{lambda(float)#1}>(int, q::{lambda()#3}::operator()() const"
                "::{lambda(float)#1}, T<4>)": "at::u",
                "void f(int)::{lambda(int)#1}::operator()(int) const": "f::{lambda(int)#1}::operator()",
                "void cutlass::Kernel2<cutlass_80>(cutlass_80::Params)": "cutlass::Kernel2"}.items():
            self.assertEqual(shorten(full), short)


def with_another_id(span):
    span = copy.copy(span)
    span.span_id = "another"
    return span


if __name__ == "__main__":
    unittest.main()
