"""The service of examples/service, with its parts as processes on free ports."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from backend import ROOT, free_ports, get

SERVICE = ROOT / "examples/service"


def clean_environment():
    return {key: value for key, value in os.environ.items()
            if not key.startswith(("OTEL_", "CUSPAN_", "CUDA_INJECTION", "NVTX_INJECTION"))
            and key not in ("TRACEPARENT", "TRACESTATE")}


class Part:
    """The gateway or a worker, from its start until close()."""

    def __init__(self, command, port, log, environment):
        self.port, self.log = port, Path(log)
        with open(self.log, "wb") as file:
            self.process = subprocess.Popen([sys.executable, *map(str, command)], stdout=file, stderr=file,
                                            stdin=subprocess.DEVNULL, env=environment)

    def wait_until_ready(self, seconds):
        deadline = time.monotonic() + seconds
        while True:
            try:
                get(f"http://127.0.0.1:{self.port}/healthz", 5)
                return
            except OSError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"no answer ({error}); {self.log}: {self.log.read_text()[-2000:]}") from None
                time.sleep(0.1)

    def cpu_seconds(self):
        """CPU time of the process so far, including the agent."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        """Ends it like an orchestrator; returns its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Service:
    """A gateway and its workers, whose spans go to a port."""

    def __init__(self, name, out, otlp_port, model, worker_environment=None, workers=2):
        self.name, self.out = name, Path(out)
        self.environment = {**clean_environment(), "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{otlp_port}",
                            "OTEL_BSP_SCHEDULE_DELAY": "500", "PYTHONDONTWRITEBYTECODE": "1"}
        ports = free_ports(workers + 1)
        self.workers = [self.worker(i, port, model, worker_environment or {}) for i, port in enumerate(ports[1:], 1)]
        self.gateway = Part([SERVICE / "gateway.py", ports[0], *(f"http://127.0.0.1:{port}" for port in ports[1:])],
                            ports[0], self.out / f"{name}-gateway.log", self.environment)
        self.url = f"http://127.0.0.1:{ports[0]}"

    def worker(self, number, port, model, environment):
        identity = {"OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id=worker-{number}"}
        return Part([SERVICE / "worker.py", port, model], port, self.out / f"{self.name}-worker-{number}.log",
                    {**self.environment, **identity, **environment})

    def wait_until_ready(self, seconds=30):
        for part in (self.gateway, *self.workers):
            part.wait_until_ready(seconds)

    def run(self, program, *options, **environment):
        """A program that sends requests."""
        return subprocess.run([sys.executable, SERVICE / program, "--gateway", self.url, *map(str, options)],
                              env={**self.environment, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300, check=False)

    def load(self, *options, **environment):
        """The output of load.py --out. Raises an exception if an answer was wrong."""
        file = self.out / f"{self.name}-load.json"
        file.unlink(missing_ok=True)
        ended = self.run("load.py", "--out", file, *options, **environment)
        if ended.returncode != 0:
            raise RuntimeError(f"load.py: exit status {ended.returncode}: {ended.stdout} {ended.stderr}")
        return json.loads(file.read_text())

    def close(self):
        """Ends all parts that still run; returns their exit statuses."""
        return [part.close() for part in (self.gateway, *self.workers)]
