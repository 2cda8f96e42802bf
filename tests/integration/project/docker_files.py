"""Checks the Dockerfiles, the compose files and .dockerignore against the existing files and against each other."""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
COMPOSE_FILES = ("docker/compose.yaml", "examples/service/compose.yaml")
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
            if ":" not in words[1] and words[1] not in stages:
                wrong(f"{dockerfile}: FROM {words[1]}, which is no stage and has no tag")
            stages.append(words[3])
        if words[0] == "COPY":
            check_copy(dockerfile, words[1:], stages)
    return stages


def check_copy(dockerfile, words, stages):
    if words[0].startswith("--from="):
        if words[0][7:] not in stages:
            wrong(f"{dockerfile}: COPY {words[0]}: no such stage")
        return
    for source in words[:-1]:
        paths = [str(path.relative_to(ROOT)) for path in ROOT.glob(source.rstrip("/"))]
        if not paths:
            wrong(f"{dockerfile}: COPY {source}: no such file")
        for path in paths:
            if kept_out(path):
                wrong(f"{dockerfile}: COPY {source}: .dockerignore keeps {path} out")


def copies_before(dockerfile, stage, command):
    """The sources that the stage copies from the context up to the RUN line with the command."""
    text = re.sub(r"\\\n", " ", (ROOT / dockerfile).read_text())
    sources, current = [], None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["FROM"]:
            current = words[3]
        elif current == stage and words[:1] == ["COPY"] and not words[1].startswith("--"):
            sources += words[1:-1]
        elif current == stage and words[:1] == ["RUN"] and command in line:
            return sources
    wrong(f"{dockerfile}: stage {stage} has no RUN with {command}")
    return []


def copy_context(sources, tree):
    """Copies what the engine would find below the sources."""
    for source in sources:
        for top in ROOT.glob(source.rstrip("/")):
            for path in [top] if top.is_file() else top.rglob("*"):
                name = str(path.relative_to(ROOT))
                if path.is_file() and not kept_out(name):
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, tree / name)


def preprocess(entry):
    """Why one file of compile_commands.json does not find its headers, or None."""
    command = shlex.split(entry["command"])
    command[command.index("-o") + 1] = os.devnull
    command[command.index("-c")] = "-E"
    result = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    return next((line for line in result.stderr.splitlines() if "error:" in line), None)


def missing_to_build(tree):
    """Configures the tree, plans the build and the installation, and preprocesses every source file."""
    build = tree / "build"
    for command in (["cmake", "--preset", "release", "-DCUSPAN_BUILD_TESTS=OFF"], ["ninja", "-C", str(build), "-n"]):
        result = subprocess.run(command, cwd=tree, capture_output=True, text=True)
        if result.returncode:
            return (result.stderr + result.stdout).strip().splitlines()[:8]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = list(pool.map(preprocess, json.loads((build / "compile_commands.json").read_text())))
    install = (build / "cmake_install.cmake").read_text()
    errors += [
        f"{path} is to be installed"
        for path in re.findall(rf'"({re.escape(str(tree))}/[^"]+)"', install)
        if not path.startswith(f"{build}/") and not Path(path).exists()
    ]
    return sorted(set(filter(None, errors)))


def check_sources(dockerfile, stage, command):
    """Are the files that the stage has copied enough to compile and install cuspan?"""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copy_context(copies_before(dockerfile, stage, command), tree)
        for error in missing_to_build(tree):
            wrong(f"{dockerfile}: stage {stage} does not copy everything it builds: {error.replace(folder + '/', '')}")


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
    stages, services = {}, 0
    for where in COMPOSE_FILES:
        compose = yaml.safe_load((ROOT / where).read_text())
        services += len(compose["services"])
        for name, service in compose["services"].items():
            check_service(where, name, service, compose, stages)
    if not kept_out("build/cuspan") or not kept_out(".git/config"):
        wrong(".dockerignore lets builds or the repository's history in")
    check_sources("docker/Dockerfile", "build", "build_cuspan")
    count = sum(map(len, stages.values()))
    print("\n".join(WRONG) or f"{count} stages and {services} services name nothing that isn't there")
    return 1 if WRONG else 0


if __name__ == "__main__":
    sys.exit(main())
