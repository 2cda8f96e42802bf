"""A connection to the kube-apiserver that cluster.sh has started, with the standard library, and pods for the tests."""

import http.client
import json
import os
import ssl
import subprocess
import time
import unittest
from pathlib import Path

PATIENCE_S = 300  # for a policy to take effect, however slow the machine is
IMAGE = "registry.example.com/cuspan"
LIBRARY = "/cuspan/opt/cuspan/lib/cuspan/libcuspan.so"
RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True,
              "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}


class Refused(Exception):
    """An answer other than success; args: HTTP status, message."""


class Cluster:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.host = (self.folder / "address").read_text().strip().removeprefix("https://")
        self.context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        self.context.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")

    def request(self, method, path, body=None, content="application/json"):
        connection = http.client.HTTPSConnection(self.host, context=self.context, timeout=PATIENCE_S)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": content})
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status >= 300:
            raise Refused(response.status, answer.get("message"))
        return answer

    def run(self, *command, input=None, **variables):
        """A program that reads KUBECONFIG; returns its standard output."""
        done = subprocess.run(command, env={**os.environ, "KUBECONFIG": str(self.folder / "kubeconfig"), **variables}, text=True,
                              capture_output=True, check=False, input=input)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
        return done.stdout

    def namespace(self, name, inject=None, labels=None):
        """The controllers are missing, so that the test makes the service account."""
        labels = {**(labels or {}), **({"cuspan.io/inject": inject} if inject else {})}
        self.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        self.create(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})

    def create(self, path, body):
        """Returns None if the object exists."""
        try:
            return self.request("POST", path, body)
        except Refused as refused:
            if refused.args[0] != 409:
                raise
            return None

    def pod(self, namespace, body, dry=True):
        """Creates the pod, in a dry run of the server by default, and returns what was admitted."""
        return self.request("POST", f"/api/v1/namespaces/{namespace}/pods" + ("?dryRun=All" if dry else ""), body)


def pod(*containers, labels=None, annotations=None, name="test", **spec):
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": list(containers), "automountServiceAccountToken": False, **spec}}


def container(name="app", gpu=None, **fields):
    """gpu: the resources, as limits."""
    body = {"name": name, "image": "registry.example.com/app:1", **fields}
    if gpu:
        body.setdefault("resources", {})["limits"] = gpu
    return body


GPU = {"nvidia.com/gpu": "1"}


def env_of(body):
    return {item["name"]: item for item in body.get("env", [])}


def is_traced(body):
    return env_of(body).get("CUDA_INJECTION64_PATH", {}).get("value") == LIBRARY


def patiently(condition):
    """Waits until the condition is met. Policies take effect a little after they are stored."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("the policy did not take effect")
        time.sleep(0.1)


def main(module):
    """Runs the module's tests and prints the summary line."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(verbosity=2, failfast=False).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - failed - len(result.skipped), 0)} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed else 0
