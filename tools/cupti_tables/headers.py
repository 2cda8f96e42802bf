"""CUDA's headers: the versions, their folders, how to fetch them, and their types as the compiler sees them."""

import re
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .dwarf import Types

# The minor version, the wheels of CUPTI and of the runtime, and the first number that cuptiGetVersion returns for that
# minor version (its updates return higher ones and keep its layouts).
VERSIONS = [
    ("12.0", "12.0.146", "12.0.146", 18),
    ("12.1", "12.1.105", "12.1.105", 18),
    ("12.2", "12.2.142", "12.2.140", 20),
    ("12.3", "12.3.101", "12.3.101", 21),
    ("12.4", "12.4.127", "12.4.127", 22),
    ("12.5", "12.5.82", "12.5.82", 23),
    ("12.6", "12.6.80", "12.6.77", 24),
    ("12.8", "12.8.90", "12.8.90", 26),
    ("12.9", "12.9.79", "12.9.79", 27),
    ("13.0", "13.0.85", "13.0.96", 130000),
    ("13.1", "13.1.115", "13.1.80", 130100),
    ("13.2", "13.2.86", "13.2.86", 130200),
    ("13.3", "13.3.75", "13.3.29", 130300),
    ("13.4", "13.4.92", "13.4.92", 130400),
    ("13.5", "13.5.25", "13.5.37", 130500),
]

# The runtime's headers include crt/host_defines.h, which is in the compiler's package. C needs only this.
_HOST_DEFINES = """
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __host__
#define __device__
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDA_CB
"""

# Removed functions keep their callback IDs, and programs built with an older CUDA still call them. The header that
# declares their parameters includes one that is not shipped; this text replaces it.
_REMOVED = """
#undef __dv
#define __dv
typedef int cudaOutputMode_t;
"""

_PROBE = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#if __has_include(<generated_cudart_removed_meta.h>)
#include <generated_cudart_removed_meta.h>
#endif
"""


class Headers:
    """One version: its CUPTI headers as text, and all of its types."""

    def __init__(self, root, version, first_number, scratch):
        self.version, self.first_number = version, first_number
        base = Path(root) / version / "nvidia"
        self.dirs = [base / "cu13" / "include"]
        if version.startswith("12."):
            self.dirs = [base / "cuda_cupti" / "include", base / "cuda_runtime" / "include"]
        for folder in self.dirs:
            if not folder.is_dir():
                raise SystemExit(f"no headers of CUDA {version}: {folder} is missing (fetch them with --fetch)")
        self.types = self._probe(Path(scratch) / version)

    def read(self, name):
        return (self.dirs[0] / name).read_text(encoding="utf-8", errors="replace")

    def _probe(self, scratch):
        (scratch / "crt").mkdir(parents=True)
        (scratch / "crt" / "host_defines.h").write_text(_HOST_DEFINES)
        (scratch / "cudart_removed.h").write_text(_REMOVED)
        (scratch / "probe.c").write_text(_PROBE)
        subprocess.run(["gcc", "-std=gnu17", "-g", "-gdwarf-4", "-w",
                        "-fno-eliminate-unused-debug-types"]
                       + [f"-I{folder}" for folder in self.dirs] + [f"-I{scratch}"]
                       + ["-c", str(scratch / "probe.c"), "-o", str(scratch / "probe.o")], check=True)
        return Types(str(scratch / "probe.o"))

    def removed(self):
        """Names of the parameter structs of functions removed in this version. Some are wrong: if an older version that
        still has the function has its struct, that one is used."""
        path = self.dirs[0] / "generated_cudart_removed_meta.h"
        return set(re.findall(r"typedef struct (\w+)_params_st", path.read_text())) if path.exists() else set()

    def callback_ids(self, domain):
        """{callback ID: name} of "runtime" or "driver", without the numbered entries that NVIDIA reserves."""
        found = re.findall(r"CUPTI_(?:RUNTIME|DRIVER)_TRACE_CBID_(\w+)\s*=\s*(\w+)", self.read(f"cupti_{domain}_cbid.h"))
        return {int(number, 0): name for name, number in found
                if name not in ("INVALID", "SIZE", "FORCE_INT") and not re.fullmatch(r"(cuda|reserved)\d+(_v\d+)?", name)}

    def callback_count(self, domain):
        found = re.search(r"CUPTI_(?:RUNTIME|DRIVER)_TRACE_CBID_SIZE\s*=\s*(\d+)", self.read(f"cupti_{domain}_cbid.h"))
        return int(found[1])


def load(root, scratch):
    """All versions, oldest first."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda v: Headers(root, v[0], v[3], scratch), VERSIONS))


def _wheels(version, cupti, runtime):
    suffix = "-cu12" if version.startswith("12.") else ""
    return [f"nvidia-cuda-cupti{suffix}=={cupti}", f"nvidia-cuda-runtime{suffix}=={runtime}"]


# The layouts are the same on arm64; the x86-64 wheels exist for every version.
_PLATFORMS = ["manylinux1_x86_64", "manylinux2014_x86_64"] + [f"manylinux_2_{n}_x86_64" for n in (17, 24, 25, 27, 28)]


def _download(wheel, folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary=:all:", "--dest", str(folder), wheel]
    for platform in _PLATFORMS:
        command += ["--platform", platform]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        raise RuntimeError(f"{wheel}: {done.stdout.strip().splitlines()[-1] if done.stdout.strip() else 'pip failed'}")


def _fetch_one(root, version, wheels):
    target, part = Path(root) / version, Path(root) / f"{version}.part"
    if target.is_dir():
        return
    shutil.rmtree(part, ignore_errors=True)
    for wheel in wheels:
        _download(wheel, part / "wheels")
        for path in (part / "wheels").iterdir():
            with zipfile.ZipFile(path) as archive:
                archive.extractall(part, [n for n in archive.namelist() if "/include/" in n])
            path.unlink()
    (part / "wheels").rmdir()
    part.rename(target)


def fetch(root):
    """Downloads missing headers into `root`. Only the include folders of the wheels are kept."""
    Path(root).mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(4) as pool:
        try:
            list(pool.map(lambda v: _fetch_one(root, v[0], _wheels(*v[:3])), VERSIONS))
        except RuntimeError as error:
            pool.shutdown(cancel_futures=True)
            raise SystemExit(f"cannot fetch CUDA's headers ({error}); check the network and run this again") from None
