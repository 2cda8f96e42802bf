"""The kind of a graph's spans on a real GPU: the same program has the same spans in every run, however soon it
instantiates its graphs, and a process without graphs pays nothing. Called by graphs.sh.

    graphs_test.py BUILD-DIR OUT-DIR CUPTI-LIBRARY PROGRAM [RUNS]

Prints a line per case, and the costs; writes all results to OUT-DIR/graphs.json.
"""

import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gpu_test  # noqa: E402

WORKERS = 4  # programs at once; the costs are measured one at a time
NODES, LAUNCHES, MAKERS = 5, 20, 8  # as in graph_kinds.cu
COST_ROUNDS = 15
WORK = "graph", "kernel", "memcpy", "memset"  # not CUPTI's overhead records, which a first launch of a thread may cause
EXECUTIONS = re.compile(r"cu(da)?GraphLaunch")


class Program(gpu_test.Test):
    def run(self, command, limit=60, **environment):
        return super().run(command, limit, **environment)


class Graphs:
    def __init__(self, build, out, cupti, program, runs):
        self.build, self.out, self.cupti, self.program, self.runs = build, Path(out), cupti, program, runs
        self.results, self.failed, self.has_hung = {}, 0, False
        self.names = Counter()  # of nodes

    def one(self, number, command, graph_records, detail, settings, environment):
        """How many graph executions and graph nodes became spans, or what is wrong; and the losses."""
        if self.has_hung:
            return "not run, because a program hung", {}
        out = self.out / f"graphs-{number}"
        out.mkdir(parents=True, exist_ok=True)
        test = Program(self.build, out, None)
        try:
            done, spans, reports = test.traced(command, self.cupti, graph_records, detail, settings, **environment)
        except subprocess.TimeoutExpired:
            self.has_hung = True
            return "it hung", {}
        except (OSError, ValueError) as error:
            return repr(error), {}
        if done.returncode or len(reports) != 1:
            return f"status {done.returncode}, {len(reports)} reports: {done.stdout!r} {done.stderr[-500:]!r}", {}
        launches = {span.span_id for span in spans if EXECUTIONS.match(span.name)}
        below = [span for span in spans if span.parent_id in launches and span.attributes.get("cuda.activity") in WORK]
        nodes = Counter(f"{span.name} graph {span.attributes.get('cuda.graph.id')}" for span in below
                        if span.attributes["cuda.activity"] != "graph")
        count = sum(nodes.values())
        self.names.update(nodes)
        losses = reports[0]["losses"]
        # CUPTI 13 gave 1 of some 50,000 nodes an end before its start; the agent counts it. More in one run is wrong.
        backwards = min(losses.get("lost_backwards", 0), 1) if count else 0
        return f"graphs {len(below) - count} nodes {count + backwards}", losses

    def kinds(self, name, command, want, runs, graph_records="when-used", detail="default", settings="", environment=None):
        """`want`: the only allowed result; None: any, but the same in each run."""
        self.names.clear()
        with ThreadPoolExecutor(WORKERS) as pool:
            outcomes = list(pool.map(lambda n: self.one(n, command, graph_records, detail, settings, environment or {}),
                                     range(runs)))
        found = Counter(kinds for kinds, _ in outcomes)
        lost = sum((Counter(losses) for _, losses in outcomes), Counter())  # of other kernels in a burst: no failure
        is_right = len(found) == 1 and (want is None or want in found)
        self.failed += not is_right
        self.results[name] = {"kinds": found, "lost": lost}
        print("ok" if is_right else "not ok", f"{name}: {dict(found)}" + (f", lost {dict(lost)}" if lost else "") +
              ("" if is_right else f", should be {want}; nodes: {dict(self.names)}"), flush=True)

    def first_us(self, graph_records):
        """How long the call took that started the first graph."""
        times = []
        for _ in range(COST_ROUNDS):
            test = Program(self.build, self.out, None)
            command = [self.program, "capture"]
            done = test.run(command) if graph_records is None else test.traced(command, self.cupti, graph_records)[0]
            times += [float(us) for us in re.findall(r"first ([\d.]+) us", done.stdout)]
        return times

    def costs(self):
        """Interleaved: ns per call before and after the first graph."""
        found = {}
        for _ in range(COST_ROUNDS // 3):
            for name, graph_records in ("none", None), ("when-used", "when-used"), ("always", "always"):
                test = Program(self.build, self.out, None)
                command = [self.program, "costs"]
                done = test.run(command) if graph_records is None else test.traced(command, self.cupti, graph_records)[0]
                for when, launch, get in re.findall(r"(before|after): launch (\d+) cudaGetDevice ([\d.]+)", done.stdout):
                    found.setdefault(f"{name} {when}", []).append((float(launch), float(get)))
        return found

    def measure(self):
        for name, graph_records in ("none", None), ("when-used", "when-used"), ("always", "always"):
            times = self.first_us(graph_records)
            if not times:
                print(f"not ok first call that starts a graph, {name}: the program failed")
                self.failed += 1
                continue
            self.results[f"first call, {name}"] = times
            print(f"first call that starts a graph, {name}: median {statistics.median(times):.1f} us, "
                  f"{min(times):.1f} to {max(times):.1f}", flush=True)
        for name, pairs in self.costs().items():
            launches, gets = zip(*pairs)
            self.results[f"costs, {name}"] = pairs
            print(f"calls {name} the first graph: launch {statistics.median(launches):.0f} ns, "
                  f"cudaGetDevice {statistics.median(gets):.1f} ns", flush=True)

    def check(self):
        whole, nodes = f"graphs {LAUNCHES} nodes 0", f"graphs 0 nodes {LAUNCHES * NODES}"
        some = max(self.runs // 5, 2)
        self.kinds("capture", [self.program, "capture"], whole, self.runs)
        for way in "create", "driver":
            self.kinds(way, [self.program, way], whole, some)
        self.kinds("threads", [self.program, "threads"], f"graphs {MAKERS * LAUNCHES} nodes 0", self.runs,
                   settings=gpu_test.ROOM_FOR_BURSTS)
        self.kinds("capture, calls denied", [self.program, "capture"], whole, some,
                   settings=";capture.calls.deny=*BeginCapture*,*GraphInstantiate*")
        self.kinds("driver, runtime only", [self.program, "driver"], None, some, settings=";capture.driver=false")
        self.kinds("capture, driver only", [self.program, "capture"], whole, some, settings=";capture.runtime=false")
        self.kinds("capture, asleep", [self.program, "capture"], None, some,
                   settings=";sampling.sleep=always;cupti.api=subscriber")
        self.kinds("capture, graph-nodes", [self.program, "capture"], nodes, some, detail="graph-nodes")
        self.kinds("capture, share", [self.program, "capture"], nodes, some, settings=";cupti.others=share")
        self.kinds("capture, always", [self.program, "capture"], whole, some, "always")
        self.kinds("capture, classic", [self.program, "capture"], whole, self.runs, settings=";cupti.api=classic")
        self.kinds("threads, classic", [self.program, "threads"], f"graphs {MAKERS * LAUNCHES} nodes 0", self.runs,
                   settings=gpu_test.ROOM_FOR_BURSTS + ";cupti.api=classic")
        self.kinds("threads, classic, asleep", [self.program, "threads"], None, some, settings=";sampling.sleep=always")
        agent = str(Path(self.build).resolve() / "libcuspan.so")
        for api in "classic", "subscriber":  # for docs/cupti.md: graphs from before the agent's start
            for detail in "default", "graph-nodes":
                self.kinds(f"late, {api}, {detail}", [self.program, "late", agent], None, some, detail=detail,
                           settings=f";cupti.api={api}", environment={"CUDA_INJECTION64_PATH": ""})
        try:
            subprocess.run(["python3", "-c", "import torch; assert torch.cuda.is_available()"], check=True,
                           stderr=subprocess.DEVNULL)
        except subprocess.CalledProcessError:
            print("skipped: PyTorch's graph: no PyTorch with CUDA here")
        else:
            self.kinds("PyTorch", ["python3", "tests/gpu/programs/torch_graph.py"], "graphs 50 nodes 0", 8)


def main():
    build, out, cupti, program, *rest = sys.argv[1:]
    graphs = Graphs(build, out, cupti, program, int(rest[0]) if rest else 100)
    graphs.check()
    if not graphs.has_hung:
        graphs.measure()
    (Path(out) / "graphs.json").write_text(json.dumps(graphs.results, indent=1))
    print(f"{graphs.failed} failed")
    return 1 if graphs.failed else 0


if __name__ == "__main__":
    sys.exit(main())
