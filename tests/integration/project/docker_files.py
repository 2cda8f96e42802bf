"""Checks the Dockerfiles, the compose files and .dockerignore against the existing files and against each other."""

import fnmatch
import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
COMPOSE_FILES = ("docker/compose.yaml", "examples/service/compose.yaml")
DOCKERFILES = ("docker/Dockerfile", "docker/cupti.Dockerfile", "docker/demo.Dockerfile", "docker/demo-gpu.Dockerfile")
MADE = "build/release/"  # by tools/release.sh
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


def stages_of(dockerfile):
    text = re.sub(r"\\\n", " ", (ROOT / dockerfile).read_text())
    stages = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "FROM":
            if ":" not in words[1] and words[1] not in [*stages, "scratch", "${AGENT}"]:
                wrong(f"{dockerfile}: FROM {words[1]}, which is no stage and has no tag")
            stages.append(words[3] if "AS" in words else "")
        if words[0] == "COPY":
            check_copy(dockerfile, words[1:], stages)
    return stages


def check_copy(dockerfile, words, stages):
    if words[0].startswith("--from="):
        if words[0][7:] not in stages:
            wrong(f"{dockerfile}: COPY {words[0]}: no such stage")
        return
    for source in words[:-1]:
        if source.startswith(MADE):
            for architecture in ("amd64", "arm64"):
                path = source.replace("${TARGETARCH}", architecture) + "file"
                if kept_out(path):
                    wrong(f"{dockerfile}: COPY {source}: .dockerignore keeps {path} out")
            continue
        paths = [str(path.relative_to(ROOT)) for path in ROOT.glob(source.rstrip("/"))]
        if not paths:
            wrong(f"{dockerfile}: COPY {source}: no such file")
        for path in paths:
            if kept_out(path):
                wrong(f"{dockerfile}: COPY {source}: .dockerignore keeps {path} out")


def check_build(where, build, stages):
    path = ((ROOT / where).parent / build["context"] / build["dockerfile"]).resolve()
    name = str(path.relative_to(ROOT))
    if name not in stages and path.is_file():
        stages[name] = stages_of(name)
    if build["target"] not in stages.get(name, []):
        wrong(f"{where}: no such Dockerfile or stage: {build}")


def check_service(where, name, service, compose, stages):
    build = service.get("build")
    if bool(build) == ("image" in service):
        wrong(f"{where}: {name} needs either an image or a build")
    if build:
        check_build(where, build, stages)
    if "image" in service and ":" not in service["image"]:
        wrong(f"{where}: {name}: {service['image']} has no tag")
    network = service.get("network_mode", "").removeprefix("service:")
    if network and network not in compose["services"]:
        wrong(f"{where}: {name} shares the network of {network}, which is not there")
    for other in service.get("depends_on", []):
        if other not in compose["services"]:
            wrong(f"{where}: {name} depends on {other}, which is not there")
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if not (((ROOT / where).parent / source).is_file() if source.startswith(".") else source in compose["volumes"]):
            wrong(f"{where}: {name}: no such file or volume: {source}")
    for text in [*map(str, service.get("environment", {}).values()), *service.get("command", [])]:
        host = re.match(r"http://([^:/]+)", text)
        if host and host[1] == "localhost" and service.get("network_mode", "").startswith("service:"):
            continue
        if host and host[1] not in compose["services"]:
            wrong(f"{where}: {name}: {text} names the host {host[1]}, which is no service")


def main():
    stages, services = {name: stages_of(name) for name in DOCKERFILES}, 0
    for where in COMPOSE_FILES:
        compose = yaml.safe_load((ROOT / where).read_text())
        services += len(compose["services"])
        for name, service in compose["services"].items():
            check_service(where, name, service, compose, stages)
    if not kept_out("build/cuspan") or not kept_out(".git/config"):
        wrong(".dockerignore lets builds or the repository's history in")
    count = sum(map(len, stages.values()))
    print("\n".join(WRONG) or f"{count} stages and {services} services name nothing that isn't there")
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
