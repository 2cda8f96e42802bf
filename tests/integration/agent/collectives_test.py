#!/usr/bin/env python3
"""Collectives through the whole agent: ranges of NCCL become spans around the kernels that they launched.

    collectives_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import agent_case  # noqa: E402
from agent_case import Case  # noqa: E402

STEPS, SHARE, DURATION_S = 50, 1000, 2e-6  # of replay_sample.h


class Collectives(Case):
    def setUp(self):
        super().setUp()
        self.sample = self.directory / "collectives.cuspanrec"
        subprocess.run([agent_case.BUILD / "replay_sample", self.sample, "collectives"], check=True)

    def collectives(self, result):
        return [span for span in result.spans if span.attributes.get("cuda.activity") == "collective"]

    def below(self, result, span):
        return [child for child in result.spans if child.parent_id == span.span_id]

    def check(self, result, has_plugin=True):
        self.assert_nothing_lost(result)
        by_id = {span.span_id: span for span in result.spans}
        found = self.collectives(result)
        self.assertEqual(len(found), 2 * STEPS)
        self.assertEqual(result.report["counters"]["collectives"], 2 * STEPS)
        for span in found:
            kernel, = self.below(result, span)
            self.assertTrue(kernel.name.startswith(f"ncclDevKernel_{span.name}_"), kernel.name)
            self.assertEqual((kernel.start_ns, kernel.end_ns), (span.start_ns, span.end_ns))
            call = by_id[span.parent_id]
            self.assertEqual(call.name, "cudaLaunchKernelExC")
            self.assertEqual(by_id[call.parent_id].name, "ncclAllReduce" if span.name == "AllReduce" else "ncclGroupEnd")
            got = span.attributes
            self.assertEqual(got["collective.communicator"], "0xf00df00df00df00d")
            self.assertEqual((got["collective.ranks"], got["collective.rank"]), (4, 1))
        self.all_reduces([span.attributes for span in found if span.name == "AllReduce"], has_plugin)
        self.all_gathers([span.attributes for span in found if span.name == "AllGather"])
        own = [span for span in result.spans if span.name == "own"]
        self.assertEqual({by_id[span.parent_id].name for span in own}, {"cudaLaunchKernelExC"})
        self.assertEqual(len({span.attributes["collective.key"] for span in found}), 2 * STEPS)

    def all_reduces(self, attributes, has_plugin):
        self.assertEqual(sorted(a["collective.ordinal"] for a in attributes), list(range(STEPS)))
        for got in attributes:
            self.assertEqual(got["collective.operation"], "all_reduce")
            self.assertEqual(got["collective.bytes"], SHARE)
            self.assertAlmostEqual(got["collective.algbw"] * DURATION_S, SHARE)
            self.assertAlmostEqual(got["collective.busbw"] * DURATION_S, SHARE * 1.5)
            self.assertNotIn("collective.grouped", got)
            how = [got.get(f"collective.{key}") for key in ("source", "datatype", "algorithm", "protocol")]
            self.assertEqual(how, ["plugin", "float32", "RING", "SIMPLE"] if has_plugin else ["nvtx", None, None, None])

    def all_gathers(self, attributes):
        self.assertEqual(sorted(a["collective.ordinal"] for a in attributes), list(range(0, 3 * STEPS, 3)))
        for got in attributes:
            self.assertEqual(got["collective.bytes"], 3 * SHARE * 4)
            self.assertEqual(got["collective.grouped"], 3)
            self.assertEqual(got["collective.source"], "nvtx")

    def test_a_recording(self):
        for options in ([], ["--api", "classic"], ["--repeat", "1"]):
            with self.subTest(options):
                self.check(self.replay(self.sample, *options))

    def test_recorded_again(self):
        copy = self.directory / "copy.cuspanrec"
        self.replay(self.sample, settings={"record_file": copy}, to_file=False)
        self.check(self.replay(copy))

    def test_keys_do_not_depend_on_the_run(self):
        keys = [sorted(span.attributes["collective.key"] for span in self.collectives(self.replay(self.sample)))
                for _ in range(2)]
        self.assertEqual(*keys)

    def test_a_summary_has_none(self):
        result = self.replay(self.sample, settings={"detail": "summary"})
        self.assertEqual(self.collectives(result), [])
        self.assertEqual(result.report["losses"], {})


if __name__ == "__main__":
    agent_case.main()
