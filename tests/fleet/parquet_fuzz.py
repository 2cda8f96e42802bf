#!/usr/bin/env python3
"""`cuspan fleet`, also `close`, on damaged and hostile files: an answer, or one line of an error and status 1. Never a crash, a traceback or a hang.

    parquet_fuzz.py --build BUILD [--cases N] [--seed N] [--only CASE]

Each case changes files of a small export: bytes, lengths, the footer, the end of a file, whole files and names. The seed and the case's
number decide what; --only repeats one case. It needs duckdb and pyarrow. Each question runs in a child of its own, so a crash of the engine is
reported with its case."""

import argparse
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import cuspan.fleet  # noqa: E402
import duckdb  # noqa: E402, F401: before the forks
import pyarrow.parquet  # noqa: E402, F401
from cuspan.fleet.__main__ import main as command  # noqa: E402

TIMEOUT_S = 300  # ends a case that hangs, however slow the machine is
MEMORY_BYTES = 8 << 30
FOOTER_BYTES = 8  # length and magic
RECORDINGS = ("examples/recordings/vector_add.cuspanrec", "examples/recordings/threads.cuspanrec")
HOSTILE_NAMES = ["a'b.parquet", "x\ny.parquet", "[ab]*.parquet", "%s%n.parquet", "$files.parquet", "ü\x1b[2J.parquet", "{}.parquet", "..parquet",
                 "0" * 16 + "-" + "0" * 16 + ".parquet", "a" * 200 + ".parquet"]
HOSTILE_FOLDERS = ["date=2026-99-99/hour=03/service=a", "date=x/hour=y/service=z", "date=2026-11-26/hour=99/service=b'; DROP TABLE spans; --",
                   "date=2026-11-26/hour=03", "date=9999-12-31/hour=23/service=%ff"]


def flip(data, rng):
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flip_footer(data, rng):
    """The footer says where pages are, and of which types and sizes."""
    size = min(struct.unpack("<I", data[-FOOTER_BYTES:-4])[0], len(data) - FOOTER_BYTES)
    for _ in range(rng.choice((1, 2, 4, 16))):
        data[len(data) - FOOTER_BYTES - 1 - rng.randrange(max(size, 1))] = rng.randrange(256)


def change_length(data, rng):
    data[-FOOTER_BYTES:-4] = struct.pack("<I", rng.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, len(data), rng.randrange(2**16))))


def flip_page(data, rng):
    """The headers of the first pages follow the magic."""
    for _ in range(rng.choice((1, 2, 4))):
        data[4 + rng.randrange(min(64, len(data) - 4))] = rng.randrange(256)


def truncate(data, rng):
    del data[rng.randrange(len(data)):]


def zero(data, rng):
    at = rng.randrange(len(data))
    size = rng.randrange(1, 2048)
    data[at:at + size] = bytes(len(data[at:at + size]))


def insert(data, rng):
    at = rng.randrange(len(data))
    data[at:at] = rng.randbytes(rng.choice((1, 3, 100)))


def replace_all(data, rng):
    data[:] = rng.choice((b"", b"PAR1", b"PAR1PAR1", b"PAR1\0\0\0\0PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"{}\n", b"\x28\xb5\x2f\xfd", rng.randbytes(1000)))


CHANGES = [flip, flip_footer, flip_footer, flip_footer, change_length, flip_page, flip_page, truncate, zero, insert, replace_all]


def files_of(folder):
    return sorted(path for path in folder.rglob("*.parquet") if path.is_file() and path.stat().st_size > 2 * FOOTER_BYTES)


def change_file(folder, rng):
    path = rng.choice(files_of(folder))
    data = bytearray(path.read_bytes())
    how = rng.choice(CHANGES)
    how(data, rng)
    path.write_bytes(data)
    return f"{how.__name__} in {path.relative_to(folder)}"


def change_names(folder, rng):
    path = rng.choice(files_of(folder / "spans"))
    if rng.random() < 0.5:
        target = path.parent / rng.choice(HOSTILE_NAMES)
    else:
        target = folder / "spans" / rng.choice(HOSTILE_FOLDERS) / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    return f"name {target.relative_to(folder)!s}"


def change_kind(folder, rng):
    """Not a file, or not a table of spans."""
    path = rng.choice(files_of(folder))
    kind = rng.choice(("folder", "loop", "dangling", "fifo", "other table", "unreadable schema", "other schema"))
    if kind.endswith("schema"):
        (folder / "cuspan-schema.json").write_bytes(
            rng.choice((b"", b"{", b"[]", b'{"version": "1"}', b'{"version": 99}', b"\xff", b'{"version": null}', b"[" * 100000)))
        return kind
    if kind == "other table":
        duckdb.sql("SELECT 'x' AS name, 1 AS start_ns, [1, 2] AS attributes").write_parquet(str(path))
        return kind
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to(path if kind == "loop" else folder / "nothing")
    return kind


def change(folder, rng):
    return rng.choices((change_file, change_names, change_kind), (8, 1, 1))[0](folder, rng)


def child(folder, question, out):
    """In a process of its own: does not return."""
    status = 120
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(TIMEOUT_S)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(out, 2)
        status = command([question, str(folder), "--threads", "2", "--memory", "500MB"])
    except BaseException:  # a traceback is what must not happen
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ask(folder, question):
    """Status (negative: a signal) and what it printed as errors."""
    with tempfile.TemporaryFile() as out:
        pid = os.fork()
        if pid == 0:
            child(folder, question, out.fileno())
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        return os.waitstatus_to_exitcode(status), out.read().decode("utf-8", "backslashreplace")


def judge(status, errors):
    """The fault, or None."""
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    if status == 0:
        return "an error and status 0" if errors else None
    if status != 1:
        return f"status {status}"
    if not errors.startswith("cuspan fleet: ") or errors.count("\n") != 1 or not errors.endswith("\n"):
        return "not one line of an error"
    if any(not c.isprintable() for c in errors[:-1]):
        return "a control character"
    return None if ".parquet" in errors or "schema" in errors else "no name of a file"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    questions = [*sorted(cuspan.fleet.questions()), "close"]
    failed, refused = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        original, folder = Path(temporary) / "original", Path(temporary) / "fleet"
        subprocess.run([options.build / "cuspan", "export", "-q", "-o", original, *(ROOT / path for path in RECORDINGS)], check=True)
        cases = range(options.cases) if options.only is None else [options.only]
        for case in cases:
            rng = random.Random(f"{options.seed} {case}")
            shutil.copytree(original, folder, symlinks=True)
            what = ", ".join(change(folder, rng) for _ in range(rng.choice((1, 1, 1, 3))) if files_of(folder / "spans"))
            question = rng.choice(questions)
            status, errors = ask(folder, question)
            wrong = judge(status, errors)
            refused += status == 1
            if wrong or options.only is not None:
                failed += bool(wrong)
                print(f"case {case} of seed {options.seed}: {question}: {what}: {wrong or status}\n{errors[-3000:]}", flush=True)
            shutil.rmtree(folder)
    if options.only is None and not refused:
        print("no case was refused: the changes change nothing")
        failed += 1
    print(f"{refused} of {len(cases)} cases were refused")
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
