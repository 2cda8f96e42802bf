#!/usr/bin/env python3
"""examples/fleet/spark_fleet.py in Spark's local-cluster mode has the rows of `cuspan fleet`: 400,000 mixed spans.

    spark_test.py --build BUILD --spark PYTHON [unittest's arguments]

spark.sh gets Spark and DuckDB from PyPI. PYTHON is the one that has pyspark."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests/support"))
import cuspan.fleet  # noqa: E402
import make_fleet  # noqa: E402
from built import BUILD, take_option  # noqa: E402

MASTER = "local-cluster[2,1,1024]"
SPANS = 400_000


class Spark(unittest.TestCase):
    maxDiff = 3000

    @classmethod
    def setUpClass(cls):
        work = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.folder = work / "fleet"
        make_fleet.make(BUILD, work / "input", SPANS)
        subprocess.run([BUILD / "cuspan", "export", "-q", "-o", cls.folder, work / "input"], check=True)
        cls.fleet = cuspan.fleet.open(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.fleet.close()

    def spark(self, question):
        done = subprocess.run(
            [PYTHON.parent / "spark-submit", "--master", MASTER, "--conf", "spark.ui.enabled=false",
             ROOT / "examples/fleet/spark_fleet.py", question, self.folder, "--json", "--top", "0"],
            capture_output=True, check=False, env={**os.environ, "PYSPARK_PYTHON": str(PYTHON), "PYTHONWARNINGS": "ignore"})  # it prints them to standard output
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-3000:])
        return json.loads(done.stdout)[question]

    def test_kernels(self):
        found = self.spark("kernels")
        expected = self.fleet.kernels(top=0).dicts()
        self.assertGreater(len(found), 50)
        names = ("name", "count", "total_ns", "avg_ns", "median_ns", "p99_ns", "min_ns", "max_ns", "full_name")
        self.assertEqual(self.in_order(found, names), self.in_order(expected, names))

    def test_utilization(self):
        found = self.spark("utilization")
        expected = self.fleet.utilization(top=0).dicts()
        self.assertGreater(len(found), 30)
        names = ("count", "window_ns", "busy_ns")
        self.assertEqual(self.in_order(found, names), self.in_order(expected, names))

    @staticmethod
    def in_order(rows, names):
        return sorted(([row.get(name) for name in names] for row in rows), key=str)


if __name__ == "__main__":
    PYTHON = Path(take_option("--spark", None))
    unittest.main(verbosity=2)
