"""The model: a batch of images goes to the GPU one by one, each layer adds its bias to all of them, and the first image
is copied back. A request therefore makes one copy to the GPU per image, one kernel per layer, and one copy back. Its
answer is `value` plus the number of layers.

All requests of a worker share one stream, as in most PyTorch services: a request behind a large batch waits.
"""

import ctypes
import os
import queue
import threading
import time
from pathlib import Path

LIBRARY = Path(os.environ.get("MODEL_LIBRARY", Path(__file__).with_name("libmodel.so")))
WARM_UP = {"images": 1, "pixels": 17, "layers": 1, "value": 0.0}


def load(kind):
    """"auto" uses the first that works: PyTorch, the library built from model.cu, or no GPU."""
    if kind == "auto":
        kind = "torch" if torch_has_gpu() else "cuda" if LIBRARY.exists() else "none"
    chosen = {"torch": TorchModel, "cuda": CudaModel, "none": NoGpuModel}[kind]()
    chosen.run(**WARM_UP)  # so that CUDA is initialized before the first request
    return chosen


def torch_has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


class TorchModel:
    def __init__(self):
        import torch
        self.torch = torch
        self.description = f"PyTorch on {torch.cuda.get_device_name()}"

    def run(self, images, pixels, layers, value):
        torch = self.torch
        with torch.inference_mode():
            batch = torch.empty((images, pixels), device="cuda")
            image = torch.full((pixels,), float(value), pin_memory=True)
            for row in batch:
                row.copy_(image, non_blocking=True)
            for _ in range(layers):
                batch.add_(1.0)
            result = torch.empty(pixels, pin_memory=True)
            result.copy_(batch[0], non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return result[-1].item()


class CudaModel:
    """model.cu through ctypes, which lets other threads run during a call."""

    def __init__(self):
        library = ctypes.CDLL(str(LIBRARY))
        library.model_error.restype = ctypes.c_char_p
        library.model_lane_create.restype = ctypes.c_void_p
        library.model_run.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_float,
                                      ctypes.POINTER(ctypes.c_float)]
        self.library = library
        self.lanes = queue.LifoQueue()  # unused buffers; their number grows to that of concurrent requests
        self.description = "model.cu on the GPU"

    def run(self, images, pixels, layers, value):
        try:
            lane = self.lanes.get_nowait()
        except queue.Empty:
            lane = self.library.model_lane_create()
            if not lane:
                raise MemoryError("out of memory for another lane") from None
        answer = ctypes.c_float()
        try:
            failed = self.library.model_run(lane, images, pixels, layers, value, ctypes.byref(answer))
        finally:
            self.lanes.put(lane)
        if failed:
            raise RuntimeError(self.library.model_error(failed).decode())
        return answer.value


class NoGpuModel:
    """Stands in for a GPU to try out the rest of the service on any machine: computes nothing, and waits as long as a
    GPU with this bandwidth and memory would take."""

    BYTES_PER_S = 2e12
    BYTES_MAX = 80 << 30

    def __init__(self):
        self.stream = threading.Lock()
        self.description = "no GPU work (neither PyTorch with a GPU nor libmodel.so is available): the model only waits"

    def run(self, images, pixels, layers, value):
        if 4 * images * pixels > self.BYTES_MAX:
            raise MemoryError("out of memory")
        with self.stream:
            time.sleep(2 * 4 * images * pixels * layers / self.BYTES_PER_S)
        return float(value) + layers
