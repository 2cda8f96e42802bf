#!/usr/bin/env python3
"""The arm64 release under qemu-user: it makes the same spans of each recording as the x86-64 release, byte for byte.

    arm64_test.py [--qemu "COMMAND..."]

Only IDs, the resource (process, host) and the order of spans of different threads differ between two runs. The agent's whole
way runs: ticks of the counter (cntvct), thread-local storage, atomics, and the export module with libcurl. qemu-user does not
show errors in the order of memory accesses: only arm64 hardware can.
"""

import argparse
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from otlp_sink import fields

RELEASE = ROOT / "build/release"
RECORDINGS = sorted((ROOT / "examples/recordings").glob("*.cuspanrec"))
QEMU = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
HANG_S = 600
ID = re.compile(r'"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"')
# Fields of OTLP's messages: ExportTraceServiceRequest.resource_spans, ResourceSpans.scope_spans, ScopeSpans.spans
RESOURCE_SPANS, SCOPE_SPANS, SPANS = 1, 2, 2
SPAN_IDS, SPAN_LINKS, LINK_IDS = (1, 2, 4), 13, (1, 2)


def cuspan(arch, *arguments, **variables):
    command = [*(QEMU if arch == "aarch64" else []), RELEASE / f"stage-{arch}/bin/cuspan", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "CUSPAN_", "TRACE"))}
    environment.update(variables)
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, env=environment)
    if result.returncode:
        raise AssertionError(f"{shlex.join(map(str, command))} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result


def raw_spans(text):
    """The text of each span in a file of spans: {span ID: (text, trace ID, parent span ID)}."""
    found, decoder = {}, json.JSONDecoder()
    for start in (match.end() for match in re.finditer(r'"spans":\[', text)):
        while text[start] != "]":
            start += text[start] == ","
            span, end = decoder.raw_decode(text, start)
            assert span["spanId"] not in found
            found[span["spanId"]] = text[start:end], span["traceId"], span.get("parentSpanId")
            start = end
    return found


def json_spans(path):
    """The spans of a file without IDs, each with the text of its parent and of its trace's first root: in no order, because
    the threads of a program are drained in any."""
    spans = raw_spans(path.read_text())
    plain = {span: ID.sub(r'"\1":""', text) for span, (text, _, _) in spans.items()}
    roots = {}
    for span, (_, trace, parent) in spans.items():
        if parent not in spans:
            roots[trace] = min(plain[span], roots.get(trace, plain[span]))
    return sorted((plain[span], plain.get(parent), roots[trace]) for span, (_, trace, parent) in spans.items())


def masked(body):
    """The spans of an OTLP request, with zeros instead of IDs."""
    data, found = bytearray(body), []
    for number, place in fields(body):
        if number != RESOURCE_SPANS:
            continue
        for number, place in fields(body, *place):
            if number != SCOPE_SPANS:
                continue
            for number, place in fields(body, *place):
                if number == SPANS:
                    mask_span(data, body, place)
                    found.append(bytes(data[slice(*place)]))
    return found


def mask_span(data, body, place):
    for number, value in fields(body, *place):
        if number in SPAN_IDS:
            data[slice(*value)] = bytes(value[1] - value[0])
        if number == SPAN_LINKS:
            for number, linked in fields(body, *value):
                if number in LINK_IDS:
                    data[slice(*linked)] = bytes(linked[1] - linked[0])


class Collector(http.server.BaseHTTPRequestHandler):
    bodies = []

    def do_POST(self):
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Arm64(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def replayed(self, arch, recording, *options):
        path = self.folder / f"{recording.stem}-{arch}.jsonl"
        cuspan(arch, "replay", "--file", path, *options, recording)
        return json_spans(path)

    def test_version(self):
        self.assertEqual(cuspan("aarch64", "version").stdout.split()[:2], cuspan("x86_64", "version").stdout.split()[:2])

    def test_the_image_copies_the_agent(self):
        """The image's only program, on the files of the image."""
        image = RELEASE / "image-arm64"
        if not image.is_dir():
            self.skipTest("no image was made")
        subprocess.run([*QEMU, image / "copy", image / "opt/cuspan", self.folder / "volume"], check=True, timeout=HANG_S)
        files = {path.relative_to(image / "opt/cuspan") for path in (image / "opt/cuspan").rglob("*") if path.is_file()}
        self.assertIn(Path("lib/cuspan/libcuspan.so"), files)
        for file in files:
            self.assertEqual((self.folder / "volume" / file).read_bytes(), (image / "opt/cuspan" / file).read_bytes(), file)
        result = subprocess.run([*QEMU, self.folder / "volume/bin/cuspan", "version"], capture_output=True, timeout=HANG_S)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_same_spans(self):
        self.assertTrue(RECORDINGS)
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                arm64 = self.replayed("aarch64", recording)
                self.assertGreater(len(arm64), 10)
                self.assertTrue(arm64 == self.replayed("x86_64", recording), f"the spans of {recording.name} differ")

    def test_same_spans_with_the_classic_api(self):
        recording = ROOT / "examples/recordings/vector_add.cuspanrec"
        options = ("--cupti-version", "12.0")
        self.assertTrue(self.replayed("aarch64", recording, *options) == self.replayed("x86_64", recording, *options))

    def test_same_bytes_of_protobuf(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        recording = ROOT / "examples/recordings/torch_inference.cuspanrec"
        spans = {}
        for arch in ("x86_64", "aarch64"):
            Collector.bodies.clear()
            endpoint = f"http://127.0.0.1:{server.server_port}"
            cuspan(arch, "replay", "--endpoint", endpoint, recording, OTEL_EXPORTER_OTLP_COMPRESSION="none")
            spans[arch] = sorted(span for body in Collector.bodies for span in masked(body))
        self.assertGreater(len(spans["aarch64"]), 100)
        self.assertTrue(spans["aarch64"] == spans["x86_64"], "the protobuf spans differ")


def main():
    global QEMU
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--qemu", type=shlex.split, default=QEMU, help="runs arm64 programs (default: %(default)s)")
    options = parser.parse_args()
    QEMU = options.qemu
    if not shutil.which(QEMU[0]):
        sys.exit(f"there is no {QEMU[0]}: apt-get install qemu-user libc6-arm64-cross")
    result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    for _, reason in result.skipped:
        print(f"skipped: arm64: {reason}")
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
