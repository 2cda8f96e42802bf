"""Puts threads in known places and compares the looks of src/agent/watch/stacks with sys._current_frames().

Runs in each Python from 3.9 on: python3 thread_stacks_inside.py LOOKER PART [COUNT]. Prints one line with what it counted,
or a traceback. tests/integration/agent/thread_stacks_test.py starts it."""

import asyncio
import collections
import ctypes
import os
import random
import struct
import sys
import threading
import time

NONE, _IDLE, COMPLETE, CUT, _UNREADABLE = range(5)  # enum stack_python
NATIVE_COMPLETE = 1
DETAIL_NONE, DETAIL_FUNCTIONS, DETAIL_FULL = range(3)
FRAMES_MAX, NAME_BYTES, FILE_BYTES = 48, 96, 160
ATTEMPTS = 200
VERSION = sys.version_info[:2]
FREE_THREADED = "free-threading" in sys.version

library = os.path.abspath(sys.argv[1])
with_gil, without_gil = ctypes.PyDLL(library), ctypes.CDLL(library)
without_gil.looker_time.restype = ctypes.c_double

Thread = collections.namedtuple("Thread", "tid name state call wait cpu_ns python native flags frames codes")


class Look:
    def __init__(self, text):
        lines = [line.split("\t") for line in text.splitlines()]
        self.count, self.left_out, self.minor, self.incomplete, self.look_ns = map(int, lines[0][1:])
        self.threads = {}
        for kind, *words in lines[1:]:
            if kind == "T":
                thread = Thread(int(words[0]), words[1], words[2], int(words[3]), words[4], int(words[5]), int(words[6]),
                                int(words[7]), words[8], [], [])
                self.threads[thread.tid] = thread
            elif kind == "P":
                thread.frames.append((words[0], int(words[1]), words[2]))
            else:
                thread.codes.append((words[0], words[1], int(words[2]), words[3] == "1"))


def look(pause_ms=30, detail=DETAIL_FULL, during=None):
    """The second of two looks, and what Python says of all threads after them."""
    text = ctypes.create_string_buffer(1 << 22)
    without_gil.looker_begin(pause_ms, detail, during is not None)
    if during:
        during()
    if without_gil.looker_end(text, len(text)) < 0:
        raise SystemExit("the result does not fit")
    current = sys._current_frames()
    return Look(text.value.decode()), current


def name_of(code):
    return code.co_qualname if VERSION >= (3, 11) else code.co_name


def cut_name(text):
    data = text.encode("utf-8", "replace")[:NAME_BYTES]
    return data.decode("utf-8", "ignore")


def cut_path(text):
    data = text.encode("utf-8", "replace")
    return text if len(data) <= FILE_BYTES else "..." + data[-(FILE_BYTES - 3):].decode("utf-8", "ignore")


def expected_of(frame):
    frames = []
    while frame:
        frames.append((cut_path(frame.f_code.co_filename), frame.f_lineno or 0, cut_name(name_of(frame.f_code))))
        frame = frame.f_back
    return frames


class Different(Exception):
    pass


def same(expected, found, what):
    if expected != found:
        raise Different(f"{what}:\nPython: {expected}\nlook:   {found}")


def eventually(check):
    """Threads take their time to go where they wait, on a slow machine."""
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            return check()
        except Different as different:
            if not attempts_left:
                raise SystemExit(different) from None
            time.sleep(0.05)


# ---- Threads in known places ---------------------------------------------------------------------------------------------

class Places:
    """Threads that each wait in another place, until stop()."""

    def __init__(self):
        self.lock, self.end, self.threads = threading.Lock(), threading.Event(), {}
        self.lock.acquire()
        self.flag = ctypes.c_int(0)
        self.pipe = os.pipe()

    def start(self, name, target, *args):
        thread = threading.Thread(target=target, args=args, name=name, daemon=True)
        self.threads[name] = thread
        thread.start()
        return thread

    def stop(self):
        self.flag.value = 1
        self.lock.release()
        self.end.set()
        os.write(self.pipe[1], b"x")
        for thread in self.threads.values():
            thread.join()

    def in_lock(self):
        with self.lock:
            pass

    def in_event(self):
        self.end.wait()

    def in_sleep(self):
        while not self.end.is_set():
            time.sleep(3)

    def in_read(self):
        os.read(self.pipe[0], 1)

    def in_generator(self):
        def inner():
            self.end.wait()
            yield 1

        def outer():
            yield from inner()
        return sum(value for value in outer())

    def in_coroutine(self):
        async def inner():
            self.end.wait()

        async def outer():
            await inner()
        asyncio.run(outer())

    def in_deep(self, depth):
        return self.in_deep(depth - 1) if depth else self.end.wait()

    def in_callback(self):
        """From C back into Python."""
        return list(map(lambda value: sorted([value], key=lambda _: self.end.wait() or 0), [1]))

    def in_class(self):
        end = self.end

        class Body:
            end.wait()
        return Body

    def in_except(self):
        try:
            raise ValueError
        except ValueError:
            self.end.wait()
        finally:
            pass

    def in_many_lines(self):
        source = "def f(end):\n" + "".join(f"    x{i} = {i}\n\n" for i in range(3000)) + "    (\n     end\n     .wait(\n     )\n    )\n"
        scope = {}
        exec(compile(source, "many lines", "exec"), scope)
        scope["f"](self.end)

    def in_name(self, name, path):
        scope = {}
        exec(compile(f"def {name}(end):\n    pass\n    end.wait()\n", path, "exec"), scope)
        scope[name](self.end)

    def in_native(self):
        without_gil.looker_nested(1000)

    def start_all(self):
        for name in ("lock", "event", "sleep", "read", "generator", "coroutine", "callback", "class", "except", "many_lines"):
            self.start(name, getattr(self, "in_" + name))
        self.start("deep", self.in_deep, 20)
        self.start("deeper", self.in_deep, 200)
        self.start("latin", self.in_name, "f\xfcr", "/srv/\xe9t\xe9/f.py")
        self.start("wide", self.in_name, "\u6f22\u5b57", "/srv/\u6f22\u5b57.py")
        self.start("widest", self.in_name, "\U00020000a", "/srv/\U0001f600.py")
        self.start("long", self.in_name, "n" * 300, "/" + "\u00e9" * 100 + "/" + "p" * 100 + ".py")


def compare(places, found, current):
    """Number of frames that are equal to Python's."""
    frames = 0
    for name, thread in places.threads.items():
        same(True, thread.native_id in found.threads, name)
        seen = found.threads[thread.native_id]
        same("es", seen.flags, f"flags of {name}: {seen[:9]}")
        expected = expected_of(current[thread.ident])
        same(expected[:FRAMES_MAX], seen.frames, f"{name}: {seen[:9]}")
        same(CUT if len(expected) > FRAMES_MAX else COMPLETE, seen.python, name)
        frames += len(seen.frames)
    return frames


def part_places(count):
    frames = 0
    for _ in range(count):
        places = Places()
        places.start_all()

        def check():
            found, current = look()
            same((VERSION[1], 0, 0), (found.minor, found.left_out, found.incomplete), "look")
            equal = compare(places, found, current)
            same([("R", True)], [(thread.state, "o" in thread.flags) for thread in found.threads.values()
                                 if thread.name == "cuspan/looker"], "looker")
            functions, _ = look(0, DETAIL_FUNCTIONS)
            bare, _ = look(0, DETAIL_NONE)
            for thread in places.threads.values():
                tid = thread.native_id
                same([("", 0, name) for _, _, name in found.threads[tid].frames], functions.threads[tid].frames, "functions")
                same(([], [], NONE), (bare.threads[tid].frames, bare.threads[tid].codes, bare.threads[tid].python), "none")
                same("S", bare.threads[tid].state, "state")
            return equal
        frames += eventually(check)
        places.stop()
    print(f"{frames} frames are equal")


def part_native(_):
    """Functions of ours below ctypes, and the C library's above them."""
    places = Places()
    places.start("lock", places.in_lock)

    def check():
        places.start("native", places.in_native)
        time.sleep(0.2)
        found, _ = look()
        seen = found.threads.get(places.threads["native"].native_id)
        same(True, seen is not None and seen.flags == "es", "still")
        names = [name for _, name, _, _ in seen.codes]
        same(True, "looker_nested" in names, f"names: {names}")
        at = names.index("looker_nested")
        same(["libstacks_looker.so"] * 3, [library for library, _, _, _ in seen.codes[at - 2:at + 1]], "nested functions")
        same([False] * 4, [is_guessed for *_, is_guessed in seen.codes[:4]], "guessed")
        return found, seen
    found, seen = eventually(check)
    guessed = sum(is_guessed for thread in found.threads.values() for *_, is_guessed in thread.codes)
    whole = [thread.native for thread in found.threads.values() if thread.codes]
    places.stop()
    print(f"{len(seen.codes)} native frames, {whole.count(NATIVE_COMPLETE)} of {len(whole)} stacks are whole, {guessed} frames guessed")


def part_gil(_):
    """A C call that holds the GIL, so that all other threads wait for it."""
    places = Places()
    waiting = places.start("sleep", lambda: [time.sleep(0.001) for _ in iter(places.end.is_set, True)])
    tid = threading.get_native_id()

    def hold():
        with_gil.looker_hold()

    def check():
        found, _ = look(during=hold)
        seen = found.threads[tid]
        same(["hold", "look", "check"], [name.rpartition(".")[2] for _, _, name in seen.frames[:3]], "holder")
        same(hold.__code__.co_firstlineno + 1, seen.frames[0][1], "line of the call")
        same("es" if FREE_THREADED else "ges", seen.flags, "holder's flags")
        same(False, "g" in found.threads[waiting.native_id].flags, "the other thread holds the GIL")
        return seen
    seen = eventually(check)
    places.stop()
    print(f"{seen.frames[0]}, {seen.flags}")


def part_busy(_):
    """Loops use CPU time, so they are not still, even if they are in one place."""
    places = Places()

    def in_python():
        while not places.flag.value:
            pass

    def in_native():
        without_gil.looker_spin(ctypes.byref(places.flag))
    places.start("python", in_python)
    places.start("native", in_native)

    def check():
        found, _ = look(200)
        python, native = (found.threads[places.threads[name].native_id] for name in ("python", "native"))
        same(["in_python", "run"], [name.rpartition(".")[2] for _, _, name in python.frames[:2]], "python")
        same([(in_native.__code__.co_firstlineno + 1, "in_native")],
             [(line, name.rpartition(".")[2]) for _, line, name in native.frames[:1]], "native")
        same(("e", False), (native.flags, "s" in python.flags), f"same place: {native[:9]}")
        return python, native
    python, native = eventually(check)
    places.stop()
    print(f"{python.flags or '-'}, {native.flags}")


def forbid_reading():
    """A filter of system calls that kills a process which calls process_vm_readv(), for this thread and those it starts."""
    number = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
    load, equal, give = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS; BPF_JMP | BPF_JEQ | BPF_K; BPF_RET | BPF_K
    program = b"".join(struct.pack("=HBBI", *line) for line in (
        (load, 0, 0, 0), (equal, 0, 1, number), (give, 0, 0, 0x80000000), (give, 0, 0, 0x7fff0000)))
    code = ctypes.create_string_buffer(program, len(program))
    filters = ctypes.create_string_buffer(struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(code)), 16)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(filters)), 0, 0):
        raise SystemExit(f"the filter: {os.strerror(ctypes.get_errno())}")


def part_filter(_):
    """As in a container that forbids process_vm_readv()."""
    places = Places()
    places.start("lock", places.in_lock)
    places.start("deep", places.in_deep, 20)
    forbid_reading()
    frames = eventually(lambda: compare(places, *look()))
    places.stop()
    print(f"{frames} frames are equal")


# ---- Load ----------------------------------------------------------------------------------------------------------------

def part_load(count):
    """Threads that start, end, recurse, throw, load code and collect garbage, while another thread looks."""
    end = threading.Event()

    def recurse(depth):
        if depth == 0:
            raise ValueError
        return recurse(depth - 1)

    def generate(depth):
        if depth:
            yield from generate(depth - 1)
        yield depth

    def work(seed):
        chance = random.Random(seed)
        for _ in range(chance.randrange(1, 40)):
            what = chance.randrange(6)
            if what == 0:
                try:
                    recurse(chance.randrange(100))
                except ValueError:
                    pass
            elif what == 1:
                sum(generate(chance.randrange(30)))
            elif what == 2:
                scope = {}
                exec(compile(f"def f{seed}(x):\n    return sorted(x, key=lambda y: -y)\n", f"file{seed}", "exec"), scope)
                scope[f"f{seed}"](range(50))
            elif what == 3:
                time.sleep(0.0002)
            elif what == 4:
                asyncio.run(asyncio.sleep(0))
            else:
                [[] for _ in range(2000)]

    def start(number):
        seed = number << 20
        while not end.is_set():
            seed += 1
            threads = [threading.Thread(target=work, args=(seed * 7 + i,)) for i in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    starters = [threading.Thread(target=start, args=(i,)) for i in range(3)]
    for thread in starters:
        thread.start()
    totals = (ctypes.c_uint64 * 6)()
    without_gil.looker_load(count, 200, totals)
    end.set()
    for thread in starters:
        thread.join()
    threads, python, native, incomplete, torn, unreadable = totals
    print(f"{count} looks: {threads} threads, {python} frames of Python, {native} native ones, {incomplete} looks incomplete, "
          f"{torn} stacks torn, {unreadable} unreadable")
    if python < count or incomplete > count / 2:
        raise SystemExit("too little was seen")


def part_fork(_):
    """In a child, Python's threads of the parent are gone."""
    places = Places()
    places.start("lock", places.in_lock)
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        found, _ = look(10)
        own = [thread for thread in found.threads.values() if thread.frames]
        names = [name.rpartition(".")[2] for _, _, name in own[0].frames] if own else []
        os._exit(0 if len(own) == 1 and names[:2] == ["look", "part_fork"] else 1)
    same(0, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "child")
    places.stop()
    print("the child sees itself")


def part_time(count):
    for threads in (4, 64):
        places = Places()
        for i in range(threads - 1):
            places.start(f"deep{i}", places.in_deep, 12)
        time.sleep(0.5)
        results = [without_gil.looker_time(count, detail) / 1000 for detail in (DETAIL_NONE, DETAIL_FULL)]
        print(f"{threads} threads: {results[1]:.0f} us a look, {results[0]:.0f} us without frames, "
              f"{results[1] / threads:.1f} us a thread")
        places.stop()


if __name__ == "__main__":
    globals()["part_" + sys.argv[2]](int(sys.argv[3]) if len(sys.argv) > 3 else 0)
