"""cuspan attach on real GPUs. Called by attach.sh.

    attach_test.py OUT-DIR BUILD-DIR CUPTI-LIBRARY... [-- CASE...]

Each case leaves its output, the spans of failed attaches, and figures.json in OUT-DIR/CASE. A case that fails or hangs does not stop
the others. A case that needs something that this machine lacks is skipped with the reason."""

import concurrent.futures
import contextlib
import json
import os
import re
import signal
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/gpu")]
import attach_check  # noqa: E402
import processes_test  # noqa: E402
from backend import spans_of  # noqa: E402
from processes_test import Failed, Run, Skipped  # noqa: E402

LIMITS_S = {"late": 300, "threads": 300, "torch": 300, "ddp": 240, "vllm": 900}
PROGRAM_S = {"late": 30, "threads": 30, "torch": 100, "ddp": 100, "vllm": 200}  # one of its programs
THREADS, AFTER, STEPS, FIRST_SPAN_S = 16, 200, 20, 2.0
COST_PAIRS = 5
UNITS_US = {"ns": 1e-3, "µs": 1, "us": 1, "ms": 1e3, "s": 1e6}
VLLM = ROOT / "tests/gpu/programs/engines/vllm_serve.py"


class Host:
    """A program that answers lines. It is killed when its time is over, and then no line comes any more."""

    def __init__(self, run, name, command, limit_s, **environment):
        self.name, self.errors, self.output = name, run.out / f"{name}.err", []
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True, env=run.environment(environment), start_new_session=True)
        run.started.append(self.process)
        self.pid = self.process.pid
        self.timer = threading.Timer(limit_s, self.kill)
        self.timer.daemon = True
        self.timer.start()
        self.is_late = False

    def kill(self):
        self.is_late = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def until(self, pattern):
        """The match of the next line like this."""
        for line in self.process.stdout:
            self.output.append(line.rstrip("\n"))
            if found := re.fullmatch(pattern, self.output[-1]):
                return found
        raise Failed(self.complaint(f"no line {pattern!r}"))

    def say(self, line=""):
        with contextlib.suppress(BrokenPipeError):
            print(line, file=self.process.stdin, flush=True)

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.read()
        status = self.process.wait()
        self.timer.cancel()
        if status:
            raise Failed(self.complaint("it ended"))

    def complaint(self, what):
        status = self.process.wait() if self.is_late or self.process.stdout.read() == "" else None
        end = "hung and was killed" if self.is_late else f"status {status}"
        return f"{self.name}: {what} ({end}): {self.errors.read_text(errors='replace')[-400:]!r}"


class Attached:
    """Programs, the agent in them, and what both left. `cupti`: the library."""

    def __init__(self, run, build, cupti):
        self.run, self.build, self.cupti, self.figures = run, build, cupti, {}
        self.sockets = tempfile.mkdtemp(prefix="attach-")  # a socket's path is short

    def settings(self, name):
        return {**processes_test.SETTINGS, "cupti.library": self.cupti, "accounts_file": self.run.out / f"{name}.report",
                "output_file": self.run.out / f"{name}.jsonl", "control.directory": self.sockets}

    def command(self, *arguments):
        done = subprocess.run([str(self.build / "cuspan"), *map(str, arguments)], text=True, check=False, timeout=60, capture_output=True,
                              env={**self.run.environment({}), "CUSPAN_LIBRARY": str(self.build / "libcuspan.so"),
                                   "CUSPAN_CONTROL_DIRECTORY": self.sockets})
        if done.returncode:
            raise Failed(f"cuspan {arguments[0]}: {done.stderr.strip()}")
        return done.stdout

    def attach(self, name, pid, first_span=True):
        """By the command, until the first span is there."""
        chosen = self.settings(name)
        file = chosen.pop("output_file")
        options = [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]
        start_s = time.monotonic()
        said = self.command("attach", "--file", file, *options, pid)
        stopped = re.search(r"stopped for ([\d.]+) (\S+),", said)
        self.figures["stopped_us"] = float(stopped[1]) * UNITS_US[stopped[2]]
        if first_span:
            self.wait_for_spans([name], start_s)

    def wait_for_spans(self, names, start_s):
        """Of any of them."""
        files = [self.run.out / f"{name}.jsonl" for name in names]
        while time.monotonic() - start_s < 5 * FIRST_SPAN_S and not any(file.exists() and file.stat().st_size for file in files):
            time.sleep(0.01)
        self.figures["first_span_s"] = time.monotonic() - start_s

    def spans(self, name):
        path = self.run.out / f"{name}.jsonl"
        if not path.exists():
            raise Failed(f"no spans of {name}")
        return [span for line in path.read_text().splitlines() for span in spans_of(json.loads(line))]

    def report(self, name, pid):
        return json.loads((self.run.out / f"{name}.report.{pid}").read_text())

    def remove(self):
        for pattern in "*.jsonl", "*.report.*", "*.err":
            for path in self.run.out.glob(pattern):
                path.unlink()


class Program:
    """Commands of the programs, and lines that say where they are. attach_check_test.py replaces them by a stand-in."""

    ready, done, cost = "ready", "done", r"cost (\d+)"

    def __init__(self, build):
        self.build = build

    def launching(self, *agent):
        path = self.build / "gpu/attach"
        if not os.access(path, os.X_OK):
            raise Skipped(f"no {path}, and no nvcc to make it")
        return [path, THREADS, AFTER, *agent]

    def python(self, mode):
        return [sys.executable, ROOT / "tests/gpu/programs/attach_torch.py", mode, STEPS]

    @staticmethod
    def check(spans, output, lost):
        yield from attach_check.check_sequences(spans, output, AFTER, lost)
        yield from attach_check.check_results(output)


# --- one attach each: return faults and figures; each runs in a process of its own ---


def once(one, out, build, *arguments):
    """Runs it in a folder, which goes if all is well."""
    run = Run(build, out)
    attached = Attached(run, build, arguments[0])
    try:
        faults = list(one(attached, *arguments[1:]))
        if not faults:
            attached.remove()
    except Skipped:
        raise
    except Failed as error:
        faults = str(error).splitlines()
    except (OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
        faults = [f"{type(error).__name__}: {error}"]
    finally:
        run.close()
        shutil.rmtree(attached.sockets, ignore_errors=True)
    return faults, attached.figures


def check_all(attached, program, name, host):
    spans, output, report = attached.spans(name), "\n".join(host.output), attached.report(name, host.pid)
    attached.figures.update(spans=len(spans), orphans=len(attach_check.orphans_in(spans)))
    lost = attach_check.times_lost(report)
    attached.figures["times_lost"] = lost
    yield from attach_check.check_launches(spans, lost)
    yield from attach_check.check_report(report)
    yield from program.check(spans, output, lost)


def one_late(attached, program):
    """The program starts the agent itself, while its other threads launch."""
    settings = ";".join(f"{key}={value}" for key, value in attached.settings("late").items())
    host = Host(attached.run, "late", program.launching(attached.build / "libcuspan.so"), PROGRAM_S["late"],
                ATTACH_SETTINGS=f"CUSPAN_SET={settings}\n")
    host.until(program.ready)
    host.say()
    found = host.until(r"attached (-?\d+) ?(.*)")
    attached.figures["cupti"] = found[2].split(" ")[0]
    host.until(program.done)
    host.end()
    if found[1] != "0":
        yield f"the agent does not start: {found[2]}"
        return
    yield from check_all(attached, program, "late", host)


def one_attach(attached, program):
    host = Host(attached.run, "threads", program.launching(), PROGRAM_S["threads"])
    host.until(program.ready)
    attached.attach("threads", host.pid)
    host.say()
    host.until(program.done)
    host.end()
    yield from check_all(attached, program, "threads", host)


def one_cost(attached, program):
    """The cost of a launch after a detach, beside a process that was never attached to."""
    hosts = [Host(attached.run, name, program.launching(), PROGRAM_S["threads"]) for name in ("cost", "untouched")]
    for host in hosts:
        host.until(program.ready)
    attached.attach("cost", hosts[0].pid, first_span=False)
    attached.command("detach", hosts[0].pid)
    for host in hosts:
        host.say()
        host.until(program.done)
    costs = {host.name: [] for host in hosts}
    for _ in range(3):
        for host in hosts:
            host.say()
            costs[host.name].append(float(host.until(program.cost)[1]))
    for host in hosts:
        host.end()
    attached.figures.update({f"{name}_ns": statistics.median(times) for name, times in costs.items()})
    yield from attach_check.check_results("\n".join(hosts[0].output))


def one_torch(attached, program, mode):
    host = Host(attached.run, mode, program.python(mode), PROGRAM_S["torch"])
    host.until("ready")
    attached.attach(mode, host.pid)
    host.say()
    host.until("done")
    host.end()
    yield from check_torch(attached, mode, mode, host)


def check_torch(attached, name, mode, host):
    spans, report = attached.spans(name), attached.report(name, host.pid)
    attached.figures.update(spans=len(spans), lost_graphs=report["losses"].get("lost_graph_record", 0))
    yield from attach_check.check_results("\n".join(host.output))
    yield from attach_check.check_launches(spans)
    yield from attach_check.check_report(report, ("lost_graph_record",) if mode == "graphs" else ())
    if mode == "graphs":
        yield from attach_check.check_graphs(spans, report)


def one_ddp(attached, program):
    """Both ranks of a job, one after the other."""
    port = str(20000 + os.getpid() % 12000)  # jobs that run beside each other have processes of their own; connections get others
    hosts = [Host(attached.run, f"rank{rank}", program.python("ddp"), PROGRAM_S["ddp"], RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                  MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for rank in (0, 1)]
    for host in hosts:
        host.until("ready")
    for host in hosts:
        attached.attach(host.name, host.pid)
    for host in hosts:
        host.say()
    for host in hosts:
        host.until("done")
    for host in hosts:
        host.say()
    for host in hosts:
        host.end()
        yield from check_torch(attached, host.name, "ddp", host)


def cuda_processes_below(pid):
    """The process and its descendants, those that have a context of CUDA: NVML alone does not open this file."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    family, size = {pid}, 0
    while len(family) > size:
        size = len(family)
        family |= {child for child, parent in parents.items() if parent in family}
    for one in family:
        with contextlib.suppress(OSError):
            if any(os.readlink(file) == "/dev/nvidia-uvm" for file in Path(f"/proc/{one}/fd").iterdir()):
                yield one


def gpus():
    done = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.device_count())"], timeout=120, check=True, stdout=subprocess.PIPE,
                          text=True)
    return int(done.stdout)


def one_vllm(attached, _program):
    """The engine's process, while requests are served (tests/gpu/engines.sh has the program's options)."""
    folder = attached.run.out.parent / "tmp"  # what vLLM compiles is kept there
    folder.mkdir(exist_ok=True)
    written, batches = attached.run.out / "served.json", attached.run.out / "batches"
    batches.touch()
    gpu = int(attached.run.out.name.rpartition("-")[2]) % gpus()
    host = Host(attached.run, "vllm", [sys.executable, VLLM, "tiny", 400, 100, 600, written, "gpu_memory_utilization=0.15", f"kv_cache_memory_bytes={4 << 30}"],
                PROGRAM_S["vllm"], TMPDIR=str(folder), HF_HUB_OFFLINE="1", TORCH_SYMM_MEM_DISABLE_MULTICAST="1",
                VLLM_ALLREDUCE_USE_SYMM_MEM="0", SERVE_BATCHES=str(batches), CUDA_VISIBLE_DEVICES=str(gpu))
    while not batches.stat().st_size:
        if host.process.poll() is not None:
            raise Failed(host.complaint("it serves nothing"))
        time.sleep(0.02)
    pids = list(cuda_processes_below(host.pid))
    start_s = time.monotonic()
    for pid in pids:
        attached.attach(f"vllm{pid}", pid, first_span=False)
    attached.wait_for_spans([f"vllm{pid}" for pid in pids], start_s)
    host.end()
    served = json.loads(written.read_text())
    wrong = sum(served["outputs"].get(name) != wanted[1] for name, wanted in served["wanted"].items())
    if wrong:
        yield f"{wrong} of {len(served['wanted'])} requests did not get all their tokens"
    traced = [(pid, spans) for pid in pids if (spans := attached.spans(f"vllm{pid}"))]  # the front end has a context, and uses it for nothing
    if not traced:
        yield f"no process of vLLM has spans, of {len(pids)} with a context of CUDA"
    for pid, spans in traced:
        report = attached.report(f"vllm{pid}", pid)
        attached.figures.update(spans=len(spans), lost_graphs=report["losses"].get("lost_graph_record", 0))
        yield from attach_check.check_launches(spans)
        yield from attach_check.check_graphs(spans, report)
        yield from attach_check.check_report(report, ("lost_graph_record",))


# --- the cases: each yields its faults and returns its findings ---


class Cases:
    def __init__(self, out, build, cuptis, program=Program, count=None, jobs=None):
        self.out, self.build, self.cuptis, self.program = out, build, cuptis, program(build)
        self.count, self.jobs = count or int(os.environ.get("COUNT", "0")), jobs or int(os.environ.get("JOBS", "4"))

    def several(self, run, name, one, count, *arguments, cupti=None, jobs=None):
        """Each fault, with its number. Returns the figures of all."""
        figures, begun_s = [], time.monotonic()
        with concurrent.futures.ProcessPoolExecutor(jobs or self.jobs) as pool:
            tasks = [pool.submit(once, one, run.out / f"{name}-{number}", self.build, cupti or self.cuptis[0], self.program, *arguments)
                     for number in range(count)]
            for number, task in enumerate(tasks):
                left_s = LIMITS_S[run.out.name] - (time.monotonic() - begun_s)
                try:
                    faults, found = task.result(max(0.0, left_s))
                except concurrent.futures.TimeoutError:
                    pool.shutdown(cancel_futures=True)
                    yield f"{name}: {count - number} of {count} did not come within {LIMITS_S[run.out.name]} s"
                    break
                figures.append(found)
                yield from (f"{name} {number}: {fault}" for fault in faults)
        (run.out / "figures.json").write_text(json.dumps({**self.written(run), name: figures}, indent=1))
        return figures

    @staticmethod
    def written(run):
        path = run.out / "figures.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @staticmethod
    def first_spans(figures):
        seconds = [figure["first_span_s"] for figure in figures if "first_span_s" in figure]
        yield from attach_check.check_first_span(seconds, FIRST_SPAN_S)
        return f"first span after {max(seconds, default=0):.2f} s at most"

    def late(self, run):
        """One late start while 16 threads launch, with each CUPTI."""
        said = []
        for at, library in enumerate(self.cuptis):
            name = f"{Path(library).resolve().parent.name}-{at}"
            figures = yield from self.several(run, name, one_late, self.count or 100, cupti=library)
            versions = {figure["cupti"] for figure in figures if figure.get("cupti")}
            said.append(f"{len(figures)} starts with CUPTI {', '.join(sorted(versions)) or name}, "
                        f"{sum(figure.get('spans', 0) for figure in figures)} spans, "
                        f"{sum(figure.get('times_lost', 0) for figure in figures)} kernels without times, counted")
        return "; ".join(said)

    def threads(self, run):
        """Attaches by the command while 16 threads launch, and what a launch costs after a detach."""
        figures = yield from self.several(run, "attach", one_attach, self.count or 100)
        first = yield from self.first_spans(figures)
        stops = [figure["stopped_us"] for figure in figures if "stopped_us" in figure] or [0]
        costs = yield from self.several(run, "cost", one_cost, min(self.count or COST_PAIRS, COST_PAIRS), jobs=1)
        ratios = [figure["cost_ns"] / figure["untouched_ns"] for figure in costs if figure.get("untouched_ns")]
        return (f"{len(figures)} attaches, a thread stopped for {statistics.median(stops):.0f} µs (p99 {attach_check.percentile(stops, 0.99):.0f}), "
                f"{first}; a launch after a detach costs {statistics.median(ratios or [0]):.3f} times as much")

    def torch(self, run):
        """PyTorch's eager mode, compiled, and with a graph that is older than the attach."""
        self.needs("torch")
        said = []
        for mode in "eager", "compile", "graphs":
            figures = yield from self.several(run, mode, one_torch, self.count or 20, mode)
            first = yield from self.first_spans(figures)
            lost = sum(figure.get("lost_graphs", 0) for figure in figures)
            said.append(f"{mode}: {len(figures)} attaches, {first}" + (f", {lost} launches of older graphs counted" if lost else ""))
        return "; ".join(said)

    def ddp(self, run):
        """Two ranks on two GPUs."""
        self.needs("torch")
        if gpus() < 2:
            raise Skipped("one GPU")
        figures = yield from self.several(run, "ddp", one_ddp, self.count or 20)
        first = yield from self.first_spans(figures)
        return f"{len(figures)} jobs of two ranks, {first}"

    def vllm(self, run):
        """vLLM as it starts by default: its graphs are older than the attach."""
        self.needs("torch", "vllm")
        figures = yield from self.several(run, "first", one_vllm, 1)  # compiles for the others
        figures += yield from self.several(run, "vllm", one_vllm, (self.count or 20) - 1, jobs=3 * gpus())
        first = yield from self.first_spans(figures)
        return f"{len(figures)} attaches, {first}, {sum(figure.get('lost_graphs', 0) for figure in figures)} launches of older graphs counted"

    @staticmethod
    def needs(*modules):
        done = subprocess.run([sys.executable, "-c", f"import {', '.join(modules)}; assert torch.cuda.is_available()"], timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Skipped(f"{sys.executable} has no {', '.join(modules)} with CUDA")


def main():
    arguments, names = sys.argv[1:], list(LIMITS_S)
    if "--" in arguments:
        at = arguments.index("--")
        arguments, names = arguments[:at], arguments[at + 1:]
    out, build, *cuptis = (Path(argument).resolve() for argument in arguments)
    return processes_test.run_cases(Cases(out, build, cuptis), names)


if __name__ == "__main__":
    sys.exit(main())
