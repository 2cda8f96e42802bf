"""Installs an agent in each process of an engine that records what the adapters report, in ENGINE_EVENTS/PID.jsonl. Or,
with ENGINE_AGENT, starts the real one, and each call of a worker's model plays a recording of CUDA calls.
ENGINE_BROKEN=POINT:missing or POINT:raising breaks one of their hooks. ENGINE_STUBS: see
cpu_stubs.py and sglang_stubs.py."""

import json
import os
import sys

PACKAGE = os.environ["ENGINE_PYTHONPATH"]
sys.path += [PACKAGE, f"{PACKAGE}/tests", os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

import cpu_stubs  # noqa: E402
from fake_engine_agent import FakeAgent  # noqa: E402

from cuspan import _agent, _engines, _imports  # noqa: E402


class Writer(FakeAgent):
    def __init__(self):
        super().__init__()
        self._file = None

    def _write(self, **record):
        if self._file is None or self._file[0] != os.getpid():  # engines fork
            self._file = os.getpid(), open(f"{os.environ['ENGINE_EVENTS']}/{os.getpid()}.jsonl", "a", buffering=1)
        self._file[1].write(json.dumps(record) + "\n")

    def request(self, info):
        number = super().request(info)
        made = self.requests[number]
        context = made["context"]
        self._write(what="request", number=number, **{**made, "context": context and context.traceparent()})
        return number

    def request_end(self, number, reason, tokens):
        self._write(what="end", number=number, reason=reason, tokens=tokens)
        return super().request_end(number, reason, tokens)

    def iteration(self, info):
        super().iteration(info)
        self._write(what="iteration", **self.iterations.pop())
        return 0

    def iteration_end(self):
        self._write(what="iteration_end")
        return super().iteration_end()

    def iteration_here(self, info):
        token = super().iteration_here(info)
        thread, made = self.threads[-1]
        self._write(what="here", thread=thread, number=made["number"], seed=made["seed"])
        return token

    def detach(self, token):
        self._write(what="detach")
        return super().detach(token)


def refuse(*_args, **_keywords):
    raise OSError("broken by the test")


def break_hook(point, how):
    original = _engines.hook

    def hook(owner, name, label, before=None, after=None):
        if f"{label}.{name}" != point:
            return original(owner, name, label, before, after)
        if how == "missing":
            return original(object(), name.strip("_"), label)
        return original(owner, name, label, before and refuse, after and refuse)

    _engines.hook = hook


if os.environ.get("ENGINE_BROKEN"):
    break_hook(*os.environ["ENGINE_BROKEN"].split(":"))


def play(module):
    import python_host

    original = module.CPUModelRunner.execute_model

    def execute_model(self, *args, **keywords):
        python_host.work(double)
        return original(self, *args, **keywords)

    module.CPUModelRunner.execute_model = execute_model


if os.environ.get("ENGINE_AGENT"):
    sys.path.append(os.environ["ENGINE_AGENT"])
    import python_host

    double = python_host.begin()
    _agent.look_now()
    _imports.when_imported("vllm.v1.worker.cpu_model_runner", play)
if os.environ.get("ENGINE_EVENTS"):
    _engines._install(Writer())
if os.environ.get("ENGINE_STUBS") == "sglang":
    import sglang_stubs

    sglang_stubs.install()
else:
    cpu_stubs.install(os.environ.get("ENGINE_STUBS", ""))
