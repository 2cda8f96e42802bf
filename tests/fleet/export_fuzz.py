#!/usr/bin/env python3
"""`cuspan export` of damaged and hostile spans: whatever it writes can be read by pyarrow and has as many rows as it says; otherwise
one line of an error, status 1 and no files. Never a crash or a hang.

    export_fuzz.py --build BUILD [--cases N] [--seed N] [--only CASE]

Inputs are the documents of tests/support/make_export.py and the spans of a recording as JSON lines, protobuf messages, gzip and zstd, with
changed bytes, numbers and structure. The seed and the case's number decide what; --only repeats one case. It needs pyarrow."""

import argparse
import copy
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import make_export  # noqa: E402
import otlp_encode as otlp  # noqa: E402

TIMEOUT_S = 300
COUNTED = re.compile(r"([\d,]+) spans? in [\d,]+ files?")
TEXTS = ["", "\0", "a" * 70000, "\ud800".encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), "\u202e", "../..", "\x1b[2J", "%n%s", "'; --",
         "date=1/hour=2", "ü" * 300]
NUMBERS = ["0", "1", "-1", "9223372036854775807", "18446744073709551615", "-9223372036854775808", "1e99", "99999999999999999999999", "x", ""]


def places(value, path=()):
    """The paths of all values in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def change_document(document, rng):
    """Another value, a missing one, or a part of the document somewhere else."""
    paths = [path for path in places(document) if path]
    if not paths:
        return
    path = rng.choice(paths)
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    how = rng.randrange(5)
    if how == 0:
        del parent[path[-1]]
    elif how == 1:
        parent[path[-1]] = rng.choice(TEXTS)
    elif how == 2:
        parent[path[-1]] = rng.choice(NUMBERS)
    elif how == 3:
        parent[path[-1]] = rng.choice([None, [], {}, True, 1.5, [[[]]], {"a": {}}])
    elif isinstance(parent, list):
        parent.extend(copy.deepcopy(parent[:3]))


def flip(data, rng):
    for _ in range(rng.choice((1, 2, 8, 50))):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)


def cut(data, rng):
    del data[rng.randrange(len(data) + 1):]


def repeat(data, rng):
    at, size = rng.randrange(len(data)), rng.randrange(1, 500)
    data[at:at] = data[at:at + size]


def input_of(documents, rng):
    """Bytes of a file, and what was done."""
    documents = copy.deepcopy(rng.sample(documents, rng.randrange(1, 4)))
    done = []
    if rng.random() < 0.6:
        for _ in range(rng.choice((1, 3, 20))):
            change_document(rng.choice(documents), rng)
        done.append("document")
    kind = rng.choice(("json", "json", "protobuf"))
    try:
        data = bytearray().join(otlp.message(otlp.traces(document)) for document in documents) if kind == "protobuf" else None
    except Exception:  # of our encoder: what protobuf cannot say
        kind, data = "json", None
    data = data if data is not None else bytearray("".join(json.dumps(document) + "\n" for document in documents).encode())
    done.append(kind)
    if rng.random() < 0.6:
        how = rng.choice((flip, flip, cut, repeat))
        how(data, rng)
        done.append(how.__name__)
    packing = rng.choice(("", "", "zstd", "gzip"))
    if packing:
        data = bytearray(otlp.zstd(bytes(data)) if packing == "zstd" else gzip.compress(bytes(data), 1))
        done.append(packing)
        if rng.random() < 0.3:
            flip(data, rng)
            done.append("flip")
    return bytes(data), ", ".join(done)


def rows_of(folder):
    """Of all files, every column of which is read."""
    return sum(pyarrow.parquet.read_table(path, partitioning=None).num_rows for path in (folder / "spans").rglob("*.parquet"))


def judge(folder, status, errors):
    """The fault, or None."""
    if status not in (0, 1):
        return f"status {status}"
    if status == 1 and not re.fullmatch(r"cuspan export: [^\n]*\n", errors):
        return "not one line of an error"
    if any(path.suffix == ".tmp" for path in folder.rglob("*")):
        return "an incomplete file is left"
    if status == 1:
        return None
    counted = COUNTED.search(errors)
    if not counted:
        return "no number of spans"
    try:
        rows = rows_of(folder)
        for path in (folder / "resources").glob("*.parquet"):
            pyarrow.parquet.read_table(path)
    except Exception as error:  # whatever pyarrow raises
        return f"pyarrow: {error}"
    return None if rows == int(counted[1].replace(",", "")) else f"{rows} rows, and {counted[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    failed, exported = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        subprocess.run([options.build / "cuspan", "replay", "--quiet", "--file", work / "recorded",
                        ROOT / "examples/recordings/vector_add.cuspanrec"], check=True)
        documents = [*make_export.documents(), *(json.loads(line) for line in (work / "recorded").read_bytes().splitlines())]
        cases = range(options.cases) if options.only is None else [options.only]
        for case in cases:
            rng = random.Random(f"{options.seed} {case}")
            data, what = input_of(documents, rng)
            (work / "input").write_bytes(data)
            shutil.rmtree(work / "fleet", ignore_errors=True)
            done = subprocess.run([options.build / "cuspan", "export", "-o", work / "fleet", work / "input"], capture_output=True,
                                  timeout=TIMEOUT_S, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
            errors = done.stderr.decode("utf-8", "backslashreplace")
            wrong = judge(work / "fleet", done.returncode, errors)
            exported += done.returncode == 0
            if wrong or options.only is not None:
                failed += bool(wrong)
                print(f"case {case} of seed {options.seed}: {what}: {wrong or done.returncode}\n{errors[-2000:]}", flush=True)
    if options.only is None and not 0 < exported < len(cases):
        print("all or none of the cases were exported: the changes test nothing")
        failed += 1
    print(f"{exported} of {len(cases)} inputs were exported")
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
