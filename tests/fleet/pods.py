"""Creates one pod of each template in the namespaces cuspan-fleet and cuspan-node, as a controller would, so that the API server
checks it (Pod Security).   pods.py KUBECTL"""

import json
import subprocess
import sys


def main():
    kubectl, made, wrong = sys.argv[1], 0, []
    for namespace in "cuspan-fleet", "cuspan-node":
        # There is no controller that makes the default account.
        subprocess.run([kubectl, "-n", namespace, "create", "serviceaccount", "default"], capture_output=True, check=False)
        found = subprocess.run([kubectl, "-n", namespace, "get", "daemonset,statefulset,deployment,job", "-o", "json"], text=True,
                               capture_output=True, check=True).stdout
        for item in json.loads(found)["items"]:
            template = item["spec"]["template"]
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{item['metadata']['name']}-try", "namespace": namespace,
                                                                  "labels": template["metadata"]["labels"]}, "spec": template["spec"]}
            pod["spec"]["volumes"] = pod["spec"].get("volumes", []) + [
                {"name": claim["metadata"]["name"], "emptyDir": {}} for claim in item["spec"].get("volumeClaimTemplates", [])]
            if item["kind"] == "Job":
                pod["metadata"]["labels"] = {}
            done = subprocess.run([kubectl, "create", "-f", "-"], input=json.dumps(pod), text=True, capture_output=True, check=False)
            if done.returncode or "arning" in done.stderr:
                wrong.append(f"{item['kind']} {item['metadata']['name']}: {done.stderr.strip()}")
            made += 1
    print("".join(f"not ok {line}\n" for line in wrong), end="")
    print(f"{made - len(wrong)} passed, {len(wrong)} failed, 0 skipped")
    return 1 if wrong or not made else 0


if __name__ == "__main__":
    sys.exit(main())
