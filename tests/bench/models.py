#!/usr/bin/env python3
"""The cost of tracing for models as people run them (apps/models.py). Called by tests/bench/run.sh models.

    run.sh models [OUT.json] [--rounds N] [--apps LIST] [--configs LIST] [--seconds MAX] [--build DIR]

Each model runs under each configuration in turn, in rounds whose order is rotated by one; a ratio compares two runs of the same
round. Where possible, each run measures half of its steps without the tracer and then loads it, and what is compared is the ratio
of its halves: the speed of two processes differs by more than a tracer costs. Processes use one processor of each core. All values go to OUT.json (build/bench/models.json) after every round. A round
takes about 5 s for each configuration of a model, because runs are forked from a process that has imported PyTorch (or JAX), and
CUDA loads the tracer in the fork. ddp needs two GPUs, jax needs JAX: models that cannot run are left out, with a line.

With two GPUs, two calls can run at the same time, each with its own GPU, processors and models:
    CUDA_VISIBLE_DEVICES=1 taskset -c 16-31 tests/bench/run.sh models OUT.json --apps decode-graph,resnet-infer,jax

Needs a build with tests (cmake --preset release -DCUSPAN_BUILD_TESTS=ON) and PyTorch; Nsight Systems if it is installed.
"""

import json
import os
import select
import signal
import subprocess
import sys

from gpu import APPS, ROOT, RUN_SECONDS_MAX, Bench, Config, run_part

MODELS = ["gpt2", "resnet-train", "resnet-infer", "decode", "decode-graph", "ddp", "jax"]
PYTORCH = tuple(model for model in MODELS if model != "jax")
GPU_BOUND = ("gpt2", "resnet-train", "ddp")
LAUNCH_BOUND = tuple(model for model in MODELS if model not in GPU_BOUND)
LATE = ("gpt2", "resnet-train", "resnet-infer", "decode", "jax")  # can load the tracer in the middle


def configurations(nsys, work, *_):
    """In the order of the first round."""
    found = [Config("none", apps=tuple(MODELS)),
             Config("asleep", "libcuspan.so", environment={"OTEL_TRACES_SAMPLER": "always_off"}, apps=tuple(MODELS)),
             Config("default", "libcuspan.so", {"detail": "default"}, apps=tuple(MODELS)),
             Config("one-step-in-64", "libcuspan.so", {"detail": "default", "steps.traced": "sampled"},
                    {"BENCH_STEPS": "1", "PYTHONPATH": str(ROOT / "python")}, apps=tuple(MODELS)),
             *(Config(f"default-{policy}", "libcuspan.so", {"detail": "default"}, {"BENCH_POLICY": policy}, apps=LAUNCH_BOUND,
                      on_request=True) for policy in ("batch", "idle")),
             Config("floor-default", "libcuspan-floor.so", {"detail": "default"}, apps=(*LAUNCH_BOUND, "gpt2", "ddp")),
             Config("default-no-plugin", "libcuspan.so", {"detail": "default"}, apps=("ddp",), on_request=True),
             *(Config(name, "libcuspan-floor.so", {"cupti.api": "classic", "cupti.flush_interval_ms": 20},
                      {"CUSPAN_FLOOR_OFF_FILE": str(work / "ready"), **keeps}, apps=("decode", "decode-graph"), on_request=True)
               for name, keeps in (("floor-off", {}), ("floor-records-off", {"CUSPAN_FLOOR_KEEPS": "callbacks"}))),
             Config("kineto", environment={"PROF": "cuda"}, apps=PYTORCH)]
    if nsys:
        found.append(Config("nsys", command=(nsys, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-f", "true",
                                             "-o", str(work / "nsys")), apps=tuple(MODELS)))
    return found


class Models(Bench):
    part, all_apps, on_request, late = "models", MODELS, [], LATE
    configurations = staticmethod(configurations)

    def __init__(self, options):
        super().__init__(options)
        self.servers = {}

    def build_programs(self):
        return APPS

    def command(self, app, config):
        return [sys.executable, str(self.programs / "models.py"), app]

    def environment(self, app, config, library=None):
        env = super().environment(app, config, library)
        if app in self.late and not config.command:
            env["BENCH_LATE"] = "1"
            if "CUDA_INJECTION64_PATH" in env:
                env["BENCH_LOAD"] = env.pop("CUDA_INJECTION64_PATH")
        if app == "ddp" and config.library == "libcuspan.so" and config.name != "default-no-plugin":
            env["NCCL_PROFILER_PLUGIN"] = env["CUDA_INJECTION64_PATH"]  # as cuspan run does
        if app == "decode-graph" and config.library == "libcuspan-floor.so":  # it does not notice the first graph
            env["CUSPAN_SET"] += ";cupti.graph_records=always"
        return env

    def server(self, module):
        if module not in self.servers:
            def prepare():
                if self.cpus:
                    os.sched_setaffinity(0, self.cpus)
            self.servers[module] = subprocess.Popen([sys.executable, str(self.programs / "models.py"), "serve", module],
                                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                                    preexec_fn=prepare)
        return self.servers[module]

    def execute(self, command, environment):
        if command[0] != sys.executable:  # Nsight Systems starts the program itself
            return super().execute(command, environment)
        app, out, err = command[-1], self.work / "out", self.work / "err"
        for path in out, err:
            path.write_text("")
        server = self.server("jax" if app == "jax" else "torch")
        server.stdin.write(json.dumps({"app": app, "environment": environment, "directory": str(self.work), "out": str(out),
                                       "err": str(err)}) + "\n")
        child = int(server.stdout.readline())
        if not select.select([server.stdout], [], [], RUN_SECONDS_MAX)[0]:
            os.killpg(child, signal.SIGKILL)
        return out.read_text(), err.read_text(), int(server.stdout.readline())

    def close(self):
        for server in self.servers.values():
            server.stdin.close()
            server.wait()
        super().close()

    def warm_up(self):
        if "ddp" in self.apps and self.gpus() < 2:
            self.say("left out: ddp, which needs two GPUs")
            self.apps.remove("ddp")
        super().warm_up()

    @staticmethod
    def gpus():
        try:
            return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.count("UUID: GPU-")
        except OSError:
            return 0


if __name__ == "__main__":
    sys.exit(run_part(Models, __doc__))
