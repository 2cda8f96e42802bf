#!/usr/bin/env python3
"""Runs jobs that hang, and writes when `cuspan hang` named the cause. Called by hangs.sh, which says how.

    hangs_test.py OUT BUILD CUPTI [FAULT...]"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import hangs_check

ROOT = Path(__file__).resolve().parents[2]
OUT, BUILD, CUPTI = (Path(argument).resolve() for argument in sys.argv[1:4])
CHOSEN = sys.argv[4:] or list(hangs_check.FAULTS)
RUNS, SIDE, LIMIT_S = (int(os.environ.get(name, default)) for name, default in (("RUNS", 5), ("SIDE", 5), ("LIMIT_S", 540)))
BACKEND = os.environ.get("BACKEND", "nccl")
SETTINGS = os.environ.get("HANGS_SET", "steps.traced=all").split()
RANKS = 2
START_S, POLL_S = 90, 0.5  # until the fault; between two looks
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
               # PyTorch's own watchdog would end the job, or wait for a rank that is dead
               "TORCH_NCCL_ENABLE_MONITORING": "0", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}


def free_ports():
    """Below those that the kernel gives to connections: one of another job would have it before the job begins."""
    for port in range(20000 + os.getpid() % 5000, 32000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        yield port


PORTS = free_ports()


class Job:
    def __init__(self, fault, run, pair):
        self.fault, self.folder, self.culprit = fault, OUT / f"{fault}-{run}", 1
        # The rank of the store must live: otherwise PyTorch ends the others.
        if fault not in ("kill", "stop", "end"):
            self.culprit = run % RANKS
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            old.unlink()
        self.seconds = self.judgment = self.fault_ns = None
        self.wrong_sure, self.began, self.truth, self.verdicts = False, time.monotonic(), {}, []
        self.control = self.folder.parent / "control"
        self.control.mkdir(mode=0o700, exist_ok=True)
        environment = {**os.environ, **ENVIRONMENT, "MASTER_PORT": str(next(PORTS)), "WORLD_SIZE": str(RANKS),
                       "TORCHELASTIC_RUN_ID": self.folder.name,  # with it, steps.traced=auto lets capture sleep between sampled steps
                       "CUSPAN_CONTROL_DIRECTORY": str(self.control)}
        if BACKEND == "nccl":
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(RANKS * pair + i) for i in range(RANKS))
        for name in "PYTHONPATH", "CUDA_INJECTION64_PATH":
            environment.pop(name, None)
        self.processes = [self.start(rank, environment) for rank in range(RANKS)]

    def start(self, rank, environment):
        options = [word for setting in (*SETTINGS, f"cupti.library={CUPTI}", "exit_deadline_ms=2000") for word in ("--set", setting)]
        command = [BUILD / "cuspan", "run", "--file", self.folder / "spans.jsonl", *options, "--", sys.executable,
                   ROOT / "tests/gpu/programs/torch_hang.py", self.fault, str(self.culprit), self.folder, "--backend", BACKEND]
        with open(self.folder / f"{rank}.txt", "w", encoding="utf-8") as output:
            return subprocess.Popen([str(word) for word in command], env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                    stdout=output, stderr=output, start_new_session=True)

    def read(self):
        """The truth of each rank that has reached the fault."""
        for rank in range(RANKS):
            with contextlib.suppress(OSError, json.JSONDecodeError):
                self.truth[rank] = json.loads((self.folder / f"{rank}.json").read_text())
        culprit = self.truth.get(self.culprit, {})
        if "culprit" in culprit and self.fault_ns is None:
            self.fault_ns = culprit["time_ns"]

    def since_fault_s(self):
        return (time.time_ns() - self.fault_ns) / 1e9

    def look(self, document):
        truth = {**self.truth[self.culprit], "ranks": RANKS}
        judgment = hangs_check.judge(self.fault, document, truth, {one["pid"] for one in self.truth.values()})
        if judgment is None:
            return
        if self.judgment != judgment:
            self.verdicts.append({"seconds": self.since_fault_s(), **judgment})
        self.judgment = judgment
        self.wrong_sure |= judgment["wrong_sure"]
        if self.seconds is None and hangs_check.is_named(judgment):
            self.seconds = self.since_fault_s()

    def is_over(self):
        if self.fault_ns is None:
            has_ended = any(process.poll() is not None for process in self.processes)
            self.read()  # the fault may be that end
            return self.fault_ns is None and (has_ended or time.monotonic() - self.began > START_S)
        # a while longer than until it is named: it must not turn out wrong
        return self.since_fault_s() > (min(self.seconds + 2, hangs_check.WITHIN_S) if self.seconds else hangs_check.WITHIN_S)

    def end(self):
        steps = {rank: one["step"] for rank, one in self.truth.items()}
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        result = {"fault": self.fault, "run": self.folder.name, "culprit": self.culprit, "began": self.fault_ns is not None, "steps": steps,
                  "seconds": self.seconds, "wrong_sure": self.wrong_sure, "judgment": self.judgment, "verdicts": self.verdicts}
        if self.fault_ns is None:
            result["why"] = " | ".join((path.read_text(errors="replace").splitlines() or [""])[-1] for path in sorted(self.folder.glob("*.txt")))
        (self.folder / "run.json").write_text(json.dumps(result, indent=1))
        (self.folder / "spans.jsonl").unlink(missing_ok=True)
        return result


def look_at_host(control):
    environment = {**os.environ, "CUSPAN_CONTROL_DIRECTORY": str(control)}
    done = subprocess.run([BUILD / "cuspan", "hang", "--json", "--this-host"], capture_output=True, text=True, env=environment, timeout=60)
    return json.loads(done.stdout) if done.stdout else {}


def run_together(jobs, results):
    """Until all are over. One command sees all jobs of the host. `jobs` keeps those that are not over."""
    while jobs:
        for job in jobs:
            job.read()
        if any(job.fault_ns for job in jobs):
            document = look_at_host(jobs[0].control)
            for job in jobs:
                if job.fault_ns:
                    job.look(document)
        for job in [one for one in jobs if one.is_over()]:
            results.append(job.end())
            jobs.remove(job)
        time.sleep(POLL_S)


def pairs():
    if BACKEND != "nccl":
        return 1
    import torch

    return max(1, torch.cuda.device_count() // RANKS)


def main():
    began, results, count = time.monotonic(), [], pairs()
    waiting = [(fault, run) for fault in CHOSEN for run in range(RUNS)]
    while waiting:
        if time.monotonic() - began > LIMIT_S - 45:
            results += [{"fault": fault, "run": f"{fault}-{run}", "began": False, "seconds": None, "wrong_sure": False, "judgment": None,
                         "why": "no time was left"} for fault, run in waiting]
            break
        now, waiting = waiting[:SIDE * count], waiting[SIDE * count:]
        jobs, batch = [], []
        try:
            jobs += [Job(fault, run, place % count) for place, (fault, run) in enumerate(now)]
            run_together(jobs, batch)
        finally:
            for job in jobs:  # an error of ours leaves no process
                job.end()
        results += batch
        for one in batch:
            shown = f"{one['seconds']:.1f} s" if one["seconds"] else "NOT NAMED" if one["began"] else "NOT STARTED"
            print(f"{one['run']:12} {shown:12} {'WRONG THOUGH SURE ' if one['wrong_sure'] else ''}"
                  f"{one['judgment']['headline'] if one['judgment'] else one.get('why', '')}", flush=True)
    figures = hangs_check.summarize(results)
    (OUT / "hangs.json").write_text(json.dumps({"figures": figures, "seconds": time.monotonic() - began, "settings": SETTINGS, "runs": results},
                                               indent=1))
    print(json.dumps({name: value for name, value in figures.items() if name != "faults"}))
    if BACKEND != "nccl":
        return 0 if all(one["began"] for one in results) else 1
    return 0 if hangs_check.passes(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
