#!/usr/bin/env python3
"""Measures the analysis across ranks on jobs of jobs.py, in the agent's format, through `cuspan stat`.

    jobs_test.py --build build --quick          one small job of each fault
    jobs_test.py --build build                  jobs of each fault and program
    jobs_test.py --build build --long           several hundred, with 8 to 64 ranks and 15 to 200 steps
    jobs_test.py --build build --show ddp none 7 [--keep FOLDER]   one job and its findings

Rules: the first finding is right in at least 95 % of the jobs with a fault, and at most 5 % of all jobs have a finding that is not
true. Offsets of clocks are within their stated uncertainty in at least 95 % of all hosts, over the time of the job."""

import argparse
import concurrent.futures
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jobs
import jobs_spans

BUILD = Path()
RIGHT, WRONG, CLOCKS = 0.95, 0.05, 0.95
# Findings that are true beside the first one: a late rank also has more work than the mean, and so on.
ALSO_TRUE = {"network": {"exposed-communication"}, "loaders": {"data-loader"}, "slow_later": {"exposed-communication"}}


def options_of(draw, is_long):
    return {"ranks": draw.choice((8, 16, 32, 64) if is_long else (8, 16)), "steps": draw.choice((15, 30, 50, 200) if is_long else (15, 24)),
            "is_ahead": draw.random() < 0.3, "noise": draw.choice((0.01, 0.02, 0.04))}


def plan_of(program, fault, seed, is_long=False):
    draw = random.Random(f"{program} {fault} {seed}")
    options = options_of(draw, is_long)
    if fault == "late_host":
        options["ranks"] = max(16, options["ranks"])
    if program in ("pipeline", "grid", "fsdp_tp"):
        options["ranks"] = max(16, options["ranks"])
    if options["ranks"] * options["steps"] > 3200:
        options["steps"] = 50 if options["ranks"] == 64 else 100
    return jobs.Plan(program, seed=seed, fault=fault, per_host=8 if options["ranks"] > 8 else 4, **options)


def stat(folder, *options):
    done = subprocess.run([BUILD / "cuspan", "stat", "--json", *options, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"stat: {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def is_about(finding, truth):
    """Whether the finding names what was planted."""
    text, expected = finding["evidence"], truth["expected"]
    if expected == "rank":
        named = re.search(r"\brank (\d+)\b", text)
        return finding["finding"] == "straggler" and bool(named) and int(named.group(1)) == truth["rank"] and "host node" not in text
    if expected == "host":
        return finding["finding"] == "straggler" and f"host {truth['host']}" in text
    if expected == "link":
        return finding["finding"] == "slow-link" and f"{truth['link']:016x}" in text
    return finding["finding"] == expected


def judge(findings, truth):
    is_right = not findings if truth["expected"] == "nothing" else bool(findings) and is_about(findings[0], truth)
    wrong = [finding for finding in findings if not is_about(finding, truth) and
             finding["finding"] not in ALSO_TRUE.get(truth["fault"], ())]
    return is_right, wrong


def clock_errors(rows, job, writer):
    """For each host but the reference: whether its offset is within the stated uncertainty, over the time of the job."""
    clocks = {f"node-{at}": clock for at, clock in enumerate(writer.clocks)}
    first = clocks[rows[0]["host"]]
    last = max(step["end"] for rank in job.ranks for step in rank.steps[:-1])
    for row in rows[1:]:
        clock = clocks[row["host"]]
        if row.get("uncertainty_ns") is None:
            continue
        for true_ns, found in ((0, row["offset_ns"]), (last, row["offset_ns"] + row["drift_ppm"] * 1e-6 * last)):
            error = found - (clock.offset_ns - first.offset_ns + (clock.drift - first.drift) * true_ns)
            yield abs(error) <= row["uncertainty_ns"], error, row["uncertainty_ns"]


def run(plan, folder=None):
    job = jobs.Job(plan)
    job.run()
    with tempfile.TemporaryDirectory() as temporary:
        writer = jobs_spans.Writer(job, Path(folder or temporary))
        writer.write()
        tables = stat(folder or temporary, "--table", "rank_findings")
        findings = tables["rank_findings"]
        try:
            clocks = list(clock_errors(stat(folder or temporary, "--table", "clocks")["clocks"], job, writer))
        except RuntimeError:
            clocks = []
    return job.truth, findings, clocks


def measure(plan):
    truth, findings, clocks = run(plan)
    is_right, wrong = judge(findings, truth)
    return plan, is_right, wrong, findings, clocks


def cases(is_long, per_case):
    for fault, (_, programs) in jobs.FAULTS.items():
        for program in programs:
            for seed in range(1, per_case * (3 if fault == "none" else 1) + 1):
                yield plan_of(program, fault, seed, is_long)


def report(results):
    table, failed = {}, []
    faulty, right, wrong, clocks = 0, 0, 0, []
    for plan, is_right, others, findings, offsets in results:
        row = table.setdefault((plan.fault, plan.program), [0, 0, 0])
        row[0] += 1
        row[1] += is_right
        row[2] += bool(others)
        is_faulty = jobs.FAULTS[plan.fault][0] != "nothing"
        faulty, right, wrong = faulty + is_faulty, right + (is_right and is_faulty), wrong + bool(others)
        clocks += offsets
        if not is_right or others:
            failed.append((plan, findings))
    for (fault, program), (count, is_right, others) in sorted(table.items()):
        print(f"{fault:18}{program:10} {is_right:3} of {count:3} right, {others:3} with wrong findings")
    for plan, findings in failed[:40]:
        print(f"  {plan.program} {plan.fault} {plan.seed}: ranks {plan.ranks}, steps {plan.steps}, ahead {plan.is_ahead}, noise {plan.noise}")
        for finding in findings[:4]:
            print(f"      {finding['finding']} {finding.get('saving_share') or 0:.1%} {finding['evidence'][:170]}")
    inside = sum(1 for is_inside, *_ in clocks if is_inside)
    count = sum(row[0] for row in table.values())
    print(f"right {right} of {faulty} ({right / max(faulty, 1):.1%}); wrong findings in {wrong} of {count} jobs ({wrong / max(count, 1):.1%}); "
          f"clocks within their uncertainty: {inside} of {len(clocks)}")
    return right >= RIGHT * faulty and wrong <= WRONG * count and inside >= CLOCKS * len(clocks)


def main():
    global BUILD
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--per-case", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", nargs=3, metavar=("PROGRAM", "FAULT", "SEED"))
    parser.add_argument("--keep")
    options = parser.parse_args()
    BUILD = options.build.resolve()
    if options.show:
        program, fault, seed = options.show
        truth, findings, clocks = run(plan_of(program, fault, int(seed), options.long), options.keep)
        print(json.dumps(truth), json.dumps(findings, indent=1), clocks)
        return 0
    plans = [plan for plan in cases(options.long, 10 if options.long else options.per_case)
             if options.only in f"{plan.program} {plan.fault}"]
    if options.quick:
        plans = [plan_of(programs[index % len(programs)], fault, 1) for index, (fault, (_, programs)) in enumerate(jobs.FAULTS.items())]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:  # forks, so BUILD is known
        return 0 if report(list(pool.map(measure, plans))) else 1


if __name__ == "__main__":
    sys.exit(main())
