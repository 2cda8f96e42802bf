#!/usr/bin/env python3
"""Checks the analysis across ranks against simulated jobs, whose faults are known.

    acceptance.py --driver build/ranks_driver                  64 ranks, a few seeds: within a minute
    acceptance.py --driver build/ranks_driver --long           200 seeds, and 1,024 ranks x 20 steps x 500 collectives

Rules: a late rank is the only straggler in at least 99 % of the runs, with its delay within 10 %. This is for delays from
200 us or 1 % of the step on, not counting what a transfer hides (simulate.py says how). At most 1 % of the runs have a finding that contradicts what was planted. A link of half the bandwidth is named, and no rank with it. Clock
offsets are found to 20 us over the time of the job, with a late rank too. Waiting times do not depend on the clocks.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAYOUTS = (["--tensor", "1"], ["--tensor", "1", "--overlap"], ["--tensor", "4"], ["--tensor", "2", "--overlap"])


class Failures:
    def __init__(self):
        self.lines = []

    def check(self, is_right, text):
        print(("ok    " if is_right else "FAIL  ") + text, flush=True)
        if not is_right:
            self.lines.append(text)


def run(driver, *options, limits=()):
    """The report of the analysis and the truth of the simulation."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as truth:
        simulator = subprocess.Popen([sys.executable, HERE / "simulate.py", "--truth", truth.name, *map(str, options)],
                                     stdout=subprocess.PIPE)
        done = subprocess.run([driver, *map(str, limits)], stdin=simulator.stdout, stdout=subprocess.PIPE, check=True)
        simulator.stdout.close()
        if simulator.wait():
            sys.exit("simulate.py failed")
        report = json.loads(done.stdout)
        if report["unsorted"]:
            sys.exit(f"simulate.py {' '.join(map(str, options))}: {report['unsorted']} records are not in the order of time")
        return report, json.load(truth)


POOL = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))  # each thread waits for two processes


def runs(driver, seeds, options_of):
    """(seed, report, truth) in the order of the seeds. `options_of` makes a seed's options."""
    done = [(seed, POOL.submit(run, driver, *options_of(seed), "--seed", seed)) for seed in seeds]
    for seed, future in done:
        yield (seed, *future.result())


def of_kind(report, kind):
    return [finding for finding in report["findings"] if finding["kind"] == kind]


def clock_error_ns(report, truth):
    """The largest error of a host's clock against the first one, over the time of the job."""
    worst = 0
    first = truth["clocks"][0]
    for found, planted in zip(report["clocks"], truth["clocks"]):
        if not found["known"]:
            return float("inf")
        at = found["origin"] - 1_780_000_000_000_000_000  # true time, except for the first clock's own error
        for later in (0, truth["duration_ns"] - at):
            true = planted["offset_ns"] - first["offset_ns"] + (planted["drift"] - first["drift"]) * (at + later)
            worst = max(worst, abs(found["offset"] + found["drift"] * later - true))
    return worst


def layout_of(fault, seed):
    """Lateness is inherited only from tensor groups."""
    layouts = LAYOUTS[2:] if fault == "inherited" else LAYOUTS
    return layouts[seed % len(layouts)]


# Thresholds of the findings about the whole job (src/analysis/ranks/ranks_findings.c), and the shares of truth.
THRESHOLDS = {"exposed-communication": ("exposed_share", 0.1), "imbalance": ("imbalance_share", 0.05),
              "data-loader": ("loader_share", 0.05)}


def wrong_kinds(report, truth):
    """Findings about the whole job that contradict what was planted. Near a threshold, both are right."""
    found, wrong = {finding["kind"] for finding in report["findings"]}, []
    for kind, (key, threshold) in THRESHOLDS.items():
        share, most = truth[key], truth[f"most_{key}"] if key == "exposed_share" else truth[key]  # with waiting, and slow links
        if (kind in found and most < 0.9 * threshold) or (kind not in found and share > 1.1 * threshold):
            wrong.append(f"{kind} {'found' if kind in found else 'missing'} at {share:.1%}")
    return wrong


def show(name, seed, truth, report, wrong=()):
    """Prints a failed run: the planted fault and the findings."""
    print(f"      {name}, seed {seed}: planted {truth['fault']}, rank {truth['rank']}, {truth['delay_ns'] / 1e3:.0f} us "
          f"of {truth['planted_ns'] / 1e3:.0f}, link {truth['link']}; found", *(f"[{item['kind']}: {item['evidence']}]" for item in report["findings"]), *wrong)


def is_late_rank(report, truth):
    """The late rank is the only straggler; its delay is within 10 %."""
    stragglers = of_kind(report, "straggler")
    is_only = [item["rank"] for item in stragglers] == [truth["rank"]]
    error = stragglers[0]["delay"] - truth["delay_ns"] if is_only else 0
    return is_only, is_only and abs(error) <= 0.1 * truth["delay_ns"]


def name_of(fault, ranks, options):
    return " ".join([fault, f"{ranks} ranks", *(option for option in map(str, options) if option.startswith("--"))])


def check_late(failures, driver, fault, seeds, ranks, *options):
    first = near = clocks = others = count = 0
    name = name_of(fault, ranks, options)
    for seed, report, truth in runs(driver, seeds, lambda seed: ("--ranks", ranks, "--fault", fault, *(options or layout_of(fault, seed)))):
        is_first, is_near = is_late_rank(report, truth)
        is_late = truth["delay_ns"] >= truth["least_ns"]
        count += is_late
        first, near = first + (is_first and is_late), near + (is_near and is_late)
        clocks += clock_error_ns(report, truth) <= 20e3
        wrong = wrong_kinds(report, truth) + of_kind(report, "slow-link")
        others += bool(wrong)
        if (is_late and not is_near) or wrong:
            show(name, seed, truth, report, wrong)
    failures.check(first >= 0.99 * count and count >= 0.5 * len(seeds),
                   f"{name}: the rank is the only straggler in {first} of {count} runs with a delay")
    failures.check(near >= 0.99 * count, f"{name}: its delay is within 10 % in {near} of {count} runs")
    failures.check(clocks == len(seeds), f"{name}: clocks are found to 20 us in {clocks} of {len(seeds)} runs")
    failures.check(others <= 0.01 * len(seeds), f"{name}: other findings are wrong in {others} of {len(seeds)} runs")


def check_clean(failures, driver, seeds, ranks, *options):
    alarms = 0
    for seed, report, truth in runs(driver, seeds, lambda seed: ("--ranks", ranks, *(options or LAYOUTS[seed % len(LAYOUTS)]))):
        wrong = wrong_kinds(report, truth)
        is_alarm = bool(of_kind(report, "straggler") + of_kind(report, "slow-link") + wrong)
        alarms += is_alarm
        if is_alarm:
            show("clean", seed, truth, report, wrong)
    name = name_of("clean", ranks, options)
    failures.check(alarms <= 0.01 * len(seeds), f"{name}: alarms in {alarms} of {len(seeds)} runs")


def check_link(failures, driver, seeds, ranks, fault, layouts):
    named = 0
    for seed, report, truth in runs(driver, seeds, lambda seed: ("--ranks", ranks, "--fault", fault, *layouts[seed % len(layouts)])):
        links = [finding["communicator"] for finding in of_kind(report, "slow-link")]
        wrong = wrong_kinds(report, truth)
        is_named = links == [truth["link"]] and not of_kind(report, "straggler") and not wrong
        named += is_named
        if not is_named:
            show(fault, seed, truth, report, wrong)
    failures.check(named >= 0.99 * len(seeds),
                   f"{fault}, {ranks} ranks {layouts[0][0]}: named once, and nothing else, in {named} of {len(seeds)} runs")


def check_job(failures, driver, kind, seeds, ranks, *options):
    """A finding about the whole job, and no other one."""
    right = 0
    for seed, report, truth in runs(driver, seeds, lambda _: ("--ranks", ranks, *options)):
        found = {finding["kind"] for finding in report["findings"]}
        wrong = wrong_kinds(report, truth)
        is_right = kind in found and not wrong and not found & {"straggler", "slow-link"}
        right += is_right
        if not is_right:
            show(kind, seed, truth, report, wrong)
    failures.check(right >= 0.99 * len(seeds), f"{kind}, {ranks} ranks: found in {right} of {len(seeds)} runs")


def check_ahead(failures, driver, seeds):
    """One step in some is recorded, and hosts run ahead of their GPUs. Without the backlog (as in files of older
    versions), the analysis does not know when a GPU began with the step, so it must not find anything."""
    options = ["--ranks", 16, "--steps", 64, "--sampled", 4, "--ahead", "--fault", "loader", "--delay-us", 30000]
    right = near = silent = clean = 0
    for seed, report, truth in runs(driver, seeds, lambda _: options):
        is_right, is_near = is_late_rank(report, truth)
        wrong = wrong_kinds(report, truth)
        right, near = right + (is_right and not wrong), near + is_near
        if not is_near or wrong:
            show("ahead", seed, truth, report, wrong)
    for ranks in (2, 16):
        for seed, report, truth in runs(driver, seeds, lambda _, ranks=ranks: (*options, "--ranks", ranks, "--no-backlog")):
            silent += not report["findings"]
            if report["findings"]:
                show("ahead, without backlog", seed, truth, report)
    for _, report, _ in runs(driver, seeds, lambda _: options[:-4]):
        clean += not report["findings"]
    count = len(seeds)
    failures.check(right >= 0.99 * count, f"sampled, hosts ahead: only the late rank is found in {right} of {count} runs")
    failures.check(near >= 0.99 * count, f"sampled, hosts ahead: its delay is within 10 % in {near} of {count} runs")
    failures.check(silent == 2 * count, f"sampled, hosts ahead, without backlog: no findings in {silent} of {2 * count} runs")
    failures.check(clean >= 0.99 * count, f"sampled, hosts ahead, clean: no findings in {clean} of {count} runs")


def check_waits(failures, driver):
    options = ["--ranks", 32, "--fault", "late-always", "--seed", 3]
    waits = []
    for clocks in ([], ["--no-clocks"]):
        report, _ = run(driver, *options, *clocks)
        waits.append(sum(row["wait"] * row["count"] for row in report["collectives"]))
    change = abs(waits[0] / waits[1] - 1)
    failures.check(change < 0.01, f"waits change by {change:.5%} because of clocks")


def check_parts(failures, driver):
    """The parts of a step are disjoint and complete, and step numbers that differ by rank are aligned."""
    report, truth = run(driver, "--ranks", 16, "--overlap", "--fault", "late-always", "--seed", 5, "--shift", 3)
    sums = all(row["duration"] == row["compute"] + row["exposed"] + row["copies"] + row["idle"]
               for row in report["steps"])
    failures.check(sums, "the parts of each step add up to its duration")
    shifts = [row["shift"] for row in report["ranks"]]
    failures.check(shifts == [0] * 15 + [3], f"step numbers of one rank that are ahead by 3 are found ({shifts})")
    stragglers = [finding["rank"] for finding in of_kind(report, "straggler")]
    failures.check(stragglers == [truth["rank"]], f"the late rank is found in spite of them ({stragglers})")
    report, _ = run(driver, "--ranks", 16, "--fault", "none", "--seed", 5, limits=("--limits", 16, 1000, 8))
    failures.check(report["instances"] == 0 and report["incomplete"] >= report["evicted"] > 0,
                   "collectives that do not fit in memory are counted")


def check_cause(failures, driver, seeds):
    right = 0
    for _, report, truth in runs(driver, seeds, lambda _: ("--ranks", 16, "--fault", "loader")):
        stragglers = of_kind(report, "straggler")
        right += [item["rank"] for item in stragglers] == [truth["rank"]] and "data loading" in stragglers[0]["evidence"]
    failures.check(right == len(seeds), f"loader: the rank and its cause are named in {right} of {len(seeds)} runs")


# 1,024 ranks x 20 steps x 500 collectives.
LARGE = ("--ranks", 1024, "--tensor", 8, "--segments", 499, "--step-ms", 200, "--fault", "late", "--seed", 2, "--delay-us", 4000)
STAT_CPU_S = 60  # of 20 million spans, most of it for reading


def check_size(failures, driver):
    report, truth = run(driver, *LARGE)
    stragglers = [finding["rank"] for finding in of_kind(report, "straggler")]
    failures.check(stragglers == [truth["rank"]], f"1,024 ranks x 20 steps x 500 collectives: straggler {stragglers}")
    failures.check(report["cpu_s"] <= 60, f"the same: {report['cpu_s']:.1f} s of CPU time")
    failures.check(report["peak_kib"] <= 2 * 2**20, f"the same: {report['peak_kib'] / 1024:.0f} MiB")


PROFILE = ("--profile", HERE.parents[1] / "examples/training/late_rank.jsonl.gz")
SLOW_LINKS = {"link": (["--tensor", "4"], ["--pairs"], ["--tensor", "4", "--overlap"]),
              "link-later": (["--tensor", "1"], ["--tensor", "1", "--overlap"], ["--tensor", "4"])}


def check_all(failures, driver, seeds, ranks):
    check_clean(failures, driver, seeds, ranks)
    for fault, layouts in SLOW_LINKS.items():
        check_link(failures, driver, seeds, ranks, fault, layouts)
    for fault in ("late", "late-always", "inherited"):
        check_late(failures, driver, fault, seeds, ranks)
    check_job(failures, driver, "exposed-communication", seeds, ranks, "--bandwidth", 0.03)
    check_job(failures, driver, "imbalance", seeds, ranks, "--fault", "imbalance")
    check_job(failures, driver, "data-loader", seeds, ranks, "--fault", "data-loader")


def check_real(failures, driver, seeds, ranks):
    """Two real ranks, multiplied."""
    check_clean(failures, driver, seeds, ranks, *PROFILE)
    check_clean(failures, driver, seeds, ranks, *PROFILE, "--mixed-steps")
    for fault in ("late", "late-always", "loader"):
        check_late(failures, driver, fault, seeds, ranks, *PROFILE)
    # Single steps differ as much as the delay.
    check_late(failures, driver, "late", seeds, ranks, *PROFILE, "--mixed-steps")
    check_link(failures, driver, seeds, ranks, "link-later", [PROFILE])
    check_link(failures, driver, seeds, ranks, "link", [[*PROFILE, "--tensor", "8"]])


def check_stat(failures, build):
    """The same job through `cuspan stat`: 20 million spans in a file of protobuf."""
    with tempfile.TemporaryDirectory() as folder:
        records, spans, truth = (Path(folder, name) for name in ("job.records", "job.pb", "truth.json"))
        subprocess.run([sys.executable, HERE / "simulate.py", *map(str, LARGE), "--records", records, "--truth", truth], check=True)
        with records.open("rb") as source, spans.open("wb") as target:
            subprocess.run([build / "records_to_otlp"], stdin=source, stdout=target, check=True)
        records.unlink()
        stat = subprocess.Popen([build / "cuspan", "stat", "--json", "--table", "rank_findings", spans], stdout=subprocess.PIPE)
        report = json.load(stat.stdout)
        _, status, usage = os.wait4(stat.pid, 0)
        truth = json.loads(truth.read_text(encoding="utf-8"))
    cpu = usage.ru_utime + usage.ru_stime
    stragglers = [row["evidence"] for row in report["rank_findings"] if row["finding"] == "straggler"]
    is_right = status == 0 and len(stragglers) == 1 and stragglers[0].startswith(f"rank {truth['rank']} ")
    failures.check(is_right, f"the same, 20 million spans in cuspan stat: {stragglers}")
    failures.check(cpu <= STAT_CPU_S, f"the same: {cpu:.0f} s of CPU time")
    failures.check(usage.ru_maxrss <= 2 * 2**20, f"the same: {usage.ru_maxrss / 1024:.0f} MiB")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--driver", required=True)
    options.add_argument("--long", action="store_true")
    options.add_argument("--seeds", type=int, default=0, help="runs of each kind; 0: 4, or 200 with --long")
    options.add_argument("--first-seed", type=int, default=1, help="any number: no seed is special")
    args = options.parse_args()
    failures, began = Failures(), time.monotonic()
    seeds = range(args.first_seed, args.first_seed + (args.seeds or (200 if args.long else 4)))
    check_parts(failures, args.driver)
    check_waits(failures, args.driver)
    check_cause(failures, args.driver, seeds[:8])
    check_all(failures, args.driver, seeds, 64)
    check_real(failures, args.driver, seeds, 64)
    check_ahead(failures, args.driver, seeds[:len(seeds) // 4 + 1])
    if args.long:
        check_size(failures, args.driver)
        check_stat(failures, Path(args.driver).resolve().parent)
        check_late(failures, args.driver, "late", seeds[:4], 1024)
        check_real(failures, args.driver, seeds[:4], 1024)
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(f"{len(failures.lines)} failed" if failures.lines else 0)


if __name__ == "__main__":
    main()
