"""A program whose calls into CUDA come from known lines: it acts like CUDA and CUPTI, with a CUPTI that does nothing.

    code_program.py AGENT CUPTI PART [COUNT]

Prints for each call its name, the graph nodes that it created, and the stack that Python itself sees:
{"name", "nodes": [ID], "frames": [[file, line, name]]}."""

import ctypes
import inspect
import json
import os
import sys
import threading
import time

AGENT, CUPTI, PART = sys.argv[1:4]
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 1
ENTER, EXIT, RUNTIME, RESOURCE = 0, 1, 2, 3
NODE_CREATED, NODE_CLONED, EXEC_CREATED = 13, 20, 18  # resource callbacks
CALLS = {"cudaMalloc": 20, "cudaMemcpy": 31, "cudaDeviceSynchronize": 165, "cudaLaunchKernel": 211, "cudaGraphInstantiate": 310}


class CallbackData(ctypes.Structure):
    """struct cupti_callback_data"""
    _fields_ = [("site", ctypes.c_int), ("function_name", ctypes.c_char_p), ("params", ctypes.c_void_p),
                ("result", ctypes.c_void_p), ("symbol_name", ctypes.c_char_p), ("context", ctypes.c_void_p),
                ("context_uid", ctypes.c_uint32), ("correlation_data", ctypes.c_void_p), ("correlation_id", ctypes.c_uint32)]


class ResourceData(ctypes.Structure):
    """struct cupti_resource_data"""
    _fields_ = [("context", ctypes.c_void_p), ("stream", ctypes.c_void_p), ("descriptor", ctypes.c_void_p)]


class GraphData(ctypes.Structure):
    """struct cupti_graph_data"""
    _fields_ = [("graph", ctypes.c_void_p), ("original_graph", ctypes.c_void_p), ("node", ctypes.c_void_p),
                ("original_node", ctypes.c_void_p), ("node_type", ctypes.c_uint32), ("dependency", ctypes.c_void_p),
                ("graph_exec", ctypes.c_void_p)]


agent, cupti = ctypes.CDLL(AGENT), ctypes.CDLL(CUPTI)
if not agent.InitializeInjection():
    sys.exit("the agent does not start")
ARGUMENTS = (None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(CallbackData))
address = ctypes.c_void_p.in_dll(cupti, "fake_callback").value
without_gil, with_gil = ctypes.CFUNCTYPE(*ARGUMENTS)(address), ctypes.PYFUNCTYPE(*ARGUMENTS)(address)
correlation = 0
calls = []


def name_of(code):
    return code.co_qualname if sys.version_info >= (3, 11) else code.co_name


on_resource = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ResourceData))(address)


def resource(event, **data):
    graph = GraphData(**data)
    on_resource(None, RESOURCE, event, ResourceData(None, None, ctypes.addressof(graph)))


def call(name, keeps_gil=False, nodes=(), originals=()):
    global correlation
    correlation += 1
    kept, result = ctypes.c_uint64(), ctypes.c_int32()
    data = CallbackData(ENTER, name.encode(), None, ctypes.addressof(result), None, None, 1, ctypes.addressof(kept), correlation)
    callback = with_gil if keeps_gil else without_gil
    frames, frame = [], sys._getframe()
    while frame:
        frames.append([frame.f_code.co_filename, frame.f_lineno, name_of(frame.f_code)])
        frame = frame.f_back
    callback(None, RUNTIME, CALLS[name], data)
    for node, original in zip(nodes, originals or nodes):
        resource(NODE_CREATED, node=node)
        if originals:
            resource(NODE_CLONED, node=node, original_node=original)
    if originals:
        resource(EXEC_CREATED, graph_exec=nodes[0])
    data.site = EXIT
    frames[0][1] = sys._getframe().f_lineno + 1
    callback(None, RUNTIME, CALLS[name], data)
    calls.append({"name": name, "nodes": list(nodes), "frames": frames})


def lines():
    for _ in range(COUNT):
        call("cudaLaunchKernel")
        call("cudaMemcpy")
        call("cudaDeviceSynchronize", keeps_gil=True)
        call("cudaMalloc")


def other_line():
    call("cudaLaunchKernel")


def reuse():
    """Functions that are freed, so that others get the addresses of their code."""
    for number in range(COUNT):
        names = {"call": call}
        exec(compile(f"def made_{number}():\n{chr(10) * (number % 7)}    call('cudaLaunchKernel')\n", f"cell-{number}", "exec"), names)
        names[f"made_{number}"]()


def threads():
    """One at a time, because `correlation` is not protected."""
    for _ in range(COUNT):
        thread = threading.Thread(target=lines)
        thread.start()
        thread.join()


def deep(left=200):
    deep(left - 1) if left else call("cudaLaunchKernel")


def graph():
    """Each node from a line of its own, but two calls make two each; then the graph is instantiated, twice."""
    for number in range(COUNT):
        first = 1000 * (number + 1)
        call("cudaLaunchKernel", nodes=[first])
        call("cudaLaunchKernel", nodes=[first + 1])
        for node in first + 2, first + 4:
            call("cudaMemcpy", nodes=[node, node + 1])
        for clone in first + 100, first + 200:
            call("cudaGraphInstantiate", nodes=range(clone, clone + 6), originals=range(first, first + 6))


def library():
    """The same call of a native library, with pauses in which the agent finds the way to its caller."""
    global correlation
    code_calls = ctypes.CDLL(os.environ["CALLS"]).code_calls
    for _ in range(COUNT):
        frames, frame = [], sys._getframe()
        while frame:
            frames.append([frame.f_code.co_filename, frame.f_lineno, name_of(frame.f_code)])
            frame = frame.f_back
        frames[0][1] = sys._getframe().f_lineno + 1
        code_calls(ctypes.c_void_p(address), ctypes.c_uint32(correlation + 1), 1, ctypes.byref(ctypes.c_double()))
        correlation += 1
        calls.append({"name": "cudaLaunchKernel", "nodes": [], "frames": frames})
        time.sleep(0.05)


def package():
    """The innermost frame of the program is not that of a package."""
    sys.path.insert(0, os.environ["PACKAGES"])
    import wrapper
    wrapper.launch(other_line)
    wrapper.launch(lambda: call("cudaLaunchKernel"))
    wrapper.launch_itself(call)


def generated():
    """Text that the program executes is the program's. Text that a package executes is the package's."""
    exec(compile(inspect.getsource(call), os.environ["PACKAGES"] + "/raw.py", "exec"), globals())
    sys.path.insert(0, os.environ["PACKAGES"])
    import wrapper
    exec("call('cudaLaunchKernel')")
    wrapper.launch_text(call)


globals()[PART]()
print(json.dumps(calls))
