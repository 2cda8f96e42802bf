#!/usr/bin/env python3
"""No Collector that deploy/ and docker/ ship keeps spans in memory that it has acknowledged, unless a comment in its file names it; connections
between machines use TLS and passwords from files; and only localhost is open.

    configurations_test.py [--kubectl FILE]     with kubectl: also what `kubectl apply -k deploy/fleet` would send"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBECTL = None
# Exporters that write or show at once, without a queue.
WITHOUT_QUEUE = {"debug", "prometheus", "file", "nop", "jaeger_storage_exporter"}
SAYS_SO = re.compile(r"^# In memory: ", re.MULTILINE)
WITHOUT_FSYNC = re.compile(r"^ *# Without fsync: ", re.MULTILINE)


def collectors():
    """{name: text} of every configuration of a Collector, also those in Kubernetes' manifests."""
    found = {}
    for path in sorted([*(ROOT / "deploy").rglob("*.yaml"), *(ROOT / "docker").rglob("*.yaml")]):
        if "templates" in path.parts:
            continue
        name = str(path.relative_to(ROOT))
        for document in yaml.safe_load_all(path.read_text()):
            if not isinstance(document, dict):
                continue
            if {"receivers", "exporters", "service"} <= document.keys():
                found[name] = path.read_text()
            elif document.get("kind") == "ConfigMap":
                found |= {f"{name}: {key}": text for key, text in document["data"].items() if "exporters:" in text}
    return found


def problems(text):
    """Settings that keep acknowledged spans in memory."""
    config, wrong = yaml.safe_load(text), []
    says_so = bool(SAYS_SO.search(text))
    storages = {name for name in config.get("extensions", {}) if name.split("/")[0] == "file_storage"}
    used = {part: {name for pipeline in config["service"]["pipelines"].values() for name in pipeline.get(part) or []}
            for part in ("receivers", "processors", "exporters")}
    for name in used["processors"]:
        if name.split("/")[0] == "batch":
            wrong.append("the processor batch acknowledges before it has sent")
        if name.split("/")[0] in ("tail_sampling", "groupbytrace") and not says_so:
            wrong.append(f"{name} keeps traces in memory, and no comment '# In memory: ' says so")
    for name in used["exporters"] - {name for name in used["exporters"] if name.split("/")[0] in WITHOUT_QUEUE}:
        exporter = config["exporters"][name] or {}
        queue, retry = exporter.get("sending_queue", {}), exporter.get("retry_on_failure", {})
        if queue.get("enabled", True) is False:
            if retry.get("enabled", True):
                wrong.append(f"{name} without a queue repeats requests while the client waits, and the client repeats them, too")
            continue
        if queue.get("storage") not in storages:
            wrong.append(f"{name} has a queue in memory")
        elif queue["storage"] not in config["service"].get("extensions", []):
            wrong.append(f"{name}: {queue['storage']} is not in service.extensions")
        elif not config["extensions"][queue["storage"]].get("fsync") and not WITHOUT_FSYNC.search(text):
            wrong.append(f"{name}: the queue does not survive a power cut")
        if retry.get("max_elapsed_time") != 0:
            wrong.append(f"{name} gives up after some time")
    return wrong


def environment_default(text):
    """`${env:NAME:-DEFAULT}` as its default."""
    while (new := re.sub(r"\$\{env:\w+:-([^${}]*)\}", r"\1", text)) != text:
        text = new
    return text


class Collectors(unittest.TestCase):
    def test_all_are_found(self):
        names = set(collectors())
        for name in "node", "direct", "ingester", "sampler":
            self.assertIn(f"deploy/fleet/collector/{name}.yaml", names)
        self.assertIn("docker/collector.yaml", names)
        self.assertTrue([name for name in names if name.startswith("deploy/kubernetes/manifests/cuspan.yaml: ")], names)

    def test_nothing_acknowledged_is_in_memory(self):
        for name, text in collectors().items():
            with self.subTest(name):
                self.assertEqual(problems(text), [])

    def test_mistakes_are_found(self):
        """Each edit of a file that is right must be noticed."""
        node, sampler, ingester, docker = ((ROOT / name).read_text() for name in (
            *(f"deploy/fleet/collector/{name}.yaml" for name in ("node", "sampler", "ingester")), "docker/collector.yaml"))
        for text, old, new in ((node, "      storage: file_storage\n", ""), (node, "    fsync: true", "    fsync: false"),
                               (node, "extensions: [file_storage, health_check]", "extensions: [health_check]"),
                               (node, "max_elapsed_time: 0", "max_elapsed_time: 15m"), (sampler, "# In memory: ", "# "),
                               (ingester, "# Without fsync: ", "# "),
                               (node, "      receivers: [otlp]\n", "      receivers: [otlp]\n      processors: [batch]\n"),
                               (docker, "    sending_queue: {enabled: false}\n", ""),
                               (docker, "    retry_on_failure: {enabled: false}\n", "")):
            self.assertIn(old, text)
            self.assertNotEqual(problems(text.replace(old, new)), [], f"{old} -> {new}")

    def test_tls_and_passwords(self):
        for name in "node", "direct", "ingester", "sampler":
            text = (ROOT / f"deploy/fleet/collector/{name}.yaml").read_text()
            self.assertNotRegex(text, "insecure|http://")
            for kind in "receivers", "exporters":
                for part, settings in yaml.safe_load(text)[kind].items():
                    if kind == "receivers" and part == "otlp":
                        for protocol in settings["protocols"].values():
                            self.assertTrue(environment_default(protocol["endpoint"]).startswith("localhost:"), protocol)
                        continue
                    self.assertIn("ca_file", settings["tls"], f"{name}: {part}")
                    password = settings.get("password") or settings.get("auth", {}).get("sasl", {}).get("password")
                    self.assertTrue(password.startswith("${file:") if password else "key_file" in settings["tls"], f"{name}: {part}")

    def test_one_trace_has_one_partition(self):
        text = (ROOT / "deploy/fleet/collector/node.yaml").read_text()
        kafka = yaml.safe_load(text)["exporters"]["kafka"]
        self.assertTrue(kafka["partition_traces_by_id"])
        self.assertEqual(kafka["producer"]["required_acks"], "all")
        # Otherwise a request would be refused by Kafka, after it was acknowledged.
        accepted = yaml.safe_load(text)["receivers"]["otlp"]["protocols"]["http"]["max_request_body_size"]
        properties = dict(line.split("=", 1) for line in (ROOT / "deploy/fleet/kafka/server.properties").read_text().splitlines()
                          if "=" in line and not line.startswith("#"))
        self.assertLess(accepted, kafka["producer"]["max_message_bytes"])
        self.assertLessEqual(kafka["producer"]["max_message_bytes"], int(properties["message.max.bytes"]))


class Compose(unittest.TestCase):
    def files(self):
        return [(name, yaml.safe_load((ROOT / "deploy/fleet" / name).read_text())) for name in ("compose.yaml", "node.compose.yaml")]

    def test_ports(self):
        """On localhost, except for Kafka's port for the nodes, if the user names an address."""
        for name, compose in self.files():
            for service, settings in compose["services"].items():
                for port in settings.get("ports", []):
                    self.assertRegex(port, r"^(127\.0\.0\.1|\$\{KAFKA_BIND:-127\.0\.0\.1\}):", f"{name}: {service}")

    def test_files_and_secrets(self):
        made = set(os.listdir(self.secrets()))
        for name, compose in self.files():
            for secret, settings in compose["secrets"].items():
                self.assertEqual(settings["file"], f"./secrets/{secret}")
                self.assertIn(secret, made)
            for service, settings in compose["services"].items():
                self.assertRegex(settings["image"], r":\d", f"{name}: {service}")
                self.assertEqual(set(settings.get("secrets", [])) - compose["secrets"].keys(), set())
                for variable, value in settings.get("environment", {}).items():
                    self.assertFalse("PASSWORD" in variable and not value.startswith("/run/secrets/"), f"{name}: {service}: {variable}")
                for volume in settings.get("volumes", []):
                    source = volume.split(":")[0]
                    self.assertTrue((ROOT / "deploy/fleet" / source).exists() if source.startswith(".") else source in compose["volumes"],
                                    f"{name}: {service}: {volume}")

    def test_room_for_the_queue(self):
        """A Collector does not start on a disk without room for its queue."""
        compose = yaml.safe_load((ROOT / "deploy/fleet/node.compose.yaml").read_text())
        pod = next(iter(yaml.safe_load_all((ROOT / "deploy/fleet/kubernetes/node.yaml").read_text().split("---\n")[1])))
        scripts = (compose["services"]["folders"]["command"][2].replace("$$", "$"), pod["spec"]["template"]["spec"]["initContainers"][0]["args"][0])
        with tempfile.TemporaryDirectory() as folder:
            for script in scripts:
                script = script.replace("/queue", folder).replace("chown 10001:10001", "true")
                for queue_bytes, status in ("1000000", 0), (str(1 << 60), 1):
                    done = subprocess.run(["sh", "-c", script], env={"PATH": os.environ["PATH"], "QUEUE_BYTES": queue_bytes}, text=True,
                                          capture_output=True, check=False)
                    self.assertEqual(done.returncode, status, done.stderr)

    def secrets(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        subprocess.run([ROOT / "deploy/fleet/certificates.sh", folder.name], check=True, capture_output=True)
        return folder.name


class Kubernetes(unittest.TestCase):
    """The objects that kustomize makes of deploy/fleet."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        shutil.copytree(ROOT / "deploy/fleet", Path(folder.name, "fleet"), ignore=shutil.ignore_patterns("secrets"))
        subprocess.run([Path(folder.name, "fleet/certificates.sh"), Path(folder.name, "fleet/secrets")], check=True, capture_output=True)
        done = subprocess.run([KUBECTL, "kustomize", Path(folder.name, "fleet")], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.objects = [item for item in yaml.safe_load_all(done.stdout) if item]

    def pods(self):
        return [(item["metadata"], item["spec"]["template"]["spec"]) for item in self.objects
                if item["kind"] in ("DaemonSet", "StatefulSet", "Deployment", "Job")]

    def test_the_files_are_those_of_the_tests(self):
        texts = {key: text for item in self.objects if item["kind"] == "ConfigMap" for key, text in item["data"].items()
                 if key != "collector.yaml"}
        configs = [item["data"]["collector.yaml"] for item in self.objects if item["kind"] == "ConfigMap" and "collector.yaml" in item["data"]]
        for name in "node", "ingester", "sampler":
            self.assertIn((ROOT / f"deploy/fleet/collector/{name}.yaml").read_text(), configs)
        for path in "kafka/server.properties", "kafka/init.sh", "jaeger.yaml", "grafana/dashboards/job.json":
            self.assertEqual(texts[Path(path).name], (ROOT / "deploy/fleet" / path).read_text())

    def test_names(self):
        """Each ConfigMap and Secret that a pod mounts exists in its namespace."""
        there = {(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in self.objects}
        for metadata, spec in self.pods():
            for volume in spec.get("volumes", []):
                for kind, key, name in ("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName"):
                    if key in volume:
                        self.assertIn((kind, metadata["namespace"], volume[key][name]), there)

    def test_no_privileges(self):
        for metadata, spec in self.pods():
            self.assertFalse(spec["automountServiceAccountToken"], metadata)
            for container in spec["containers"]:
                context = {**spec["securityContext"], **container["securityContext"]}
                self.assertTrue(context["runAsNonRoot"], metadata)
                self.assertFalse(context["allowPrivilegeEscalation"], metadata)
                self.assertIn("memory", container["resources"]["limits"])


def main():
    global KUBECTL
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubectl")
    KUBECTL, rest = (lambda found: (found[0].kubectl, found[1]))(parser.parse_known_args())
    if not KUBECTL:
        del globals()["Kubernetes"]
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
