#!/usr/bin/env python3
"""Stands in for srun, squeue, scontrol, kubectl and ssh in hang_gather_test.py, by the name that it is called by. Refuses arguments
that the tools' documentation does not have:

- Slurm: the manual pages srun(1), squeue(1) and scontrol(1) of slurm.schedmd.com. "srun [OPTIONS] executable [args]"; srun returns
  the highest exit code of all tasks. "scontrol show hostnames [HOSTLIST]" prints one name a line.
- kubectl: `kubectl get --help` and `kubectl exec --help`: "kubectl exec (POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]";
  it returns the command's exit code. -o name prints TYPE/NAME.
- ssh(1): "ssh [-o option] destination [command [argument ...]]"; it returns the exit code of the command, and 255 for its own errors.

The folder GATHER_DOUBLE has NAME.json, which the command prints on the host NAME, and `words`, to which each call is appended."""
import json
import os
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["GATHER_DOUBLE"])
COMMAND = ["cuspan", "hang", "--json", "--this-host"]
TOOL, WORDS = Path(sys.argv[0]).name, sys.argv[1:]


def options(words, known):
    """The values of the leading --NAME=VALUE; the rest."""
    found, rest = {}, list(words)
    while rest and rest[0].startswith("--") and rest[0] != "--":
        name, equals, value = rest.pop(0).partition("=")
        if name not in known or bool(equals) != known[name]:
            sys.exit(f"{TOOL}: unrecognized option '{name}'")
        found[name] = value
    return found, rest


def on_host(name, command):
    if command != COMMAND:
        sys.exit(f"{TOOL}: {command[:1]}: command not found")
    if name.startswith("slow"):
        time.sleep(600)
    if name.startswith("broken"):
        sys.stderr.write("\n\033[1mPermission denied\nmore\n")
        sys.exit(255 if TOOL == "ssh" else 1)
    if name.startswith("flood"):
        try:
            os.ftruncate(1, 1 << 30)
        except PermissionError:
            (FOLDER / "bounded").touch()
        while True:
            os.write(1, b"x" * (1 << 20))
    if name.startswith("garbage"):
        print('{"cuspan_hang": 1, "ranks": [{"ra')
        sys.exit(0)
    print((FOLDER / f"{name}.json").read_text())
    sys.exit(3)


def srun():
    found, command = options(WORDS, {"--jobid": True, "--overlap": False, "--nodes": True, "--ntasks": True, "--nodelist": True})
    if found.get("--jobid") != "4711" or "--overlap" not in found or (found.get("--nodes"), found.get("--ntasks")) != ("1", "1"):
        sys.exit("srun: error: Unable to create step for job")
    on_host(found["--nodelist"], command)


def squeue():
    found, rest = options(WORDS, {"--noheader": False, "--jobs": True, "--format": True})
    if rest or found.get("--format") != "%N" or "--noheader" not in found:
        sys.exit("squeue: error: Unrecognized option")
    if found["--jobs"] == "1":
        sys.exit("slurm_load_jobs error: Invalid job id specified")
    print({"4711": "node[0-1]", "5": "(null)"}.get(found["--jobs"], ""))


def scontrol():
    if WORDS != ["show", "hostnames", "node[0-1]"]:
        sys.exit("invalid hostlist")
    print("node0\nnode1")


def kubectl():
    if WORDS[:2] == ["get", "pods"]:
        found, rest = options(WORDS[2:], {"--namespace": True, "--selector": True, "--field-selector": True, "--output": True})
        if rest or found["--output"] != "name" or found["--field-selector"] != "status.phase=Running":
            sys.exit("error: unknown flag")
        if found["--selector"] == "app=none":
            sys.stderr.write("No resources found in default namespace.\n")
            return
        print("pod/node0\npod/node1" + ("\npod/garbage-2" if found.get("--namespace") == "ml" else ""))
        return
    found, rest = options(WORDS[1:], {"--namespace": True})
    if WORDS[0] != "exec" or len(rest) < 2 or rest[1] != "--" or not rest[0].startswith("pod/"):
        sys.exit("error: unknown command")
    on_host(rest[0].removeprefix("pod/"), rest[2:])


def ssh():
    rest = list(WORDS)
    while rest[:1] == ["-o"]:
        if rest[1] not in ("BatchMode=yes", "ConnectTimeout=10"):
            sys.exit("command-line: line 0: Bad configuration option")
        del rest[:2]
    if rest[:1] != ["--"]:
        sys.exit("usage: ssh")
    on_host(rest[1], rest[2:])


if __name__ == "__main__":
    with (FOLDER / "words").open("a") as words:
        words.write(json.dumps([TOOL, *WORDS]) + "\n")
    if os.fstat(0).st_rdev != os.stat("/dev/null").st_rdev:
        sys.exit(f"{TOOL}: reads the terminal")
    {"srun": srun, "squeue": squeue, "scontrol": scontrol, "kubectl": kubectl, "ssh": ssh}[TOOL]()
