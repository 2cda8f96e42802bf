#!/usr/bin/env python3
"""The policy and pods: the containers that get the agent, and the changes to them.

    policy_test.py --cluster FOLDER --manifest FILE --delivery image|init --version VERSION
        [--cuspan FILE] --kubectl FILE
"""

import argparse
import copy
import re
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import unittest  # noqa: E402

import cluster as kube  # noqa: E402
from cluster import GPU, IMAGE, LIBRARY, RESTRICTED, container, env_of, is_traced, pod  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = None
CLUSTER = None
MOUNT = {"image": "/cuspan", "init": "/cuspan/opt/cuspan"}
FIELDS = {"POD_NAME": "metadata.name", "POD_UID": "metadata.uid", "POD_NAMESPACE": "metadata.namespace",
          "NODE_NAME": "spec.nodeName"}
ARCHIVE = "/cuspan/opt/cuspan/lib/cuspan/python.zip"
DEFAULT_SET = "protocol=http/protobuf;endpoint=http://cuspan-collector.cuspan.svc:4318"
LABEL = {"cuspan.io/inject": "true"}


def setUpModule():
    CLUSTER.namespace("labeled", "true")
    CLUSTER.namespace("plain")
    CLUSTER.namespace("excluded", "false")
    CLUSTER.namespace("strict", "true", {"pod-security.kubernetes.io/enforce": "restricted"})
    CLUSTER.namespace("quota", "true")
    enforce_quota("quota", {"requests.cpu": "10", "requests.memory": "10Gi", "limits.cpu": "10", "limits.memory": "10Gi"})
    CLUSTER.namespace("cuspan")  # a dry run does not create the namespace that the other objects need
    text = OPTIONS.manifest.read_text().replace("REGISTRY/cuspan:", f"{IMAGE}:")
    CLUSTER.run(OPTIONS.kubectl, "apply", "--server-side", "--dry-run=server", "-f", "-", input=text)
    CLUSTER.run(OPTIONS.kubectl, "apply", "--server-side", "-f", "-", input=text)
    key = "image" if OPTIONS.delivery == "image" else "emptyDir"
    kube.patiently(lambda: any(key in volume for volume in CLUSTER.pod("labeled", pod(container(gpu=GPU)))["spec"].get(
        "volumes", []) if volume["name"] == "cuspan-agent"))


def enforce_quota(namespace, hard):
    """The status is the work of a controller, and the server enforces what the status says."""
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    quota = CLUSTER.create(path, {"metadata": {"name": "all"}, "spec": {"hard": hard}})
    if quota:
        quota["status"] = {"hard": hard, "used": dict.fromkeys(hard, "0")}
        CLUSTER.request("PUT", f"{path}/all/status", quota)


class Policy(unittest.TestCase):
    def admit(self, body, namespace="labeled"):
        return CLUSTER.pod(namespace, body)["spec"]

    def traced(self, body, namespace="labeled"):
        """The names of the pod's containers with the agent; everything that the agent needs must be there."""
        spec = self.admit(body, namespace)
        containers = spec["containers"] + spec.get("initContainers", [])
        names = [item["name"] for item in containers if is_traced(item)]
        for item in containers:
            self.assertEqual(item["name"] in names, self.mounts(item, readOnly=True), item)
        volumes = [volume for volume in spec.get("volumes", []) if volume["name"] == "cuspan-agent"]
        copies = [item for item in spec.get("initContainers", []) if item["name"] == "cuspan-agent"]
        self.assertEqual(len(volumes), 1 if names else 0)
        self.assertEqual(len(copies), 1 if names and OPTIONS.delivery == "init" else 0)
        if copies:
            self.assertEqual(spec["initContainers"][0]["name"], "cuspan-agent")
        return names

    def mounts(self, item, **fields):
        return {"name": "cuspan-agent", "mountPath": MOUNT[OPTIONS.delivery], **fields} in item.get("volumeMounts", [])

    def env(self, body, **fields):
        return env_of(self.admit(body, **fields)["containers"][0])

    # ---- Which containers

    def test_asks_for_a_gpu(self):
        self.assertEqual(self.traced(pod(container(gpu=GPU))), ["app"])

    def test_asks_for_a_gpu_by_request_and_limit(self):
        resources = {"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 2, "cpu": "1"}}
        self.assertEqual(self.traced(pod(container(resources=resources))), ["app"])
        with self.assertRaisesRegex(kube.Refused, "Limit must be set"):  # so that the policy need not read requests
            self.admit(pod(container(resources={"requests": GPU})))

    def test_asks_for_a_part_of_a_gpu(self):
        for name in "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb", "nvidia.com/gpu.shared":
            self.assertEqual(self.traced(pod(container(gpu={name: "1"}))), ["app"], name)

    def test_has_a_resource_claim(self):
        body = pod(container(resources={"claims": [{"name": "gpu"}]}), container("other"),
                   resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}])
        self.assertEqual(self.traced(body), ["app"])

    def test_only_those_with_a_gpu(self):
        body = pod(container("proxy", env=[{"name": "A", "value": "1"}]), container(gpu=GPU),
                   container("logs", gpu={"cpu": "1"}), container("second", gpu=GPU))
        self.assertEqual(self.traced(body), ["app", "second"])

    def test_named_by_the_annotation(self):
        body = pod(container("proxy"), container("worker"), container(gpu=GPU),
                   annotations={"cuspan.io/containers": "missing, worker"})
        self.assertEqual(self.traced(body), ["worker", "app"])

    def test_init_containers_and_sidecars(self):
        body = pod(container(gpu=GPU), initContainers=[
            container("prepare"), container("warm", gpu=GPU), container("side", gpu=GPU, restartPolicy="Always")])
        self.assertEqual(self.traced(body), ["app", "warm", "side"])
        names = [item["name"] for item in self.admit(body)["initContainers"]]
        self.assertEqual(names[-3:], ["prepare", "warm", "side"])

    def test_labeled_pod(self):
        self.assertEqual(self.traced(pod(container(gpu=GPU), labels=LABEL), "plain"), ["app"])

    def test_many_containers(self):
        body = pod(*[container(f"c{i}", gpu=GPU, env=[{"name": f"V{j}", "value": "x"} for j in range(50)])
                     for i in range(40)])
        self.assertEqual(len(self.traced(body)), 40)

    # ---- Which not

    def unchanged(self, body, namespace="labeled"):
        without = copy.deepcopy(body)
        without["metadata"]["labels"]["cuspan.io/inject"] = "false"
        self.assertEqual(self.admit(body, namespace), self.admit(without, namespace))

    def test_without_gpu(self):
        self.unchanged(pod(container(), container("other", gpu={"cpu": "1", "example.com/gpu": "1"})))

    def test_none_of_a_gpu(self):
        self.unchanged(pod(container(gpu={"nvidia.com/gpu": "0"})))
        self.unchanged(pod(container(gpu={"nvidia.com/gpu": 0})))

    def test_namespace_and_pod_without_label(self):
        self.unchanged(pod(container(gpu=GPU)), "plain")

    def test_pod_opted_out(self):
        self.assertEqual(self.traced(pod(container(gpu=GPU), labels={"cuspan.io/inject": "false"})), [])

    def test_namespace_opted_out(self):
        self.unchanged(pod(container(gpu=GPU), labels=LABEL), "excluded")

    def test_other_values_of_the_label(self):
        self.unchanged(pod(container(gpu=GPU), labels={"cuspan.io/inject": "yes"}), "plain")

    def test_another_injection(self):
        own = [{"name": "CUDA_INJECTION64_PATH", "value": "/opt/nsight/libToolsInjection64.so"}]
        self.unchanged(pod(container(gpu=GPU, env=own)))
        spec = self.admit(pod(container(gpu=GPU, env=own), container("second", gpu=GPU)))
        self.assertEqual(env_of(spec["containers"][0]), {own[0]["name"]: own[0]})
        self.assertTrue(is_traced(spec["containers"][1]))

    def test_its_path_is_taken(self):
        mine = [{"name": "mine", "mountPath": MOUNT[OPTIONS.delivery]}]
        self.unchanged(pod(container(gpu=GPU, volumeMounts=mine), volumes=[{"name": "mine", "emptyDir": {}}]))

    def test_windows(self):
        self.unchanged(pod(container(gpu=GPU), os={"name": "windows"}))

    def test_static_pods(self):
        annotations = {"kubernetes.io/config.mirror": "x"}
        body = pod(container(gpu=GPU), annotations=annotations, nodeName="node")
        self.unchanged(body)

    def test_templates(self):
        template = pod(container(gpu=GPU), labels={"app": "a", **LABEL})
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
            "selector": {"matchLabels": {"app": "a"}}, "template": {k: template[k] for k in ("metadata", "spec")}}}
        made = CLUSTER.request("POST", "/apis/apps/v1/namespaces/labeled/deployments?dryRun=All", body)
        self.assertNotIn("env", made["spec"]["template"]["spec"]["containers"][0])
        self.assertNotIn("volumes", made["spec"]["template"]["spec"])

    def test_ephemeral_containers(self):
        CLUSTER.pod("labeled", pod(container(gpu=GPU), name="debugged"), dry=False)
        try:
            patch = {"spec": {"ephemeralContainers": [container("debug", targetContainerName="app")]}}
            path = "/api/v1/namespaces/labeled/pods/debugged"
            made = CLUSTER.request("PATCH", path + "/ephemeralcontainers", patch, "application/strategic-merge-patch+json")
            self.assertNotIn("env", made["spec"]["ephemeralContainers"][0])
            self.assertTrue(is_traced(made["spec"]["containers"][0]))
            changed = CLUSTER.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")
            self.assertEqual(changed["spec"], made["spec"])
        finally:
            CLUSTER.request("DELETE", path + "?gracePeriodSeconds=0")

    # ---- The changes

    def test_variables(self):
        env = self.env(pod(container(gpu=GPU)))
        self.assertEqual(env["CUDA_INJECTION64_PATH"]["value"], LIBRARY)
        self.assertEqual(env["NVTX_INJECTION64_PATH"]["value"], LIBRARY)
        self.assertEqual(env["NCCL_PROFILER_PLUGIN"]["value"], LIBRARY)
        self.assertEqual({name: env[name]["valueFrom"]["fieldRef"]["fieldPath"] for name in FIELDS}, FIELDS)
        self.assertEqual(env["K8S_CONTAINER_NAME"]["value"], "app")
        self.assertEqual(env["CUSPAN_SET"]["value"], DEFAULT_SET)
        self.assertEqual(len(env), 9)

    def python_path(self, *own, **annotations):
        """The variable PYTHONPATH of a container with these variables."""
        annotations = {f"cuspan.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
        env = self.env(pod(container(gpu=GPU, env=[{"name": "FIRST", "value": "1"}, *own]), annotations=annotations))
        self.assertEqual(env["CUDA_INJECTION64_PATH"]["value"], LIBRARY)
        return env.get("PYTHONPATH")

    def test_python_path(self):
        own = {"name": "PYTHONPATH", "value": "/app:$(HOME)/lib"}
        longer = {"name": "PYTHONPATH", "value": f"{ARCHIVE}:/app:$(HOME)/lib"}
        self.assertIsNone(self.python_path())
        self.assertEqual(self.python_path(own), longer)
        self.assertEqual(self.python_path(own, python_path="always"), longer)
        self.assertEqual(self.python_path(python_path="always"), {"name": "PYTHONPATH", "value": ARCHIVE})
        self.assertIsNone(self.python_path(python_path="never"))
        self.assertEqual(self.python_path(own, python_path="never"), own)
        self.assertEqual(self.python_path(longer), longer)
        for other in "", "yes":
            self.assertEqual(self.python_path(own, python_path=other), own)

    def test_python_path_from_elsewhere(self):
        own = {"name": "PYTHONPATH", "valueFrom": {"configMapKeyRef": {"name": "paths", "key": "python"}}}
        for value in "auto", "always":
            self.assertEqual(self.python_path(own, python_path=value), own)

    def test_python_path_of_several_containers(self):
        own = [{"name": "A", "value": "1"}, {"name": "PYTHONPATH", "value": "/app"}]
        spec = self.admit(pod(container(gpu=GPU), container("second", gpu=GPU, env=own), container("third", env=own)))
        first, second, third = (env_of(item).get("PYTHONPATH", {}).get("value") for item in spec["containers"])
        self.assertEqual((first, second, third), (None, f"{ARCHIVE}:/app", "/app"))

    def test_keeps_what_is_there(self):
        env = [{"name": "A", "value": "1"}, {"name": "POD_NAME", "value": "mine"},
               {"name": "NVTX_INJECTION64_PATH", "value": "/other.so"},
               {"name": "NCCL_PROFILER_PLUGIN", "value": "inspector"},
               {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
        mounts = [{"name": "data", "mountPath": "/data"}]
        body = pod(container(gpu=GPU, env=env, volumeMounts=mounts, envFrom=[{"configMapRef": {"name": "c"}}]),
                   volumes=[{"name": "data", "emptyDir": {}}], initContainers=[container("prepare", env=env)],
                   automountServiceAccountToken=True)
        plain, spec = self.admit(body, "plain"), self.admit(body)
        app = spec["containers"][0]
        self.assertEqual(app["env"][:len(env)], env)
        self.assertEqual(len(env_of(app)), len(app["env"]))
        added = [item for item in app["env"] if item not in env]
        self.assertEqual({item["name"] for item in added},
                         {"CUDA_INJECTION64_PATH", "POD_UID", "POD_NAMESPACE", "NODE_NAME", "K8S_CONTAINER_NAME",
                          "CUSPAN_SET"})
        # Without what was added, the pod is the same.
        app["env"] = env
        for item in [app, *spec["initContainers"]]:
            item["volumeMounts"] = [m for m in item["volumeMounts"] if m["name"] != "cuspan-agent"]
        spec["volumes"] = [v for v in spec["volumes"] if v["name"] != "cuspan-agent"]
        spec["initContainers"] = [c for c in spec["initContainers"] if c["name"] != "cuspan-agent"]
        names = {v["name"]: "token" for s in (plain, spec) for v in s["volumes"] if v["name"].startswith("kube-api")}
        self.assertEqual(renamed(spec, names), renamed(plain, names))

    def test_endpoint_and_service_name(self):
        annotations = {"cuspan.io/endpoint": "http://gateway:4318", "cuspan.io/service-name": "trainer",
                       "cuspan.io/set": "detail=graph-nodes"}
        env = self.env(pod(container(gpu=GPU), annotations=annotations))
        self.assertEqual(env["CUSPAN_SET"]["value"], "protocol=http/protobuf;endpoint=http://gateway:4318;"
                                                     "service_name=trainer;detail=graph-nodes")

    def test_the_agent_accepts_the_settings(self):
        if not OPTIONS.cuspan:
            self.skipTest("cuspan is not built")
        annotations = {"cuspan.io/endpoint": "http://gateway:4318", "cuspan.io/service-name": "trainer",
                       "cuspan.io/set": "detail=graph-nodes"}
        for body, expected in (pod(container(gpu=GPU)), ["http://cuspan-collector.cuspan.svc:4318/v1/traces"]), \
                (pod(container(gpu=GPU), annotations=annotations), ["http://gateway:4318/v1/traces", "trainer",
                                                                    "graph-nodes"]):
            env = {"CUSPAN_SET": self.env(body)["CUSPAN_SET"]["value"], "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
            done = subprocess.run([OPTIONS.cuspan, "check"], env=env, text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            for text in expected:
                self.assertIn(text, done.stdout)

    def test_a_container_with_an_endpoint(self):
        for name in "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "CUSPAN_CONFIG_FILE", \
                "OTEL_CONFIG_FILE":
            own = [{"name": name, "value": "http://mine:4318"}]
            env = self.env(pod(container(gpu=GPU, env=own)))
            self.assertNotIn("CUSPAN_SET", env)
            self.assertEqual(env[name], own[0])
            env = self.env(pod(container(gpu=GPU, env=own), annotations={"cuspan.io/service-name": "trainer"}))
            self.assertEqual(env["CUSPAN_SET"]["value"], "service_name=trainer")
            env = self.env(pod(container(gpu=GPU, env=own), annotations={"cuspan.io/endpoint": "http://gateway:4318"}))
            self.assertEqual(env["CUSPAN_SET"]["value"], "protocol=http/protobuf;endpoint=http://gateway:4318")

    def test_a_container_with_settings(self):
        own = [{"name": "CUSPAN_SET", "value": "output_file=/tmp/trace"}]
        env = self.env(pod(container(gpu=GPU, env=own), annotations={"cuspan.io/endpoint": "http://gateway:4318"}))
        self.assertEqual(env["CUSPAN_SET"], own[0])

    def test_image(self):
        spec = self.admit(pod(container(gpu=GPU)))
        volume = next(item for item in spec["volumes"] if item["name"] == "cuspan-agent")
        image = f"{IMAGE}:{OPTIONS.version}"
        if OPTIONS.delivery == "image":
            self.assertEqual(volume["image"], {"reference": image, "pullPolicy": "IfNotPresent"})
            self.assertNotIn("initContainers", spec)
            return
        self.assertEqual(volume, {"name": "cuspan-agent", "emptyDir": {}})
        copies = spec["initContainers"][0]
        self.assertEqual(copies["image"], image)
        self.assertNotIn("command", copies)
        self.assertIn({"name": "cuspan-agent", "mountPath": "/cuspan"}, copies["volumeMounts"])
        self.assertEqual(copies["securityContext"], {**RESTRICTED, "readOnlyRootFilesystem": True, "runAsUser": 65532})
        self.assertEqual(set(copies["resources"]), {"requests", "limits"})

    # ---- In the cluster

    def test_pod_security(self):
        body = pod(container(gpu=GPU, securityContext=RESTRICTED))
        self.assertEqual(self.traced(body, "strict"), ["app"])
        with self.assertRaises(kube.Refused):  # the namespace does enforce it
            self.admit(pod(container(gpu=GPU)), "strict")

    def test_quota(self):
        resources = {"cpu": "1", "memory": "1Gi"}
        self.assertEqual(self.traced(pod(container(gpu={**resources, **GPU})), "quota"), ["app"])
        with self.assertRaises(kube.Refused):  # a container without requests is refused there
            self.admit(pod(container(gpu=GPU)), "quota")

    def test_twice(self):
        body = pod(container(gpu=GPU), container("second"), initContainers=[container("warm", gpu=GPU)])
        once = self.admit(body)
        self.assertEqual(self.admit({**body, "spec": once}), once)

    def test_a_container_added_later(self):
        """Another webhook can do this, and the policy is invoked again."""
        spec = self.admit(pod(container(gpu=GPU)))
        spec["containers"].append(container("late", gpu=GPU))
        self.assertEqual(self.traced(pod(*spec.pop("containers"), **spec)), ["app", "late"])

    def test_really_created(self):
        made = CLUSTER.pod("labeled", pod(container(gpu=GPU), name="kept"), dry=False)
        try:
            stored = CLUSTER.request("GET", "/api/v1/namespaces/labeled/pods/kept")
            self.assertEqual(stored["spec"], made["spec"])
            self.assertTrue(is_traced(stored["spec"]["containers"][0]))
        finally:
            CLUSTER.request("DELETE", "/api/v1/namespaces/labeled/pods/kept?gracePeriodSeconds=0")


class Documents(unittest.TestCase):
    def test_the_commands_for_serving_engines(self):
        """The commands of docs/engines.md, and then the pod that the deployment's controller would create."""
        text = (ROOT / "docs/engines.md").read_text()
        commands, = [block for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if block.startswith("kubectl ")]
        CLUSTER.namespace("serving")
        labels = {"app": "llm"}
        vllm = {"name": "llm", "image": "vllm/vllm-openai", "args": ["--model", "meta-llama/Llama-3.1-8B-Instruct"], "resources": {"limits": GPU}}
        CLUSTER.create("/apis/apps/v1/namespaces/serving/deployments", {
            "metadata": {"name": "llm"}, "spec": {"selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [vllm], "automountServiceAccountToken": False}}}})
        CLUSTER.run("bash", "-ec", f'kubectl() {{ "$KUBECTL" "$@"; }}\n{commands}', KUBECTL=OPTIONS.kubectl)
        template = CLUSTER.request("GET", "/apis/apps/v1/namespaces/serving/deployments/llm")["spec"]["template"]
        body = {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {**template["metadata"], "name": "llm"}}

        def admitted():
            return CLUSTER.pod("serving", body)["spec"]["containers"][0]
        kube.patiently(lambda: is_traced(admitted()))
        self.assertEqual(env_of(admitted())["PYTHONPATH"]["value"], ARCHIVE)


def renamed(value, names):
    """The same with other names: those of the token's volumes are random."""
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def main():
    global OPTIONS, CLUSTER
    parser = argparse.ArgumentParser()
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--kubectl", required=True)
    parser.add_argument("--manifest", required=True, type=Path)
    parser.add_argument("--delivery", required=True, choices=["image", "init"])
    parser.add_argument("--version", required=True)
    parser.add_argument("--cuspan", help="the command, to check the settings")
    OPTIONS = parser.parse_args()
    CLUSTER = kube.Cluster(OPTIONS.cluster)
    return kube.main(sys.modules["__main__"])


if __name__ == "__main__":
    sys.exit(main())
