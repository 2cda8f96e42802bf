"""Helpers of the tests of `cuspan doctor`: each line against the fault that it reports, without a GPU.

libfake_cuda.so (fake_cuda.c) stands in for the driver, NVML and CUPTI. /dev, /proc and /sys are below a temporary folder
(CUSPAN_DOCTOR_ROOT). Collectors are servers in this process. A complete run of a file fails if a check in its groups has
never reported a fault, or never reported ok.
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import defaultdict
from pathlib import Path

from built import BUILD, SANITIZERS  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
IS_ROOT = os.geteuid() == 0
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}
SEEN = defaultdict(set)  # results of each check in tests that expect them
LOCAL = "127.0.0.1"
# The groups of checks that each file tests completely.
GROUPS = {"driver": ("driver", "cupti"), "setup": ("injection", "configuration"), "collector": ("collector",),
          "machine": ("permissions", "slow"), "program": ("agents", "program")}


class Answering(http.server.BaseHTTPRequestHandler):
    """Responds with the status, body and delay of the server."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        server.bodies.append((dict(self.headers.items()), self.rfile.read(int(self.headers.get("Content-Length", 0)))))
        time.sleep(server.delay)
        self.answer(server.status, server.body)

    def do_GET(self):
        self.answer(200 if self.path == "/api/services" else 404, b"{}")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that closes the connection


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="doctor-test-"))
        self.directory.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.root = self.directory / "root"
        self.root.mkdir()
        self.libraries = self.directory / "libraries"
        self.libraries.mkdir()

    def put(self, path, text="", mode=0o644):
        """Writes a file below CUSPAN_DOCTOR_ROOT."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)
        return target

    def driver(self, version="570.10"):
        """A working driver: libraries, kernel module, device files."""
        shutil.copy(BUILD / "libfake_cuda.so", self.libraries / f"libcuda.so.{version}")
        (self.libraries / "libcuda.so.1").symlink_to(f"libcuda.so.{version}")
        shutil.copy(BUILD / "libfake_cuda.so", self.libraries / "libnvidia-ml.so.1")
        self.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue Jan  1\n")
        for name in "nvidiactl", "nvidia-uvm", "nvidia0":
            self.put(f"/dev/{name}", mode=0o666)

    def cupti(self, place, version, name="libcupti.so.13"):
        """Copies a CUPTI into a folder and returns its path."""
        folder = self.directory / place
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / "libfake_cuda.so", folder / name)
        (folder / "version").write_text(str(version))
        return folder / name

    def agent(self):
        """A copy of the agent's library, next to which a test can place a CUPTI."""
        folder = self.directory / "agent"
        folder.mkdir(exist_ok=True)
        for name in "libcuspan.so", "libcuspan-export.so":
            shutil.copy(BUILD / name, folder)
        return folder / "libcuspan.so"

    def environment(self, extra):
        env = {key: value for key, value in os.environ.items() if not re.match(
            "CUSPAN_|OTEL_|CUDA_|NVTX_|NCCL_|PYTHONPATH|NVIDIA_|NSYS_|LD_PRELOAD|LD_AUDIT|TRACEPARENT|TRACESTATE|KUBERNETES_|container$|VIRTUAL_ENV|CONDA_|"
            "XDG_RUNTIME_DIR|.*_proxy$|LD_LIBRARY_PATH", key, re.I)}
        env.update(CUSPAN_DOCTOR_ROOT=str(self.root), HOME=str(self.directory), LC_ALL="C.UTF-8",
                   LD_LIBRARY_PATH=f"{self.libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"))
        for key, value in extra.items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = str(value)
        return env

    def run_doctor(self, *arguments, env=None, program=None, cuspan=None, **options):
        command = [cuspan or BUILD / "cuspan", "doctor", *arguments, *(["--", *program] if program else [])]
        return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=600, check=False, cwd=self.directory,
                              env=self.environment(env or {}), **options)

    def doctor(self, only, *arguments, env=None, program=None, **options):
        """The lines of the checks `only`, by name. Verifies what all lines have in common."""
        done = self.run_doctor("--json", "--only", only, *arguments, env=env, program=program, **options)
        self.assertNotRegex(done.stderr, "Sanitizer|runtime error:", "a sanitizer reports an error")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        said = json.loads(done.stdout)
        lines = defaultdict(list)
        for line in said["checks"]:
            lines[f"{line['group']}.{line['name']}"].append(line)
            if line["finding"] in ("problem", "warning"):
                self.assertTrue(line.get("mend"), f"no fix in {line}")
        self.assertEqual(said["problems"], sum(line["finding"] == "problem" for line in said["checks"]))
        self.assertEqual(done.returncode, 1 if said["problems"] else 0)
        return lines

    def says(self, only, finding, found="", fix="", arguments=(), **options):
        """The line of the check with this result, text and fix."""
        return self.assert_says(self.doctor(only, *arguments, **options), only, finding, found, fix)

    def assert_says(self, checks, only, finding, found="", fix=""):
        lines = checks[only]
        SEEN[only].update(line["finding"] for line in lines)
        fitting = [line for line in lines if line["finding"] == finding and re.search(found, line["found"])
                   and re.search(fix, line.get("mend", ""))]
        self.assertTrue(fitting, f"no {finding} \"{found}\" with \"{fix}\" in {lines}")
        return fitting[0]

    def serve(self, status=200, body=b"", delay=0.0, context=None, port=0):
        server = Quiet((LOCAL, port), Answering)
        server.status, server.body, server.delay, server.bodies = status, body, delay, []
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server


def all_checks():
    done = subprocess.run([BUILD / "cuspan", "doctor", "--list"], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def missing_results(groups):
    """Checks that never reported a fault, or never reported ok."""
    for check in all_checks():
        if check.split(".")[0] not in groups:
            continue
        if not SEEN[check] & {"problem", "warning"}:
            yield f"{check} never reported a fault"
        if not SEEN[check] & {"ok"}:
            yield f"{check} never reported ok"


def main(topic):
    """Of doctor_TOPIC_test.py."""
    is_all = len(sys.argv) == 1
    result = unittest.main(verbosity=2, exit=False).result
    missing = [] if not is_all or result.skipped else list(missing_results(GROUPS[topic]))
    for line in missing:
        print("FAIL:", line, file=sys.stderr)
    sys.exit(not result.wasSuccessful() or bool(missing))
