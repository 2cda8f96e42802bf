#!/usr/bin/env python3
"""The cost of tracing for models as people run them (apps/models.py). Called by tests/bench/run.sh models.

    run.sh models [OUT.json] [--rounds N] [--apps LIST] [--configs LIST] [--seconds MAX] [--build DIR]

Each model runs under each configuration in turn, in rounds whose order is rotated by one; a ratio compares two runs of the same
round. Processes use one processor of each core. All values go to OUT.json (build/bench/models.json) after every round. A round of
one model takes about 15 s for each configuration. ddp needs two GPUs, jax needs JAX: models that cannot run are left out, with a
line.

Needs a build with tests (cmake --preset release -DCUSPAN_BUILD_TESTS=ON) and PyTorch; Nsight Systems if it is installed.
"""

import subprocess
import sys

from gpu import APPS, ROOT, Bench, Config, run_part

MODELS = ["gpt2", "resnet-train", "resnet-infer", "decode", "decode-graph", "ddp", "jax"]
PYTORCH = tuple(model for model in MODELS if model != "jax")


def configurations(nsys, work, *_):
    """In the order of the first round."""
    found = [Config("none", apps=tuple(MODELS)),
             Config("asleep", "libcuspan.so", environment={"OTEL_TRACES_SAMPLER": "always_off"}, apps=tuple(MODELS)),
             Config("default", "libcuspan.so", {"detail": "default"}, apps=tuple(MODELS)),
             Config("one-step-in-64", "libcuspan.so", {"detail": "default", "steps.sampled": "always"},
                    {"BENCH_STEPS": "1", "PYTHONPATH": str(ROOT / "python")}, apps=tuple(MODELS)),
             Config("floor-default", "libcuspan-floor.so", {"detail": "default"}, apps=tuple(MODELS)),
             Config("kineto", environment={"PROF": "cuda"}, apps=PYTORCH)]
    if nsys:
        found.append(Config("nsys", command=(nsys, "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-f", "true",
                                             "-o", str(work / "nsys")), apps=tuple(MODELS)))
    return found


class Models(Bench):
    part, all_apps, on_request = "models", MODELS, []
    configurations = staticmethod(configurations)

    def build_programs(self):
        return APPS

    def command(self, app, config):
        return [sys.executable, str(self.programs / "models.py"), app]

    def warm_up(self):
        if "ddp" in self.apps and self.gpus() < 2:
            self.say("left out: ddp, which needs two GPUs")
            self.apps.remove("ddp")
        super().warm_up()

    @staticmethod
    def gpus():
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
        return found.stdout.count("UUID: GPU-")


if __name__ == "__main__":
    sys.exit(run_part(Models, __doc__))
