#!/usr/bin/env python3
"""Runs clang-tidy (rules: .clang-tidy) on our own code, on all cores.

    tools/check-tidy.py [BUILD-DIR] [PATH-PART...]     BUILD-DIR: configured (build); PATH-PART: filter

A clean file is not checked again until it, a file that it includes, the rules or its compile command changes.
The list of clean files is in ~/.cache/cuspan (or $CUSPAN_CACHE), for all clones.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = (ROOT / "src",)  # in tests, cmocka's macros cause too many false reports
# Files that run in no host process. clang's own analyzer, which takes nine tenths of the time, is off for them; gcc's
# analyzer checks the command line too (tools/analyze.sh).
NOT_IN_A_HOST = tuple(ROOT / "src" / folder for folder in ("analysis", "cli", "command", "agent/operate", "agent/replay"))
GENERATED = ("src/agent/abi/*_table.c", "src/model/cuda/*_table.c")
LEFT_OUT = (*GENERATED, "thread_ctx_symbol.c")  # clang may lack an option of the last one
TIDY = subprocess.run(["bash", "-c", '. "$0" && clang_tool clang-tidy', ROOT / "tools/lib.sh"], stdout=subprocess.PIPE, text=True,
                      check=True).stdout.strip()
# PyPI's has no headers of its own.
HEADERS = [] if TIDY == shutil.which("clang-tidy") else [
    "--extra-arg=-resource-dir=" + subprocess.run(["clang", "-print-resource-dir"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()]
CACHE = Path(os.environ.get("CUSPAN_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cuspan"))
KEPT_S = 30 * 86400  # a result, after its last use


def digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        part = part if isinstance(part, bytes) else part.encode()
        total.update(b"%d:" % len(part) + part)
    return total.hexdigest()


def commands(build, parts):
    """One command per source file: a file that is compiled for several targets is checked once."""
    seen = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        inside = path.suffix == ".c" and any(folder in path.parents for folder in CHECKED)
        if inside and not any(path.match(pattern) for pattern in LEFT_OUT) and (not parts or any(p in str(path) for p in parts)):
            seen.setdefault(path, entry["command"])
    return sorted(seen.items())


def includes(build):
    """{source: [file that its compilation read]}, as ninja noted it. A source is missing if it was not compiled since one
    of them changed."""
    found, read, compiled = {}, None, 0
    for line in subprocess.run(["ninja", "-C", str(build), "-t", "deps"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        if line.endswith("(VALID)"):
            read, compiled = [], int(line.split("mtime ")[1].split()[0])
        elif not line.startswith(" "):
            read = None
        elif read is not None:
            read.append((build / line.strip()).resolve())
            if len(read) == 1:
                found[read[0]] = (compiled, read)
    return {source: read for source, (compiled, read) in found.items()
            if all(file.exists() and file.stat().st_mtime_ns <= compiled for file in read)}


def keys(files, build):
    """{source: digest of all that its check depends on}, without those whose includes are not known."""
    rules = digest((ROOT / ".clang-tidy").read_bytes(),
                   subprocess.run([TIDY, "--version"], stdout=subprocess.PIPE, check=True).stdout)
    contents, known = {}, includes(build)
    for path, command in files:
        for file in known.get(path, ()):
            if file not in contents:
                contents[file] = digest(str(file).replace(f"{ROOT}/", ""), file.read_bytes())
    return {path: digest(rules, *options(path), command.replace(f"{ROOT}/", ""), *(contents[file] for file in known[path]))
            for path, command in files if path in known}


def options(path):
    # clang does not know compile options that only gcc has.
    fewer = ["--checks=-clang-analyzer-*"] if any(folder in path.parents for folder in NOT_IN_A_HOST) else []
    return ["--quiet", *HEADERS, *fewer, "--extra-arg=-Wno-unknown-warning-option"]


def check(path, build):
    done = subprocess.run([TIDY, "-p", str(build), *options(path), str(path)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return None
    return done.stdout.strip() or done.stderr.strip()


def main():
    build = (ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build")).resolve()
    clean = CACHE / "tidy"
    clean.mkdir(parents=True, exist_ok=True)
    files = commands(build, sys.argv[2:])
    marks = {path: clean / key for path, key in keys(files, build).items()}
    todo = []
    for path, _ in files:
        if path in marks and marks[path].exists():
            marks[path].touch()
        else:
            todo.append(path)
    wrong = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, complaint in zip(todo, pool.map(lambda path: check(path, build), todo)):
            if complaint is not None:
                wrong += 1
                print(complaint, flush=True)
            elif path in marks:
                marks[path].touch()
    for mark in clean.iterdir():
        if mark.stat().st_mtime < time.time() - KEPT_S:
            mark.unlink(missing_ok=True)
    print(f"{len(files)} files, {len(todo)} of them checked now, {wrong} with findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
