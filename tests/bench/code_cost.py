#!/usr/bin/env python3
"""The cost of stacks of launches (capture.launch_stacks), and of those of PyTorch's profiler, where they cost most: eager
PyTorch whose time is that of launches (the small models of apps/models.py). Called by tests/bench/run.sh code.

    run.sh code [OUT.json] [--rounds N] [--apps LIST] [--configs LIST] [--seconds MAX] [--build DIR]

As in run.sh models, each run measures half of its steps without a tracer and then loads it, or starts the profiler; the ratios
of the halves are compared within a round, whose order is rotated by one. Afterwards, runs with stacks measure these alone, and
more precisely: the same process takes turns of 4 steps with and without stacks, which libcuspan-stacks-switch.so can switch. All
values go to OUT.json (build/bench/code.json) after every round. SECONDS (0.5) is the time of each half. A round of both models
takes about 45 s.

Needs a build with tests (cmake --preset release -DCUSPAN_BUILD_TESTS=ON) and PyTorch.
"""

import sys

from gpu import Config, run_part
from models import Models

MODELS = ["small-infer", "small-train"]
# "all" also has the symbols of large libraries.
STACKS = {"python": {"capture.launch_stacks": "python"},
          "python-16": {"capture.launch_stacks": "python", "capture.launch_stacks_period": 16},
          "all": {"capture.launch_stacks": "all", "memory_bytes_max": 100000000}}


def configurations(*_):
    """In the order of the first round."""
    def config(name, library="", settings=None, **environment):
        return Config(name, library, {"detail": "default", **settings} if settings is not None else {}, environment, apps=tuple(MODELS))
    return [config("none"), config("default", "libcuspan.so", {}),
            *(config(f"stacks-{name}", "libcuspan-stacks-switch.so", settings, BENCH_SWITCH="1") for name, settings in STACKS.items()),
            config("kineto", PROF="cuda"), config("kineto-cpu", PROF="all"), config("kineto-stack", PROF="stack")]


class Code(Models):
    part, all_apps, late = "code", MODELS, tuple(MODELS)
    configurations = staticmethod(configurations)

    def environment(self, app, config, library=None):
        return {"SECONDS": "0.5", **super().environment(app, config, library)}


if __name__ == "__main__":
    sys.exit(run_part(Code, __doc__))
