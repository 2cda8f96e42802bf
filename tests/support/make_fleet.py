#!/usr/bin/env python3
"""Makes the spans of a fleet: copies of all recordings, as files of OTLP.

    make_fleet.py BUILD FOLDER [--spans N] [--sets N] [--json] [--seed N] [--recordings NAMES]

The spans are those of examples/recordings, examples/training and examples/engines. One set has a process for each recording, or two where it is
a training job, and repeats them in rounds, 30 s apart. Each set has its own job, hosts, GPUs, processes and hour of two days; the second
day has another release. IDs are new and random. Durations differ by up to 20 %, so nearly all are distinct. The same arguments and
recordings make the same files, except for what a replay decides: times of the process, and the IDs before they are replaced.

FOLDER gets a file of zstd for each set: protobuf messages with their length, or JSON lines with --json. Prints the numbers of spans,
processes and bytes as JSON. It needs numpy."""

import argparse
import gzip
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))
import otlp_encode as otlp  # noqa: E402

START_NS = 1_795_564_800 * 10**9  # 2026-11-25 00:00 UTC
HOUR_NS, ROUND_NS = 3600 * 10**9, 30 * 10**9
HOSTS, GPUS_OF_HOST = 16, 8
HOURS, RELEASES = 48, ("1.4.0", "1.5.0")
ROUNDS_WANTED, SETS_MAX = 4, 64
TRAINING = {"slow_step", "slow_step_fixed"}  # become two ranks each
COMPRESSION = 1
HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
HEX_OF_BYTE = np.stack([np.repeat(HEX, 16), np.tile(HEX, 16)], axis=1)
DIGITS = 19  # of nanoseconds since 1970, from 2001 to 2262


# ---- Templates: the spans of a recording, and where their IDs and times are ------------------------------------------


@dataclass
class Template:
    """`pieces`: for each document, the resources and their parts of `data`."""

    name: str
    is_json: bool
    pieces: list = field(default_factory=list)
    data: bytearray = field(default_factory=bytearray)
    spans: int = 0
    ids: list = field(default_factory=list)  # (offset, ID) of spans, parents and links
    traces: list = field(default_factory=list)  # (offset, ID, whether steps share it)
    times: list = field(default_factory=list)  # (offset of the start, of the end, start, end)
    moments: list = field(default_factory=list)  # (offset, time) of events
    names: list = field(default_factory=list)  # (offset, length): hexadecimal names that a job's ranks share

    def finish(self):
        self.data = np.frombuffer(bytes(self.data), np.uint8)
        self.id_at, self.id = columns(self.ids, np.uint64)
        self.trace_at, self.trace_high = columns([(at, trace >> 64) for at, trace, _ in self.traces], np.uint64)
        self.trace_low = np.array([trace & (1 << 64) - 1 for _, trace, _ in self.traces], np.uint64)
        self.trace_is_shared = np.array([shared for _, _, shared in self.traces], bool)
        self.start_at, self.start = columns([(at, start) for at, _, start, _ in self.times], np.int64)
        self.end_at, self.end = columns([(at, end) for _, at, _, end in self.times], np.int64)
        self.moment_at, self.moment = columns(self.moments, np.int64)
        self.first = int(self.start.min())


def columns(pairs, kind):
    return np.array([at for at, _ in pairs], np.int64), np.array([value for _, value in pairs], kind)


TIMES = re.compile(rb'"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"|"(startTimeUnixNano|endTimeUnixNano|timeUnixNano)":"(\d+)"')
NAMES = re.compile(rb"0x([0-9a-f]+)")
SHARED_NAMES = ("collective.key", "collective.communicator", "nvtx.payload.NCCL communicator ID")


def shared_names(item):
    return {value for each in item.get("attributes", []) if each["key"] in SHARED_NAMES
            for value in each["value"].values() if isinstance(value, str) and value.startswith("0x")}


def find_names(template, text, at, names):
    for name in names:
        quoted = name.encode()
        found = text.find(quoted)
        while found >= 0:
            template.names.append((at + found + 2, len(quoted) - 2))
            found = text.find(quoted, found + 1)


def add_json_span(template, item, shared):
    text = json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()
    at = len(template.data)
    start_at = end_at = None
    for found in TIMES.finditer(text):
        if found[1] == b"traceId":
            template.traces.append((at + found.start(2), int(found[2], 16), found[2].decode() in shared))
        elif found[1]:
            template.ids.append((at + found.start(2), int(found[2], 16)))
        elif found[3] == b"timeUnixNano":
            template.moments.append((at + found.start(4), int(found[4])))
        elif found[3] == b"startTimeUnixNano":
            start_at = at + found.start(4)
        else:
            end_at = at + found.start(4)
    template.times.append((start_at, end_at, int(item["startTimeUnixNano"]), int(item["endTimeUnixNano"])))
    find_names(template, text, at, shared_names(item))
    template.data += text


def add_protobuf_span(template, item, shared):
    """The IDs and times come first, so their places are known."""
    trace, start, end = item["traceId"], int(item["startTimeUnixNano"]), int(item["endTimeUnixNano"])
    head = otlp.block(1, bytes.fromhex(trace)) + otlp.block(2, bytes.fromhex(item["spanId"]))
    ids = [(2 + 16 + 2, item["spanId"])]
    if item.get("parentSpanId"):
        ids.append((len(head) + 2, item["parentSpanId"]))
        head += otlp.block(4, bytes.fromhex(item["parentSpanId"]))
    times = len(head)
    head += otlp.fixed64(7, start) + otlp.fixed64(8, end)
    tail = otlp.text(5, item.get("name", "")) + otlp.number(6, item.get("kind", 0)) + otlp.attributes(9, item.get("attributes", []))
    parts = [(11, otlp.event(event), event) for event in item.get("events", [])]
    parts += [(13, otlp.link(link), link) for link in item.get("links", [])]
    traces, moments = [(2, trace)], []
    for number, content, what in parts:
        tail += otlp.block(number, content)
        at = len(head) + len(tail) - len(content)
        if number == 11:
            moments.append((at + 1, int(what["timeUnixNano"])))
        else:
            traces.append((at + 2, what["traceId"]))
            ids.append((at + 20, what["spanId"]))
    if status := item.get("status"):
        tail += otlp.block(15, otlp.text(2, status.get("message", "")) + otlp.number(3, status.get("code", 0)))
    tail += otlp.text(3, item.get("traceState", "")) + otlp.fixed32(16, item.get("flags", 0))
    text = head + tail
    at = len(template.data) + len(otlp.block(2, text)) - len(text)
    template.ids += [(at + offset, int(value, 16)) for offset, value in ids]
    template.traces += [(at + offset, int(value, 16), value in shared) for offset, value in traces]
    template.times.append((at + times + 1, at + times + 10, start, end))
    template.moments += [(at + offset, time) for offset, time in moments]
    find_names(template, text, at, shared_names(item))
    template.data += otlp.block(2, text)


def add_json_batch(template, batch, shared):
    for number, scope in enumerate(batch["scopeSpans"]):
        head = json.dumps({key: scope[key] for key in ("scope", "schemaUrl") if key in scope}, separators=(",", ":"))
        template.data += (f',"schemaUrl":"{batch.get("schemaUrl", "")}","scopeSpans":[' if number == 0 else ",").encode()
        template.data += head[:-1].encode() + b',"spans":['
        for i, item in enumerate(scope["spans"]):
            template.data += b"," if i else b""
            add_json_span(template, item, shared)
        template.data += b"]}"
    template.data += b"]}"


def add_protobuf_batch(template, batch, shared):
    """A scope's length comes before its spans, so they are made twice: their places depend on it."""
    for scope in batch["scopeSpans"]:
        head = otlp.scope_spans({**scope, "spans": []})
        alone = Template(template.name, False)
        for item in scope["spans"]:
            add_protobuf_span(alone, item, shared)
        template.data += otlp.varint(2 << 3 | 2) + otlp.varint(len(head) + len(alone.data)) + head
        at = len(template.data)
        template.data += alone.data
        template.ids += [(at + offset, value) for offset, value in alone.ids]
        template.traces += [(at + offset, value, is_shared) for offset, value, is_shared in alone.traces]
        template.times += [(at + first, at + last, start, end) for first, last, start, end in alone.times]
        template.moments += [(at + offset, time) for offset, time in alone.moments]
        template.names += [(at + offset, length) for offset, length in alone.names]
    template.data += otlp.text(3, batch.get("schemaUrl", ""))


def spans_of(batch):
    return [item for scope in batch["scopeSpans"] for item in scope["spans"]]


def make_template(name, documents, is_json):
    shared = {item["traceId"] for document in documents for batch in document["resourceSpans"] for item in spans_of(batch)
              if any(each["key"] == "training.step.number" for each in item.get("attributes", []))}
    template = Template(name, is_json)
    for document in documents:
        pieces = []
        for batch in document["resourceSpans"]:
            begin = len(template.data)
            (add_json_batch if is_json else add_protobuf_batch)(template, batch, shared)
            pieces.append((batch["resource"]["attributes"], begin, len(template.data)))
            template.spans += len(spans_of(batch))
        template.pieces.append(pieces)
    template.finish()
    return template


def templates(build, is_json):
    """Of all recordings, and of the spans of a training job that is not one."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(path for folder in ("recordings", "training", "engines") for path in (ROOT / "examples" / folder).glob("*.cuspanrec")):
            lines = Path(folder) / path.stem
            subprocess.run([build / "cuspan", "replay", "--quiet", "--file", lines, path], check=True,
                           env={key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "TRACE"))})
            made.append(make_template(path.stem, [json.loads(line) for line in lines.read_bytes().splitlines()], is_json))
    with gzip.open(ROOT / "examples/training/late_rank.jsonl.gz") as lines:
        made.append(make_template("late_rank", [json.loads(line) for line in lines], is_json))
    return made


# ---- Copies ----------------------------------------------------------------------------------------------------------


def mix(values):
    """The finalizer of splitmix64: different numbers stay different."""
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


def put(data, at, cells):
    data[at[:, None] + np.arange(cells.shape[1])] = cells


def id_cells(values, is_json):
    cells = np.ascontiguousarray(values.astype(">u8")).view(np.uint8).reshape(-1, 8)
    return HEX_OF_BYTE[cells].reshape(-1, 16) if is_json else cells


def time_cells(values, is_json):
    if not is_json:
        return np.ascontiguousarray(values.astype("<i8")).view(np.uint8).reshape(-1, 8)
    cells = np.empty((len(values), DIGITS), np.uint8)
    for i in range(DIGITS - 1, -1, -1):
        values, digit = np.divmod(values, 10)
        cells[:, i] = digit + ord("0")
    return cells


def copy_of(template, shift, process_key, job_key, rng):
    """The template's data with other IDs, times and durations."""
    data, is_json = template.data.copy(), template.is_json
    put(data, template.id_at, id_cells(mix(template.id ^ process_key), is_json))
    keys = np.where(template.trace_is_shared, job_key, process_key)
    width = 16 if is_json else 8
    put(data, template.trace_at, id_cells(mix(template.trace_high ^ keys), is_json))
    put(data, template.trace_at + width, id_cells(mix(template.trace_low ^ keys), is_json))
    durations = ((template.end - template.start) * rng.uniform(0.8, 1.2, len(template.start))).astype(np.int64)
    put(data, template.start_at, time_cells(template.start + shift, is_json))
    put(data, template.end_at, time_cells(template.start + shift + durations, is_json))
    put(data, template.moment_at, time_cells(template.moment + shift, is_json))
    key = HEX.searchsorted(np.frombuffer(f"{int(job_key):016x}".encode(), np.uint8))
    for at, length in template.names:
        at, length = at + 1, length - 1  # the agent writes no leading zero
        data[at:at + length] = HEX[HEX.searchsorted(data[at:at + length]) ^ key[:length]]
    return data


def attribute(key, value):
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


def job_of(set_):
    return 7000 + set_


@dataclass
class Process:
    """One process of a set; of late_rank two, because its template has both ranks."""

    template: Template
    set: int
    number: int  # in its set
    rank: int = None
    ranks: int = None

    def resource(self, attributes):
        """With the host, process, GPU, job and release of this set."""
        old = {each["key"]: next(iter(each["value"].values())) for each in attributes}
        rank = int(old["cuda.process.rank"]) if "cuda.process.rank" in old else self.rank
        host, gpu = (self.set * 5 + self.number + (rank or 0)) % HOSTS, (self.set + self.number + (rank or 0)) % GPUS_OF_HOST
        unit = self.set * 100 + self.number * 4 + (rank or 0)
        new = {"host.name": f"node{host:02}", "process.pid": 1000 + unit, "service.version": RELEASES[self.hour() >= 24],
               "service.instance.id": str(uuid.UUID(int=0xF1EE7 << 100 | unit)), "slurm.job.id": str(job_of(self.set))}
        if rank is not None:
            new |= {"cuda.process.rank": rank, "cuda.process.world_size": int(old.get("cuda.process.world_size", self.ranks or 0))}
        if "cuda.device.id" in old:
            name = f"GPU-{uuid.UUID(int=0x6B0 << 100 | host * GPUS_OF_HOST + gpu)}"
            new |= {"cuda.device.id": gpu, "hw.id": name, "cuda.device.uuid": name}
        kept = [each for each in attributes if each["key"] not in new]
        return kept + [attribute(key, value) for key, value in new.items()]

    def hour(self):
        return self.set * 7 % HOURS

    def start(self, round_):
        """Every fourth set starts shortly before the end of its hour."""
        late = 58 * 60 * 10**9 if self.set % 4 == 3 else 60 * 10**9
        return START_NS + self.hour() * HOUR_NS + late + round_ * ROUND_NS + self.number * 1_000_003

    def heads(self):
        """The bytes before the spans of each resource, with the resource."""
        made = []
        for pieces in self.template.pieces:
            for attributes, begin, end in pieces:
                resource = self.resource(attributes)
                if self.template.is_json:
                    head = b'{"resource":' + json.dumps({"attributes": resource}, separators=(",", ":")).encode()
                else:
                    inner = otlp.block(1, otlp.attributes(1, resource))
                    head = otlp.varint(1 << 3 | 2) + otlp.varint(len(inner) + end - begin) + inner
                made.append(head)
        return made

    def documents(self, round_, heads, seed):
        data = copy_of(self.template, self.start(round_) - self.template.first, *self.keys(round_, seed),
                       np.random.default_rng([seed, self.set, self.number, round_])).tobytes()
        heads = iter(heads)
        for pieces in self.template.pieces:
            parts = [next(heads) + data[begin:end] for _, begin, end in pieces]
            yield b'{"resourceSpans":[' + b",".join(parts) + b"]}\n" if self.template.is_json else otlp.message(b"".join(parts))

    def keys(self, round_, seed):
        """Ranks of a job share the second one."""
        job = np.random.default_rng([seed, self.set, round_, self.template.spans, 1]).integers(0, 2**64, dtype=np.uint64)
        process = np.random.default_rng([seed, self.set, round_, self.number, 2]).integers(0, 2**64, dtype=np.uint64)
        return process, job


def processes_of(set_, made):
    units = []
    for template in made:
        ranks = 2 if template.name in TRAINING else 1
        for rank in range(ranks):
            units.append(Process(template, set_, len(units), rank if ranks > 1 else None, ranks if ranks > 1 else None))
    return units


MADE = None  # templates, for the workers, which are forked


def write_set(task):
    set_, rounds, path, seed = task
    units = processes_of(set_, MADE)
    heads = [unit.heads() for unit in units]
    with open(path, "wb") as out:
        for round_ in range(rounds):
            content = b"".join(document for unit, head in zip(units, heads) for document in unit.documents(round_, head, seed))
            out.write(otlp.zstd(content, COMPRESSION))
    return path.stat().st_size


def make(build, folder, spans, sets=None, is_json=False, seed=1, recordings=None):
    """At least `spans`. Returns their numbers."""
    global MADE
    MADE = [template for template in templates(Path(build), is_json) if not recordings or template.name in recordings]
    units = processes_of(0, MADE)
    of_set = sum(unit.template.spans for unit in units)
    rounds = -(-spans // (of_set * sets)) if sets else max(-(-spans // (of_set * SETS_MAX)), ROUNDS_WANTED)
    sets = sets or -(-spans // (of_set * rounds))
    folder.mkdir(parents=True, exist_ok=True)
    suffix = "jsonl" if is_json else "pb"
    tasks = [(set_, rounds, folder / f"set-{set_:03}.{suffix}.zst", seed) for set_ in range(sets)]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        sizes = pool.map(write_set, tasks, chunksize=1)
    processes = len(units) + any(unit.template.name == "late_rank" for unit in units)
    return {"spans": of_set * sets * rounds, "sets": sets, "rounds": rounds, "processes": sets * processes, "bytes": sum(sizes)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--spans", type=int, default=2_000_000)
    parser.add_argument("--sets", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--recordings", type=lambda text: text.split(","), help="only these: vector_add,threads")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(json.dumps(make(options.build, options.folder, options.spans, options.sets, options.json, options.seed,
                          options.recordings)))


if __name__ == "__main__":
    main()
