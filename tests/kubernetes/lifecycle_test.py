#!/usr/bin/env python3
"""Applying, upgrading, breaking and removing the manifests and the chart.

    lifecycle_test.py --cluster FOLDER --kubectl FILE --helm FILE --manifest FILE --chart FOLDER --version VERSION
        [--delivery DELIVERY]
"""

import argparse
import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import unittest  # noqa: E402

import cluster as kube  # noqa: E402
from cluster import GPU, IMAGE, Refused, container, is_traced, patiently, pod  # noqa: E402

OPTIONS = None
CLUSTER = None
NAMESPACE = "training"
ADD_CONTAINER = """[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{
    name: "late", image: "registry.example.com/late", resources: Object.spec.containers.resources{
        limits: {"nvidia.com/gpu": "1"}}}}]"""


def setUpModule():
    CLUSTER.namespace(NAMESPACE, "true")
    CLUSTER.namespace("ordinary")


def image_of(spec):
    """The image that brings the agent."""
    images = [volume["image"]["reference"] for volume in spec.get("volumes", []) if "image" in volume]
    return (images + [item["image"] for item in spec.get("initContainers", [])] + [None])[0]


class Lifecycle(unittest.TestCase):
    def manifest(self, image=f"{IMAGE}:", **replaced):
        text = OPTIONS.manifest.read_text().replace("REGISTRY/cuspan:", image)
        for old, new in replaced.pop("edits", []):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def apply(self, *arguments, **options):
        CLUSTER.run(OPTIONS.kubectl, "apply", "--server-side", *arguments, "-f", "-", input=self.manifest(**options))

    def remove(self):
        CLUSTER.run(OPTIONS.kubectl, "delete", "--wait=false", "--ignore-not-found", "-f", "-", input=self.manifest())
        self.until("untraced")
        self.finish_namespaces()

    def finish_namespaces(self):
        """The work of the namespace controller, which does not run here."""
        for item in CLUSTER.request("GET", "/api/v1/namespaces")["items"]:
            if item["status"]["phase"] == "Terminating":
                item["spec"]["finalizers"] = []
                CLUSTER.request("PUT", f"/api/v1/namespaces/{item['metadata']['name']}/finalize", item)

    def left_over(self):
        """Every object with cuspan's label, of every kind that can be listed."""
        kinds = CLUSTER.run(OPTIONS.kubectl, "api-resources", "--verbs=list", "-o", "name").split()
        found = CLUSTER.run(OPTIONS.kubectl, "get", ",".join(kinds), "--all-namespaces", "-o", "json",
                            "-l", "app.kubernetes.io/part-of=cuspan")
        return [(item["kind"], item["metadata"]["name"]) for item in json.loads(found)["items"]]

    def admit(self, namespace=NAMESPACE, resources=None, **fields):
        return CLUSTER.pod(namespace, pod(container(gpu=resources or GPU, **fields)))["spec"]

    def until(self, expected):
        """Until new pods are traced, untraced or refused."""
        def state():
            try:
                return "traced" if is_traced(self.admit()["containers"][0]) else "untraced"
            except Refused:
                return "refused"
        patiently(lambda: state() == expected)

    def tearDown(self):
        self.remove()
        self.assertEqual(self.left_over(), [])

    def test_dry_run_changes_nothing(self):
        self.apply("--dry-run=server", edits=[("namespace: cuspan", "namespace: ordinary")])
        self.assertEqual(self.left_over(), [])
        self.until("untraced")

    def test_apply_again_and_remove(self):
        self.apply()
        self.until("traced")
        self.assertGreater(len(self.left_over()), 6)
        before = self.left_over()
        self.apply()
        self.assertEqual(self.left_over(), before)
        self.remove()
        self.assertEqual(self.left_over(), [])
        self.assertIsNone(image_of(self.admit()))

    def test_upgrade(self):
        self.apply()
        self.until("traced")
        CLUSTER.pod(NAMESPACE, pod(container(gpu=GPU), name="running"), dry=False)
        try:
            self.apply(edits=[(f"cuspan:{OPTIONS.version}", "cuspan:99.0.0")])
            patiently(lambda: image_of(self.admit()) == f"{IMAGE}:99.0.0")
            running = CLUSTER.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/running")
            self.assertEqual(image_of(running["spec"]), f"{IMAGE}:{OPTIONS.version}")
        finally:
            CLUSTER.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/running?gracePeriodSeconds=0")

    def test_placeholder(self):
        """Without an image, pods could not start: the policy leaves them alone."""
        self.apply()
        self.until("traced")
        self.apply(image="REGISTRY/cuspan:")
        self.until("untraced")
        self.apply(image="localhost:5000/cuspan:")
        patiently(lambda: image_of(self.admit()) == f"localhost:5000/cuspan:{OPTIONS.version}")

    def test_broken_expression_blocks_no_pod(self):
        broken = ("variables.toPatch.filter(t, size(t.settings) > 0)", "object.spec.missing.filter(t, size(t.settings) > 0)")
        self.apply()
        self.until("traced")
        self.apply(edits=[broken])
        self.until("untraced")
        self.assertEqual(self.admit(), self.admit("ordinary"))  # completely unchanged, not half of it
        # With failurePolicy Fail the same error refuses pods, so the above says something.
        self.apply(edits=[broken, ("failurePolicy: Ignore", "failurePolicy: Fail")])
        self.until("refused")
        self.apply()
        self.until("traced")

    def test_misspelled_expression_is_not_applied(self):
        self.apply()
        self.until("traced")
        with self.assertRaisesRegex(AssertionError, "compilation failed"):
            self.apply(edits=[("variables.toPatch.map(t,", "variables.toPatch.mapp(t,")])
        self.until("traced")

    def test_turned_off_for_a_namespace(self):
        self.apply()
        self.until("traced")
        self.label(None)
        try:
            self.until("untraced")
        finally:
            self.label("true")
        self.until("traced")

    def label(self, value):
        CLUSTER.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"labels": {"cuspan.io/inject": value}}},
                        "application/merge-patch+json")

    def test_turned_off_by_removing_the_bindings(self):
        self.apply()
        self.until("traced")
        CLUSTER.run(OPTIONS.kubectl, "delete", "mutatingadmissionpolicybinding", "-l", "app.kubernetes.io/name=cuspan")
        self.until("untraced")

    def test_collector(self):
        self.apply()
        path = "/namespaces/cuspan/"
        service = CLUSTER.request("GET", "/api/v1" + path + "services/cuspan-collector")["spec"]
        self.assertEqual(service["internalTrafficPolicy"], "Local")
        template = CLUSTER.request("GET", "/apis/apps/v1" + path + "daemonsets/cuspan-collector")["spec"]["template"]
        self.assertLessEqual(service["selector"].items(), template["metadata"]["labels"].items())
        ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
        self.assertLessEqual({port["targetPort"] for port in service["ports"]}, ports)
        # Its pod is admitted in a namespace that enforces "restricted", and has no token.
        self.assertEqual(CLUSTER.request("GET", "/api/v1/namespaces/cuspan")["metadata"]["labels"][
            "pod-security.kubernetes.io/enforce"], "restricted")
        made = CLUSTER.pod("cuspan", {"metadata": {"name": "collector", "labels": template["metadata"]["labels"]},
                                      "spec": template["spec"]})
        self.assertEqual([v["name"] for v in made["spec"]["volumes"] if "projected" in v], [])
        for item in made["spec"]["containers"] + made["spec"]["initContainers"]:
            self.assertTrue(item["securityContext"]["readOnlyRootFilesystem"], item["name"])
            self.assertIn("memory", item["resources"]["limits"])
        with self.assertRaises(Refused):
            CLUSTER.pod("cuspan", pod(container()))

    def test_another_policy_adds_a_container(self):
        """This policy is then invoked again."""
        self.apply()
        self.until("traced")
        path = "/apis/" + self.manifest().split("kind: MutatingAdmissionPolicy\n")[0].rsplit("apiVersion: ", 1)[1].strip()
        policy = {"apiVersion": path.removeprefix("/apis/"), "kind": "MutatingAdmissionPolicy",
                  "metadata": {"name": "zz-adds"}, "spec": {
                      "reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [
                          {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
                      "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": ADD_CONTAINER}}]}}
        binding = {"apiVersion": policy["apiVersion"], "kind": "MutatingAdmissionPolicyBinding",
                   "metadata": {"name": "zz-adds"}, "spec": {"policyName": "zz-adds"}}
        CLUSTER.request("POST", path + "/mutatingadmissionpolicies", policy)
        CLUSTER.request("POST", path + "/mutatingadmissionpolicybindings", binding)
        try:
            patiently(lambda: len(self.admit()["containers"]) == 2)
            self.assertEqual([is_traced(item) for item in self.admit()["containers"]], [True, True])
        finally:
            CLUSTER.request("DELETE", path + "/mutatingadmissionpolicybindings/zz-adds")
            CLUSTER.request("DELETE", path + "/mutatingadmissionpolicies/zz-adds")
        patiently(lambda: len(self.admit()["containers"]) == 1)

    # ---- Helm

    def helm(self, *arguments):
        return CLUSTER.run(OPTIONS.helm, *arguments)

    def test_helm(self):
        values = ["--set", f"image.repository={IMAGE}", "--set", f"inject.delivery={OPTIONS.delivery}", "--set",
                  "collector.exporter.endpoint=http://jaeger:4318"]
        self.helm("install", "cuspan", OPTIONS.chart, "--namespace", "cuspan", "--create-namespace", *values)
        try:
            self.until("traced")
            self.assertEqual(image_of(self.admit()), f"{IMAGE}:{OPTIONS.version}")
            self.helm("upgrade", "cuspan", OPTIONS.chart, "--namespace", "cuspan", "--reset-then-reuse-values",
                      "--set", "image.tag=99.0.0", "--set", "collector.k8sAttributes=true",
                      "--set", "collector.networkPolicy=true")
            patiently(lambda: image_of(self.admit()) == f"{IMAGE}:99.0.0")
            self.assertIn(("NetworkPolicy", "cuspan-collector"), self.left_over())
            self.assertIn(("ClusterRole", "cuspan-collector"), self.left_over())
            self.helm("upgrade", "cuspan", OPTIONS.chart, "--namespace", "cuspan", *values, "--set", "inject.enabled=false")
            self.until("untraced")
            self.helm("rollback", "cuspan", "1", "--namespace", "cuspan")
            self.until("traced")
        finally:
            self.helm("uninstall", "cuspan", "--namespace", "cuspan")
        self.until("untraced")
        self.assertEqual(self.left_over(), [])
        CLUSTER.run(OPTIONS.kubectl, "delete", "namespace", "cuspan", "--wait=false")

    def test_two_releases(self):
        """Two policies: each container gets the agent once, from either."""
        other = {"example.com/gpu": "1"}
        self.apply()
        self.until("traced")
        self.helm("install", "second", OPTIONS.chart, "--namespace", "second", "--create-namespace",
                  "--set", "image.repository=registry.example.com/second", "--set", "collector.enabled=false",
                  "--set", f"inject.delivery={OPTIONS.delivery}", "--set", r"inject.resources=^(nvidia|example)\.com/gpu$")
        try:
            # Only the second treats this resource, so both are in effect then.
            patiently(lambda: is_traced(self.admit(resources=other)["containers"][0]))
            spec = self.admit(resources={**GPU, **other})
            names = [item["name"] for item in spec["containers"][0]["env"]]
            self.assertEqual(len(names), len(set(names)))
            self.assertEqual(len(spec["containers"][0]["volumeMounts"]), 1)
            self.assertEqual([v["name"] for v in spec["volumes"]], ["cuspan-agent"])
        finally:
            self.helm("uninstall", "second", "--namespace", "second")
            CLUSTER.run(OPTIONS.kubectl, "delete", "namespace", "second", "--wait=false")


def main():
    global OPTIONS, CLUSTER
    parser = argparse.ArgumentParser()
    for name in "cluster", "kubectl", "helm", "chart", "version":
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--delivery", default="auto", help="for Helm, which does not see an emulated version")
    parser.add_argument("--manifest", required=True, type=Path)
    OPTIONS = parser.parse_args()
    CLUSTER = kube.Cluster(OPTIONS.cluster)
    return kube.main(sys.modules["__main__"])


if __name__ == "__main__":
    sys.exit(main())
