#!/usr/bin/env python3
"""Accepts requests and distributes them to its workers in turn.

    gateway.py PORT WORKER-URL...
"""

import http.client
import itertools
import sys

import tracing
import web


def main():
    port, workers = int(sys.argv[1]), [web.Peer(url) for url in sys.argv[2:]]
    in_turn = itertools.cycle(workers)

    def forward(request):
        try:
            answer = next(in_turn).post("/infer", request)
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: not JSON
            return 502, {"error": f"no answer from the worker: {error!r}"}
        return answer.status, answer.body

    tracing.start("gateway")
    print(f"gateway of {len(workers)} workers on port {port}", flush=True)
    web.serve(port, forward)


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) > 2 else __doc__)
