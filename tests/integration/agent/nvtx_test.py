#!/usr/bin/env python3
"""NVTX through NVIDIA's own headers: nvtx_abi.h matches them, every function reaches our handlers, from C, C++ and
Python, and the real agent handles calls before and after its start.

    nvtx_test.py --build DIRECTORY [--sanitizers LIST]

Missing headers and NVTX's Python package are fetched with pip into $CUSPAN_CACHE (~/.cache/cuspan); they are never
committed. Exits with 77 if they are unavailable."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "tests/integration/hosts"
CACHE = Path(os.environ.get("CUSPAN_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cuspan"), "nvtx")
HEADERS = ["nvidia-nvtx-cu12==12.0.76", "nvidia-nvtx-cu12==12.9.79", "nvidia-nvtx==13.5.25"]
PYTHON_PACKAGE = "nvtx==0.2.17"
# NVIDIA's headers include CUDA's, of which only these types are needed.
STUBS = {"cuda.h": "typedef int CUdevice;\ntypedef void *CUcontext, *CUstream, *CUevent;\n",
         "driver_types.h": "typedef void *cudaStream_t, *cudaEvent_t;\n"}

EVERY_RETURN = """push 0|push 1|push 2|pop 2|pop 1|pop 0|pop -2
push 0|push 0|push 1|pop 0|pop 1|pop 0|plugin 1|pop 0"""
EVERY = """mark mark|mark märk|mark ex|push push|push püsh|push ex|pop|pop|pop|pop
start start|start stärt|start ex|end 1|end 2|end 3
mark ex nvtx.category=copies|mark ex nvtx.category=körnel|mark ex nvtx.category=3
push registered nvtx.domain=first|push rägistered nvtx.domain=zwö|push rägistered nvtx.domain=first|pop|pop|pop
mark rägistered nvtx.domain=first nvtx.category=of first
start rägistered nvtx.domain=zwö nvtx.category=öf second|end 4
mark ünicode nvtx.category=copies
mark payload nvtx.domain=first nvtx.payload=18446744073709551615|mark payload nvtx.domain=first nvtx.payload=-5
mark payload nvtx.domain=first nvtx.payload=0.5|mark payload nvtx.domain=first nvtx.payload=6
mark payload nvtx.domain=first nvtx.payload=-7|mark payload nvtx.domain=first nvtx.payload=0.25
thread 21 is thread|thread 22 is thräd|device 0 is device|device 1 is dävice|context 31 is context|context 32 is cöntext
stream 41 is stream|stream 42 is sträm|event 51 is event|event 52 is ävent
device 2 is cudart device|device 3 is cudart dävice|stream 43 is cudart stream|stream 44 is cudart sträm
event 53 is cudart event|event 54 is cudart ävent|stream 45 is resource
push outside the plugin nvtx.domain=first|push in the plugin nvtx.domain=first|pop|pop"""
PAYLOAD_RETURN = "push 0|push 1|pop 1|pop 0|enabled 1"
STEP = "nvtx.domain=steps nvtx.payload.number=7 nvtx.payload.loss=0.5 nvtx.payload.phase=forward nvtx.payload.state=1 and 1 more"
PAYLOAD = f"""push a step {STEP}|push unnamed nvtx.domain=steps nvtx.payload=-4|it ends nvtx.payload=-4|pop|pop
mark a step {STEP}|start a step {STEP}|end 1 nvtx.payload=-4
mark by attributes nvtx.domain=steps nvtx.payload=-4"""
NCCL_OF = "nvtx.domain=NCCL nvtx.payload.NCCL communicator ID=17297745686452629517 nvtx.payload.Message size [bytes]"
NCCL_RANKS = "collective.ranks=8 collective.rank=5"
NCCL = "\n".join([
    "push ncclCommInitRankConfig nvtx.domain=NCCL",
    "it ends nvtx.payload.NCCL communicator ID=17297745686452629517 nvtx.payload.No. of ranks=8 nvtx.payload.Rank=5 nvtx.payload.CUDA device=0",
    "pop",
    *(f"push ncclAllReduce {NCCL_OF}=4096 nvtx.payload.Reduction operation=4 collective.ordinal={n} {NCCL_RANKS}|pop" for n in range(2)),
    *(f"push ncclSend {NCCL_OF}=512 nvtx.payload.Peer rank={peer} collective.ordinal={n} {NCCL_RANKS}|pop"
      for peer, n in ((6, 0), (7, 0), (6, 1)))])
CPP = """push scoped
push registered by c++ nvtx.domain=c++ library nvtx.category=copies nvtx.payload=7
mark wide nvtx.domain=c++ library nvtx.payload=0.5
push function nvtx.domain=c++ library|pop
start unique|end 1|pop|pop"""
PYTHON_PROGRAM = """import nvtx
with nvtx.annotate("grün", domain="python", category="cat", payload=3, color="red"):
    nvtx.mark("m", domain="python")
nvtx.push_range("plain")
nvtx.pop_range()
nvtx.end_range(nvtx.start_range("s", payload=0.5))
"""
PYTHON = """push grün nvtx.domain=python nvtx.category=cat nvtx.payload=3|mark m nvtx.domain=python|pop
push plain|pop|start s nvtx.payload=0.5|end 1"""
# The results of the real agent. A range from before its start nests, but is not captured.
NVTX_FIRST = """before: not captured|push 0|push 0|after: captured|push 1|pop 1|pop 0|pop 0
push 0|pop 0|pop -2|wrong on threads 0"""
CUDA_FIRST = """after: captured|push 0|pop 0|pop -2|wrong on threads 0"""
NVTX_OFF = "before: not captured|push 0|push 0|after: not captured|push -2|pop -2|pop -2|pop -2|push -2|pop -2|pop -2"


class Missing(Exception):
    pass


def fetch(package, wanted):
    """The folder with the files of the wheel that `wanted` selects."""
    target = CACHE / package.replace("==", "-")
    if wanted is None:
        target = target.with_name(f"{target.name}-python{sys.version_info[0]}.{sys.version_info[1]}")
    part = target.with_name(target.name + ".part")
    if target.is_dir():
        return target
    shutil.rmtree(part, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                           "--only-binary=:all:", "--dest", part / "wheel", package], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Missing(f"{package}: {(done.stdout.strip().splitlines() or ['pip failed'])[-1]}")
    for wheel in (part / "wheel").iterdir():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(part, [n for n in archive.namelist() if wanted is None or wanted in n])
    shutil.rmtree(part / "wheel")
    part.rename(target)
    return target


def lines(text):
    return [line for line in text.replace("|", "\n").splitlines() if line]


class Test:
    def __init__(self, build, sanitizers, scratch):
        self.build, self.scratch = build.resolve(), Path(scratch)
        self.flags = [f"-fsanitize={sanitizers}"] if sanitizers else []
        self.passed = self.failed = 0
        for name, text in STUBS.items():
            (self.scratch / name).write_text(text)

    def check(self, what, got, expected):
        got, expected = ([x] if x is None or isinstance(x, str) else x for x in (got, expected))
        if got == expected:
            self.passed += 1
            return
        self.failed += 1
        print(f"failed: {what}")
        for i in range(max(len(got), len(expected))):
            g, e = (x[i] if i < len(x) else "(nothing)" for x in (got, expected))
            print(f"  {'  ' if g == e else '! '}{g}" + ("" if g == e else f"    expected: {e}"))

    def compile(self, compiler, include, source, output, *flags):
        program = self.scratch / output
        subprocess.run([compiler, "-D_GNU_SOURCE", "-pthread", "-g", "-O1", "-w", "-fvisibility=hidden", "-I", self.scratch,
                        "-I", ROOT / "src", "-I", include, *self.flags, *flags, "-o", program, HERE / source, "-ldl"],
                       check=True)
        return program

    def run(self, command, injection, **more):
        env = {k: v for k, v in os.environ.items() if not re.match("CUSPAN_|OTEL_|TRACEPARENT|(CUDA|NVTX)_INJECTION", k)}
        env.update(more, NVTX_INJECTION64_PATH=str(injection))
        done = subprocess.run([str(word) for word in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=600, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            return [*lines(done.stdout), f"(status {done.returncode}) {done.stderr}"], []
        return done.stdout.splitlines(), done.stderr.splitlines()

    def headers(self, package):
        include = next(fetch(package, "/include/").glob("nvidia/*/include"))
        abi = subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-I", self.scratch, "-I", ROOT / "src",
                              "-I", include, ROOT / "tests/integration/project/nvtx_abi_check.c"], stderr=subprocess.PIPE, text=True, check=False)
        self.check(f"nvtx_abi.h against {package}", abi.stderr.splitlines(), [])
        host = self.compile("gcc", include, "nvtx_host.c", "host", "-std=c17")
        plugin = self.compile("gcc", include, "nvtx_host.c", "plugin.so", "-std=c17", "-DPLUGIN", "-shared", "-fPIC")
        out, err = self.run([host], self.build / "libnvtx_witness.so", NVTX_PLUGIN=str(plugin))
        self.check(f"{package}: what every function returns", out, lines(EVERY_RETURN))
        self.check(f"{package}: what every function tells", err, lines(EVERY))
        self.agent(package, host)
        if (include / "nvtx3/nvToolsExtPayload.h").exists():
            program = self.compile("gcc", include, "nvtx_payload_host.c", "host_payload", "-std=c17")
            out, err = self.run([program], self.build / "libnvtx_witness.so")
            self.check(f"{package}: what structured payloads return", out, lines(PAYLOAD_RETURN))
            self.check(f"{package}: structured payloads", err, lines(PAYLOAD))
            program = self.compile("gcc", include, "nccl_host.c", "host_nccl", "-std=c17")
            self.check(f"{package}: NCCL", self.run([program], self.build / "libnvtx_witness.so")[1], lines(NCCL))
        if (include / "nvtx3/nvtx3.hpp").exists():
            program = self.compile("g++", include, "nvtx_host.cpp", "host_cpp", "-std=c++17")
            self.check(f"{package}: C++", self.run([program], self.build / "libnvtx_witness.so")[1], lines(CPP))

    def agent(self, package, host):
        agent, double = self.build / "libcuspan.so", self.build / "libcuspan-replay.so"
        recording = ROOT / "examples/recordings/vector_add.cuspanrec"
        # Rings large enough for everything: a busy machine may drain them late.
        settings = (f"cupti.library={double};output_file={self.scratch}/spans.jsonl;rings.bytes=1048576;"
                    "rings.total_bytes=16777216")
        for first, more, expected in (("nvtx", "", NVTX_FIRST), ("cuda", "", CUDA_FIRST),
                                      ("nvtx", ";capture.nvtx=false", NVTX_OFF)):
            out, err = self.run([host, agent, double, recording, first], agent, CUSPAN_SET=settings + more)
            out = [line for line in out if not more or not line.startswith("wrong")]
            self.check(f"{package}: the agent, {first} first{more}", out, lines(expected))
            self.check(f"{package}: what the agent says", [line for line in err if "lost" not in line], [])
            self.spans(f"{package}, {first} first{more}", not more, "named early" if first == "nvtx" else "host")

    def spans(self, what, captures, thread):
        """The ranges become spans, except those before the start and while NVTX is disabled; names given before
        apply."""
        file = self.scratch / "spans.jsonl"
        spans = [span for line in file.read_text().splitlines() for group in json.loads(line)["resourceSpans"]
                 for scope in group["scopeSpans"] for span in scope["spans"]] if file.exists() else []
        file.unlink(missing_ok=True)
        found = {span["name"]: {a["key"]: a["value"].get("stringValue") for a in span["attributes"]} for span in spans}
        names = ["late", "outer", "round 0"] if captures else []
        self.check(f"{what}: spans", [n for n in ("early", "late", "outer", "round 0") if n in found], names)
        domain = found["round 0"].get("nvtx.domain") if "round 0" in found else None
        self.check(f"{what}: the domain's name", domain, "of threads" if captures else None)
        if captures:
            self.check(f"{what}: the thread's name", found["late"].get("thread.name") if "late" in found else None, thread)

    def start_line(self, package):
        """At level info, the agent logs why NVTX does not reach it."""
        include = next(fetch(package, "/include/").glob("nvidia/*/include"))
        host = self.compile("gcc", include, "nvtx_host.c", "host", "-std=c17")
        agent, double = self.build / "libcuspan.so", self.build / "libcuspan-replay.so"
        settings = f"cupti.library={double};output_file={self.scratch}/spans.jsonl"
        link = self.scratch / "link.so"
        link.symlink_to(agent)
        said = "cuspan: NVTX ranges are not captured: "
        witness = self.build / "libnvtx_witness.so"
        for injection, expected in (("", f"{said}set NVTX_INJECTION64_PATH to {agent}"), (agent, None), (link, None),
                                    (witness, f"{said}NVTX_INJECTION64_PATH is {witness}, which is not this library")):
            _, err = self.run([host, agent, double, ROOT / "examples/recordings/vector_add.cuspanrec", "cuda"], injection,
                              CUSPAN_SET=settings, OTEL_LOG_LEVEL="info")
            self.check(f"the start line with NVTX_INJECTION64_PATH={injection}",
                       [line for line in err if "NVTX" in line], [expected] if expected else [])

    def python(self):
        package = fetch(PYTHON_PACKAGE, None)
        if self.flags:
            return
        _, err = self.run([sys.executable, "-c", PYTHON_PROGRAM], self.build / "libnvtx_witness.so", PYTHONPATH=str(package))
        self.check(PYTHON_PACKAGE, err, lines(PYTHON))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--sanitizers", default="")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nvtx-test-") as scratch:
        test = Test(args.build, args.sanitizers, scratch)
        try:
            for package in HEADERS:
                test.headers(package)
            test.start_line(HEADERS[-1])
            test.python()
        except Missing as missing:
            print(f"skipped: {missing}")
            return 77
    print(f"{test.passed} passed, {test.failed} failed, 0 skipped")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
