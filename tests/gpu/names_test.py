#!/usr/bin/env python3
"""Names of kernels whose modules are unloaded, and graphs whose records say little.

    names_test.py BUILD OUT LIBRARY...    OUT has jit_names, jit_kernel.cubin and graph_records

The programs make their kernels and graphs in a known order, so the correlation IDs say which one a span is of. Launches of
one graph by several threads can crash CUPTI (docs/cupti.md): such a run is tried again."""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "support")]

import agent_case  # noqa: E402

BUILD, OUT = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
KERNELS, LAUNCHES, TRIES = 3000, 400, 5
OLDER = "12.0", "12.4"  # their records say too little about the nodes of bodies (docs/cupti.md)
failures = 0


def trace(library, program, *options, tries=1):
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "trace.jsonl"
        command = [BUILD / "cuspan", "run", "-q", "--file", target, "--set", f"cupti.library={library}", *options, "--", *program]
        while subprocess.run(command).returncode != 0:
            tries -= 1
            target.unlink(missing_ok=True)
            if not tries:
                return []
        return agent_case.spans_in(target.read_text())


def expect(what, found, wanted):
    global failures
    failures += found != wanted
    print(f"{'ok' if found == wanted else 'FAIL'}: {what}: {found} of {wanted}", flush=True)


def order(span):
    return span.attributes["cuda.correlation.id"]


def test_names(library):
    for mode, what in ("p", "not waited for"), ("ps", "waited for"):
        program = [OUT / "jit_names", "none", "classic", mode, str(KERNELS), OUT / "jit_kernel.cubin"]
        kernels = sorted((s for s in trace(library, program) if s.attributes.get("cuda.activity") == "kernel"), key=order)
        right = sum(span.name == f"jit_kernel_{i:08d}" for i, span in enumerate(kernels))
        expect(f"{library}: names of kernels that are {what}", right, KERNELS)


def test_shared_graph(library):
    program = [OUT / "graph_records", "none", "classic", "graph", "shared", str(LAUNCHES), "4", "1", "own"]
    spans = trace(library, program, tries=TRIES)
    launches = {span.span_id for span in spans if span.name == "cudaGraphLaunch"}
    graphs = [span for span in spans if span.name == "graph" and span.parent_id in launches]
    expect(f"{library}: executions of a graph that threads share", len(graphs), LAUNCHES)


def test_bodies(library):
    if any(f"cupti-{version}/" in library for version in OLDER):
        return
    for kind, nodes in ("while", 10), ("nested", 14), ("if", 6):
        spans = trace(library, [OUT / "graph_records", "none", "classic", "graph", kind], "--detail", "graph-nodes")
        launches = {span.span_id for span in spans if span.name == "cudaGraphLaunch"}
        below = [s for s in spans if s.attributes.get("cuda.graph.node.id") and s.parent_id in launches]
        expect(f"{library}: nodes below their launch ({kind})", len(below), nodes)


for path in sys.argv[3:]:
    test_names(path)
    test_shared_graph(path)
    test_bodies(path)
sys.exit(failures > 0)
