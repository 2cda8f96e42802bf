#!/usr/bin/env python3
"""Tests whether service_check.py detects faults, with synthetic traces."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from backend import Span  # noqa: E402
from service_check import CHAIN, check  # noqa: E402

REQUEST = {"number": 5, "kind": "normal", "trace_id": "t5", "images": 2, "pixels": 64, "layers": 3}
FAILING = {"number": 6, "kind": "failing", "trace_id": "t5", "images": 1, "pixels": 1 << 40, "layers": 1}


def span(number, parent, name, service="worker", status=0, **attributes):
    named = {f"cuda.{key.replace('_', '.')}": value for key, value in attributes.items()}
    return Span("t5", str(number), str(parent) if parent else "", name, 1, 2, status, named, {"service.name": service})


def chain():
    return [span(i, i - 1, name, service) for i, (service, name) in enumerate(CHAIN, 1)]


def call_with(number, name, **activity):
    return [span(number, 5, name, api="runtime"), span(number + 1, number, "work", **activity)]


def good():
    spans = chain()
    for i in range(2):
        spans += call_with(10 + 2 * i, "cudaMemcpyAsync", activity="memcpy", memcpy_kind="HostToDevice", memcpy_bytes=256)
    for i in range(3):
        spans += call_with(20 + 2 * i, "cudaLaunchKernel", activity="kernel")
    spans += call_with(30, "cudaMemcpyAsync", activity="memcpy", memcpy_kind="DeviceToHost", memcpy_bytes=256)
    return [*spans, span(40, 5, "cudaStreamSynchronize", api="runtime")]


def found(spans, request=REQUEST, others=(), has_gpu=True):
    return list(check([request], {"t5": spans, "session": list(others)}, has_gpu, 2))


class ServiceCheck(unittest.TestCase):
    def test_a_right_trace_passes(self):
        self.assertEqual(found(good()), [])

    def test_each_missing_span_is_noticed(self):
        for i in range(len(good()) - 1):  # except the last: that call has no GPU work
            with self.subTest(i=i):
                self.assertTrue(found(good()[:i] + good()[i + 1:]))

    def test_anothers_work_is_noticed(self):
        self.assertIn("instead of", found(good() + call_with(50, "cudaLaunchKernel", activity="kernel"))[0])
        self.assertIn("instead of", found(good() + call_with(50, "cudaMemcpyAsync", activity="memcpy",
                                                             memcpy_kind="HostToDevice", memcpy_bytes=512))[0])

    def test_a_call_in_the_wrong_place_is_noticed(self):
        self.assertIn("is below POST /infer", found([*good(), span(50, 4, "cudaEventRecord", api="runtime")])[0])
        self.assertIn("is below infer", found([*good(), span(50, 5, "overhead", activity="overhead")])[0])

    def test_a_span_that_stands_twice_is_noticed(self):
        self.assertIn("twice", found([*good(), good()[-1]])[0])

    def test_what_is_no_part_of_the_service_is_noticed(self):
        self.assertIn("of them", found([span(50, 4, "surprise"), *good()])[0])
        self.assertIn("surprise", found([*good(), span(50, 5, "surprise")])[0])

    def test_a_failed_request_has_a_failed_call_and_no_work(self):
        failed = [*chain(), span(10, 5, "cudaMalloc", status=2, api="runtime")]
        self.assertEqual(found(failed, FAILING), [])
        self.assertIn("no CUDA call has failed", found(chain(), FAILING)[0])
        self.assertIn("instead of", found(failed + call_with(20, "cudaLaunchKernel", activity="kernel"), FAILING)[0])

    def test_without_a_gpu_the_chain_is_all(self):
        self.assertEqual(found(chain(), has_gpu=False), [])
        self.assertTrue(found(chain()[:-1], has_gpu=False))

    def test_what_isnt_sampled_has_nothing(self):
        self.assertEqual(found([], {**REQUEST, "is_sampled": False}), [])
        self.assertIn("isn't sampled", found(good(), {**REQUEST, "is_sampled": False})[0])

    def test_work_of_nobody_is_the_warm_ups_alone(self):
        warm_up = [*call_with(60, "cudaMemcpyAsync", activity="memcpy", memcpy_kind="HostToDevice", memcpy_bytes=68),
                   *call_with(62, "cudaLaunchKernel", activity="kernel")]
        self.assertEqual(found(good(), others=warm_up), [])
        self.assertIn("warm-ups", found(good(), others=3 * warm_up)[0])
        stray = call_with(60, "cudaMemcpyAsync", activity="memcpy", memcpy_kind="HostToDevice", memcpy_bytes=256)
        self.assertIn("copies in no request", found(good(), others=stray)[0])
        self.assertIn("orphans", found(good(), others=[span(60, 1, "x", activity="kernel", orphan=True)])[0])


if __name__ == "__main__":
    unittest.main()
