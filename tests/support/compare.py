"""Compares the spans that a backend returned with the recording that they come from. Each difference is one line of
text; the result is empty if there is none."""

import ctypes
import re
import shutil
import subprocess
from collections import Counter

from recording import BLOCK_DIM, BYTES, GPU_WORK, GRAPH_TRACE, GRID, KERNEL, MEMCPY, MEMCPY_PEER, MEMSET

ACTIVITY_NAMES = {KERNEL: "kernel", MEMCPY: "memcpy", MEMCPY_PEER: "memcpy_peer", MEMSET: "memset",
                  GRAPH_TRACE: "graph"}
SHOWN = 5  # maximum differences of one kind


def is_gpu_span(span):
    return span.attributes.get("cuda.activity") in ACTIVITY_NAMES.values()


def demangle_by_library(name):
    """The demangler of the C++ library, for machines without binutils."""
    library, status = ctypes.CDLL("libstdc++.so.6"), ctypes.c_int()
    library.__cxa_demangle.restype = ctypes.c_void_p
    found = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status)) if name.startswith("_Z") else None
    return ctypes.string_at(found).decode() if found else name  # not freed: there are few in a test


def demangle(names):
    """Demangles like binutils; the agent has its demangler from libsupc++."""
    names = sorted(set(names))
    if not shutil.which("c++filt"):
        return {name: demangle_by_library(name) for name in names}
    out = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(zip(names, out.splitlines()))


def shorten(full):
    """A kernel's name without return type, template arguments and parameters."""
    text = full.replace("(anonymous namespace)", "\0")
    text = re.sub(r"operator(<<|>>|<=|>=|<|>|\(\))", lambda m: "operator" + m[1].translate({60: 1, 62: 2, 40: 3, 41: 4}), text)
    while True:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            break
        text = shorter
    while True:  # arguments, from the inside; a lambda's belong to its name, and what follows a function's stays
        shorter = re.sub(r"\{lambda\(([^()]*)\)", "{lambda\5\\1\6", text)
        shorter = re.sub(r"(?<!\{lambda)\([^()]*\)( const)?", "", shorter)
        if shorter == text:
            break
        text = shorter
    text = re.sub(r" \[clone.*", "", text)
    depth, begin = 0, 0
    for i, c in enumerate(text):
        depth += (c in "({") - (c in ")}")
        if c == " " and depth == 0:
            begin = i + 1
    return text[begin:].translate({0: "(anonymous namespace)", 1: "<", 2: ">", 3: "(", 4: ")", 5: "(", 6: ")"})


class Comparison:
    def __init__(self, recording, spans, every_call=True):
        self.recording, self.spans, self.every_call = recording, spans, every_call
        self.differences = []
        self.by_id = {span.span_id: span for span in spans}

    def differ(self, what, items):
        items = list(items)
        if items:
            more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
            self.differences.append(f"{what}: " + "; ".join(map(str, items[:SHOWN])) + more)

    def run(self):
        self.check_ids()
        self.check_calls()
        self.check_gpu_work()
        return self.differences

    def check_ids(self):
        self.differ("span IDs that stand twice", [i for i, n in Counter(s.span_id for s in self.spans).items() if n > 1])
        self.differ("spans whose parent isn't there", [f"{s.name} {s.parent_id}" for s in self.spans
                                                       if s.parent_id and s.parent_id not in self.by_id])
        roots = Counter(s.trace_id for s in self.spans if not s.parent_id)
        self.differ("traces without exactly one root", {s.trace_id for s in self.spans if roots[s.trace_id] != 1})

    def check_calls(self):
        """Each call of the program is one span, with its times and its error."""
        recorded = Counter((c.start_ns, max(c.end_ns, c.start_ns + 1), c.result != 0, c.tid)
                           for c in self.recording.own_calls())
        seen = Counter((s.start_ns, s.end_ns, s.status == 2, s.attributes.get("cuspan.thread.id"))
                       for s in self.spans if "cuda.api" in s.attributes)
        if self.every_call:
            self.differ("calls without a span", recorded - seen)
        self.differ("call spans without a call", seen - recorded)

    def check_gpu_work(self):
        work = self.recording.gpu_work()
        names = demangle(a.name for a in work if a.name)
        spans = [span for span in self.spans if is_gpu_span(span)]

        wanted = Counter(self.expected_name(a, names) for a in work)
        got = Counter((s.attributes["cuda.activity"], s.name if s.attributes["cuda.activity"] == "kernel" else None)
                      for s in spans)
        self.differ("names with another number of spans (recorded)", (wanted - got).items())
        self.differ("names with another number of spans (received)", (got - wanted).items())

        wanted = Counter(self.expected(a, names) for a in work)
        got = Counter(self.received(s) for s in spans)
        self.differ("records without a span that equals them", wanted - got)
        self.differ("GPU spans that no record equals", got - wanted)
        self.differ("spans of no length that aren't marked or marked without being so",
                    [s.name for s in spans if s.attributes.get("cuda.zero_length", False) != self.has_no_length(s)])

    def has_no_length(self, span):
        if not hasattr(self, "no_length"):
            self.no_length = {(a.start_ns, a.stream_id) for a in self.recording.gpu_work() if a.end_ns <= a.start_ns}
        return (span.start_ns, span.attributes.get("cuda.stream.id")) in self.no_length

    @staticmethod
    def expected_name(activity, names):
        name = shorten(names[activity.name]) if activity.kind == KERNEL else None
        return ACTIVITY_NAMES[activity.kind], name

    def call_of(self, correlation_id):
        """The times of the call with that correlation ID: of the outermost one if the runtime called the driver."""
        if not hasattr(self, "calls"):
            self.calls = {}
            for call in self.recording.calls:
                old = self.calls.get(call.correlation_id)
                if old is None or call.start_ns < old.start_ns:
                    self.calls[call.correlation_id] = call
        call = self.calls.get(correlation_id)
        return (call.start_ns, max(call.end_ns, call.start_ns + 1)) if call else "session"

    def expected(self, a, names):
        """Everything that must be equal, as one tuple: for a record, and for a span."""
        dim = {key: a.dim3(field[a.kind]) if a.kind in field else None for key, field in
               (("grid", GRID), ("block", BLOCK_DIM))}
        size = a.values.get(BYTES[a.kind]) if a.kind in BYTES else None
        return (ACTIVITY_NAMES[a.kind], names.get(a.name) if a.kind == KERNEL else None, a.start_ns,
                max(a.end_ns, a.start_ns + 1), a.device_id, a.context_id, a.stream_id, a.correlation_id,
                str(dim["grid"]), str(dim["block"]), size, self.call_of(a.correlation_id))

    def received(self, s):
        kind = s.attributes["cuda.activity"]
        parent = self.by_id.get(s.parent_id)
        if parent is None:
            place = "no parent"
        elif "cuda.api" in parent.attributes:
            place = parent.start_ns, parent.end_ns
        else:
            place = "session" if s.attributes.get("cuda.orphan") else "session, not marked as an orphan"
        size = s.attributes.get(f"cuda.{kind}.bytes", s.attributes.get("cuda.memcpy.bytes"))
        return (kind, s.attributes.get("cuda.kernel.name"), s.start_ns, s.end_ns, s.resource.get("cuda.device.id"),
                s.attributes.get("cuda.context.id"), s.attributes.get("cuda.stream.id"),
                s.attributes.get("cuda.correlation.id"), str(s.attributes.get("cuda.kernel.grid")),
                str(s.attributes.get("cuda.kernel.block")), size, place)


def compare(recording, spans, every_call=True):
    """`every_call`: each recorded call must have a span; otherwise only those that caused GPU work."""
    return Comparison(recording, spans, every_call).run()


assert set(ACTIVITY_NAMES) == GPU_WORK
