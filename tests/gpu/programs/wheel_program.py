"""A small program with known GPU work, by PyTorch, JAX or CuPy, for tests/gpu/wheel_test.py.

    wheel_program.py torch|jax|cupy [injected|before|after]

injected: started with the agent. before, after: cuspan.start() before or after CUDA is initialized, as in a notebook.
The last line is JSON: executions of a kernel by a part of its name, and copies to the GPU by their size in bytes."""

import json
import re
import sys

LAUNCHES, COPIES, ITEMS = 50, 40, 12345
START = sys.argv[2] if len(sys.argv) > 2 else "injected"


def start_agent(when):
    if START == when:
        import cuspan

        assert cuspan.start(), "cuspan.start() failed"


def torch_work():
    import torch

    host = torch.zeros(ITEMS, dtype=torch.float32).pin_memory()
    device = torch.empty(ITEMS, device="cuda")
    start_agent("after")
    for _ in range(COPIES):
        device.copy_(host, non_blocking=True)
    for _ in range(LAUNCHES):
        torch.cuda._sleep(1000)
    torch.cuda.synchronize()
    return "spin_kernel"


def jax_work():
    import jax
    import numpy

    host = numpy.zeros(ITEMS, numpy.float32)
    gpu = jax.devices("gpu")[0]
    device = jax.device_put(numpy.zeros(ITEMS // 2, numpy.float32), gpu)
    function = jax.jit(lambda x: jax.numpy.sin(x) * 2 + 1).lower(device).compile()
    function(device).block_until_ready()  # whatever is loaded at the first execution
    start_agent("after")
    for _ in range(COPIES):
        jax.device_put(host, gpu).block_until_ready()
    for _ in range(LAUNCHES - (START != "after")):
        function(device).block_until_ready()
    return re.search(r"ROOT %([\w.-]*fusion[\w.-]*) =", function.as_text()).group(1).replace(".", "_").replace("-", "_")


def cupy_work():
    import cupy
    import numpy

    host = numpy.zeros(ITEMS, numpy.float32)
    device = cupy.empty(ITEMS, cupy.float32)
    code = 'extern "C" __global__ void cuspan_probe(float *x) { x[threadIdx.x] += 1; }'
    probe = cupy.RawKernel(code, "cuspan_probe")
    start_agent("after")
    for _ in range(COPIES):
        device.set(host)
    for _ in range(LAUNCHES):
        probe((1,), (32,), (device,))
    cupy.cuda.runtime.deviceSynchronize()
    return "cuspan_probe"


start_agent("before")
kernel = {"torch": torch_work, "jax": jax_work, "cupy": cupy_work}[sys.argv[1]]()
if START != "injected":
    import cuspan

    assert cuspan.flush(30), "cuspan.flush() did not deliver everything"
print(json.dumps({"kernels": {kernel: LAUNCHES}, "copies": {str(ITEMS * 4): COPIES}}))
