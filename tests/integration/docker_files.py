"""Holds docker/Dockerfile, compose.yaml and .dockerignore against the files that are there and against each other."""

import fnmatch
import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
WRONG = []


def wrong(text):
    WRONG.append(text)


def kept_out(path):
    """Does .dockerignore keep the path from the engine? The last line that matches decides."""
    out = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        pattern = line.lstrip("!").strip("/").replace("**/", "*")
        if fnmatch.fnmatch(path, pattern) or path.startswith(pattern + "/"):
            out = not line.startswith("!")
    return out


def dockerfile():
    text = re.sub(r"\\\n", " ", (ROOT / "docker/Dockerfile").read_text())
    stages = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "FROM":
            if ":" not in words[1] and words[1] not in stages:
                wrong(f"Dockerfile: FROM {words[1]}, which is no stage and has no tag")
            stages.append(words[3])
        if words[0] == "COPY":
            check_copy(words[1:], stages)
    return stages


def check_copy(words, stages):
    if words[0].startswith("--from="):
        if words[0][7:] not in stages:
            wrong(f"Dockerfile: COPY {words[0]}: no such stage")
        return
    for source in words[:-1]:
        path = source.rstrip("/")
        if not (ROOT / path).exists():
            wrong(f"Dockerfile: COPY {source}: no such file")
        if kept_out(path):
            wrong(f"Dockerfile: COPY {source}: .dockerignore keeps it out")


def check_service(name, service, compose, stages):
    build = service.get("build")
    if bool(build) == ("image" in service):
        wrong(f"compose: {name} needs either an image or a build")
    if build and not ((ROOT / "docker" / build["context"] / build["dockerfile"]).is_file() and build["target"] in stages):
        wrong(f"compose: {name}: no such Dockerfile or stage: {build}")
    if "image" in service and ":" not in service["image"]:
        wrong(f"compose: {name}: {service['image']} has no tag")
    for other in service.get("depends_on", []):
        if other not in compose["services"]:
            wrong(f"compose: {name} depends on {other}, which is not there")
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if not ((ROOT / "docker" / source).is_file() if source.startswith(".") else source in compose["volumes"]):
            wrong(f"compose: {name}: no such file or volume: {source}")
    for key, value in service.get("environment", {}).items():
        host = re.match(r"http://([^:/]+)", str(value))
        if host and host[1] not in compose["services"]:
            wrong(f"compose: {name}: {key} names the host {host[1]}, which is no service")


def main():
    stages = dockerfile()
    compose = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
    for name, service in compose["services"].items():
        check_service(name, service, compose, stages)
    if not kept_out("build/cuspan") or not kept_out(".git/config"):
        wrong(".dockerignore lets builds or the repository's history in")
    print("\n".join(WRONG) or f"{len(stages)} stages and {len(compose['services'])} services name nothing that isn't there")
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
