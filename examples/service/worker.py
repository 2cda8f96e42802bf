#!/usr/bin/env python3
"""Answers requests with the model, on the GPU if there is one. Nothing in it refers to cuspan, which comes from the
environment that it is started in.

    worker.py PORT [auto|torch|cuda|none]

    POST /infer {"images": 2, "pixels": 4096, "layers": 5, "value": 7}  ->  {"answer": 12.0}
"""

import sys

import model
import tracing
import web

FIELDS = ("images", "pixels", "layers")


def is_valid(request):
    numbers = [request.get(name) for name in FIELDS] if isinstance(request, dict) else [0]
    return all(type(number) is int and 0 < number < 1 << 41 for number in numbers) and \
        isinstance(request.get("value"), (int, float))


def main():
    port, kind = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "auto"
    tracing.start("worker")
    the_model = model.load(kind)

    def infer(request):
        if not is_valid(request):
            return 400, {"error": f"needs {', '.join(FIELDS)} (whole numbers from 1) and value (a number)"}
        shape = {name: request[name] for name in FIELDS}
        try:
            with tracing.tracer.start_as_current_span(
                    "infer", attributes={f"infer.{name}": number for name, number in shape.items()}):
                return 200, {"answer": the_model.run(**shape, value=request["value"])}
        except (RuntimeError, MemoryError) as error:  # a failed CUDA call is a RuntimeError
            return 500, {"error": str(error).splitlines()[0]}

    print(f"worker on port {port}: {the_model.description}", flush=True)
    web.serve(port, infer)


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) > 1 else __doc__)
