"""Programs on a real GPU, with and without the agent: the same output and exit status, and as many spans of kernels,
copies, memsets and graphs as a plain CUPTI counter (counter.c) sees records, with every CUPTI available. Called by
run.sh.

    gpu_test.py BUILD-DIR OUT-DIR COUNTER.so CUPTI-LIBRARY... -- PROGRAM...
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import requests_check  # noqa: E402
from backend import spans_of  # noqa: E402
from compare import ACTIVITY_NAMES  # noqa: E402


# A hundred threads that only launch, and spans as JSON: rings of 256 KiB for all of them.
ROOM_FOR_BURSTS = ";rings.total_bytes=67108864;memory_bytes_max=268435456"


def lost_in(report):
    return [f"lost: {name} {count}" for name, count in report["losses"].items() if count]


def take_without_times(report):
    """Records without times, which CUPTI 12.9 sometimes gives for graphs. The agent counts them."""
    return report["losses"].pop("lost_zero_timestamps", 0)


class Test:
    def __init__(self, build, out, counter):
        self.build, self.out, self.counter = Path(build), Path(out), counter
        self.passed = self.failed = 0

    def run(self, command, limit=300, **environment):
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "CUDA_INJ"))}
        return subprocess.run([str(part) for part in command], env={**clean, **environment}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit, check=False)

    def counted(self, program, cupti, **environment):
        """The counts of the plain counter, by the agent's names of the kinds."""
        file = self.out / "counts"
        file.unlink(missing_ok=True)
        self.run(program, CUDA_INJECTION64_PATH=str(self.counter), COUNTER_CUPTI=cupti, COUNTER_FILE=str(file),
                 **environment)
        counts = (map(int, line.split()) for line in file.read_text().splitlines())
        return Counter({ACTIVITY_NAMES[kind]: count for kind, count in counts if count})

    def traced(self, program, cupti, graph_records, detail="default", settings="", **environment):
        trace = self.out / "trace.jsonl"
        for old in (trace, *self.out.glob("report.*")):
            old.unlink(missing_ok=True)
        done = self.run(program, **{
            "CUDA_INJECTION64_PATH": str(self.build.resolve() / "libcuspan.so"),
            "CUSPAN_SET": f"cupti.library={cupti};cupti.graph_records={graph_records};output_file={trace};"
                          f"accounts_file={self.out}/report;detail={detail}{settings}", **environment})
        spans = [span for line in trace.read_text().splitlines() for span in spans_of(json.loads(line))]
        reports = [json.loads(path.read_text()) for path in self.out.glob("report.*")]
        return done, spans, reports

    def check(self, program, cupti):
        bare = self.run(program)
        counted = self.counted(program, cupti)
        done, spans, reports = self.traced(program, cupti, "always")
        found = []
        if (done.stdout, done.returncode) != (bare.stdout, bare.returncode):
            found.append(f"output or status changed: {bare.returncode} {bare.stdout!r}, {done.returncode} {done.stdout!r}")
        gpu = [span for span in spans if span.attributes.get("cuda.activity") in ACTIVITY_NAMES.values()]
        got = Counter(span.attributes["cuda.activity"] for span in gpu)
        without_times = sum(take_without_times(report) for report in reports)
        if sum((counted - got).values()) != without_times or got - counted or not counted:
            found.append(f"the counter sees {dict(counted)}, the spans are {dict(got)}, {without_times} without times")
        by_id = {span.span_id: span for span in spans}
        lost = [span.name for span in gpu if "cuda.api" not in getattr(by_id.get(span.parent_id), "attributes", {})]
        if lost:
            found.append(f"{len(lost)} GPU spans are not below a call: {lost[:5]}")
        early = [span.name for span in gpu if span.attributes.get("cuda.start_delay", 0) < 0]
        if early:
            found.append(f"{len(early)} GPU spans start before their call: {early[:5]}")
        if len(by_id) != len(spans):
            found.append(f"{len(spans) - len(by_id)} span IDs stand twice")
        for report in reports:
            found += [f"lost: {name} {count}" for name, count in report["losses"].items() if count]
        if len(reports) != 1:
            found.append(f"{len(reports)} reports: {done.stderr}")
        return found, got

    def check_graphs(self, program, cupti):
        """With graph records enabled by the call that starts the first graph: each launch has one span below it, that of
        the whole execution."""
        done, spans, (report,) = self.traced(program, cupti, "when-used")
        launches = {span.span_id for span in spans if span.name == "cudaGraphLaunch"}
        below = Counter(span.attributes["cuda.activity"] for span in spans
                        if span.parent_id in launches and "cuda.activity" in span.attributes)
        found = [] if done.returncode == 0 and launches else [f"status {done.returncode}, {len(launches)} launches"]
        without_times = take_without_times(report)
        if below != Counter({"graph": len(launches) - without_times}):
            found.append(f"below {len(launches)} launches are {dict(below)}, {without_times} are without times")
        return found + lost_in(report), {"launches": len(launches), **below}

    def check_counts(self, program, cupti):
        """Each execution has its graph's number of nodes, which the program prints as "6x100 2x10" and so on."""
        done, spans, (report,) = self.traced(program, cupti, "always")
        want = Counter({int(nodes): int(count) for nodes, count in re.findall(r"(\d+)x(\d+)", done.stdout)})
        got = Counter(span.attributes.get("cuda.graph.nodes") for span in spans if span.name == "graph")
        found = [] if done.returncode == 0 and want else [f"status {done.returncode}: {done.stdout!r} {done.stderr!r}"]
        without_times = take_without_times(report)
        if sum((want - got).values()) != without_times or got - want:
            found.append(f"executions by nodes: {dict(got)}, should be {dict(want)}")
        return found + lost_in(report), got

    def check_links(self, program, cupti):
        """Each node's span links to the call that captured it, and different nodes to different calls."""
        done, spans, (report,) = self.traced(program, cupti, "always", "graph-nodes")
        sizes = [(int(nodes), int(count)) for nodes, count in re.findall(r"(\d+)x(\d+)", done.stdout)]
        by_id = {(span.trace_id, span.span_id): span for span in spans}
        nodes = [span for span in spans if "cuda.graph.node.id" in span.attributes]
        found = [] if done.returncode == 0 and sizes else [f"status {done.returncode}: {done.stdout!r} {done.stderr!r}"]
        if len(nodes) != sum(count * executions for count, executions in sizes):
            found.append(f"{len(nodes)} spans of nodes, should be {sizes}")
        captures, names = {}, Counter()
        for node in nodes:
            links = [(link["traceId"], link["spanId"]) for link in node.links]
            capture = by_id.get(links[0]) if len(links) == 1 else None
            names[(node.attributes["cuda.activity"], capture.name if capture else None)] += 1
            captures.setdefault(node.attributes["cuda.graph.node.id"], set()).update(links)
        want = {"kernel": "cudaLaunchKernel", "memset": "cudaMemsetAsync", "memcpy": "cudaMemcpyAsync"}
        if any(want.get(activity) != name for activity, name in names):
            found.append(f"nodes lead to {dict(names)}")
        calls = {link for links in captures.values() for link in links}
        if sum(map(len, captures.values())) != len(calls):
            found.append(f"{len(captures)} nodes lead to {len(calls)} calls")
        if report["counters"].get("graph_nodes_unlinked"):
            found.append(f"{report['counters']['graph_nodes_unlinked']} spans of nodes have no link")
        return found + [f"lost: {name} {count}" for name, count in report["losses"].items() if count], names

    def check_requests(self, program, cupti):
        """10,000 requests, 100 at a time: each trace has exactly its own work (requests_check.py)."""
        done, spans, (report,) = self.traced([*program, "100", "100"], cupti, "always", settings=ROOM_FOR_BURSTS)
        found = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr!r}"]
        found += list(requests_check.check(spans, 10000))[:10]
        return found + lost_in(report), {"spans": len(spans)}

    def check_few_sampled(self, program, cupti, sleep="always"):
        """One request in 101 is sampled: its trace has exactly its own work, and in between the agent sleeps."""
        done, spans, (report,) = self.traced([*program, "8", "2000", "1", "101"], cupti, "when-used",
                                             settings=f";sampling.sleep={sleep}")
        bare = self.run([*program, "8", "2000", "1", "101"])
        found = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr!r}"]
        found += list(requests_check.check(spans, 16000, 101))[:10]
        counters = {name: report["counters"][name] for name in ("sleeps", "asleep_ns", "asleep_records", "spans_unsampled")}
        if not counters["sleeps"]:
            found.append("it never slept")
        return found + lost_in(report), {**counters, "agent: " + done.stdout.strip(): 1, "bare: " + bare.stdout.strip(): 1}

    def check_few_sampled_unforeseen(self, program, cupti):
        """The same if the agent learns only during the run that not all are sampled."""
        return self.check_few_sampled(program, cupti, "auto")

    def check_late_graph(self, program, cupti):
        """A graph, and with it CUPTI's graph records, starts while other threads launch: no work is assigned to another
        thread. The rings have room for what the threads launch while one of them enables these records."""
        done, spans, (report,) = self.traced([*program, "8", "500"], cupti, "when-used", REQUESTS_GRAPH="1",
                                             settings=f"{ROOM_FOR_BURSTS};rings.bytes=1048576")
        found = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr!r}"]
        return found + list(requests_check.check(spans, 4000))[:10] + lost_in(report), {"spans": len(spans)}

    def check_control(self, program, cupti):
        """Work launched while tracing is on has its spans below their calls; work launched in between has none."""
        found, got = [], {}
        for way, settings, injected in (str(self.build.resolve() / "libcuspan.so"), "", False), (
                "profiler", ";capture.cuda_profiler=true", True):
            done, spans, (report,) = self.traced([*program, way], cupti, "always", settings=settings + ROOM_FOR_BURSTS,
                                                 **({} if injected else {"CUDA_INJECTION64_PATH": ""}))
            kernels = Counter(span.name for span in spans if span.attributes.get("cuda.activity") == "kernel")
            by_id = {span.span_id: span for span in spans}
            name = Path(way).stem
            if done.returncode or f"wanted {kernels['wanted']}" not in done.stdout or kernels["unwanted"]:
                found.append(f"{name}: {done.stdout!r} {done.stderr!r}, the spans are {dict(kernels)}")
            lost = [span.name for span in spans if span.name == "wanted"
                    and getattr(by_id.get(span.parent_id), "name", "") != "cudaLaunchKernel"]
            if lost:
                found.append(f"{name}: {len(lost)} kernels are not below their launch")
            sessions = [s for s in spans if "cuda.session.number" in s.attributes]
            if name != "profiler" and not 2 <= len(sessions) <= 300:
                found.append(f"{name}: {len(sessions)} sessions")
            found += lost_in(report)
            got[name] = {**kernels, "sleeps": report["counters"]["sleeps"], "left out": report["counters"]["asleep_records"]}
        return found, got

    def check_python_requests(self, program, cupti):
        out = self.out / "requests.json"
        done, spans, (report,) = self.traced([*program, "10000", str(out)], cupti, "always", OTEL_PYTHON_CONTEXT="cuspan")
        found = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr!r}"]
        found += list(requests_check.check_python(spans, json.loads(out.read_text())))[:10]
        return found + lost_in(report), {"spans": len(spans), done.stdout.strip(): 1,
                                         "evicted": report["counters"].get("pending_evicted", 0)}

    def case(self, program, cupti, check=None):
        name = f"{Path(program[-1]).stem}{' ' + check.__name__ if check else ''} with {cupti}"
        try:
            found, got = (check or self.check)(program, cupti)
        except Exception as error:  # a failing case must not hide the others
            found, got = [repr(error)], {}
        print(("not ok " if found else "ok ") + name, dict(got), flush=True)
        for line in found:
            print("    " + line)
        self.failed += bool(found)
        self.passed += not found


def main():
    build, out, counter, *rest = sys.argv[1:]
    split = rest.index("--")
    test = Test(build, out, counter)
    for cupti in rest[:split]:
        for program in rest[split + 1:]:
            if Path(program).stem == "requests":
                test.case([program], cupti, test.check_requests)
                test.case([program], cupti, test.check_few_sampled)
                test.case([program], cupti, test.check_few_sampled_unforeseen)
                test.case([program], cupti, test.check_late_graph)
                continue
            if Path(program).stem == "control":
                test.case([program], cupti, test.check_control)
                continue
            test.case([program], cupti)
            if Path(program).stem == "graph":
                for _ in range(10):
                    test.case([program], cupti, test.check_graphs)
            if Path(program).stem == "graph_threads":
                test.case([program], cupti, test.check_counts)
                test.case([program], cupti, test.check_links)
    try:
        subprocess.run(["python3", "-c", "import torch; assert torch.cuda.is_available()"], check=True,
                       stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        print("no PyTorch with CUDA here: its programs were not run")
    else:
        for cupti in rest[:split]:
            test.case(["python3", "examples/torch_inference.py"], cupti)
            test.case(["python3", "tests/gpu/programs/torch_graph.py"], cupti)
    try:
        subprocess.run(["python3", "-c", "import torch, cuspan, opentelemetry.sdk; assert torch.cuda.is_available()"],
                       check=True, stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        print("PyTorch, opentelemetry-sdk or the package cuspan (pip install ./python) isn't here: no requests in Python")
    else:
        for way in "threads", "pool", "asyncio":
            test.case(["python3", "tests/gpu/programs/requests.py", way], rest[0], test.check_python_requests)
    print(f"{test.passed} passed, {test.failed} failed, 0 skipped")
    return 1 if test.failed or not test.passed else 0


if __name__ == "__main__":
    sys.exit(main())
