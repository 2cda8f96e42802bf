"""A model of Triton's Python backend that logs the requests and rows of each batch in TRITON_LOGS/PID.log. The first
value of a request says what happens to it. The model's name says whether execute() is a coroutine. With ENGINE_AGENT, each
batch plays a recording of CUDA calls."""

import asyncio
import json
import os
import sys
import time

# Up to Triton 24.10, its Python ignores PYTHONPATH.
sys.path[:0] = os.environ["TRITON_PATH"].split(os.pathsep)
import sitecustomize  # noqa: E402
import triton_python_backend_utils as pb_utils  # noqa: E402

RAISES, FAILS, WAITS = -1, -2, -3


class TritonPythonModel:
    def initialize(self, args):
        self.is_decoupled = pb_utils.using_decoupled_model_transaction_policy(json.loads(args["model_config"]))
        self.log = open(f"{os.environ['TRITON_LOGS']}/{os.getpid()}.log", "a", buffering=1)

    def execute(self, requests):
        given = [pb_utils.get_input_tensor_by_name(request, "IN").as_numpy() for request in requests]
        batch = [[request.request_id(), len(values)] for request, values in zip(requests, given)]
        self.log.write(json.dumps(batch) + "\n")
        if RAISES in [int(values.flat[0]) for values in given]:
            raise OSError("as the request wants")
        if "ENGINE_AGENT" in os.environ:
            sitecustomize.python_host.work(sitecustomize.double)
        time.sleep(0.02)  # so that the next batch has several
        return self.send(requests, given) if self.is_decoupled else list(map(self.respond, requests, given))

    def respond(self, request, values):
        first = int(values.flat[0])
        if first == WAITS:
            while not request.is_cancelled():
                time.sleep(0.01)
        if first in (FAILS, WAITS):
            code = pb_utils.TritonError.CANCELLED if first == WAITS else pb_utils.TritonError.INTERNAL
            return pb_utils.InferenceResponse(error=pb_utils.TritonError("as the request wants", code))
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", values * 2)])

    def send(self, requests, given):
        for request, values in zip(requests, given):
            sender = request.get_response_sender()
            for _ in range(3):
                sender.send(self.respond(request, values))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


if "coroutine" in __file__:

    class TritonPythonModel(TritonPythonModel):
        async def execute(self, requests):
            await asyncio.sleep(0.01)
            return super().execute(requests)
