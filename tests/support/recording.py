"""Reads a recording (.cuspanrec) without any code of cuspan's: the ground truth that the end-to-end test holds against
what comes back from Jaeger. The format is described in src/agent/recording/recording_format.h; what isn't compared is read
past."""

import struct
import zlib
from dataclasses import dataclass, field

MAGIC = b"\x89CUSPAN\n"
BLOCK, END = 0x4B4C4243, 0x444E4543
INFO, THREAD, THREAD_END, CALL, RESOURCE, ACTIVITY, LOSS, SCHEMA = range(1, 9)
SAID, GPU_COUNTERS, CODE = 16, 17, 19
STRINGS_MAX = 65536  # later ones have no number

CONTEXT_CREATED = 1  # CUPTI's number of the resource event
GRAPHNODE_CREATED, GRAPHNODE_CLONED = 13, 20
RUNTIME, DRIVER = 2, 1  # CUPTI's numbers of the domains
MEMCPY, MEMSET, KERNEL, MEMCPY_PEER, GRAPH_TRACE = 1, 2, 10, 22, 51  # and of the activity kinds
DEVICE, CONTEXT = 8, 9  # facts about the machine, which make no span
GPU_WORK = {MEMCPY, MEMSET, KERNEL, MEMCPY_PEER, GRAPH_TRACE}
# CUPTI's numbers of the fields that are compared.
GRID, BLOCK_DIM = {KERNEL: 13}, {KERNEL: 16}
BYTES = {MEMCPY: 5, MEMCPY_PEER: 5, MEMSET: 2}
ROLES = ["start_ns", "end_ns", "correlation_id", "device_id", "context_id", "stream_id", "name", "graph_id",
         "graph_node_id"]


@dataclass
class Call:
    domain: int
    cbid: int
    tid: int
    start_ns: int
    end_ns: int
    correlation_id: int
    context_id: int
    result: int
    values: list = field(default_factory=list)  # of its parameters, those that were there


@dataclass
class Activity:
    kind: int
    present: int
    start_ns: int
    end_ns: int
    graph_node_id: int
    graph_id: int
    correlation_id: int
    device_id: int
    context_id: int
    stream_id: int
    name: str
    values: dict = field(default_factory=dict)  # by CUPTI's field number

    def dim3(self, first):
        return [self.values[first + i] for i in range(3)] if first in self.values else None


@dataclass
class Recording:
    info: dict = field(default_factory=dict)
    threads: dict = field(default_factory=dict)  # tid: the last name
    calls: list = field(default_factory=list)
    activities: list = field(default_factory=list)
    contexts_created: list = field(default_factory=list)  # their handles
    losses: dict = field(default_factory=dict)
    counters: list = field(default_factory=list)  # names of what the hardware counted
    counted: dict = field(default_factory=dict)  # correlation ID: the values
    counted_ns: dict = field(default_factory=dict)  # the same: how long was counted
    nodes: list = field(default_factory=list)  # created graph nodes: (ID, that of the stack; 0: unknown)
    stacks: dict = field(default_factory=dict)  # by ID: [[file, line, function]]

    def gpu_work(self):
        """The records that have to become GPU spans."""
        return [a for a in self.activities if a.kind in GPU_WORK]

    def own_calls(self):
        """The calls that the program made: not those of the driver that lie in a call of the runtime with the same correlation
        ID, which makes them on its own behalf. Several of the driver may share an ID, one behind the other: inside a runtime
        call that isn't traced (cuLibraryLoadData and cuLibraryGetKernel, when a module is loaded late)."""
        of_runtime = {}
        for call in self.calls:
            if call.domain == RUNTIME:
                of_runtime.setdefault((call.tid, call.correlation_id), []).append(call)
        return [call for call in self.calls if call.domain == RUNTIME or not call.correlation_id
                or not any(outer.start_ns <= call.start_ns and call.end_ns <= outer.end_ns
                           for outer in of_runtime.get((call.tid, call.correlation_id), ()))]


def blocks(data, path):
    """The unpacked blocks, each checked; the end's own counts too."""
    if data[:8] != MAGIC or zlib.crc32(data[:16]) != struct.unpack_from("<I", data, 16)[0]:
        raise ValueError(f"{path} is no recording")
    if struct.unpack_from("<H", data, 8)[0] != 1:
        raise ValueError(f"{path} is of another major version")
    at, events_all, count = 20, 0, 0
    while True:
        mark, raw, stored, events, crc = struct.unpack_from("<5I", data, at)
        body = data[at + 20:at + 20 + stored]
        if len(body) != stored or zlib.crc32(body, zlib.crc32(data[at:at + 16])) != crc:
            raise ValueError(f"{path}: damaged at offset {at}")
        at += 20 + stored
        if mark == END:
            assert struct.unpack("<QQ", body) == (events_all, count) and at == len(data), path
            return
        assert mark == BLOCK, hex(mark)
        unpacked = zlib.decompress(body)
        assert len(unpacked) == raw
        events_all, count = events_all + events, count + 1
        yield unpacked


class Cursor:
    """One event's payload."""

    def __init__(self, data, strings):
        self.data, self.at, self.strings = data, 0, strings

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & (2**64 - 1)
            shift += 7

    def difference(self, before, bits=64):
        """A number that is stored as its signed difference to another one."""
        zigzag = self.varint()
        return (before + ((zigzag >> 1) ^ -(zigzag & 1))) & (2**bits - 1)

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def string(self):
        code = self.varint()
        if code == 1:
            return None
        if code >= 2:
            return self.strings[code - 2]
        text = self.take(self.varint())
        if len(self.strings) < STRINGS_MAX:
            self.strings.append(text)
        return text


def text(value):
    return None if value is None else value.decode("utf-8", "replace")


def is_profilers(activity):
    return activity.kind == KERNEL and activity.name == "WaitNs"


class Reader:
    def __init__(self, path):
        self.recording = Recording()
        self.strings, self.schemas = [], {}
        self.tid = self.time_ns = self.correlation_id = 0
        self.resource_before = [0] * 5
        self.original = 0
        self.call_context, self.call_values, self.before = {}, {}, {}
        with open(path, "rb") as file:
            data = file.read()
        for block in blocks(data, path):
            outer = Cursor(block, self.strings)
            while outer.at < len(block):
                kind, size = outer.varint(), outer.varint()
                cursor = Cursor(outer.take(size), self.strings)
                self.event(kind, cursor)
                assert kind > SCHEMA or cursor.at == size, f"{path}: event {kind} not read whole"
        if self.recording.counters:  # the profiler's own kernel, around those that it counts
            self.recording.activities = [a for a in self.recording.activities if not is_profilers(a)]

    def event(self, kind, cursor):
        recording = self.recording
        if kind == INFO:
            key = text(cursor.string())
            value = recording.info[key] = text(cursor.string())
            if key == "counter":
                recording.counters.append(value)
        elif kind == THREAD:
            tid, _ = cursor.varint(), cursor.varint()
            recording.threads[tid] = text(cursor.string())
        elif kind == THREAD_END:
            cursor.varint(), cursor.varint()
        elif kind == CALL:
            recording.calls.append(self.call(cursor))
        elif kind == RESOURCE:
            self.resource(cursor)
        elif kind == SAID:  # what it says isn't compared; later events' places are differences to its own
            cursor.varint(), cursor.varint()
            self.place(cursor)
        elif kind == LOSS:
            name = text(cursor.string())
            recording.losses[name] = recording.losses.get(name, 0) + cursor.varint()
        elif kind == SCHEMA:
            self.schema(cursor)
        elif kind == GPU_COUNTERS:
            cursor.varint(), cursor.varint()
            correlation_id, count = cursor.varint(), cursor.varint()
            recording.counted_ns[correlation_id], = struct.unpack("<d", cursor.take(8))
            recording.counted[correlation_id] = struct.unpack(f"<{count}d", cursor.take(8 * count))
        elif kind == CODE:
            self.code(cursor)
        elif kind == ACTIVITY:
            recording.activities.append(self.activity(cursor))

    def place(self, cursor):
        self.tid = cursor.difference(self.tid)
        self.time_ns = cursor.difference(self.time_ns)

    def resource(self, cursor):
        cbid = cursor.varint()
        self.place(cursor)
        *self.resource_before, handle = [cursor.difference(before, 32) for before in self.resource_before[:4]] + [
            cursor.difference(self.resource_before[4])]
        self.resource_before.append(handle)
        if cbid == GRAPHNODE_CLONED:
            self.original = cursor.difference(self.original)
        if cbid == GRAPHNODE_CREATED:
            code = cursor.varint() if cursor.at < len(cursor.data) else 0
            recording = self.recording
            recording.nodes += [(handle + i, code) for i in range(self.resource_before[3])]
        if cbid == CONTEXT_CREATED:
            self.recording.contexts_created.append(handle)

    def code(self, cursor):
        cursor.varint()  # the call's correlation ID
        stack, count, flags = cursor.varint(), cursor.varint(), cursor.varint()
        data, at, frames = cursor.take(cursor.varint()), 0, []
        for _ in range(count if flags & 2 else 0):
            line, file_bytes, name_bytes, _ = struct.unpack_from("<IHBB", data, at)
            at += 8
            frames.append([data[at:at + file_bytes].decode(), line, data[at + file_bytes:at + file_bytes + name_bytes].decode()])
            at += file_bytes + name_bytes
        if frames:
            self.recording.stacks[stack] = frames

    def call(self, cursor):
        key = cursor.varint(), cursor.varint()
        self.place(cursor)
        start_ns = self.time_ns
        self.time_ns = end_ns = cursor.difference(start_ns)
        self.correlation_id = cursor.difference(self.correlation_id, 32)
        context_id = self.call_context[key] = cursor.difference(self.call_context.get(key, 0), 32)
        result = cursor.difference(0, 32)
        cursor.varint()  # present
        before, values = self.call_values.get(key, []), []
        for i in range(cursor.varint()):
            values.append(cursor.difference(before[i] if i < len(before) else 0))
        self.call_values[key] = values
        return Call(*key, self.tid, start_ns, end_ns, self.correlation_id, context_id, result, values)

    def schema(self, cursor):
        kind, strings, arrays = cursor.varint(), cursor.varint(), cursor.varint()
        roles = {name: cursor.varint() - 1 for name in ROLES}
        sizes = {f: cursor.varint() for f in range(64) if arrays >> f & 1}
        self.schemas[kind] = strings, sizes, {f: name for name, f in roles.items() if f >= 0}

    def activity(self, cursor):
        kind, is_implied = cursor.varint(), cursor.varint()
        strings, sizes, roles = self.schemas[kind]
        before = self.before.get(kind) or Activity(kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, None)
        present = cursor.varint() ^ before.present
        start_ns = cursor.difference(before.start_ns)
        activity = Activity(kind, present, start_ns, cursor.difference(start_ns),
                            cursor.difference(before.graph_node_id), cursor.difference(before.graph_id, 32),
                            cursor.difference(before.correlation_id, 32), cursor.difference(before.device_id, 32),
                            cursor.difference(before.context_id, 32), cursor.difference(before.stream_id, 32),
                            text(cursor.string()))
        for f in range(64):
            if not present >> f & 1:
                continue
            if is_implied and f in roles:
                activity.values[f] = getattr(activity, roles[f])
            elif strings >> f & 1:
                activity.values[f] = text(cursor.string())
            elif f in sizes:
                activity.values[f] = cursor.take(sizes[f])
            else:
                activity.values[f] = cursor.difference(before.values.get(f, 0))
        self.before[kind] = activity
        return activity


def varint(number):
    low = bytes([number & 0x7F | (0x80 if number > 0x7F else 0)])
    return low + varint(number >> 7) if number > 0x7F else low


def renamed(path, program):
    """The bytes of a recording that says it is of another program: what somebody might send."""
    with open(path, "rb") as file:
        data = file.read()
    mark, _, stored, events, _ = struct.unpack_from("<5I", data, 20)
    first, strings, body = zlib.decompress(data[40:40 + stored]), [], b""
    outer = Cursor(first, strings)
    while outer.at < len(first):
        kind, payload = outer.varint(), outer.take(outer.varint())
        cursor = Cursor(payload, strings)
        if kind == INFO and cursor.string() == b"program":
            payload = payload[:cursor.at] + varint(0) + varint(len(program)) + program.encode()
        body += varint(kind) + varint(len(payload)) + payload
    packed = zlib.compress(body)
    head = struct.pack("<4I", mark, len(body), len(packed), events)
    return data[:20] + head + struct.pack("<I", zlib.crc32(packed, zlib.crc32(head))) + packed + data[40 + stored:]


def read(path):
    return Reader(path).recording


if __name__ == "__main__":
    import sys
    from collections import Counter
    for file in sys.argv[1:]:
        content = read(file)
        kinds = Counter(a.kind for a in content.activities)
        print(file, content.info, len(content.threads), "threads", len(content.calls), "calls", dict(kinds), content.losses)
