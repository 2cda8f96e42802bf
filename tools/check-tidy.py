#!/usr/bin/env python3
"""Runs clang-tidy (rules: .clang-tidy) on our own code, on all cores.

    tools/check-tidy.py [BUILD-DIR] [PATH-PART...]     BUILD-DIR: configured (build); PATH-PART: filter

A clean file is not checked again until the file, any header, the rules or its compile command changes.
"""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = (ROOT / "src",)  # in tests, cmocka's macros cause too many false reports
# Files that run in no host process. clang's own analyzer, which takes nine tenths of the time, is off for them; gcc's
# analyzer checks the command line too (tools/analyze.sh).
NOT_IN_A_HOST = (ROOT / "src/cli", ROOT / "src/replay")
GENERATED = ("src/abi/*_table.c", "src/model/cuda/*_table.c")
LEFT_OUT = (*GENERATED, "thread_ctx_symbol.c")  # clang may lack an option of the last one


def digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(part if isinstance(part, bytes) else part.encode())
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


def check(path, build):
    # clang does not know compile options that only gcc has.
    fewer = ["--checks=-clang-analyzer-*"] if any(folder in path.parents for folder in NOT_IN_A_HOST) else []
    done = subprocess.run(["clang-tidy", "-p", str(build), "--quiet", *fewer, "--extra-arg=-Wno-unknown-warning-option", str(path)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return None
    return done.stdout.strip() or done.stderr.strip()


def main():
    build = (ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build")).resolve()
    clean = build / "tidy-clean"
    clean.mkdir(exist_ok=True)
    headers = sorted(p for folder in ("src", "tests", "include") for p in (ROOT / folder).rglob("*.h"))
    common = digest(*(p.read_bytes() for p in headers), (ROOT / ".clang-tidy").read_bytes(),
                    subprocess.run(["clang-tidy", "--version"], stdout=subprocess.PIPE, check=True).stdout)
    todo = []
    files = commands(build, sys.argv[2:])
    for path, command in files:
        mark = clean / digest(common, str(path), command, path.read_bytes())
        if not mark.exists():
            todo.append((path, mark))
    wrong = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (path, mark), complaint in zip(todo, pool.map(lambda item: check(item[0], build), todo)):
            if complaint is None:
                mark.touch()
            else:
                wrong += 1
                print(complaint, flush=True)
    print(f"{len(files)} files, {len(todo)} of them checked now, {wrong} with findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
