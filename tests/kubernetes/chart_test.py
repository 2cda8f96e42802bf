#!/usr/bin/env python3
"""The chart's values, and the Collector with the configuration that the chart makes.

    chart_test.py --helm FILE --collector FILE --version VERSION [--cuspan FILE]
"""

import argparse
import gzip
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import cluster as kube  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/kubernetes/chart"
OPTIONS = None
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


def template(*values, version="1.36.0", release="cuspan", namespace="cuspan"):
    """The rendered objects by kind; of several of one kind, the last. Raises an AssertionError with Helm's message."""
    command = [OPTIONS.helm, "template", release, str(CHART), "--namespace", namespace, "--kube-version", version]
    for value in values:
        command += ["--set", value] if not value.startswith("json:") else ["--set-json", value[5:]]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {item["kind"]: item for item in yaml.safe_load_all(done.stdout) if item}


def policy_text(objects):
    return objects["MutatingAdmissionPolicy"]["spec"]["mutations"][0]["jsonPatch"]["expression"]


class Chart(unittest.TestCase):
    def test_lint(self):
        for values in [], ["inject.delivery=init", "collector.k8sAttributes=true"], ["collector.enabled=false"], \
                ["inject.enabled=false", "collector.networkPolicy=true"]:
            options = [word for value in values for word in ("--set", value)]
            done = subprocess.run([OPTIONS.helm, "lint", "--strict", str(CHART), *options], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_version(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((chart["version"], chart["appVersion"]), (OPTIONS.version, OPTIONS.version))
        # The Collector of these tests has the version of the image.
        tag = yaml.safe_load((CHART / "values.yaml").read_text())["collector"]["image"]["tag"]
        self.assertTrue(OPTIONS.collector.endswith(f"-v{tag}"), OPTIONS.collector)

    def test_kubernetes_versions(self):
        for version, api, image_volume in ("1.36.0", "v1", True), ("1.37.2", "v1", True), ("1.36.1-gke.100", "v1", True), \
                ("1.35.4", "v1beta1", False), ("1.34.0-eks-1", "v1beta1", False):
            objects = template(version=version)
            for kind in "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding":
                self.assertEqual(objects[kind]["apiVersion"], f"admissionregistration.k8s.io/{api}", version)
            self.assertEqual("Object.spec.volumes.image" in policy_text(objects), image_volume, version)
            self.assertEqual("initContainers" in policy_text(objects), not image_volume, version)
        with self.assertRaisesRegex(AssertionError, "1.34.0-0 which is incompatible with Kubernetes v1.33.9"):
            template(version="1.33.9")

    def test_delivery(self):
        self.assertIn("emptyDir", policy_text(template("inject.delivery=init")))
        self.assertIn("Object.spec.volumes.image", policy_text(template("inject.delivery=image", version="1.35.0")))
        with self.assertRaisesRegex(AssertionError, "Kubernetes v1.34.9 has no image volumes; upgrade to 1.35 or set inject"):
            template("inject.delivery=image", version="1.34.9")

    def test_wrong_values(self):
        for value, name in ("inject.delivery=sidecar", "delivery"), ("colector.enabled=true", "colector"), \
                ("collector.exporter.endpoint=jaeger:4318", "endpoint"), ("image.pullPolicy=Sometimes", "pullPolicy"), \
                ("inject.initContainer.runAsUser=0", "runAsUser"), ("inject.pythonPath=true", "pythonPath"):
            with self.assertRaisesRegex(AssertionError, name, msg=value):
                template(value)

    def test_image(self):
        text = policy_text(template("image.repository=registry.example.com/gpu/cuspan", "image.tag=1.2.3"))
        self.assertIn('reference: "registry.example.com/gpu/cuspan:1.2.3"', text)
        self.assertIn(f'reference: "REGISTRY/cuspan:{OPTIONS.version}"', policy_text(template()))

    def test_init_container(self):
        values = ["inject.delivery=init", "json:inject.initContainer.resources={\"limits\": {\"memory\": \"64Mi\"}}"]
        text = policy_text(template(*values))
        self.assertIn("runAsUser: 65532", text)
        self.assertIn('"memory": "64Mi"', text)
        self.assertNotIn("runAsUser", policy_text(template(*values, "json:inject.initContainer.runAsUser=null")))

    def test_endpoint_is_the_service(self):
        objects = template(release="gpu", namespace="monitoring")
        variables = {item["name"]: item["expression"] for item in objects["MutatingAdmissionPolicy"]["spec"]["variables"]}
        service = objects["Service"]
        address = f"http://{service['metadata']['name']}.{service['metadata']['namespace']}.svc:4318"
        self.assertIn(address, variables["endpoint"])
        self.assertIn(4318, [port["port"] for port in service["spec"]["ports"]])
        objects = template("inject.endpoint=http://elsewhere:4318", "inject.settings=detail=full")
        variables = {item["name"]: item["expression"] for item in objects["MutatingAdmissionPolicy"]["spec"]["variables"]}
        self.assertIn("http://elsewhere:4318", variables["endpoint"])
        self.assertIn('["detail=full"]', variables["settings"])

    def test_python_path(self):
        for values, default in ([], "auto"), (["inject.pythonPath=always"], "always"), (["inject.pythonPath=never"], "never"):
            objects = template(*values)
            variables = {item["name"]: item["expression"] for item in objects["MutatingAdmissionPolicy"]["spec"]["variables"]}
            self.assertTrue(variables["pythonPath"].endswith(f'"{default}"'), variables["pythonPath"])
        self.assertIn('"/cuspan/opt/cuspan/lib/cuspan/python.zip"', policy_text(template("inject.pythonPath=always")))

    def test_parts(self):
        self.assertEqual(set(template("collector.enabled=false")),
                         {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"})
        self.assertEqual(set(template("inject.enabled=false")), {"ConfigMap", "ServiceAccount", "Service", "DaemonSet"})
        self.assertIn("Namespace", template("namespace.create=true"))

    def test_access_to_the_cluster(self):
        """Only for k8sAttributes."""
        objects = template()
        self.assertNotIn("ClusterRole", objects)
        self.assertFalse(objects["DaemonSet"]["spec"]["template"]["spec"]["automountServiceAccountToken"])
        objects = template("collector.k8sAttributes=true")
        self.assertTrue(objects["DaemonSet"]["spec"]["template"]["spec"]["automountServiceAccountToken"])
        self.assertEqual({verb for rule in objects["ClusterRole"]["rules"] for verb in rule["verbs"]},
                         {"get", "list", "watch"})

    def test_new_configuration_restarts_the_collector(self):
        checksums = {template(value)["DaemonSet"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
                     for value in ("collector.k8sAttributes=true", "collector.k8sAttributes=false")}
        self.assertEqual(len(checksums), 2)

    def test_placement(self):
        spec = template("json:collector.nodeSelector={\"nvidia.com/gpu.present\": \"true\"}",
                        "json:collector.tolerations=[{\"operator\": \"Exists\"}]",
                        "json:collector.imagePullSecrets=[{\"name\": \"pull\"}]",
                        "collector.priorityClassName=high")["DaemonSet"]["spec"]["template"]["spec"]
        self.assertEqual(spec["nodeSelector"], {"nvidia.com/gpu.present": "true"})
        self.assertEqual(spec["tolerations"], [{"operator": "Exists"}])
        self.assertEqual(spec["imagePullSecrets"], [{"name": "pull"}])
        self.assertEqual(spec["priorityClassName"], "high")
        self.assertNotIn("initContainers", template("collector.prepull=false")["DaemonSet"]["spec"]["template"]["spec"])


class Backend:
    """An OTLP receiver that keeps the requests."""

    def __init__(self):
        requests = self.requests = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                requests.put((self.path, self.headers, body))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Collector(unittest.TestCase):
    """A Collector built from the same modules as the image."""

    def configuration(self, *values, edits=()):
        objects = template(*values)
        text = objects["ConfigMap"]["data"]["config.yaml"]
        for old, new in edits:
            self.assertIn(old, text)
            text = text.replace(old, new)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "config.yaml"
        path.write_text(text)
        return objects, path

    def validate(self, *values, edits=()):
        _, path = self.configuration(*values, edits=edits)
        env = {"POD_IP": "127.0.0.1", "NODE_NAME": "n", "EXPORTER_ENDPOINT": "http://jaeger:4318", "EXPORTER_HEADER": "x"}
        return subprocess.run([OPTIONS.collector, "validate", f"--config={path}"], env={**os.environ, **env}, text=True,
                              capture_output=True, check=False)

    def test_configurations_are_accepted(self):
        for values in [], ["collector.k8sAttributes=true"], ["collector.exporter.header.enabled=true"], \
                ["collector.exporter.insecureSkipVerify=true"]:
            done = self.validate(*values)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("deprecated", done.stderr)

    def test_wrong_configurations_are_not(self):
        for edit in ("exporters: [otlp_http]", "exporters: [nowhere]"), ("limit_percentage: 80", "limit_percent: 80"), \
                ("extensions: [health_check]", "extensions: [health]"):
            self.assertNotEqual(self.validate(edits=[edit]).returncode, 0, edit)

    def test_memory_limiter_is_first(self):
        for value in "false", "true":
            objects, _ = self.configuration(f"collector.k8sAttributes={value}")
            pipelines = yaml.safe_load(objects["ConfigMap"]["data"]["config.yaml"])["service"]["pipelines"]
            self.assertEqual(set(pipelines), {"traces", "metrics"})
            for pipeline in pipelines.values():
                self.assertEqual(pipeline["processors"][0], "memory_limiter")
                self.assertNotIn("batch", pipeline["processors"], "it acknowledges before it has sent")

    def test_no_secret_in_the_configuration(self):
        objects, _ = self.configuration("collector.exporter.header.enabled=true", "collector.exporter.header.name=api-key")
        env = {item["name"]: item for item in objects["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]["env"]}
        self.assertEqual(env["EXPORTER_HEADER"]["valueFrom"]["secretKeyRef"],
                         {"name": "cuspan-exporter", "key": "authorization"})
        headers = yaml.safe_load(objects["ConfigMap"]["data"]["config.yaml"])["exporters"]["otlp_http"]["headers"]
        self.assertEqual(headers, {"api-key": "${env:EXPORTER_HEADER}"})

    def run_collector(self, use):
        """As in the pod: the same arguments and variables, except for the ports, of which others could be in use. Calls
        use(URL), ends the Collector, and returns the requests to its backend."""
        backend, ports = Backend(), {name: free_port() for name in ("4318", "4317", "13133")}
        objects, path = self.configuration("collector.exporter.header.enabled=true",
                                           edits=[(f":{old}", f":{new}") for old, new in ports.items()])
        pod = objects["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]
        values = {"POD_IP": "127.0.0.1", "NODE_NAME": "n", "EXPORTER_ENDPOINT": backend.url,
                  "EXPORTER_HEADER": "Bearer secret", "GOMEMLIMIT": str(512 << 20)}
        self.assertEqual({item["name"] for item in pod["env"]}, set(values))
        self.assertEqual(pod["args"], ["--config=/etc/cuspan/config.yaml"])
        probe = pod["readinessProbe"]["httpGet"]
        self.assertIn({"name": probe["port"], "containerPort": 13133}, pod["ports"])
        running = subprocess.Popen([OPTIONS.collector, f"--config={path}"], env=values, stderr=subprocess.DEVNULL)
        try:
            self.until_healthy(running, f"http://127.0.0.1:{ports['13133']}{probe['path']}")
            use(f"http://127.0.0.1:{ports['4318']}")
        finally:
            running.terminate()  # it sends what it holds
            self.assertEqual(running.wait(kube.PATIENCE_S), 0)
            backend.server.shutdown()
        return list(backend.requests.queue)

    def test_spans_get_through(self):
        span = {"traceId": TRACE_ID, "spanId": "b7ad6b7169203331", "name": "cudaLaunchKernel",
                "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
        arrived = self.run_collector(lambda url: urllib.request.urlopen(urllib.request.Request(
            url + "/v1/traces", body, {"Content-Type": "application/json"}), timeout=kube.PATIENCE_S).close())
        (target, headers, sent), = arrived
        self.assertEqual(target, "/v1/traces")
        self.assertEqual(headers["Authorization"], "Bearer secret")
        self.assertEqual(headers["Content-Encoding"], "gzip")
        self.assertIn(bytes.fromhex(TRACE_ID), gzip.decompress(sent))

    def test_spans_of_the_agent_get_through(self):
        """With the variables that the policy sets."""
        if not OPTIONS.cuspan:
            self.skipTest("cuspan is not built")
        variables = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAME": "trainer-0", "POD_NAMESPACE": "training",
                     "NODE_NAME": "node-7", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}

        def replay(url):
            settings = f"protocol=http/protobuf;endpoint={url};service_name=trainer"
            done = subprocess.run([OPTIONS.cuspan, "replay", str(ROOT / "examples/recordings/vector_add.cuspanrec")],
                                  env={**variables, "CUSPAN_SET": settings}, text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, "spans delivered")

        sent = b"".join(gzip.decompress(body) for target, _, body in self.run_collector(replay) if target == "/v1/traces")
        for text in "trainer", "trainer-0", "training", "node-7", "cudaLaunchKernel":
            self.assertIn(text.encode(), sent)

    def until_healthy(self, running, url):
        while True:
            self.assertIsNone(running.poll(), "the Collector ended")
            try:
                urllib.request.urlopen(url, timeout=kube.PATIENCE_S).close()
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    for name in "helm", "collector", "version":
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--cuspan", help="the command, to send spans of the agent")
    OPTIONS = parser.parse_args()
    return kube.main(sys.modules["__main__"])


if __name__ == "__main__":
    sys.exit(main())
