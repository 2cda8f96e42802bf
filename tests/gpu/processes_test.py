"""Several processes, GPUs and threads on real GPUs, with the agent. Called by processes.sh.

    processes_test.py OUT-DIR BUILD-DIR PROGRAMS-DIR [CASE...]

Each case leaves its spans, reports, output and errors in OUT-DIR/CASE. A case that fails or hangs does not stop the
others. A case that needs something that this machine lacks is skipped with the reason. CUPTI_LIBRARY names a CUPTI;
otherwise the agent looks for one."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/gpu")]
import processes_check  # noqa: E402
import requests_check  # noqa: E402
from backend import spans_of  # noqa: E402

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
LIMIT_S = 150  # for a case's programs; on a slow disk, importing PyTorch takes 20 s
SHOWN = 12     # problems of one case
# No session is split, so that each process is one; space for threads that only launch, and for spans as JSON.
SETTINGS = {"session.spans_max": 10000000, "session.age_max_ms": 3600000, "rings.total_bytes": 64 << 20,
            "memory_bytes_max": 256 << 20, "exit_deadline_ms": 30000}


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


class Run:
    """The programs of one case."""

    def __init__(self, build, out):
        self.build, self.out = build, out
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        self.deadline = time.monotonic() + LIMIT_S
        self.started = []

    def close(self):
        """Ends everything that still runs."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def settings(self, name, more):
        chosen = {**SETTINGS, **more, "accounts_file": self.out / f"{name}.report"}
        if os.environ.get("CUPTI_LIBRARY"):
            chosen["cupti.library"] = os.environ["CUPTI_LIBRARY"]
        return chosen

    def environment(self, extra):
        ours = ("OTEL_", "CUSPAN_", "CUDA_INJ", "NVTX_INJ", "TRACE", "RANK", "LOCAL_RANK", "WORLD_SIZE")
        clean = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        path = os.pathsep.join(filter(None, [str(ROOT / "python"), str(self.site()), clean.get("PYTHONPATH")]))
        return {**clean, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
                "NCCL_NVLS_ENABLE": "0", **extra}

    def site(self):
        """The metadata of an installation of the package in python/, through which OTEL_PYTHON_CONTEXT finds it."""
        info = self.out.parent / "site/cuspan-0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: cuspan\nVersion: 0\n")
        (info / "entry_points.txt").write_text("[opentelemetry_context]\ncuspan = cuspan.otel:RuntimeContext\n")
        return info.parent

    def start(self, name, command, environment):
        streams = [open(self.out / f"{name}.{suffix}", "wb") for suffix in ("out", "err")]
        try:
            self.started.append(subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1],
                env=self.environment(environment), start_new_session=True))
            return self.started[-1]
        finally:
            for stream in streams:
                stream.close()

    def wait(self, **processes):
        """The output of each. All must succeed in time; a process group that does not is killed."""
        found = []
        for name, process in processes.items():
            try:
                status = process.wait(max(0.1, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                found.append(f"{name} did not end within {LIMIT_S} s")
                continue
            if status:
                found.append(f"{name} ended with status {status}")
        if found:
            errors = [f"{name}: {line}" for name in processes
                      for line in (self.out / f"{name}.err").read_text(errors="replace").splitlines()[-6:]]
            raise Failed("\n".join(found + errors))
        return [(self.out / f"{name}.out").read_text() for name in processes]

    def injected(self, name, command, settings=None, **environment):
        """Starts a program with the agent, which CUDA loads."""
        chosen = {**self.settings(name, settings or {}), "output_file": self.out / f"{name}.jsonl"}
        return self.start(name, command, {
            "CUDA_INJECTION64_PATH": str(self.build / "libcuspan.so"), **environment,
            "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in chosen.items())})

    def cuspan_run(self, name, command, settings=None, **environment):
        """Starts a command with cuspan run."""
        options = [part for key, value in self.settings(name, settings or {}).items() for part in ("--set", f"{key}={value}")]
        return self.start(name, [self.build / "cuspan", "run", "--file", self.out / f"{name}.jsonl", *options, *command],
                          environment)

    def spans(self, *names):
        found = []
        for name in names:
            path = self.out / f"{name}.jsonl"
            if not path.exists():
                raise Failed(f"no spans of {name}: {(self.out / f'{name}.err').read_text(errors='replace')[-600:]!r}")
            found += [span for line in path.read_text().splitlines() for span in spans_of(json.loads(line))]
        return found

    def check_reports(self, *counts):
        """This many processes have used CUDA, and none lost anything."""
        reports = [json.loads(path.read_text()) for path in self.out.glob("*.report.*")]
        if len(reports) not in counts:
            yield f"{len(reports)} reports of agents instead of {' or '.join(map(str, counts))}"
        for report in reports:
            yield from (f"lost: {name} {lost}" for name, lost in report["losses"].items() if lost)


def gpu_uuids(output):
    """{rank: the UUID of its GPU}, as the programs in Python print it."""
    return {int(rank): uuid for rank, uuid in re.findall(r"^rank (\d+) .*?on (GPU-\S+?):? ", output, re.M)}


class Cases:
    def __init__(self, out, build, programs):
        self.out, self.build, self.programs = out, build, programs

    def program(self, name):
        path = self.programs / name
        if not os.access(path, os.X_OK):
            raise Skipped(f"no {path}, and no nvcc to make it")
        return path

    def needs_torch(self, *more):
        modules = ", ".join(("torch", *more))
        done = subprocess.run([sys.executable, "-c", f"import {modules}; assert torch.cuda.is_available()"], timeout=120,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Skipped(f"{sys.executable} has no {modules} with CUDA")

    def probe(self, run):
        """The output of peer.cu about the GPUs, without the agent."""
        probe = run.start("probe", [self.program("peer")], {})
        output, = run.wait(probe=probe)
        return processes_check.devices_in(output)

    # --- the cases: each yields its faults and returns its findings ---

    def devices(self, run):
        """Attributes of each GPU, and work on the NULL stream."""
        output, = run.wait(peer=run.injected("peer", [self.program("peer")]))
        devices, smi, has_pci = processes_check.devices_in(output), None, os.path.isdir("/proc/driver/nvidia/gpus")
        if shutil.which("nvidia-smi"):
            fields = "index,name,uuid,pci.bus_id,memory.total,compute_cap,driver_version"
            text = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], timeout=60,
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
            (run.out / "nvidia-smi.csv").write_text(text)
            smi = processes_check.smi_devices(text)
        spans = run.spans("peer")
        yield from processes_check.check_devices(spans, devices, smi, has_pci)
        yield from processes_check.check_null_streams(spans, devices)
        yield from processes_check.check_tree(spans)
        yield from run.check_reports(1)
        return (f"{len(devices)} GPUs, {'nvidia-smi agrees' if smi else 'no nvidia-smi'}, "
                f"{'places on the PCI bus' if has_pci else 'no /proc/driver/nvidia/gpus: PCI not looked at'}")

    def peer_copies(self, run):
        """Copies between GPUs name both ends."""
        if len(self.probe(run)) < 2:
            raise Skipped("one GPU: no copies between two")
        output, = run.wait(peer=run.injected("peer", [self.program("peer")]))
        copies = processes_check.copies_in(output)
        if not copies:
            yield "the program made no copies"
        yield from processes_check.check_copies(run.spans("peer"), processes_check.devices_in(output), copies)
        yield from run.check_reports(1)
        return f"{len(copies)} copies"

    def two_services(self, run):
        """Two processes that serve the same requests: each trace has exactly the work of both."""
        threads, each, first = 50, 40, 501
        served = {0: range(1, threads * each + 1), 1: range(first, first + threads * each)}
        programs = {f"rank{rank}": run.injected(f"rank{rank}", [self.program("requests"), threads, each, numbers[0]],
                                                RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2") for rank, numbers in served.items()}
        outputs = run.wait(**programs)
        spans = run.spans(*programs)
        yield from requests_check.check_shared(spans, served)
        yield from self.own_devices(spans)
        yield from run.check_reports(2)
        return f"{len(spans)} spans; {'; '.join(output.strip() for output in outputs)}"

    def own_devices(self, spans):
        """Each rank's GPU work on one device, and on different ones if there are several."""
        run = Run(self.build, self.out / "probe")
        devices = {rank: {span.resource.get("hw.id") for span in processes_check.activities(own, "kernel")}
                   for rank, own in processes_check.by_rank(spans).items()}
        count = min(len(self.probe(run)), len(devices))
        if any(len(found) != 1 for found in devices.values()) or len(set().union(*devices.values())) != count:
            yield f"kernels by rank on {devices}, of {count} GPUs to be used"

    def two_services_in_python(self, run):
        self.needs_torch("opentelemetry.sdk")
        programs = {f"rank{rank}": run.injected(f"rank{rank}", [
            sys.executable, ROOT / "tests/gpu/programs/requests.py", "pool", "2000", run.out / f"rank{rank}.requests", "shared"],
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", OTEL_PYTHON_CONTEXT="cuspan") for rank in (0, 1)}
        run.wait(**programs)
        spans = run.spans(*programs)
        requests = [request for name in programs for request in json.loads((run.out / f"{name}.requests").read_text())]
        yield from requests_check.check_python_shared(spans, requests)
        yield from self.own_devices(spans)
        yield from run.check_reports(2)
        return f"{len(spans)} spans of {len(requests)} parts of 2000 requests"

    def torchrun(self, run):
        """A root, a session for each rank, each on its own GPU, and NCCL's kernels."""
        self.needs_torch("torch.distributed.run")
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
                   ROOT / "tests/gpu/programs/torch_ranks.py"]
        output, = run.wait(torchrun=run.cuspan_run("torchrun", command, OMP_NUM_THREADS="1"))
        expected = gpu_uuids(output)
        has_nccl = output.count("by nccl") == 2
        if len(expected) != 2 or output.count("PASS") != 2:
            yield f"the program says {output!r}"
        spans = run.spans("torchrun")
        yield from processes_check.check_torchrun(spans, expected, has_nccl)
        yield from run.check_reports(2, 3)  # the launcher has one, too, if it queries the GPUs
        nccl = sum("nccl" in span.name.lower() for span in processes_check.activities(spans, "kernel"))
        return f"{len(spans)} spans on {len(set(expected.values()))} GPUs, {nccl} kernels of NCCL" + (
            "" if has_nccl else " (one GPU: by gloo)")

    def children(self, run, method):
        self.needs_torch()
        command = [sys.executable, ROOT / "tests/gpu/programs/torch_children.py", method, TRACEPARENT]
        output, = run.wait(children=run.cuspan_run("children", command))
        expected = gpu_uuids(output)
        if len(expected) != 2 or output.count("PASS") != 3:
            yield f"the program says {output!r}"
        spans = [span for span in run.spans("children") if "process.exit.code" not in span.attributes]
        yield from processes_check.check_children(spans, TRACEPARENT, expected, 20)
        yield from run.check_reports(2)
        return f"{len(spans)} spans on {len(set(expected.values()))} GPUs"

    def children_by_spawn(self, run):
        return (yield from self.children(run, "spawn"))

    def children_by_fork(self, run):
        return (yield from self.children(run, "fork"))

    def children_by_forkserver(self, run):
        return (yield from self.children(run, "forkserver"))

    def graphs(self, run, settings, has_nodes):
        threads, each = 8, 100
        command = [self.program("graph_requests"), threads, each]
        output, = run.wait(graphs=run.injected("graphs", command, {"cupti.graph_records": "always", **settings}))
        spans = run.spans("graphs")
        yield from processes_check.check_graph_requests(spans, threads, threads * each, has_nodes)
        yield from run.check_reports(1)
        return f"{len(spans)} spans; {output.strip()}"

    def graphs_of_requests(self, run):
        """Each execution of a graph that several threads launch is in its own request's trace."""
        return (yield from self.graphs(run, {}, False))

    def graph_nodes_of_requests(self, run):
        return (yield from self.graphs(run, {"detail": "graph-nodes"}, True))


NAMES = ["devices", "peer_copies", "two_services", "two_services_in_python", "torchrun", "children_by_spawn",
         "children_by_fork", "children_by_forkserver", "graphs_of_requests", "graph_nodes_of_requests"]


def run_case(cases, name):
    """The faults of a case, and its findings."""
    found, seen = [], ""
    run = Run(cases.build, cases.out / name)
    checks = getattr(cases, name)(run)
    try:
        while True:
            found.append(next(checks))
    except StopIteration as end:
        seen = end.value
    except Failed as error:
        found += str(error).splitlines()
    except Skipped:
        raise
    except Exception:  # a failing case must not hide the others
        found += traceback.format_exc().splitlines()
    finally:
        run.close()
    return found, seen


def run_cases(cases, names):
    """Prints a line for each case and its faults. Returns the exit status."""
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for name in names:
        begun = time.monotonic()
        try:
            found, seen = run_case(cases, name)
        except Skipped as why:
            counts["skipped"] += 1
            print(f"skipped: {name}: {why}", flush=True)
            continue
        counts["failed" if found else "passed"] += 1
        print(f"{'not ok' if found else 'ok'} {name} ({time.monotonic() - begun:.1f} s): {seen}", flush=True)
        for line in found[:SHOWN]:
            print("    " + line)
        if len(found) > SHOWN:
            print(f"    and {len(found) - SHOWN} more")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


def main():
    out, build, programs = (Path(argument).resolve() for argument in sys.argv[1:4])
    return run_cases(Cases(out, build, programs), sys.argv[4:] or NAMES)


if __name__ == "__main__":
    sys.exit(main())
