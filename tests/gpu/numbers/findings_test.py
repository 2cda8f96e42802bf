"""Problems planted in a real program on a real GPU: `cuspan stat --findings` finds each, and nothing in the program
without one. Called by run.sh.

    findings_test.py BUILD-DIR OUT-DIR FAULTS-PROGRAM CUPTI-LIBRARY [FAULT...]
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

# The fault as the program names it, the finding, and an expression for the evidence. Faults often occur together: a
# program that launches tiny kernels is also launch-bound. A figure is exact if only the program decides it: a kernel
# that takes longer once is not tiny then, and a delayed host could have written its buffer again.
FAULTS = {
    "clean": (None, ""),
    "launch-bound": ("launch-bound", "its own code"),
    "tiny-launches": ("tiny-launches", r"\b(4[5-9]\d\d|5000) runs"),
    "graph-candidate": ("graph-candidate", "a sequence of 6 launches"),
    "serialized-kernels": ("serialized-kernels", "the GPU had room for both"),
    "synchronous-copies": ("synchronous-copies", "100 calls such as cudaMemcpy"),
    "pageable-copies": ("pageable-copies", f"{40 * 16 << 20} bytes"),
    "tiny-copies": ("tiny-copies", "2000 copies"),
    "round-trips": ("round-trips", "|".join(f"{times} times a host buffer .*: {times * 32 << 20} bytes each way" for times in range(35, 41))),
    "needless-sync": ("needless-sync", "although no work of the process was pending"),
    "sync-between-launches": ("sync-between-launches", "copies nothing to the host"),
    "low-occupancy:registers": ("low-occupancy", "limited by registers"),
    "low-occupancy:shared": ("low-occupancy", "limited by shared memory"),
    "low-occupancy:block": ("low-occupancy", "limited by the block size: 8 threads"),
    "low-occupancy:grid": ("low-occupancy", "the grid has"),
    "steady-allocation": ("steady-allocation", "allocated with cudaMalloc"),
    "leak": ("leak", "were never freed"),
    "wrong-free": ("wrong-free", "1 addresses had already been freed"),
}


def traced(build, out, program, cupti, fault):
    trace = out / f"{fault.replace(':', '-')}.jsonl"
    trace.unlink(missing_ok=True)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "CUSPAN_", "CUDA_INJ"))}
    done = subprocess.run([str(program), fault], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
                          env={**clean, "CUDA_INJECTION64_PATH": str(build / "libcuspan.so"),
                               "CUSPAN_SET": f"cupti.library={cupti};output_file={trace};rings.total_bytes=67108864;"
                                             "memory_bytes_max=268435456"})
    return done, trace


def problems_of(build, out, program, cupti, fault):
    wanted, words = FAULTS[fault]
    done, trace = traced(build, out, program, cupti, fault)
    if done.returncode != 0 or done.stdout != f"{fault}\n":
        return [f"exit status {done.returncode}, {done.stdout!r}, {done.stderr!r}"]
    told = subprocess.run([str(build / "cuspan"), "stat", "--findings", "--json", str(trace)], capture_output=True, text=True,
                          timeout=120, check=False)
    if told.returncode != 0:
        return [told.stderr]
    rows = json.loads(told.stdout)["findings"]
    shown = [f"{row['finding']}: {row['evidence']}" for row in rows]
    if wanted is None:
        return [f"found where nothing is: {line}" for line in shown]
    if not any(row["finding"] == wanted and re.search(words, row["evidence"]) for row in rows):
        return [f"not found: {wanted} with /{words}/; but", *(shown or ["nothing"])]
    return []


def main():
    build, out, program, cupti = (Path(argument).resolve() for argument in sys.argv[1:5])
    failed = 0
    for fault in sys.argv[5:] or FAULTS:
        problems = problems_of(build, out, program, cupti, fault)
        print(f"{'FAIL' if problems else 'ok'}: findings: {fault}", *problems, sep="\n    " if problems else "", flush=True)
        failed += bool(problems)
    print(f"findings: {failed} of {len(sys.argv[5:] or FAULTS)} wrong" if failed else "findings: every fault is found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
