"""Mutation test: breaks a copy of the package in one place after the other. The tests must fail each time.

python -m tests.mutants"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support import HAS_WATCHERS, ROOT, STUB

PACKAGE = Path(__file__).resolve().parents[1]

# FILE, ORIGINAL TEXT, BROKEN TEXT
MUTANTS = [
    ("_link.py", "    agent.detach(tokens[0])", "    pass"),
    ("_link.py", "if wanted == thread.given or agent is None:", "if agent is None:"),
    ("_link.py", "explicit is not None and explicit.base is context", "explicit is not None"),
    ("_link.py", "thread.given = None\n        self.sync()", "thread.given = None"),
    ("_link.py", "        self.changed = self._sync_if_seen\n", ""),
    (
        "otel.py",
        "        token = _link.CURRENT.set(context)\n        link.changed()",
        "        token = _link.CURRENT.set(context)",
    ),
    ("otel.py", "link.set_trace_context_of(trace_context_of)", ""),
    ("otel.py", "        finally:  # also", "        except LookupError:  # also"),
    ("otel.py", "span.trace_flags, tracestate", "1, tracestate"),
    ("otel.py", "span.trace_state.to_header()", '""'),
    ("_agent.py", "_calls % CALLS_BETWEEN_LOOKS == 1", "_calls == 1"),
    ("_agent.py", "os.path.basename(path).startswith(SONAME)", "False"),
    ("_trace_context.py", 'version == "ff" or', ""),
    ("_trace_context.py", "context.flags & 0xFF", "1"),
    ("_ranges.py", "agent.end(identity, _ERROR,", "agent.end(identity, _UNSET,"),
    ("_ranges.py", "error if issubclass(type(error), Exception) else None", "error"),
    ("_ranges.py", "opened.pop(at)[1]", "opened[at][1]"),
    ("_processes.py", "before.trace_id == context.trace_id", "before"),
    ("_processes.py", 'made.pop(_TRACESTATE, "")', 'made.get(_TRACESTATE, "")'),
    ("_processes.py", "os.getpid() != self._parent", "True"),
    ("_processes.py", "os.environ.pop(name, None)", "pass"),
    ("_processes.py", "        _link.link.leave_attach()", "        pass"),
    ("_processes.py", "attach(context.traceparent(), context.tracestate)(function)", "attach()(function)"),
    ("_processes.py", 'if method != "spawn":', "if True:"),
    ("_processes.py", "    if process.parent_process() is not None:", "    if False:"),
    ("_processes.py", "if _agent.is_expected():", "if False:"),
    ("_control.py", "library or _native.library() or _agent.SONAME", "library or _agent.SONAME"),
    ("_cli.py", "        signal.signal(getattr(signal, name), signal.SIG_DFL)", "        pass"),
    ("_cli.py", "if _version(found) < _version(needed):", "if False:"),
    ("_cli.py", "    if found is None:", "    if False:"),
    ("_cli.py", "[own_name, *sys.argv[1:]]", "sys.argv[1:]"),
    ("_agent.py", "return _load(SONAME, os.RTLD_LAZY | os.RTLD_NOLOAD) is not None", "return True"),
    ("_hooks.py", "_agent.on_found(_install)", ""),
    ("_guard.py", "            except NO_ROOM:\n                return default\n", ""),
    (
        "_guard.py",
        "            except BaseException as error:\n                keep",
        "            except Exception as error:\n                keep",
    ),
    ("_guard.py", "isinstance(error, KeyboardInterrupt) or", ""),
    ("_guard.py", "        if _interrupts(trace.tb_frame):", "        if False:"),
    ("_guard.py", "place.partition(\".\")[0] in _OWN_CODE and", "False and"),
    ("_guard.py", "(is_of_value or _can_be_ours(type(error)))", "True"),
    ("_guard.py", "if place in _logged or", "if"),
    ("_text.py", 'str(value), "utf-8", "replace"', 'str(value), "utf-8"'),
    ("_trace_context.py", "text and _TRACESTATE.fullmatch(text)", "text"),
    ("_trace_context.py", "0 < trace_id < 1 << 128 and 0 < span_id < 1 << 64", "True"),
    ("_link.py", "except ValueError:  # of another context", "except LookupError:"),
    ("_link.py", "            explicit.is_abandoned = True", "            pass"),
    ("_link.py", "                _take_out(explicit, innermost)", "                pass"),
    ("_link.py", "            explicit.outer = None  # tasks", "            pass  # tasks"),
    ("_attach.py", "explicit.owner is self and explicit.is_open", "False"),
    ("_decorates.py", "    if inspect.isasyncgenfunction(function):", "    if False:"),
    ("_decorates.py", "    if inspect.isgeneratorfunction(function):", "    if False:"),
    ("_decorates.py", "types.coroutine(generate) if is_awaitable else generate", "generate"),
    ("_decorates.py", "        sys.set_asyncgen_hooks(None, _no_finalizer)\n", ""),
    ("_decorates.py", "made if isinstance(made, str) else", ""),
    ("_ranges.py", "opened[at][0] == thread", "True"),
    ("_steps.py", "        with _lock:\n", "        if True:\n"),
    ("_steps.py", "    _lock = _thread.RLock()\n\n\nos.", "    pass\n\n\nos."),
    ("_steps.py", "is thread_of(thread)", "is self"),
    ("_steps.py", "and not self._has_loop_ended()", ""),
    ("_steps.py", "self._at >= len(self._sequence) or", ""),
    ("_job_steps.py", "depth.backward == 1 and", ""),
    ("_job_steps.py", "not (running and _is_foreign_thread())", "True"),
    ("_imports.py", 'if vars(loader).get("exec_module") is exec_module', "if True"),
    ("_imports.py", "lambda: self.waiting.pop(name, ())", "lambda made=self.waiting.pop(name, ()): made"),
    ("_iterations.py", "member = self.members.pop(key, None)", "member = self.members.get(key)"),
    ("_iterations.py", " and self._budget.take()", ""),
    ("_iterations.py", "if self._info.rank == 0:", "if True:"),
    ("_iterations.py", "self._begins_sampled and kind == NO_ITERATION", "False"),
    ("_iterations.py", "self._numbers.pop(request, 0)", "self._numbers.get(request, 0)"),
    ("_iterations.py", "seed ^ _DUMMIES", "seed"),
    ("_iterations.py", "resumed = before < self._computed", "resumed = False"),
    ("_iterations.py", "number, self._number = self._number, 0", "number = self._number"),
    ("_engines.py", 'if getattr(original, "_cuspan_hook", None) == place:', "if False:"),
    ("_engines.py", "if what in _missing:", "if False:"),
    ("_engines.py", "        if result is not RAISED:", "        if True:"),
    ("_engine_front.py", "_attach.of_program() or ", ""),
    ("_engine_front.py", "    _traceparent.set(", "    traceparent and _traceparent.set("),
    ("_engine_front.py", "    _attributes.set(", "    noted and _attributes.set("),
    ("_engine_front.py", "value[:_VALUE_CHARACTERS_MAX]", "value"),
    ("_engine_front.py", "(interceptor, *(args[2] or ()))", "(interceptor,)"),
    ("_hook_search.py", "or found[: len(first)] == first", "or True"),
    ("_hook_search.py", "numbers_of(version) >= numbers_of(point.since)", "True"),
    ("_engine_vllm.py", "if not self._traces:", "if True:"),
    ("_engine_vllm.py", 'current() if "traceparent" not in given else None', "current()"),
    ("_engine_vllm.py", "worker.follow_ray(self)", "pass"),
    ("_engine_vllm.py", "        elif noted:", "        elif False:"),
    ("_engine_vllm.py", "if result is not None or not self._samples:", "if result is not None:"),
    ("_engine_vllm.py", "member.prefill = self._scheduler.requests[name].num_tokens", "pass"),
    ("_engine_sglang.py", "parallel.tp_rank % size", "parallel.tp_rank"),
    ("_engine_triton.py", "if self._is_open:", "if False:"),
    ("_engine_triton.py", "headers = _traced(request) or headers", "pass"),
    ("_engine_tensorrt_llm.py", "member.prefill = request.prompt_len", "pass"),
    ("_guard.py", "BaseException.with_traceback(error, None)", "pass"),
]
BEFORE_WATCHERS = [
    (
        "_asyncio_hooks.py",
        "            mirror(context.get(current), _link.not_abandoned(context.get(explicit)))",
        "            pass",
    ),
    ("_asyncio_hooks.py", "            if _depth.handles:", "            if False:"),
    ("_asyncio_hooks.py", "_then_sync(asyncio.BaseEventLoop.run_forever)", "asyncio.BaseEventLoop.run_forever"),
    ("_asyncio_hooks.py", '_replace(module, "to_thread")', "pass"),
    ("_asyncio_hooks.py", '_replace(module, "run_sync")', "None"),
    (
        "_asyncio_hooks.py",
        "        return func(*args, **kwargs)\n    finally:\n        _link.link.leave()",
        "        return func(*args, **kwargs)\n    finally:\n        pass",
    ),
    ("_asyncio_hooks.py", "loop is not None and not isinstance(loop, asyncio.BaseEventLoop)", "False"),
    ("_link.py", "explicit is not None and explicit.is_open", "explicit is not None"),
    ("_link.py", "            self.mirror(None, None)\n", "            self.sync()\n"),
    ("_imports.py", "        _call(callback, module)\n\n    loader", "        pass\n\n    loader"),
]
EAGER = [("_asyncio_hooks.py", "_then_sync(asyncio.BaseEventLoop.create_task)", "asyncio.BaseEventLoop.create_task")]
WATCHERS = [
    ("_hooks.py", "return add(watcher) >= 0", "return True"),
    ("_hooks.py", "    _link.link.sync()\n\n\nclass _Python", "    pass\n\n\nclass _Python"),
]


def chosen() -> list[tuple[str, str, str]]:
    if HAS_WATCHERS:
        return MUTANTS + WATCHERS
    return MUTANTS + BEFORE_WATCHERS + (EAGER if sys.version_info >= (3, 12) else [])


def copy(folder: Path) -> None:
    """Copies the package and its tests. The rest of the clone, which a test needs, is linked."""
    for part in ("cuspan", "tests"):
        shutil.copytree(PACKAGE / part, folder / "python" / part, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.iterdir(), *PACKAGE.iterdir()):
        link = folder / path.relative_to(ROOT)
        if not link.exists():
            link.symlink_to(path)


def passes(folder: Path) -> bool:
    """Runs the tests of the copy, from an empty folder: `python -c` in a test must not import the copy from there."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    paths = os.pathsep.join([str(folder / "python"), *filter(None, sys.path)])
    environment = {**os.environ, "CUSPAN_TEST_STUB": STUB, "PYTHONPATH": paths, "CUSPAN_TEST_FAILFAST": "1"}
    command = [sys.executable, "-m", "tests"]
    done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode == 0


def survives(folder: Path, file: str, old: str, new: str) -> bool:
    path = folder / "python/cuspan" / file
    source = path.read_text()
    if source.count(old) != 1:
        print(f"{file} has {old!r} {source.count(old)} times")
        return True
    path.write_text(source.replace(old, new))
    passed = passes(folder)
    path.write_text(source)
    return passed


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="cuspan-mutants-") as name:
        folder = Path(name)
        copy(folder)
        if not passes(folder):
            print("FAIL: the tests fail with the unchanged copy")
            return 1
        alive = [mutant for mutant in chosen() if survives(folder, *mutant)]
    for file, old, new in alive:
        print(f"FAIL: not noticed: {file}: {old!r} -> {new!r}")
    print(f"{len(chosen()) - len(alive)} passed, {len(alive)} failed, 0 skipped")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
