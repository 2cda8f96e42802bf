#!/usr/bin/env python3
"""Builds NVIDIA's CUDA samples and runs them, with or without the agent; a test is a sample.

    samples.py build SAMPLES FOLDER            compiles each sample of SAMPLES/Samples that is one program, into FOLDER
    samples.py run FOLDER [COMMAND...] FILE    runs them, behind COMMAND (cuspan run ... --), and writes results as run_pytest.py does

The results of a sample are its exit status and the text that it prints, in any order of lines and without numbers (times, addresses)
and without cuspan's own lines. The text's hash is in the name of a test, so a comparison reports other text, too."""

import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

# With a window, MPI or a second GPU, or longer than a minute
LEFT_OUT = re.compile(r"GL$|Vulkan|D3D|EGL|MPI|MultiGPU|P2P|CrossGPU|particles|imageDenoising|boxFilter|bindlessTexture"
                      r"|FunctionPointers|UnifiedMemoryPerf|cudaGraphsPerfScaling|topologyQuery|convolutionTexture|cudaOpenMP")
LIBRARIES = ["-lcuda", "-lnvrtc", "-lcublas", "-lcurand", "-lcudadevrt", "-lpthread", "-ldl"]
LIMIT_S = 60
WAIVED = "2"  # the samples' exit status where the GPU or the system lacks something


def build_one(folder, common, to):
    sources = [*folder.glob("*.cu"), *folder.glob("*.cpp")]
    text = "".join(source.read_text(errors="replace") for source in sources)
    kernels = {source for source in sources if f'"{source.stem}_kernel' in text or source.stem.endswith(("_kernel64", "_kernel"))}
    if not sources or LEFT_OUT.search(folder.name):
        return None
    (to / folder.name).mkdir(parents=True, exist_ok=True)
    for source in kernels:  # what a program loads or compiles when it runs
        (to / folder.name / source.name).write_bytes(source.read_bytes())
    command = ["nvcc", "-arch=native", "-std=c++17", "-rdc=true", "--extended-lambda", "-w", "-Xcompiler", "-fopenmp", f"-I{common}", f"-I{folder}",
               f"-I{folder}/inc", "-o", str(to / folder.name / folder.name), *map(str, sources), *LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return folder.name, done.returncode, done.stderr[-300:]


def build(samples, to):
    folders = [folder for folder in sorted((samples / "Samples").glob("*/*")) if folder.is_dir()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(lambda folder: build_one(folder, samples / "Common", to), folders):
            if result and result[1]:
                print(f"not built: {result[0]}: {result[2].strip().splitlines()[-1] if result[2].strip() else 'no message'}")


def run_one(program, command):
    try:
        done = subprocess.run([*command, program], cwd=program.parent, capture_output=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return program.name, "no end", b""
    text = re.sub(rb"0x[0-9a-f]+|[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?", b"#", done.stdout + done.stderr)
    lines = {line for line in text.splitlines() if not line.startswith(b"cuspan: ")}
    return program.name, str(done.returncode), b"\n".join(sorted(lines))


def run(folder, to, command):
    programs = sorted(path for path in folder.glob("*/*") if path.name == path.parent.name and os.access(path, os.X_OK))
    texts = to.with_suffix(".texts")
    texts.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool, to.open("w") as results:
        for name, status, text in pool.map(lambda program: run_one(program, command), programs):
            (texts / name).write_bytes(text)
            outcome = {"0": "passed", WAIVED: "skipped"}.get(status, "failure")
            print(f"passed\t{name}::text {hashlib.sha256(text).hexdigest()[:8]}\n{outcome}\t{name}::status", file=results, flush=True)


def main():
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        run(Path(sys.argv[2]).resolve(), Path(sys.argv[-1]).resolve(), sys.argv[3:-1])


if __name__ == "__main__":
    main()
