"""Makes random Python stacks and compares what the walk without the GIL says with sys._getframe(), at the same place.

Runs in each Python from 3.9 on: python3 python_stacks.py WALKER PART [COUNT]. Prints one line with what it counted,
"skipped: WHY", or a traceback. tests/integration/agent/python_frames_test.py starts it."""

import asyncio
import contextlib
import contextvars
import ctypes
import functools
import gc
import json
import os
import random
import re
import sys
import threading
import types
import weakref

FRAMES, EMPTY, NO_THREAD, FINALIZING, INTERPRETERS, UNREADABLE = range(6)
IS_CUT = 100
FRAMES_MAX = 64
VERSION = sys.version_info[:2]
FREE_THREADED = "free-threading" in sys.version

library = os.path.abspath(sys.argv[1])
with_gil, without_gil = ctypes.PyDLL(library), ctypes.CDLL(library)
counts = {"stacks": 0, "frames": 0}
local = threading.local()


def skip(why):
    print("skipped:", why)
    sys.exit()


def find():
    text = ctypes.create_string_buffer(512)
    status = with_gil.walker_find(text, 512)
    if status:
        raise SystemExit(f"walker_find: {status}: {text.value.decode()}")


def buffer():
    if not hasattr(local, "buffer"):
        local.buffer = ctypes.create_string_buffer(1 << 18)
    return local.buffer


def name_of(code):
    return code.co_qualname if VERSION >= (3, 11) else code.co_name


def utf8(text):
    """Lone surrogates have no UTF-8."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if text.isascii() else "".join(
        "\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def expected(frame, innermost):
    lines, count = [], 0
    while frame and count < FRAMES_MAX:
        line = 0 if FREE_THREADED else innermost if count == 0 else frame.f_lineno or 0
        lines.append((utf8(frame.f_code.co_filename), utf8(name_of(frame.f_code)), str(line),
                      str(frame.f_code.co_firstlineno)))
        frame, count = frame.f_back, count + 1
    return lines, frame is not None


def compare(stack, frame, line, text):
    want, is_cut = expected(frame, line)
    got = [tuple(line.split("\t")) for line in text.decode().splitlines()]
    if got != want or stack != FRAMES + IS_CUT * is_cut:
        for index in range(max(len(got), len(want))):
            if got[index:index + 1] != want[index:index + 1]:
                print(index, "walk:", got[index:index + 1], "Python:", want[index:index + 1])
        raise AssertionError(f"stack {stack}, {len(got)} frames; expected {len(want)}, cut: {is_cut}")
    counts["stacks"] += 1
    counts["frames"] += len(want)


def check(holds_gil=True):
    walker, to = with_gil if holds_gil else without_gil, buffer()
    stack, line = walker.walker_stack(to, len(to), FRAMES_MAX, None), sys._getframe().f_lineno
    compare(stack, sys._getframe(), line, to.value)


# ---- The ways from one function to the next. Each calls `then` once ---------------------------------------------------


def call(then, random):
    then()


def call_over_lines(then, random):
    return [
        random.random(),
        (lambda value:
            value)(
                then()
            ),
        random.random()]


def generator(then, random):
    def inner(steps):
        for step in range(steps):
            yield step
        then()
        yield steps
    for _ in inner(random.randrange(3)):
        pass


def delegating(then, random):
    def inner():
        yield 1
        then()
        yield 2

    def outer():
        yield 0
        yield from inner()
    list(outer())


def coroutine(then, random):
    class Ready:
        def __await__(self):
            yield self

    async def inner():
        await Ready()
        then()

    async def outer():
        await inner()

    running = outer()
    running.send(None)
    try:
        running.send(None)
    except StopIteration:
        pass


def async_generator(then, random):
    done = []

    async def values():
        yield 1
        if not done:
            done.append(True)
            then()
        yield 2

    async def run():
        async for _ in values():
            pass
        return [value async for value in values() if value > 2]

    try:
        run().send(None)
    except StopIteration:
        pass


def comprehension(then, random):
    return [value for value in (1, 2, 3) if value != 2 or then() is None]


def nested_comprehension(then, random):
    return {key: [then() for _ in range(1)] for key in range(1)}


def expression(then, random):
    return sum(then() or 1 for _ in range(1))


def sorted_key(then, random):
    sorted([2], key=lambda value: then() or value)


def mapped(then, random):
    list(map(lambda _: then(), range(1)))


def reduced(then, random):
    functools.reduce(lambda a, b: then(), [1, 2])


def partial(then, random):
    functools.partial(call, then)(random)


def class_body(then, random):
    class Body:
        value = then()

        def __init_subclass__(cls):
            super().__init_subclass__()
    return Body


def deleted(then, random):
    class Deleted:
        def __del__(self):
            then()
    Deleted()


def weak(then, random):
    class Referenced:
        pass
    value = Referenced()
    reference = weakref.ref(value, lambda _: then())
    del value
    return reference


def collected(then, random):
    class Cycle:
        def __del__(self):
            then()
    cycle = Cycle()
    cycle.self = cycle
    del cycle
    gc.collect()


def special(then, random):
    class Special:
        def __getattr__(self, name):
            then()
            return name

        def __add__(self, other):
            return self.missing

        @property
        def value(self):
            return self + 1
    return Special().value


def context(then, random):
    @contextlib.contextmanager
    def manager():
        then()
        yield
    with manager():
        pass


def handler(then, random):
    try:
        try:
            raise KeyError(random)
        except KeyError:
            then()
            raise
        finally:
            random.random()
    except KeyError:
        return


def tail(then, random):
    for index in range(3):
        if index < 2:
            continue
        while True:
            then()
            break


def matched(then, random):
    re.sub("b", lambda match: str(then()), "abc")


def parsed(then, random):
    json.loads("{}", object_hook=lambda found: then())


def called_from_c(then, random):
    def inner(value):
        then()
        return value
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(inner)
    assert function(7) == 7


def in_context(then, random):
    contextvars.copy_context().run(then)


def in_thread(then, random):
    errors = []

    def body():
        try:
            then()
        except BaseException as error:
            errors.append(error)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


NAMES = ("plain", "é", "ünï", "漢字", "변수", "𝔘𝔫𝔦", "x" * 300)
FILES = ("/srv/é.py", "/srv/漢字/변수.py", "/srv/😀/x.py", "<string>", "/srv/\udc80/x.py", "", "/" + "long/" * 200 + "x.py")


def executed(then, random):
    name, lines = random.choice(NAMES), random.choice((0, 1, 40, 200, 5000))
    source = "\n" * lines + f"def {name}():\n" + "    x = (1 +\n 2)\n" * random.randrange(90) + "    then()\n" + f"{name}()\n"
    exec(compile(source, random.choice(FILES), "exec"), {"then": then})


def renamed(then, random):
    def function():
        then()
    code = function.__code__.replace(co_name=random.choice(NAMES) + "\ud812", co_filename=random.choice(FILES),
                                     co_firstlineno=random.choice((1, 10**6, 2**31 - 10)))
    types.FunctionType(code, globals(), None, None, function.__closure__)()


def recursive(then, random):
    def down(depth):
        return down(depth - 1) if depth else then()
    down(random.choice((1, 5, 30, 80)))


def traced(then, random):
    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)
    try:
        then()
    finally:
        sys.settrace(before)


def in_foreign_thread(then, random):
    errors = []

    def inner():
        try:
            then()
        except BaseException as error:
            errors.append(error)
    without_gil.walker_call_elsewhere(ctypes.CFUNCTYPE(None)(inner))
    if errors:
        raise errors[0]


def profiled(then, random):
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: None)
    try:
        then()
    finally:
        sys.setprofile(before)


def monitored(then, random):
    """From 3.12 on: other instructions in the place of those of all functions."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None or monitoring.get_tool(monitoring.COVERAGE_ID):
        return then()
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "python_stacks")
    try:
        events = monitoring.events
        monitoring.register_callback(monitoring.COVERAGE_ID, events.LINE, lambda code, line: None)
        monitoring.register_callback(monitoring.COVERAGE_ID, events.CALL, lambda *arguments: None)
        monitoring.set_events(monitoring.COVERAGE_ID, events.LINE | events.CALL | events.INSTRUCTION)
        return then()
    finally:
        monitoring.set_events(monitoring.COVERAGE_ID, 0)
        monitoring.free_tool_id(monitoring.COVERAGE_ID)


def hot(then, random):
    """Loops that a just-in-time compiler translates (PYTHON_JIT=1, from 3.13 on), with functions in them."""
    def last(index):
        if index == 9999:
            return then()
        return index

    def middle(index):
        return last(index)

    total = 0
    for index in range(10000):
        value = middle(index)
        total += value or 0
    return total


WAYS = [call, call_over_lines, generator, delegating, coroutine, async_generator, comprehension, nested_comprehension,
        expression, sorted_key, mapped, reduced, partial, class_body, deleted, weak, collected, special, context,
        handler, tail, matched, parsed, called_from_c, in_context, in_thread, executed, renamed, recursive, traced, profiled, monitored, hot, in_foreign_thread]
# In one thread of several: what waits, or has an effect on all threads.
SLOW = (collected, in_thread, in_foreign_thread, traced, profiled, monitored, hot)


def descend(ways, random):
    if ways:
        way = ways[0]
        way(functools.partial(descend, ways[1:], random), random)
        return
    check(random.random() < 0.5)
    check(random.random() < 0.5)


# __del__ and callbacks report errors only here.
def raise_unraisable(unraisable):
    unraisable_errors.append(unraisable.exc_value)


unraisable_errors = []


def stacks(count):
    """Random stacks. Each way is at least once the only one."""
    find()
    sys.unraisablehook = raise_unraisable
    rare = {collected: 0.02, in_thread: 0.1, in_foreign_thread: 0.1, traced: 0.1, profiled: 0.1, monitored: 0.05, hot: 0.1}
    for index in range(count):
        choice = random.Random(f"{seed} {index}")
        ways = [WAYS[index]] if index < len(WAYS) else [
            way for way in choice.choices(WAYS, k=choice.randrange(1, 12)) if choice.random() < rare.get(way, 1)]
        before = counts["stacks"]
        try:
            descend(ways, choice)
        except BaseException:
            print("ways:", [way.__name__ for way in ways])
            raise
        if unraisable_errors:
            print("ways:", [way.__name__ for way in ways])
            raise unraisable_errors[0]
        assert counts["stacks"] == before + 2, [way.__name__ for way in ways]


def asynchronous(count):
    """asyncio's event loop."""
    find()

    async def leaf(choice):
        await asyncio.sleep(0)
        check(choice.random() < 0.5)

    async def tree(choice, depth):
        if depth == 0:
            return await leaf(choice)
        await asyncio.gather(*[tree(choice, depth - 1) for _ in range(choice.randrange(1, 4))])

    async def main():
        for _ in range(count // 20 + 1):
            await tree(random.Random(seed), 4)
    asyncio.run(main())


def threads(count):
    """Walks in several threads while code objects are made and freed, and others read all frames."""
    find()
    stop = threading.Event()
    errors = []

    def guarded(body):
        def run():
            try:
                body()
            except BaseException as error:
                errors.append(error)
                stop.set()
        return threading.Thread(target=run)

    def churn():
        while not stop.is_set():
            exec(compile("def f():\n    return 1\nf()\n", "/churn.py", "exec"), {})
            sys._current_frames()

    def walk():
        choice = random.Random(threading.get_ident())
        for _ in range(count):
            if stop.is_set():
                return
            descend([way for way in choice.choices(WAYS, k=5) if way not in SLOW], choice)

    noise, walkers = [guarded(churn) for _ in range(2)], [guarded(walk) for _ in range(3)]
    for thread in noise + walkers:
        thread.start()
    for thread in walkers:
        thread.join()
    stop.set()
    for thread in noise:
        thread.join()
    if errors:
        raise errors[0]


def reuse(count):
    """Short-lived functions: how often two of them have the same identity, and the same address."""
    find()
    by_identity, by_address = {}, {}
    wrong = same_address = 0
    to, identity = buffer(), (ctypes.c_uint64 * 2)()

    def function():
        return with_gil.walker_identify(to, len(to), identity)
    values = dict(globals(), **{name: cell.cell_contents for name, cell in
                                zip(function.__code__.co_freevars, function.__closure__)})
    for number in range(count):
        name = f"function_{number * 7919 % 100003}"
        if number % 2:
            code = function.__code__.replace(co_name=name, **({"co_qualname": name} if VERSION >= (3, 11) else {}))
            stack = types.FunctionType(code, values, name, None, function.__closure__)()
            del code
        else:
            scope = dict(values)
            exec(f"def {name}():\n    return with_gil.walker_identify(to, len(to), identity)\n", scope)
            stack = scope[name]()
            del scope
        assert stack == FRAMES and to.value.decode() == name, (stack, to.value, name)
        wrong += by_identity.setdefault(identity[1], name) != name
        same_address += by_address.get(identity[0], name) != name
        by_address[identity[0]] = name
    assert wrong == 0, f"{wrong} of {count} functions have the identity of another one"
    assert same_address > count // 10, f"the test reused only {same_address} addresses"
    counts["functions"], counts["with a reused address"] = count, same_address


def states(_):
    """Threads without frames, cut stacks, and cut names."""
    text = ctypes.create_string_buffer(4096)
    find()
    assert with_gil.walker_find(text, 512) == 3, "a second search, without new libraries"
    assert with_gil.walker_elsewhere() == NO_THREAD == without_gil.walker_elsewhere()
    hashes = []
    for _ in range(2):
        one, two = ctypes.c_uint64(), ctypes.c_uint64()
        with_gil.walker_stack(text, 4096, 64, ctypes.byref(one)), with_gil.walker_stack(text, 4096, 64, ctypes.byref(two))
        hashes += [one.value, two.value]
    assert hashes[0] == hashes[2] and hashes[1] == hashes[3] and (FREE_THREADED or hashes[0] != hashes[1]), hashes
    stack = with_gil.walker_stack(text, 4096, 1, None)
    assert stack == FRAMES + IS_CUT and text.value.decode().count("\n") == 1, (stack, text.value)

    def walk(file_max, name_max, file, name):
        def function():
            return with_gil.walker_narrow(text, 4096, file_max, name_max)
        code = function.__code__.replace(co_filename=file, co_name=name, **({"co_qualname": name} if VERSION >= (3, 11) else {}))
        assert types.FunctionType(code, globals(), None, None, function.__closure__)() == FRAMES
        return text.value.decode().split("\t")
    assert walk(20, 10, "/srv/long/folder/file.py", "a_function_name") == ["...ng/folder/file.py", "a_function"]
    assert walk(24, 15, "/srv/long/folder/file.py", "a_function_name") == ["/srv/long/folder/file.py", "a_function_name"]
    assert walk(20, 10, "/srv/länge/ordner/datei.py", "füüüüüüü") == ["...e/ordner/datei.py", "füüüü"]
    assert walk(20, 10, "/srv/漢字漢字漢字漢字.py", "漢字漢字") == ["...漢字漢字.py", "漢字漢"]
    assert walk(3, 1, "/srv/x.py", "é") == ["/sr", ""]
    assert walk(0, 0, "/srv/x.py", "é") == ["", ""]


def daemons(_):
    """Daemon threads walk while the interpreter exits."""
    find()
    started = threading.Semaphore(0)

    def body():
        started.release()
        without_gil.walker_repeat()
    for _ in range(4):
        threading.Thread(target=body, daemon=True).start()
        started.acquire()
    print("exiting")


def interpreters(_):
    """While there is a second interpreter, before 3.13 no frames; afterward again. From 3.13 on those of the own one."""
    find()
    try:
        import _interpreters as module
    except ImportError:
        try:
            import _xxsubinterpreters as module
        except ImportError:
            skip("this Python has no module for subinterpreters")
    other = module.create("legacy") if VERSION >= (3, 13) else module.create(isolated=False)
    here = with_gil.walker_stack(buffer(), 1 << 18, 64, None)
    path = os.path.abspath(__file__)
    reading, writing = os.pipe()
    script = (f"import sys\nsys.argv = ['x', {library!r}, 'inner']\n"
              f"exec(compile(open({path!r}).read(), {path!r}, 'exec'), {{'__name__': 'inner', '__file__': {path!r}, 'fd': {writing}}})\n")
    failed = module.run_string(other, script)
    assert not failed, failed
    os.close(writing)
    inside = os.read(reading, 100).decode()
    module.destroy(other)
    if VERSION >= (3, 13):
        assert here == FRAMES and inside == "2 stacks", (here, inside)
    else:
        assert here == INTERPRETERS and inside == f"state {INTERPRETERS}", (here, inside)
    check()


def inner_interpreter(fd):
    if VERSION >= (3, 13):
        check(True), check(False)
        os.write(fd, f"{counts['stacks']} stacks".encode())
    else:
        os.write(fd, f"state {with_gil.walker_stack(buffer(), 1 << 18, 64, None)}".encode())


def forks(_):
    """In a forked child, also of a thread that is not the main one."""
    find()

    def in_child():
        child = os.fork()
        if child == 0:
            try:
                check(True), check(False)
                os._exit(counts["stacks"])
            finally:
                os._exit(100)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2

    def elsewhere():
        in_child()
        done.append(True)
    done = []
    in_child()
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert done == [True]


def greenlets(count):
    """greenlet switches stacks within a thread. STACKS_PACKAGES has a folder with it for each version."""
    sys.path.append(os.path.join(os.environ.get("STACKS_PACKAGES", ""), "%d.%d" % VERSION))
    try:
        import greenlet
    except ImportError:
        skip("greenlet is not installed")
    find()

    def body(choice):
        for _ in range(3):
            greenlet.getcurrent().parent.switch()
            descend([way for way in choice.choices(WAYS, k=4) if way not in SLOW], choice)

    for index in range(count // 10):
        choice = random.Random(index)
        several = [greenlet.greenlet(body) for _ in range(5)]
        for _ in range(4):
            for one in several:
                one.switch(choice) if not one else one.switch()
            check()


seed = os.environ.get("STACKS_SEED", "1")
if __name__ == "inner":
    inner_interpreter(fd)  # noqa: F821
elif __name__ == "__main__":
    PARTS = (stacks, asynchronous, threads, reuse, states, daemons, interpreters, forks, greenlets)
    {part.__name__: part for part in PARTS}[sys.argv[2]](int((sys.argv + ["1000"])[3]))
    print(" ".join(f"{count} {what}" for what, count in counts.items()))
