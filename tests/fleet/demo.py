#!/usr/bin/env python3
"""The tier as shipped, on this machine and without Docker, with the spans of two recordings: a node's Collector, Kafka, an ingester
and ClickHouse's engine. Prints how to send and to ask, and runs until it is interrupted, or for one question with --once.

    demo.py --build DIRECTORY --collector FILE --jars FOLDER [--once]"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from tier import ROOT, Agent, Kafka, Store, Tier, clean_environment, wait_for  # noqa: E402

SERVICE, RECORDINGS = "demo", ("torch_inference", "service")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--collector", type=Path, required=True)
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--once", action="store_true")
    options = parser.parse_args()
    tier = Tier(Path(tempfile.mkdtemp(prefix="cuspan-fleet-demo-")), options.build, options.collector, options.jars)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print("starting Kafka, the store and two Collectors", flush=True)
        kafka, store = Kafka(tier), Store(tier)
        node, ingester = tier.node(kafka), tier.ingester(kafka, store)
        kafka.start()
        store.start()
        node.start()
        ingester.start()
        endpoint = f"http://localhost:{node.otlp}"
        made = sum(Agent(tier, endpoint, paced=False, repeat=1, recording=ROOT / f"examples/recordings/{name}.cuspanrec",
                         service=SERVICE).deliver() for name in RECORDINGS)
        wait_for(lambda: store.answered(SERVICE) == made, f"{made} spans in the store")
        print(f"{made:,} spans of {len(RECORDINGS)} recordings went through all stages\n", flush=True)
        asked = ["--engine", f"clickhouse://reader@localhost:{store.port}?secure=1&ca={tier.secrets / 'ca.crt'}", "--password-file",
                 str(tier.secrets / "clickhouse-reader.password")]
        ask = [sys.executable, "-m", "cuspan.fleet"]
        subprocess.run([*ask, "kernels", *asked, "--top", "3"], check=True, env=clean_environment(PYTHONPATH=ROOT / "python"))
        if options.once:
            print("1 passed, 0 failed, 0 skipped")
            return
        print(f"\nMore spans:     {tier.build}/cuspan run --endpoint {endpoint} PROGRAM"
              f"\nMore questions: PYTHONPATH={ROOT}/python {ask[0]} -m cuspan.fleet utilization {asked[0]} '{asked[1]}' \\"
              f"\n                    {asked[2]} {asked[3]}"
              "\nCtrl-C ends all of it and deletes its files.", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print(flush=True)
    finally:
        tier.close()
        tier.remove()


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
