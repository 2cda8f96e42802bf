#!/usr/bin/env python3
"""Runs valgrind's memcheck on replays, and with --long on all unit tests. It finds reads of uninitialized memory, which
none of our sanitizers do.

    memcheck.py --build DIRECTORY [--long] [NAME...]
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import sink  # noqa: E402

VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--fair-sched=try", "--num-callers=24",
            f"--suppressions={Path(__file__).with_name('memcheck.supp')}"]
HOST_STATUS, HOST_OUTPUT = 7, "host: done\n"
TIMEOUT_S = 400
# NAME: the recording, the replay library, the destination of spans, other settings. {folder} and {url} are replaced.
FILE = "otlp_file/development: {{output_stream: 'file://{folder}/spans.jsonl'}}"
HTTP = "otlp_http: {{endpoint: '{url}'}}"
REPLAYS = {
    "http": ("threads", "", HTTP, "detail: default"),
    "json": ("vector_add", "", "otlp_http: {{endpoint: '{url}', encoding: json, compression: zstd}}", "detail: full"),
    "dead": ("vector_add", "", "otlp_grpc: {{endpoint: 'http://127.0.0.1:9'}}", "exit_deadline_ms: 1500"),
    "full": ("torch_inference", "", FILE, "detail: full"),
    "graph-nodes": ("graph_nodes", "", FILE, "detail: graph-nodes"),
    "summary": ("service", "", HTTP, "detail: summary"),
    "classic": ("graph", "-classic", FILE, "detail: default"),
    "recording": ("threads", "", FILE, "record_file: '{folder}/copy.cuspanrec'"),
}
CONFIGURATION = """file_format: "1.1"
tracer_provider:
  processors: [{{batch: {{exporter: {{{output}}}}}}}]
distribution:
  cuspan: {{cupti: {{library: '{double}'}}, accounts_file: '{folder}/report', {settings}}}
"""
OTHER_ENVIRONMENT = re.compile("CUSPAN_|OTEL_|TRACEPARENT|TRACESTATE|CUDA_INJECTION64_PATH|.*_proxy$", re.I)


def under_valgrind(command, env=None):
    done = subprocess.run([*VALGRIND, *map(str, command)], env=env, capture_output=True, text=True, timeout=TIMEOUT_S,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def replay(build, name):
    recording, kind, output, settings = REPLAYS[name]
    double = build / f"libcuspan-replay{kind}.so"
    collector = sink.Sink()
    with tempfile.TemporaryDirectory(prefix="memcheck-") as folder:
        env = {key: value for key, value in os.environ.items() if not OTHER_ENVIRONMENT.match(key)}
        filled = {"folder": folder, "url": f"http://127.0.0.1:{collector.port}/v1/traces"}
        if "exit_deadline_ms" not in settings:
            settings += ", exit_deadline_ms: 60000"
        file = Path(folder, "cuspan.yaml")
        file.write_text(CONFIGURATION.format(double=double, output=output.format(**filled),
                                             settings=settings.format(**filled), folder=folder))
        env.update(CUSPAN_CONFIG_FILE=str(file), no_proxy="*")
        status, out, err = under_valgrind([build / "agent_host", build / "libcuspan.so", double,
                                           ROOT / f"examples/recordings/{recording}.cuspanrec"], env)
        reports = [path.read_text() for path in Path(folder).glob("report.*")]
    collector.close()
    is_whole = reports and '"losses":{}' in reports[0] or name == "dead"
    is_clean = (status, out) == (HOST_STATUS, HOST_OUTPUT) and "==" not in err and is_whole
    return is_clean, f"status {status}, output {out!r}\n{err}"


def unit(build, name):
    status, out, err = under_valgrind([build / name], {**os.environ, "CUSPAN_UNDER_VALGRIND": "1"})
    return status == 0, out + err


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    build = options.build.resolve()
    tests = {name: replay for name in REPLAYS}
    if options.long:
        tests.update((path.name, unit) for path in sorted(build.glob("*_test")) if os.access(path, os.X_OK))
    tests = {name: test for name, test in tests.items() if not options.names or name in options.names}
    failed, begin = 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (is_clean, said) in zip(tests, pool.map(lambda item: item[1](build, item[0]), tests.items())):
            print(f"{'passed' if is_clean else 'failed'} {name} ({time.monotonic() - begin:.0f} s)", flush=True)
            failed += not is_clean
            if not is_clean:
                print("".join(f"    | {line}\n" for line in said.splitlines()[:80]), flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
