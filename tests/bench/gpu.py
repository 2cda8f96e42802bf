#!/usr/bin/env python3
"""The GPU part of the benchmark. Called by tests/bench/run.sh gpu.

    run.sh gpu [OUT.json] [--rounds N] [--apps LIST] [--configs LIST] [--pairs asleep:N] [--seconds MAX] [--build DIR]

Runs each application under each configuration in turn, in rounds whose order is rotated by one, and writes all values
to OUT.json (build/bench/gpu.json) after every round. Before the first round: the time in cuspan's callbacks, with
libcuspan-timed.so. A complete round takes about two minutes on an H100 (calls 20 s, graphs 10, service 30, PyTorch 60),
a pair of --pairs asleep about 15 s; --seconds ends it in time, with the results so far.

Needs a build with tests (cmake --preset release -DCUSPAN_BUILD_TESTS=ON), nvcc, and python3; PyTorch and Nsight Systems
(nsys on the PATH, in /opt/nvidia, or named by NSYS) if installed: missing ones are skipped with a line.
"""

import argparse
import glob
import json
import multiprocessing
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APPS = ROOT / "tests/bench/apps"
FIGURE = re.compile(r"^([a-z][a-z0-9.-]*) ([0-9.e+-]+) (\S+)$", re.MULTILINE)
OURS = re.compile(r"CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|BENCH_|PROF$")
RUN_SECONDS_MAX = 90
TIMED_SECONDS = 2
CODE_COUNTERS = ("code_stacks", "code_unknown", "code_forgotten")

ALL_APPS = ["calls", "graphs", "service", "torch", "start"]
ON_REQUEST = ["steps"]  # skipped unless --apps names it


@dataclass
class Config:
    """How an application is started: injected library, settings, environment, a command in front."""
    name: str
    library: str = ""
    settings: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    command: tuple = ()
    apps: tuple = tuple(ALL_APPS + ON_REQUEST)
    percent: int = 100  # of the service's requests that are sampled
    on_request: bool = False  # skipped unless --configs names it

    @property
    def is_awake_agent(self):
        return self.library == "libcuspan.so" and self.name != "asleep"


def configurations(nsys, work, cuspan=Path("cuspan"), cupti=""):
    """In the order of the first round."""
    once_and_off = {"cupti.api": "classic", "cupti.flush_interval_ms": 20}
    found = [Config("none"),
             Config("asleep", "libcuspan.so", environment={"OTEL_TRACES_SAMPLER": "always_off"})]
    found += [Config(f"floor-{detail}", "libcuspan-floor.so", {"detail": detail})
              for detail in ("default", "graph-nodes", "full")]
    found += [Config(detail, "libcuspan.so", {"detail": detail})
              for detail in ("default", "summary", "graph-nodes", "full")]
    found += [Config("floor-off", "libcuspan-floor.so", once_and_off,
                     {"CUSPAN_FLOOR_OFF_FILE": str(work / "ready")}, apps=("calls", "service")),
              Config("floor-records-off", "libcuspan-floor.so", once_and_off,
                     {"CUSPAN_FLOOR_OFF_FILE": str(work / "ready"), "CUSPAN_FLOOR_KEEPS": "callbacks"},
                     apps=("calls", "service")),
              Config("one-percent", "libcuspan.so", {"sampling.sleep": "always"}, apps=("service",), percent=1)]
    found.append(Config("thread-buffers", "libcuspan.so", {"cupti.per_thread_buffers": "true"}, apps=("calls", "service"), on_request=True))
    if nsys:
        found.append(Config("nsys", command=(nsys, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-f", "true",
                                             "-o", str(work / "nsys"))))
    found.append(Config("kineto", environment={"PROF": "cuda"}, apps=("torch",)))
    found.append(Config("beside-kineto", "libcuspan.so", {"detail": "graph-nodes", "cupti.others": "share"}, {"PROF": "cuda"},
                        apps=("torch",), on_request=True))
    # The costs that come on top of spans, with an unusually short interval, to compare with "default".
    found.append(Config("metrics", "libcuspan.so", {"detail": "default"},
                        {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "500"}, on_request=True))
    found.append(Config("stat", command=(str(cuspan), "stat", "-q", "--json", "-o", str(work / "tables"), "--set", "detail=default",
                                         *(("--set", f"cupti.library={cupti}") if cupti else ()), "--"), on_request=True))
    return found


def find_nsys():
    places = [os.environ.get("NSYS", ""), shutil.which("nsys") or ""]
    for pattern in ("/opt/nvidia/nsight-systems/*/bin/nsys", "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",
                    "/usr/local/cuda/bin/nsys"):
        places += sorted(glob.glob(pattern), reverse=True)
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def find_nvcc(build):
    places = [shutil.which("nvcc") or "", "/usr/local/cuda/bin/nvcc", str(build / "cuda/bin/nvcc")]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


SPIN_SECONDS = 0.05
SHARED_BELOW = 0.85  # relative to its speed alone: below this, two processors share a core


def spin(cpu, barrier, counts):
    os.sched_setaffinity(0, {cpu})
    barrier.wait()
    count, until = 0, time.monotonic() + SPIN_SECONDS
    while time.monotonic() < until:
        count += 1
    counts.put((cpu, count))


def pace(*cpus):
    """How fast each of them counts while the others count, too."""
    barrier, counts = multiprocessing.Barrier(len(cpus)), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=spin, args=(cpu, barrier, counts)) for cpu in cpus]
    for worker in workers:
        worker.start()
    found = dict(counts.get() for _ in workers)
    for worker in workers:
        worker.join()
    return found


def one_of_each_core(cpus):
    """Measures it: a virtual machine rarely reports which of its processors share a core."""
    alone = {cpu: max(pace(cpu)[cpu] for _ in range(2)) for cpu in cpus}
    kept = []
    for cpu in cpus:
        def shares_with(other):
            return all(both[cpu] < SHARED_BELOW * alone[cpu] and both[other] < SHARED_BELOW * alone[other]
                       for both in (pace(cpu, other) for _ in range(2)))
        if not any(shares_with(other) for other in kept):
            kept.append(cpu)
    return kept


def processors():
    """(the application's, the collector's); None: any. One of each core if there are enough: runs differ most by
    whether a tracer's thread shares a core with the application's."""
    have = sorted(os.sched_getaffinity(0))
    if len(have) < 8:
        return (set(have[:-1]), {have[-1]}) if len(have) >= 4 else (None, None)
    cores = one_of_each_core(have)
    if len(cores) >= 6:
        return set(cores[1:-1]), {cores[-1]}
    return (set(have[2:10]), set(have[10:12])) if len(have) >= 12 else (set(have[:-1]), {have[-1]})


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip().splitlines()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return "unknown"


CUPTI_VERSION = """
import ctypes, sys
version = ctypes.c_uint32()
try:
    ctypes.CDLL("libcuda.so.1").cuInit(0)
except OSError:
    pass
ctypes.CDLL(sys.argv[1]).cuptiGetVersion(ctypes.byref(version))
print(version.value or "unknown")
"""


def cupti_version(library):
    """CUPTI's version number, for example 130500; queried in a separate process."""
    return first_line([sys.executable, "-c", CUPTI_VERSION, library]) if library else "unknown"


def machine(cupti, cpus):
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {"gpu": first_line(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]),
            "driver": first_line(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]),
            "cpu": model[1] if model else platform.machine(), "cores": os.cpu_count(),
            "application_cores": sorted(cpus) if cpus else "all", "kernel": platform.release(), "cupti": cupti_version(cupti),
            "python": platform.python_version(),
            "torch": first_line([sys.executable, "-c", "import torch; print(torch.__version__, torch.version.cuda)"])}


def commit_of(root):
    try:
        found = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
                               capture_output=True, text=True, timeout=20)
        return found.stdout.strip() or "unknown"
    except OSError:
        return "unknown"


class Failure(Exception):
    pass


class Bench:
    """The run of a part of the benchmark; another part has other applications and configurations (models.py)."""
    part, all_apps, on_request = "gpu", ALL_APPS, ON_REQUEST
    configurations = staticmethod(configurations)

    def __init__(self, options):
        self.options = options
        self.build = Path(options.build).resolve()
        self.began = time.monotonic()
        self.work = Path(tempfile.mkdtemp(prefix="cuspan-bench-"))
        self.cpus, self.collector_cpus = processors()
        self.cupti = next((str(path) for path in (self.build / "cupti/libcupti.so.13", self.build / "cupti/libcupti.so.12")
                           if path.exists()), "")
        self.takes = {}  # seconds of the last run, by application and configuration
        self.results = {}
        self.collector = None

    # --- available tools ---

    def say(self, text):
        print(text, flush=True)

    def prepare(self):
        missing = [name for name in ("libcuspan.so", "libcuspan-export.so", "libcuspan-floor.so", "libcuspan-timed.so",
                                     "libcuspan-stacks-switch.so", "null_collector") if not (self.build / name).exists()]
        if missing:
            raise Failure(f"{self.build} has no {', '.join(missing)}: cmake --preset release -DCUSPAN_BUILD_TESTS=ON && "
                          "cmake --build --preset release")
        self.programs = Path(self.options.programs) if self.options.programs else self.build_programs()
        configs = self.configurations(None if self.options.programs else find_nsys(), self.work, self.build / "cuspan", self.cupti)
        apps = self.options.apps.split(",") if self.options.apps else list(self.all_apps)
        names = self.options.configs.split(",") if self.options.configs else [c.name for c in configs if not c.on_request]
        unknown = ({*apps} - {*self.all_apps, *self.on_request}) | ({*names} - {c.name for c in configs} - {"nsys"})
        if unknown:
            raise Failure(f"unknown: {', '.join(sorted(unknown))}")
        if not any(c.name == "nsys" for c in configs):
            self.say("left out: nsys, which is not here")
        if "torch" in apps and not self.has_torch():
            self.say("left out: PyTorch, which python3 doesn't have, or finds no GPU")
            apps.remove("torch")
        # The reference of all ratios is always run.
        self.configs = [c for c in configs if c.name in names or c.name == "none"]
        self.apps = apps

    def has_torch(self):
        return self.options.programs or subprocess.run(
            [sys.executable, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True).returncode == 0

    def build_programs(self):
        """Compiles programs that are missing or older than their sources."""
        folder = self.build / "bench"
        folder.mkdir(exist_ok=True)
        headers = [APPS / "figures.h", ROOT / "include/cuspan/cuspan.h"]

        def compile_one(name):
            source, program = APPS / f"{name}.cu", folder / name
            if program.exists() and all(program.stat().st_mtime >= p.stat().st_mtime for p in [source, *headers]):
                return
            nvcc = find_nvcc(self.build)
            if not nvcc:
                raise Failure("no nvcc: tools/get-cuda.sh nvcc build/cuda gets one")
            done = subprocess.run([nvcc, "-O2", "-std=c++17", f"-arch={self.options.arch}", f"-I{ROOT}/include", str(source),
                                   "-o", str(program), "-ldl"], capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(f"{name}.cu does not compile: {done.stdout}{done.stderr}")

        with ThreadPoolExecutor() as pool:
            list(pool.map(compile_one, ["calls", "service"]))
        return folder

    def start_collector(self):
        def pin():
            if self.collector_cpus:
                os.sched_setaffinity(0, self.collector_cpus)
        self.collector = subprocess.Popen([str(self.build / "null_collector")], stdout=subprocess.PIPE, text=True,
                                          preexec_fn=pin)
        self.port = int(self.collector.stdout.readline().split()[1])

    def command(self, app, config):
        if app in ("torch", "torch-late"):
            step = str((self.programs if self.options.programs else APPS) / "torch_step.py")
            return [sys.executable, step, *(["late"] if app == "torch-late" else [])]
        if app == "service":
            return [str(self.programs / "service"), str(config.percent)]
        if app == "calls-late":
            return [str(self.programs / "calls"), "late"]
        if app == "threads16":
            return [str(self.programs / "calls"), "threads16", str(TIMED_SECONDS)]
        return [str(self.programs / "calls"), app]

    def environment(self, app, config, library=None):
        env = {key: value for key, value in os.environ.items() if not OURS.match(key)}
        env.update(config.environment, BENCH_READY=str(self.work / "ready"), no_proxy="*", PYTHONDONTWRITEBYTECODE="1")
        if config.library:
            settings = {"endpoint": f"http://127.0.0.1:{self.port}", "accounts_file": str(self.work / "report"),
                        **config.settings}
            if self.cupti:
                settings["cupti.library"] = self.cupti
            if app == "graphs":  # for the floor and for cuspan, so that both trace a graph as a whole
                settings["cupti.graph_records"] = "always"
            if settings.get("cupti.others") == "share":  # as cuspan run --share does
                env["LD_PRELOAD"] = str(self.build / "libcuspan-share.so")
                env["CUSPAN_SHARE"] = "share"
                env["CUSPAN_SHARE_CUPTI"] = self.cupti
            injected = "BENCH_LOAD" if app.endswith("-late") else "CUDA_INJECTION64_PATH"
            env[injected] = str(library or self.build / config.library)
            env["CUSPAN_SET"] = ";".join(f"{key}={value}" for key, value in settings.items())
        return env

    # --- one run ---

    def run(self, app, config, library=None, extra=None):
        """Its output, its duration, and the agent's report. Raises Failure."""
        for path in [self.work / "ready", self.work / "tables", *self.work.glob("report.*")]:
            path.unlink(missing_ok=True)
        begin = time.monotonic()
        out, err, status = self.execute([*config.command, *self.command(app, config)],
                                        {**self.environment(app, config, library), **(extra or {})})
        figures = {name: float(value) for name, value, _ in FIGURE.findall(out)}
        self.results.setdefault("units", {}).update({name: unit for name, _, unit in FIGURE.findall(out)})
        run = {"app": app, "config": config.name, "seconds": round(time.monotonic() - begin, 2), "figures": figures}
        reports = [json.loads(path.read_text()) for path in self.work.glob("report.*") if path.suffix != ".part"]
        if reports:
            run["agent"] = {key: reports[0].get(key) for key in ("spans", "delivered", "losses", "own", "metrics") if key in reports[0]}
            counters = reports[0].get("counters", {})
            run["agent"].update({key: counters[key] for key in ("sleeps", "asleep_ns", *CODE_COUNTERS) if key in counters})
        said = [line for line in err.splitlines() if re.match("cuspan|floor", line)]
        if said:
            run["said"] = said[:4]
        # Nsight Systems reports if it cannot write a report of its recording; the figures are right.
        if (status != 0 and config.name != "nsys") or not figures:
            raise Failure(f"status {status}, {' / '.join((out + err).strip().splitlines()[-3:])}")
        self.check(config, run, said)
        return run

    def execute(self, command, environment):
        def prepare():
            if self.cpus:
                os.sched_setaffinity(0, self.cpus)
        with open(self.work / "out", "w+") as out, open(self.work / "err", "w+") as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                       cwd=self.work, preexec_fn=prepare, start_new_session=True)
            limit = RUN_SECONDS_MAX
            if self.options.seconds:
                limit = min(limit, max(5, self.options.seconds - (time.monotonic() - self.began) + 8))
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                status = f"killed after {limit:.0f} s"
            out.seek(0)
            err.seek(0)
            return out.read(), err.read(), status

    def check(self, config, run, said):
        """A figure counts only if the run was in the state that its name says."""
        spans = run.get("agent", {}).get("spans", 0)
        if config.is_awake_agent and not spans:
            raise Failure(f"the agent made no spans; it said: {said}")
        if "PROF" in config.environment and not run["figures"].get("profiler-events"):
            raise Failure("PyTorch's profiler saw nothing")
        if config.name == "metrics" and not (run["agent"].get("metrics") or {}).get("delivered"):
            raise Failure(f"no metrics were delivered; it said: {said}")
        if config.name == "stat" and not self.tables_have_calls():
            raise Failure(f"cuspan stat has counted nothing; it said: {said}")
        if "capture.launch_stacks" in config.settings and not run.get("agent", {}).get("code_stacks"):
            raise Failure(f"the agent saw no stacks; it said: {said}")
        if config.name == "asleep" and spans:
            raise Failure(f"asleep, and yet {spans} spans")
        if config.library == "libcuspan-floor.so" and any("can't" in line for line in said):
            raise Failure("the floor did not start")
        if "CUSPAN_FLOOR_OFF_FILE" in config.environment and not any(" off after " in line for line in said):
            raise Failure("the floor was not switched off")

    def tables_have_calls(self):
        path = self.work / "tables"
        return path.exists() and path.stat().st_size and any(row["calls"] for row in json.loads(path.read_text())["headline"])

    # --- many runs ---

    def has_time_for(self, app, config):
        if not self.options.seconds:
            return True
        expected = self.takes.get((app, config.name), self.takes.get((app, "none"), 5)) * 1.2
        return time.monotonic() - self.began + expected < self.options.seconds

    def measure(self, app, config, series, number):
        """False: no time is left."""
        if not self.has_time_for(app, config):
            return False
        try:
            run = self.run(app, config)
        except Failure as failure:
            self.problem(f"{app}, {config.name}: {failure}")
            return True
        self.takes[app, config.name] = run["seconds"]
        self.results["runs"].append({**run, "series": series, "round": number})
        first = next(name for name in run["figures"] if name.endswith((".median", "-time")))
        lost = sum((run.get("agent", {}).get("losses") or {}).values())
        self.say(f"{series} {number:3} {app:8} {config.name:18} {run['seconds']:5.1f} s  {first} "
                 f"{run['figures'][first]:.6g} {self.results['units'][first]}" + (f"  lost {lost}" if lost else ""))
        return True

    def problem(self, text):
        self.results["problems"].append(text)
        self.say(f"problem: {text}")

    def warm_up(self):
        """Once each, unmeasured: loads files from the disk, and fails here if something cannot run."""
        for app in list(self.apps):
            try:
                self.takes[app, "none"] = self.run(app, self.configs[0])["seconds"]
            except Failure as failure:
                self.problem(f"{app} left out: {failure}")
                self.apps.remove(app)

    def rounds(self):
        for number in range(self.options.rounds):
            for app in self.apps:
                configs = [c for c in self.configs if app in c.apps]
                turn = number % len(configs)
                for config in configs[turn:] + configs[:turn]:
                    if not self.measure(app, config, "rounds", number):
                        self.say(f"the time is up in round {number}")
                        return
            self.results["rounds"] = number + 1
            self.write()

    def extra_pairs(self):
        """none and another configuration in turn, many times, with the other one loaded in the middle of the process:
        for effects that are too small to see between processes."""
        name, _, count = self.options.pairs.partition(":")
        other = next((c for c in self.configs if c.name == name), None)
        if not other:
            raise Failure(f"--pairs {self.options.pairs}: no such configuration")
        for number in range(int(count or 0)):
            for app in [f"{app}-late" for app in self.apps if app in ("calls", "torch") and app in other.apps]:
                pair = [self.configs[0], other]
                for config in pair if number % 2 == 0 else pair[::-1]:
                    if not self.measure(app, config, f"pairs-{name}", number):
                        self.say(f"the time is up in pair {number}")
                        return
            self.write()

    def callbacks(self, apps):
        """Our own time in the callbacks, while 16 threads or one work. The program finds the library only by its
        name."""
        folder = self.work / "timed"
        folder.mkdir()
        shutil.copy(self.build / "libcuspan-timed.so", folder / "libcuspan.so")
        for name in ("libcuspan-export.so", "cupti"):
            if (self.build / name).exists():
                (folder / name).symlink_to(self.build / name)
        config = Config("default", "libcuspan.so", {"detail": "default"})
        for app in apps:
            path = self.work / f"timed-{app}.json"
            try:
                run = self.run(app, config, folder / "libcuspan.so", {"CUSPAN_TIMED_FILE": str(path)})
                self.results["callbacks"][app] = {"kinds": json.loads(path.read_text()), "agent": run.get("agent")}
                self.say(f"callbacks {app}: {json.dumps(self.results['callbacks'][app]['kinds'])}")
            except (Failure, OSError, ValueError) as failure:
                self.problem(f"callbacks, {app}: {failure}")

    def write(self):
        self.results["seconds"] = round(time.monotonic() - self.began)
        path = Path(self.options.out)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({key: value for key, value in self.results.items() if key != "runs"}, indent=1)
        # One line per run, so that it is readable and a new run is a small change.
        runs = ",\n  ".join(json.dumps(run) for run in self.results["runs"])
        path.write_text(f"{text[:-2]},\n \"runs\": [\n  {runs}\n ]\n}}\n", encoding="utf-8")

    def main(self):
        self.prepare()
        self.start_collector()
        self.results = {"machine": machine(self.cupti, self.cpus), "commit": self.options.commit or commit_of(ROOT),
                        "command": f"tests/bench/run.sh {self.part} " + " ".join(self.options.as_given),
                        "date": time.strftime("%Y-%m-%d"), "rounds": 0, "units": {}, "problems": [], "callbacks": {}, "runs": []}
        self.say(json.dumps(self.results["machine"]))
        self.warm_up()
        if {"calls", "service"} & {*self.apps}:
            self.callbacks(("service", "threads16"))
        elif "steps" in self.apps:
            self.callbacks(("steps", "threads16"))
        self.write()
        self.rounds()
        if self.options.pairs:
            self.extra_pairs()
        self.write()
        self.say(f"{len(self.results['runs'])} runs in {self.results['seconds']} s: {self.options.out}")
        return 1 if self.results["problems"] or not self.results["runs"] else 0

    def close(self):
        if self.collector:
            self.collector.terminate()
            self.say("collector: " + self.collector.communicate()[0].strip())
        shutil.rmtree(self.work, True)


def parse(arguments, part, description):
    """The options of a class of benchmarks."""
    on_request = f"; on request: {','.join(part.on_request)}" if part.on_request else ""
    parser = argparse.ArgumentParser(prog=f"run.sh {part.part}", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", metavar="OUT.json", help=f"build/bench/{part.part}.json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--apps", metavar="LIST", help=",".join(part.all_apps) + on_request)
    parser.add_argument("--configs", metavar="LIST",
                        help=",".join(c.name for c in part.configurations("nsys", Path("/"))) + "; none is always there")
    parser.add_argument("--pairs", metavar="asleep:N", default="",
                        help="N more interleaved pairs of none and asleep, calls and torch")
    parser.add_argument("--seconds", type=float, metavar="MAX", help="ends before that")
    parser.add_argument("--build", default=str(ROOT / "build"), metavar="DIR")
    parser.add_argument("--arch", default="native", help="nvcc's -arch")
    parser.add_argument("--commit", help="where git doesn't know")
    parser.add_argument("--programs", help=argparse.SUPPRESS)  # stand-ins, for tests
    options = parser.parse_args(arguments)
    options.as_given = arguments
    options.out = options.out or str(Path(options.build) / f"bench/{part.part}.json")
    return options


def run_part(part, description):
    """The exit status of a class of benchmarks, with this process's arguments."""
    bench = part(parse(sys.argv[1:], part, description))
    try:
        return bench.main()
    except Failure as failure:
        print(f"run.sh {part.part}: {failure}", file=sys.stderr)
        return 1
    finally:
        bench.close()


if __name__ == "__main__":
    sys.exit(run_part(Bench, __doc__))
