#!/usr/bin/env python3
"""Prints the findings across ranks for traces of three real jobs with known causes. Run by hand.

    what_if_traces.py FOLDER [--driver build/ranks_driver]

FOLDER has trace-AR.parquet, trace-ST.parquet and trace-SE.parquet of the artifact of "Understanding Stragglers in Large Model Training
Using What-if Analysis" (github.com/ByteDance-Seed/StragglerAnalysis, folder data). They are not part of this repository. Needs
pandas and pyarrow.

AR: one worker was slowed down on purpose. ST: the last pipeline stage has more work. SE: lengths of sequences differ, and the last
stage has more work, too. docs/ranks.md says what is found.

A worker is a rank. Compute, the optimizer, collectives and the transfers between stages are as recorded. Times are relative to a
step, so steps are put one after the other."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pandas
from simulate import ALL_REDUCE, CALL, COLLECTIVE, COMMUNICATION, COMPUTE, EPOCH_NS, OPERATIONS, RANK, RECORD, SEND_RECV, STEP, WORK, mix

COMPUTES = ("forward-compute", "backward-compute", "optimizer")
GROUPS = {"params-all-gather": OPERATIONS.index("all_gather"), "grads-reduce-scatter": OPERATIONS.index("reduce_scatter")}
TRANSFERS = {"forward-send": 1, "forward-recv": -1, "backward-send": -1, "backward-recv": 1}  # where the other stage is
BYTES = 64 << 20  # of each, unknown
STEP_NS = 200_000_000_000


class Job:
    def __init__(self, path):
        trace = pandas.read_parquet(path)
        self.stages, self.replicas = int(trace["stage"].max()) + 1, int(trace["dp_rank"].max()) + 1
        trace["worker"] = trace["stage"] * self.replicas + trace["dp_rank"]
        self.rows = trace.sort_values(["step", "start_ts"])
        self.workers = sorted(trace["worker"].unique())

    def stage_of(self, worker):
        return worker // self.replicas

    def collective(self, row):
        """(operation, participants, key, communicator), or None."""
        step, stage, replica = int(row.step), int(row.stage), int(row.dp_rank)
        if row.optype in GROUPS:
            return GROUPS[row.optype], self.replicas, mix(step, len(row.optype), stage), mix(1, stage)
        if row.optype == "optimizer-clip-main-grad":  # the norm of all gradients
            return ALL_REDUCE, len(self.workers), mix(step, 3), mix(2)
        if row.optype == "embedding-grads-all-reduce":  # of the first and the last stage
            return ALL_REDUCE, 2, mix(step, 4, replica), mix(3, replica)
        if row.optype in TRANSFERS:
            lower = min(stage, stage + TRANSFERS[row.optype])
            return SEND_RECV, 2, mix(step, 5, row.optype.startswith("forward"), lower, replica, int(row.seq_id)), mix(4, lower, replica)
        return None

    def records(self):
        """In the order of time."""
        for worker in self.workers:
            yield (RANK, worker, 0, EPOCH_NS, 0, 0, 0, self.stage_of(worker), 0, 0)
        for number, (step, rows) in enumerate(self.rows.groupby("step")):
            base = EPOCH_NS + number * STEP_NS
            found = []
            for worker, own in rows.groupby("worker"):
                start, end = (base + int(seconds * 1e9) for seconds in (own.start_ts.min(), (own.start_ts + own.duration).max()))
                found += [(start, 0, (STEP, worker, step, start, end, 0, 0, 0, 0, 0)),
                          (start, 1, (CALL, worker, step, start, 0, 0, 0, 0, 0, 0))]
            for row in rows.itertuples():
                start, end = (base + int(seconds * 1e9) for seconds in (row.start_ts, row.start_ts + row.duration))
                if row.optype in COMPUTES:
                    found.append((start, 2, (WORK, row.worker, step, start, end, 0, 0, COMPUTE, 0, 0)))
                elif (collective := self.collective(row)):
                    operation, participants, key, communicator = collective
                    found += [(start, 2, (WORK, row.worker, step, start, end, 0, 0, COMMUNICATION, 0, 0)),
                              (start, 3, (COLLECTIVE, row.worker, step, start, end, key, communicator, operation, participants, BYTES))]
            yield from (record for _, _, record in sorted(found))

    def analyze(self, driver):
        data = b"".join(RECORD.pack(*map(int, record)) for record in self.records())
        return json.loads(subprocess.run([driver], input=data, stdout=subprocess.PIPE, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--driver", type=Path, default=Path(__file__).resolve().parents[2] / "build/ranks_driver")
    args = parser.parse_args()
    for name in ("AR", "ST", "SE"):
        job = Job(args.folder / f"trace-{name}.parquet")
        report = job.analyze(args.driver)
        print(f"{name}: {len(job.workers)} workers")
        for finding in report["findings"]:
            print(f"    {finding['kind']}, saves {finding['saving'] / 1e9:.2f} s per step: {finding['evidence']}")


if __name__ == "__main__":
    sys.exit(main())
