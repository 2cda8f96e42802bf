#!/usr/bin/env python3
"""`transformers serve` on a CPU: the context of each HTTP request reaches the engine, with iterations. Needs torch and
transformers[serving] 5; no network.

    tests/engines/transformers_serve_test.py"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from servers import Server, make_model, traceparent, warnings_of

REQUESTS = 50
PORT = 27812
SAVE = """
import sys
from transformers import AutoConfig, AutoModelForCausalLM
AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(sys.argv[1])).save_pretrained(sys.argv[1])
"""


class Serve(unittest.TestCase):
    def test_contexts(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="cuspan-engines-"))
        self.addCleanup(shutil.rmtree, folder, True)
        model = folder / "model"
        make_model(model)
        subprocess.run([sys.executable, "-c", SAVE, model], check=True, capture_output=True)
        options = "--continuous-batching --device cpu --cb-num-blocks 400 --cb-block-size 16 --cb-max-batch-tokens 256"
        program = Path(sys.executable).with_name("transformers")
        command = [sys.executable, program, "serve", model, *options.split(), "--host", "127.0.0.1", "--port", PORT]
        server = Server(command, folder, model, PORT, {})
        events = server.run([" ".join(["t5"] * (3 + at)) for at in range(REQUESTS)])
        self.assertEqual(len(server.used), REQUESTS, server.log()[-3000:])
        self.assertEqual(warnings_of(server.log()), [])
        found = {made["id"]: (made["context"], made["prompt"]) for made in events.requests.values()}
        self.assertEqual(found, {f"r{at}": (traceparent(at), 3 + at) for at in range(REQUESTS)})
        generated = sum(made["generated"] for made in events.requests.values())
        self.assertEqual(generated, sum(server.used))
        print(f"{len(found)} contexts of {REQUESTS}, {len(events.ranks[0])} iterations")


if __name__ == "__main__":
    unittest.main(verbosity=2)
