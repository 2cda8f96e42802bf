#!/usr/bin/env python3
"""Writes traces with call stacks as OTLP JSON lines, for the tests of `cuspan stat --table code` and `cuspan flame`.

usage: make_code_trace.py training|slower|autograd|xla|cpp|hostile|wide|none [SEED] > trace.jsonl
  training  steps of a model under PyTorch: forward lines, backward on autograd's thread, a CUDA graph whose nodes have
            their own stacks, copies, waits, sampling, a stack whose text comes late, and calls without Python
  slower    the same program after a change: one function twice as slow, one gone, one new
  autograd  PyTorch with torch.autograd.profiler.emit_nvtx: ranges with sequence numbers
  xla       JAX: ranges of XLA with the lines of operations
  cpp       a C++ program with native stacks
  hostile   names with markup, quotes, control characters, invalid UTF-8 and 10,000 characters
  wide      100,000 lines
  none      no stacks
"""

import contextlib
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from make_trace import START_NS, Trace  # noqa: E402
from make_trace import attributes as encode  # noqa: E402

SITE = "/opt/venv/lib/python3.12/site-packages/"
CALL_IMPL = ("nn/modules/module.py", 1751, "Module._call_impl")


def python(file, line, name):
    return f'  File "{file}", line {line}, in {name}'


def torch(file, line, name):
    return python(f"{SITE}torch/{file}", line, name)


def native(module, offset, symbol=None):
    return f"  {module}+0x{offset:x}" + (f" {symbol}+0x1c" if symbol else "")


class CodeTrace(Trace):
    """`stack`: (ID, frames, the index of the program's frame). A stack's text is on its first span, unless `late`."""

    def __init__(self, program, seed):
        super().__init__(program, seed)
        self.told, self.late = set(), set()
        self.at = 0

    def stack(self, stack, late=False):
        if stack is None:
            return {}
        number, frames, own = stack
        attributes = {"cuspan.stack.id": f"{number:016x}"}
        if own is not None and frames[own].startswith("  File"):
            file, line, function = re.fullmatch(r'  File "(.*?)", line (\d+), in (.*)', frames[own], re.DOTALL).groups()
            attributes |= {"code.file.path": file, "code.line.number": int(line), "code.function.name": function}
        elif own is not None:
            attributes["code.function.name"] = frames[own].split(" ", 3)[-1].rsplit("+", 1)[0]
        if late:
            self.late.add(number)
        elif frames and number not in self.told:
            attributes["code.stacktrace"] = "\n".join(frames)
            self.told.add(number)
            self.late.discard(number)
        return attributes

    @contextlib.contextmanager
    def range(self, name, parent=None, thread=4711, **attributes):
        """An NVTX range around what happens within."""
        number = self.add("process", name, self.at, self.at, parent or self.session,
                          {"cuda.range.kind": "nvtx", "cuspan.thread.id": thread, **attributes})
        self.at += 100
        yield number
        self.at += 100
        next(span for _, span in reversed(self.spans) if span["spanId"] == number)["endTimeUnixNano"] = str(START_NS + self.at)

    def decorate(self, parent, attributes):
        span = next(span for _, span in reversed(self.spans) if span["spanId"] == parent)
        span["attributes"] += encode(attributes)

    def launch_at(self, stack, kernel, duration, late=False, thread=(4711, "main"), call="cudaLaunchKernel", parent=None):
        span = self.call(call, self.at, 4_100, thread)
        if parent:
            next(s for _, s in reversed(self.spans) if s["spanId"] == span)["parentSpanId"] = parent
        self.decorate(span, self.stack(stack, late))
        self.work(span, kernel, "kernel", self.at + 5_000, duration,
                  **{"cuda.kernel.name": f"void {kernel}<float>(float const*)", "cuda.kernel.grid": [64, 1, 1],
                     "cuda.kernel.block": [256, 1, 1]})
        self.at += 6_000
        return span

    def copy_at(self, stack, kind, duration, size, call="cudaMemcpyAsync"):
        is_sync = not call.endswith("Async")
        span = self.call(call, self.at, duration + 5_200 if is_sync else 3_000, count=size)
        self.decorate(span, self.stack(stack))
        memory = {"HtoD": ("HostToDevice", "pageable", "device"), "DtoH": ("DeviceToHost", "device", "pageable")}[kind]
        self.work(span, f"memcpy {kind}", "memcpy", self.at + 3_000, duration,
                  **{"cuda.memcpy.bytes": size, "cuda.memcpy.kind": memory[0], "cuda.memcpy.src_kind": memory[1],
                     "cuda.memcpy.dst_kind": memory[2]})
        self.at += duration + 6_000 if is_sync else 4_000

    def wait_at(self, stack, duration, call="cudaStreamSynchronize"):
        span = self.call(call, self.at, duration)
        self.decorate(span, self.stack(stack))
        self.at += duration + 1_000


def main_stack(number, *inner, own, step=61):
    return number, [*inner, python("train.py", step, "Trainer.step"), python("train.py", 140, "main"),
                    python("train.py", 152, "<module>")], own


def training(seed, slower=False):
    t = CodeTrace("trainer", seed)
    forward = [torch(*CALL_IMPL), python("model.py", 40, "Model.forward"), torch(*CALL_IMPL)]
    linear = main_stack(1, torch("nn/modules/linear.py", 125, "Linear.forward"), torch(*CALL_IMPL),
                        python("model.py", 31, "Block.forward"), *forward, own=2)
    attention = main_stack(2, torch("nn/functional.py", 5800, "scaled_dot_product_attention"),
                           python("model.py", 22, "Attention.forward"), torch(*CALL_IMPL),
                           python("model.py", 30, "Block.forward"), *forward, own=1)
    recursive = main_stack(3, python("model.py", 77, "tree"), python("model.py", 78, "tree"),
                           python("model.py", 78, "tree"), *forward, own=0)
    recursive[1].append("  ...")
    load = main_stack(4, python("data.py", 12, "to_gpu"), own=0, step=57)
    item = main_stack(5, python("train.py", 66, "Trainer.log"), own=0, step=64)
    optimizer = main_stack(6, torch("optim/adamw.py", 300, "_single_tensor_adamw"),
                           torch("optim/optimizer.py", 493, "Optimizer.profile_hook_step.<locals>.wrapper"), own=2, step=63)
    capture = main_stack(7, python("graphs.py", 9, "captured"), own=0, step=58)
    replay = main_stack(8, torch("cuda/graphs.py", 88, "CUDAGraph.replay"), python("graphs.py", 15, "replay"), own=1, step=59)
    removed = main_stack(10, python("model.py", 90, "Model.old_mask"), *forward, own=0)
    added = main_stack(11, python("model.py", 95, "Model.new_norm"), *forward, own=0)
    mm_backward = (20, [native("libtorch_cuda.so", 0x2f00, "at::native::(anonymous namespace)::gemm"),
                        native("libtorch_cpu.so", 0x51a0, "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)"),
                        native("libtorch_cpu.so", 0x9ac0, "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"),
                        native("libstdc++.so.6", 0xd6d0), "  ..."], None)
    relu_backward = (21, [native("libtorch_cpu.so", 0x5240, "_ZN5torch8autograd9generated13ReluBackward05applyEOSt6vectorIN2at6TensorESaIS5_EE"),
                          native("libc.so.6", 0x8a10)], None)
    no_python = (0, [], None)
    helper = (22, [native("libnvidia-helper.so", 0x100)], None)
    lost = (99, [], None)

    autograd = (4720, "pt_autograd_0")
    factor = 2 if slower else 1
    for step in range(4):
        t.copy_at(load, "HtoD", 20_000, 1 << 20)
        for _ in range(3):
            t.launch_at(linear, "gemm", 100_000 + 1_000 * step)
            t.launch_at(attention, "flash_fwd_kernel", 70_000 * factor, late=step < 3)
            t.launch_at(linear, "bias_kernel", 11_000)
        t.launch_at(recursive, "tree_kernel", 9_000)
        t.launch_at(added if slower else removed, "mask_kernel", 8_000)
        graph = t.call("cudaGraphLaunch", t.at, 9_000)
        t.decorate(graph, t.stack(replay))
        t.at += 10_000
        for node in range(2):  # a node has the stack of its capture, the other one none of its own
            t.work(graph, f"node_{node}", "kernel", t.at, 30_000,
                   **{"cuda.kernel.name": f"node_{node}()", "cuda.graph.id": 3, **(t.stack(capture) if node == 0 else {})})
        for _ in range(2):
            t.launch_at(mm_backward, "gemm", 150_000, thread=autograd)
            t.launch_at(relu_backward, "relu_backward", 12_000, thread=autograd)
        range_ = t.add("process", "AddmmBackward0, seq = 17", t.at, t.at + 7_000, t.session, {"cuda.range.kind": "nvtx", "cuspan.thread.id": 4720})
        t.launch_at(no_python, "gemm_wgrad", 40_000, thread=autograd, parent=range_)
        t.launch_at(no_python, "cleanup_kernel", 5_000, thread=(4730, "worker"))
        t.launch_at(helper, "helper_kernel", 1_000, thread=(4730, "worker"))
        t.launch_at(None, "unsampled_kernel", 4_000)
        t.launch_at(None, "native_kernel", 2_000, thread=(4740, "native"))  # no call of this thread has a stack
        t.launch_at(lost, "lost_kernel", 3_000)
        t.launch_at(optimizer, "adam_kernel", 25_000)
        t.wait_at(item, 900_000 * factor)
        t.copy_at(item, "DtoH", 2_000, 8, "cudaMemcpy")
        t.wait_at(None, 10_000, "cudaDeviceSynchronize")
    t.work(None, "orphan_kernel", "kernel", t.at, 7_000, **{"cuda.kernel.name": "orphan_kernel()"})
    t.finish()
    assert not t.late, t.late
    return t


def autograd(seed):
    """Each range has a number. Operators that make no node have that of the next one."""
    t = CodeTrace("trainer", seed)
    lines = {line: main_stack(line, torch("nn/functional.py", 9, "f"), python("model.py", line, "Model.forward"), own=1)
             for line in (31, 50, 51, 60, 70, 80, 81)}
    backward = main_stack(90, python("model.py", 90, "Clip.backward"), own=0)
    native_node = (20, [native("libtorch_cpu.so", 0x51a0, "torch::autograd::generated::AddmmBackward0::apply(int)")], 0)
    engine, other = (4720, "pt_autograd_0"), (4730, "replica")
    operation = 0

    def op(name, number, parent=None, thread=4711):
        nonlocal operation
        operation += 1
        return t.range(f"{name}{'' if number is None else f', seq = {number}'}, op_id = {operation}", parent, thread)

    def node(name, number, kernel, stack=(0, [], None), duration=1_000):
        with op(f"autograd::engine::evaluate_function: {name}", number, thread=4720) as outer, \
                op(name, number, outer, 4720) as inner, op("aten::mm", None, inner, 4720) as deepest:
            t.launch_at(stack, kernel, duration, thread=engine, parent=deepest)

    for first in 0, 10:
        with op("aten::linear", first) as outer:
            with op("aten::t", first, outer):
                pass
            with op("aten::addmm", first + 1, outer) as inner:
                t.launch_at(lines[31], "gemm", 10_000, parent=inner)
        with op("aten::argmax", first + 2) as outer:  # makes no node
            t.launch_at(lines[50], "argmax", 2_000, parent=outer)
        with op("aten::mul", first + 2) as outer:
            t.launch_at(lines[51], "mul", 3_000, parent=outer)
            t.launch_at(lines[60], "mul", 3_000, parent=outer)  # the first call counts
        with op("aten::eq", first + 3) as outer:
            t.launch_at(lines[60], "eq", 4_000, parent=outer)
        with op("aten::expand", first + 3):  # launches nothing
            pass
        with op("aten::relu", first + 4) as outer:
            t.launch_at(None, "relu", 5_000, parent=outer)  # no stack
        for number in (first + 5, 500) if first else (first + 5,):
            with op("aten::sin", number) as outer:
                t.launch_at(lines[70], "sin", 6_000, parent=outer)
        with op("aten::cos", 500, thread=4730) as outer:  # numbers belong to threads
            t.launch_at(lines[80], "cos", 7_000, thread=other, parent=outer)
        with op("aten::tan", 600 + first) as outer:
            t.launch_at(lines[81], "tan", 8_000, parent=outer)
        node("AddmmBackward0", first + 1, "gemm_grad", native_node, 20_000)
        node("AddmmBackward0", first + 1, "gemm_grad", duration=21_000)
        node("MulBackward0", first + 2, "mul_grad", None, 22_000)
        node("ExpandBackward0", first + 3, "expand_grad", duration=23_000)
        node("ReluBackward0", first + 4, "relu_grad", duration=24_000)
        node("SinBackward0", first + 5, "sin_grad", duration=25_000)
        node("CosBackward0", 500, "cos_grad", duration=26_000 if first else 26_500)
        node("TanBackward0", 99_999, "tan_grad", duration=27_000)
        node("ClipBackward", 600 + first, "clip_grad", backward, 28_000)  # has Python of its own
        node("torch::autograd::AccumulateGrad", None, "add", duration=29_000)
        t.wait_at(lines[31], 1_000)
    t.finish()
    return t


def xla(seed):
    t = CodeTrace("jax", seed)
    jitted = main_stack(1, f"  File \"{SITE}jax/_src/pjit.py\", line 350, in cache_miss", own=1, step=61)
    frames, file, line = (f"nvtx.payload.Source {what}" for what in ("locations", "file", "line"))
    flax = f"{SITE}flax/linen/linear.py"
    with t.range("XlaModule:#hlo_module=jit_step,program_id=3#", **{"nvtx.domain": "TSL", "nvtx.payload.Name": "jit_step"}) as module:
        def thunk(name, duration, stack=jitted, thread=(4711, "main"), **attributes):
            with t.range(f"Thunk:#name=jit(step)/{name},hlo_op={name}.1,unique_hlo_op_id=5#", module, thread[0],
                         **{"nvtx.domain": "TSL", **attributes}) as parent:
                t.launch_at(stack, f"{name}_kernel", duration, thread=thread, parent=parent)

        for _ in range(2):
            thunk("dot", 10_000, **{frames: f"\n- /work/train.py:88:4[&lt;module&gt;]\n-- /work/model.py:31:8[Block.forward]\n"
                                            f"--- {flax}:271:8[Dense.__call__] dot_general\n"})
            thunk("fusion", 11_000, **{frames: "\n- /work/train.py:88[main]\n-- /work/model.py:31[f] add\n-- /work/model.py:33[f] mul\n"})
            thunk("detailed", 12_000, **{file: "/work/model.py", line: 33, frames:
                                         "\n- /work/train.py:88[main]\n-- /work/model.py:31[f] add\n-- /work/model.py:33[g] mul\n"})
            thunk("library", 13_000, **{file: flax, line: 271, frames: f"\n- /work/my model.py:7:1[f]\n-- {flax}:271:8[Dense.__call__] dot\n"})
            thunk("only_library", 14_000, **{file: flax, line: 271})
            thunk("only_file", 15_000, **{file: "/work/model.py", line: 40})
            thunk("cut", 16_000, **{frames: "\n- /work/train.py:88[main]\n-- /work/model.py:3"})
            thunk("unknown", 17_000)
            thunk("nothing", 18_000, None, (4750, "xla"), **{frames: "\n"})
    t.wait_at(jitted, 1_000)
    t.finish()
    return t


def cpp(seed):
    t = CodeTrace("solver", seed)
    solve = (1, [native("solver", 0x1189, "solve(double*, int)"), native("solver", 0x1301, "main"), native("libc.so.6", 0x29d8f)], 0)
    refine = (2, [native("solver", 0x1222, "refine(std::vector<double>&)"), native("solver", 0x1190, "solve(double*, int)"),
                  native("solver", 0x1301, "main")], 0)
    for _ in range(3):
        t.launch_at(solve, "jacobi", 50_000)
        t.launch_at(refine, "residual", 10_000)
        t.wait_at(solve, 60_000)
    t.finish()
    return t


HOSTILE = ['</script><script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)", "]]></script>",
           "&amp;&#x41;&entity;", "a;b;c 17", "tab\there", "bell\x07 escape\x1b[31m", "bidi\u202egnp", "中文 café 😀", "x" * 10_000,
           "back\\slash", "<!--", "%s%n%x", "../../../../etc/passwd", "javascript:alert(1)", "\ufffe\uffff", "(no Python)", "[Symbol]", ", line 3, in x"]
INVALID = "INVALID-UTF-8"


def hostile(seed):
    t = CodeTrace("hostile </title>", seed)
    for number, name in enumerate(HOSTILE + [INVALID]):
        frames = [python(f"{name}.py", number + 1, name), python("train.py", 9, "main")]
        t.launch_at((number + 1, frames, 0), f"kernel {name}", 1_000 * (number + 1))
    t.finish()
    return t


def wide(count=100_000):
    """Lines of text, because so many spans take Trace a while."""
    process = '{"attributes":[{"key":"service.name","value":{"stringValue":"wide"}},{"key":"process.pid","value":{"intValue":"7"}}]}'
    gpu = '{"attributes":[{"key":"process.pid","value":{"intValue":"7"}},{"key":"cuda.device.id","value":{"intValue":"0"}}]}'
    for i in range(count):
        start = START_NS + 6_000 * i
        text = f'  File \\"file_{i % 100}.py\\", line {i + 1}, in function_{i}\\n  File \\"train.py\\", line 9, in main'
        yield (f'{{"resourceSpans":[{{"resource":{process},"scopeSpans":[{{"spans":[{{"traceId":"{7:032x}","spanId":"{2 * i + 1:016x}",'
               f'"name":"cudaLaunchKernel","startTimeUnixNano":"{start}","endTimeUnixNano":"{start + 4_000}","attributes":['
               '{"key":"cuda.api","value":{"stringValue":"runtime"}},{"key":"cuspan.thread.id","value":{"intValue":"7"}},'
               f'{{"key":"cuspan.stack.id","value":{{"stringValue":"{i + 1:016x}"}}}},'
               f'{{"key":"code.file.path","value":{{"stringValue":"file_{i % 100}.py"}}}},'
               f'{{"key":"code.line.number","value":{{"intValue":"{i + 1}"}}}},'
               f'{{"key":"code.function.name","value":{{"stringValue":"function_{i}"}}}},'
               f'{{"key":"code.stacktrace","value":{{"stringValue":"{text}"}}}}]}}]}}]}},'
               f'{{"resource":{gpu},"scopeSpans":[{{"spans":[{{"traceId":"{7:032x}","spanId":"{2 * i + 2:016x}",'
               f'"parentSpanId":"{2 * i + 1:016x}","name":"kernel","startTimeUnixNano":"{start + 4_000}",'
               f'"endTimeUnixNano":"{start + 4_100 + i % 1_000}","attributes":[{{"key":"cuda.activity","value":{{"stringValue":"kernel"}}}},'
               '{"key":"cuda.stream.id","value":{"intValue":"7"}}]}]}]}]}')


def none(seed):
    t = CodeTrace("none", seed)
    t.launch_at(None, "kernel", 5_000)
    t.finish()
    return t


MAKERS = {"training": training, "slower": lambda seed: training(seed, True), "autograd": autograd, "xla": xla, "cpp": cpp,
          "hostile": hostile, "none": none}


def write(file, name, seed=1):
    """Invalid UTF-8 cannot be in a Python string of JSON."""
    lines = wide() if name == "wide" else MAKERS[name](seed).lines()
    with open(file, "wb") as out:
        for line in lines:
            out.write(line.encode("utf-8", "surrogatepass").replace(INVALID.encode(), b"bad \xff\xfe\xc3 utf-8") + b"\n")


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in [*MAKERS, "wide"]:
        sys.exit(__doc__)
    write("/dev/stdout", sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)


if __name__ == "__main__":
    main()
