"""A program whose calls into CUDA come from known lines: it acts like CUDA and CUPTI, with a CUPTI that does nothing.

    code_program.py AGENT CUPTI PART [COUNT]

Prints for each call its name, and the stack that Python itself sees: {"name", "frames": [[file, line, name]]}."""

import ctypes
import inspect
import json
import os
import sys
import threading

AGENT, CUPTI, PART = sys.argv[1:4]
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 1
ENTER, EXIT, RUNTIME = 0, 1, 2
CALLS = {"cudaMalloc": 20, "cudaMemcpy": 31, "cudaDeviceSynchronize": 165, "cudaLaunchKernel": 211}


class CallbackData(ctypes.Structure):
    """struct cupti_callback_data"""
    _fields_ = [("site", ctypes.c_int), ("function_name", ctypes.c_char_p), ("params", ctypes.c_void_p),
                ("result", ctypes.c_void_p), ("symbol_name", ctypes.c_char_p), ("context", ctypes.c_void_p),
                ("context_uid", ctypes.c_uint32), ("correlation_data", ctypes.c_void_p), ("correlation_id", ctypes.c_uint32)]


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


def call(name, keeps_gil=False):
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
    data.site = EXIT
    frames[0][1] = sys._getframe().f_lineno + 1
    callback(None, RUNTIME, CALLS[name], data)
    calls.append({"name": name, "frames": frames})


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
