#!/usr/bin/env python3
"""Runs a command and writes what it used as JSON: wall-clock and CPU seconds, peak of resident memory in bytes, exit status.

    run_measured.py FILE COMMAND [ARGUMENT...]

A process of its own, because the peak that the kernel reports for a command includes the memory of the process that started it."""

import json
import os
import sys
import time


def main():
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            os.execvp(sys.argv[2], sys.argv[2:])
        except OSError as error:
            print(f"run_measured.py: {sys.argv[2]}: {error.strerror}", file=sys.stderr)
            os._exit(127)
    _, status, used = os.wait4(child, 0)
    found = {"wall_s": time.monotonic() - start, "cpu_s": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024,
             "status": os.waitstatus_to_exitcode(status)}
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(found, out)
    return found["status"] if found["status"] >= 0 else 128 - found["status"]


if __name__ == "__main__":
    sys.exit(main())
