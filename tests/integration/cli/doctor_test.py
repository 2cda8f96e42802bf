#!/usr/bin/env python3
"""Tests each line of cuspan doctor against the fault that it reports, without a GPU.

    doctor_test.py --build DIRECTORY [--sanitizers LIST] [GROUP[.test]...]

libfake_cuda.so (fake_cuda.c) stands in for the driver, NVML and CUPTI. /dev, /proc and /sys are below a temporary folder
(CUSPAN_DOCTOR_ROOT). Collectors are servers in this process. A complete run fails if a check has never reported a fault,
or never reported ok.
"""

import argparse
import ctypes
import http.server
import json
import os
import platform
import re
import resource
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support")]

import backend  # noqa: E402
import bad_server  # noqa: E402
import sink  # noqa: E402

BUILD = Path()
SANITIZERS = ""
IS_ROOT = os.geteuid() == 0
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}
SEEN = defaultdict(set)  # results of each check in tests that expect them
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
LOCAL = "127.0.0.1"


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="doctor-test-"))
        self.directory.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.root = self.directory / "root"
        self.root.mkdir()
        self.libraries = self.directory / "libraries"
        self.libraries.mkdir()

    def put(self, path, text="", mode=0o644):
        """Writes a file below CUSPAN_DOCTOR_ROOT."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)
        return target

    def driver(self, version="570.10"):
        """A working driver: libraries, kernel module, device files."""
        shutil.copy(BUILD / "libfake_cuda.so", self.libraries / f"libcuda.so.{version}")
        (self.libraries / "libcuda.so.1").symlink_to(f"libcuda.so.{version}")
        shutil.copy(BUILD / "libfake_cuda.so", self.libraries / "libnvidia-ml.so.1")
        self.put("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Tue Jan  1\n")
        for name in "nvidiactl", "nvidia-uvm", "nvidia0":
            self.put(f"/dev/{name}", mode=0o666)

    def cupti(self, place, version, name="libcupti.so.13"):
        """Copies a CUPTI into a folder and returns its path."""
        folder = self.directory / place
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUILD / "libfake_cuda.so", folder / name)
        (folder / "version").write_text(str(version))
        return folder / name

    def agent(self):
        """A copy of the agent's library, next to which a test can place a CUPTI."""
        folder = self.directory / "agent"
        folder.mkdir(exist_ok=True)
        for name in "libcuspan.so", "libcuspan-export.so":
            shutil.copy(BUILD / name, folder)
        return folder / "libcuspan.so"

    def environment(self, extra):
        env = {key: value for key, value in os.environ.items() if not re.match(
            "CUSPAN_|OTEL_|CUDA_|NVTX_|NVIDIA_|NSYS_|LD_PRELOAD|LD_AUDIT|TRACEPARENT|TRACESTATE|KUBERNETES_|container$|VIRTUAL_ENV|CONDA_|"
            "XDG_RUNTIME_DIR|.*_proxy$|LD_LIBRARY_PATH", key, re.I)}
        env.update(CUSPAN_DOCTOR_ROOT=str(self.root), HOME=str(self.directory), LC_ALL="C.UTF-8",
                   LD_LIBRARY_PATH=f"{self.libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"))
        for key, value in extra.items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = str(value)
        return env

    def run_doctor(self, *arguments, env=None, program=None, cuspan=None, **options):
        command = [cuspan or BUILD / "cuspan", "doctor", *arguments, *(["--", *program] if program else [])]
        return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=600, check=False, cwd=self.directory,
                              env=self.environment(env or {}), **options)

    def doctor(self, only, *arguments, env=None, program=None, **options):
        """The lines of the checks `only`, by name. Verifies what all lines have in common."""
        done = self.run_doctor("--json", "--only", only, *arguments, env=env, program=program, **options)
        self.assertNotRegex(done.stderr, "Sanitizer|runtime error:", "a sanitizer reports an error")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        said = json.loads(done.stdout)
        lines = defaultdict(list)
        for line in said["checks"]:
            lines[f"{line['group']}.{line['name']}"].append(line)
            if line["finding"] in ("problem", "warning"):
                self.assertTrue(line.get("mend"), f"no fix in {line}")
        self.assertEqual(said["problems"], sum(line["finding"] == "problem" for line in said["checks"]))
        self.assertEqual(done.returncode, 1 if said["problems"] else 0)
        return lines

    def says(self, only, finding, found="", fix="", arguments=(), **options):
        """The line of the check with this result, text and fix."""
        lines = self.doctor(only, *arguments, **options)[only]
        SEEN[only].update(line["finding"] for line in lines)
        fitting = [line for line in lines if line["finding"] == finding and re.search(found, line["found"])
                   and re.search(fix, line.get("mend", ""))]
        self.assertTrue(fitting, f"no {finding} \"{found}\" with \"{fix}\" in {lines}")
        return fitting[0]


class Driver(Case):
    def test_no_fault(self):
        self.driver()
        lines = self.doctor("driver")
        for name, line in lines.items():
            expected = "skipped" if name in ("driver.container", "driver.mig") else "ok"
            self.assertEqual([each["finding"] for each in line], [expected], line)
            SEEN[name].add(expected)
        self.assertIn("CUDA 13.0", lines["driver.library"][0]["found"])
        self.assertIn("libcuda.so.570.10", lines["driver.library"][0]["found"])

    def test_no_driver(self):
        self.says("driver.library", "problem", "libcuda.so.1: cannot open", "install the NVIDIA driver")
        self.put("/.dockerenv")
        self.says("driver.library", "problem", "libcuda.so.1: cannot open", "--gpus all")

    def test_a_stub(self):
        self.driver()
        stubs = self.directory / "stubs"
        self.libraries.rename(stubs)
        self.says("driver.library", "problem", "stubs/libcuda", "LD_LIBRARY_PATH", env={"LD_LIBRARY_PATH": stubs})

    def test_an_old_driver(self):
        self.driver()
        self.says("driver.library", "problem", "CUDA 11.8", "update the driver", env={"FAKE_CUDA_VERSION": 11080})
        self.says("driver.library", "warning", "does not report its version", "nvidia-smi", env={"FAKE_CUDA_VERSION": 0})

    def test_a_module_that_is_not_loaded(self):
        self.driver()
        (self.root / "proc/driver/nvidia/version").unlink()
        self.says("driver.module", "problem", "module is not loaded", "modprobe")

    def test_a_module_of_another_version(self):
        self.driver()
        self.put("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build\n")
        self.says("driver.module", "problem", r"module is 580\.82\.07, but libcuda.so.1 is 570\.10", "reboot")

    def test_containers(self):
        self.put("/.dockerenv")
        self.says("driver.container", "problem", "no /dev/nvidiactl", "--gpus all")
        self.driver()
        self.says("driver.container", "ok")
        for value in "void", "none", "":
            self.says("driver.container", "problem", f'VISIBLE_DEVICES is "{value}"', "--gpus all",
                      env={"NVIDIA_VISIBLE_DEVICES": value})
        self.says("driver.container", "problem", '"utility"', "compute,utility",
                  env={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"})
        self.says("driver.container", "warning", "NVML", "compute,utility",
                  env={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,video"})
        for value in "all", "compute,utility":
            self.says("driver.container", "ok", env={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": value})

    def test_device_files(self):
        self.driver()
        cuspan = shutil.copy(BUILD / "cuspan", self.directory / "cuspan")
        (self.root / "dev/nvidia0").chmod(0o600 if IS_ROOT else 0)
        self.says("driver.nodes", "problem", "cannot read and write /dev/nvidia0", "chmod 666 /dev/nvidia0", cuspan=cuspan,
                  **NOBODY)
        (self.root / "dev/nvidia0").chmod(0o666)
        self.says("driver.nodes", "ok", "all 3 device files", cuspan=cuspan, **NOBODY)
        (self.root / "dev/nvidia-uvm").unlink()
        self.says("driver.nodes", "problem", "nvidia-uvm", "nvidia-modprobe")
        shutil.rmtree(self.root / "dev")
        self.says("driver.nodes", "problem", "no /dev/nvidiactl", "nvidia-modprobe")

    def test_devices(self):
        self.driver()
        for value in "", "-1":
            self.says("driver.devices", "problem", "hides all GPUs", "CUDA_VISIBLE_DEVICES", env={"CUDA_VISIBLE_DEVICES": value})
        self.says("driver.devices", "problem", "finds no GPU", "lspci", env={"FAKE_NVML_COUNT": 0})
        self.says("driver.devices", "problem", "prohibited", "nvidia-smi -c", env={"FAKE_NVML_COMPUTE_MODE": 2})
        self.says("driver.devices", "unknown", "version mismatch", env={"FAKE_NVML_INIT": 18})
        self.put("/proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 7\n")
        self.says("driver.devices", "ok", "NVIDIA H200.*version mismatch", env={"FAKE_NVML_INIT": 18})

    def test_mig(self):
        self.driver()
        self.says("driver.mig", "ok", "off", env={"FAKE_NVML_MIG": 0})
        self.says("driver.mig", "problem", "GPU 0 is in MIG mode", "mig -i 0 -cgi", env={"FAKE_NVML_MIG": 1})
        self.says("driver.mig", "ok", "2 instances on 1", env={"FAKE_NVML_MIG": 1, "FAKE_NVML_INSTANCES": 2})

    def test_start(self):
        self.driver()
        self.says("driver.start", "problem", "100, CUDA_ERROR_NO_DEVICE", "nvidia-smi", env={"FAKE_CUDA_INIT": 100})
        self.says("driver.start", "problem", "802", "fabricmanager", env={"FAKE_CUDA_INIT": 802})
        self.says("driver.start", "problem", "finds no GPU", "CUDA_VISIBLE_DEVICES", env={"FAKE_CUDA_DEVICES": 0})
        self.says("driver.start", "problem", "crashed", "dmesg", env={"FAKE_CUDA_INIT": "crash"})
        self.says("driver.start", "ok", env={"CUDA_INJECTION64_PATH": BUILD / "libcuspan.so"})


class Cupti(Case):
    def test_none(self):
        self.says("cupti.library", "problem", "found no CUPTI", "pip install nvidia-cuda-cupti \\(", arguments=["--library", self.agent()])
        self.driver()
        self.says("cupti.library", "problem", "found no CUPTI", "cupti-cu12", arguments=["--library", self.agent()],
                  env={"FAKE_CUDA_VERSION": 12080})

    def test_the_newest_is_taken(self):
        self.driver()
        library = self.agent()
        self.cupti("agent/cupti", 130200)
        self.says("cupti.library", "ok", "CUDA 13.2,.*agent/cupti/libcupti.so.13, the only", arguments=["--library", library])
        self.says("cupti.others", "skipped", arguments=["--library", library])
        self.cupti("agent/cupti", 130200, "libcupti.so.12")  # two of one version: the first
        self.says("cupti.library", "ok", "so.13, the newest", arguments=["--library", library])
        self.says("cupti.others", "ok", "so.12: not used, because it is not newer", arguments=["--library", library])

    def test_too_new_for_the_driver(self):
        self.driver()
        library = self.agent()
        self.cupti("agent/cupti", 130500)
        old = {"FAKE_CUDA_VERSION": 12080}
        self.says("cupti.library", "problem", r"newer driver than the installed one \(CUDA 12.8\)", arguments=["--library", library], env=old)
        self.says("cupti.others", "warning", "newer driver", "update the driver", arguments=["--library", library], env=old)

    def test_broken_libraries(self):
        self.driver()
        library = self.agent()
        path = self.cupti("agent/cupti", 130500)
        self.says("cupti.others", "warning", "CUPTI result 7", arguments=["--library", library], env={"FAKE_CUPTI_RESULT": 7})
        path.write_text("no library")
        self.says("cupti.others", "warning", "cannot load CUPTI.*invalid ELF|cannot load CUPTI.*too short", "install the package",
                  arguments=["--library", library])

    def test_cupti_library_setting(self):
        path = self.cupti("other", 130500)
        self.says("cupti.library", "ok", "set by cupti.library", arguments=["--set", f"cupti.library={path}"])
        self.says("cupti.library", "problem", "/nowhere/libcupti.so.*cannot load", "unset it", arguments=["--set", "cupti.library=/nowhere/libcupti.so"])

    def test_python(self):
        self.cupti("venv/lib/python3.11/site-packages/nvidia/cu13/lib", 130000)
        env = {"VIRTUAL_ENV": self.directory / "venv"}
        self.says("cupti.python", "ok", "CUDA 13.0,.*PyTorch", env=env)
        self.says("cupti.library", "warning", "only Python packages have a CUPTI", "pip install", env=env, arguments=["--library", self.agent()])
        self.says("cupti.python", "skipped")
        self.says("cupti.python", "warning", "result 7", env={**env, "FAKE_CUPTI_RESULT": 7})

    def test_interfaces(self):
        for version, found in (130200, "13.3"), (130500, "subscriber: "):
            self.says("cupti.api", "ok", found, arguments=["--set", f"cupti.library={self.cupti('other', version)}"])
        path = self.cupti("other", 130200)
        self.says("cupti.api", "problem", "cupti.api is subscriber", "auto",
                  arguments=["--set", f"cupti.library={path}", "--set", "cupti.api=subscriber"])

    def test_without_the_agents_library(self):
        self.says("cupti.library", "unknown", "cannot be loaded", arguments=["--library", BUILD / "libfake_cuda.so"])


class Injection(Case):
    def test_library(self):
        self.says("injection.library", "ok", "version", arguments=["--library", self.agent()])
        library = self.agent()
        library.chmod(0o750)
        self.says("injection.library", "warning", "other users cannot read", r"chmod o\+rX", arguments=["--library", library])
        self.says("injection.library", "problem", "is not an agent", "--library", arguments=["--library", BUILD / "libfake_cuda.so"])
        self.says("injection.library", "problem", "no agent at /nowhere", "reinstall cuspan", arguments=[], env={"CUSPAN_LIBRARY": "/nowhere/x.so"})
        broken = self.directory / "broken.so"
        broken.write_text("nothing")
        self.says("injection.library", "problem", "broken.so", "is not a library", arguments=["--library", broken])

    def other_machine(self, name, path):
        """The library or program with the ELF header of another machine."""
        data = bytearray(Path(path).read_bytes())
        data[18:20] = struct.pack("<H", 8)  # MIPS
        target = self.directory / name
        target.write_bytes(data)
        target.chmod(0o755)
        return target

    def test_library_of_another_machine(self):
        self.says("injection.library", "problem", "", "architecture",
                  arguments=["--library", self.other_machine("libcuspan.so", BUILD / "libcuspan.so")])

    def test_library_of_another_version(self):
        data = (BUILD / "libcuspan.so").read_bytes()
        version = subprocess.run([BUILD / "cuspan", "version", "--json"], stdout=subprocess.PIPE, check=True).stdout
        version = json.loads(version)["version"].encode()
        changed = self.directory / "libcuspan.so"
        changed.write_bytes(data.replace(b"\0" + version + b"\0", b"\0" + version[:-1] + b"9\0"))
        self.says("injection.library", "problem", "has version .*9, but this program", "--library", arguments=["--library", changed])

    def test_module(self):
        library = self.agent()
        self.says("injection.module", "ok", arguments=["--library", library])
        (library.parent / "libcuspan-export.so").unlink()
        self.says("injection.module", "problem", "libcuspan-export.so", "reinstall cuspan", arguments=["--library", library])

    def test_variable(self):
        ours = BUILD / "libcuspan.so"
        self.says("injection.variable", "warning", "not set", f"cuspan run PROGRAM, or export .*{re.escape(str(ours))}")
        self.says("injection.variable", "ok", "cuspan run sets it", program=["true"])
        self.says("injection.variable", "ok", env={"CUDA_INJECTION64_PATH": ours})
        self.says("injection.variable", "ok", "another copy", env={"CUDA_INJECTION64_PATH": self.agent()})
        self.says("injection.variable", "problem", "No such file", "export", env={"CUDA_INJECTION64_PATH": "/nowhere/libcuspan.so"})
        self.says("injection.variable", "problem", "another tool", "unset", env={"CUDA_INJECTION64_PATH": BUILD / "libfake_cuda.so"})
        self.says("injection.variable", "warning", "this folder", "export", env={"CUDA_INJECTION64_PATH": os.path.relpath(self.agent(), self.directory)})
        self.agent().write_text("an older build")
        self.says("injection.variable", "warning", "another version", "export", env={"CUDA_INJECTION64_PATH": self.directory / "agent/libcuspan.so"})

    def test_nvtx(self):
        ours = BUILD / "libcuspan.so"
        cuda = {"CUDA_INJECTION64_PATH": ours}
        self.says("injection.nvtx", "ok", "cuspan run sets it")
        self.says("injection.nvtx", "ok", env={**cuda, "NVTX_INJECTION64_PATH": ours})
        self.says("injection.nvtx", "ok", "capture.nvtx", arguments=["--set", "capture.nvtx=false"])
        self.says("injection.nvtx", "warning", "have no spans", "export NVTX_INJECTION64_PATH", env=cuda)
        self.says("injection.nvtx", "warning", "another library", "export", env={**cuda, "NVTX_INJECTION64_PATH": BUILD / "libfake_cuda.so"})
        self.says("injection.nvtx", "problem", "No such file", "export", env={**cuda, "NVTX_INJECTION64_PATH": "/nowhere.so"})

    def compiled(self, name, *flags):
        target = self.directory / name
        source = self.directory / "program.c"
        source.write_text('const char *needs = "libcudart.so";\nint main(void) { return needs == 0; }\n')
        done = subprocess.run([os.environ.get("CC", "cc"), "-o", target, source, *flags], stderr=subprocess.PIPE, check=False)
        return target if done.returncode == 0 else None

    def test_program(self):
        plain = self.compiled("plain")
        self.says("injection.program", "ok", "uses CUDA libraries", program=[plain])
        self.says("injection.program", "ok", "does not reference CUDA", program=["true"])
        self.says("injection.program", "problem", "No such file", "executable", program=["no-such-program-at-all"])
        self.says("injection.program", "problem", "another architecture", "64-bit", program=[self.other_machine("mips", plain)])
        self.says("injection.program", "skipped")

    def test_static_program(self):
        for flags in ["-static"], ["-static-pie"]:
            static = self.compiled("static", *flags)
            if static:
                self.says("injection.program", "warning", "statically linked", "dynamically", program=[static])

    def test_32_bit_program(self):
        data = bytearray(self.compiled("plain").read_bytes())
        data[4] = 1  # ELFCLASS32
        small = self.directory / "small"
        small.write_bytes(data)
        small.chmod(0o755)
        self.says("injection.program", "problem", "32-bit", "64-bit", program=[small])

    def test_script(self):
        script = self.directory / "train.py"
        script.write_text("#!/usr/bin/env python3\nprint()\n")
        script.chmod(0o755)
        self.says("injection.program", "ok", r"python.*the interpreter of .*train.py", program=[script])
        script.write_text("#!/nowhere/python\n")
        self.says("injection.program", "problem", "a script for /nowhere/python", "interpreter", program=[script])

    def test_program_of_another_user(self):
        if not IS_ROOT:
            self.skipTest("needs root to create a set-user-ID program")
        program = self.compiled("owned")
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.says("injection.program", "problem", "is set-user-ID", "sudo -u", program=[program])

    def test_preload(self):
        if SANITIZERS:
            self.skipTest("a sanitizer must be the first library")
        self.says("injection.preload", "ok", "not set")
        self.says("injection.preload", "warning", "/nowhere/x.so.*cannot be loaded", "unset LD_PRELOAD", env={"LD_PRELOAD": "/nowhere/x.so"})
        tool = shutil.copy(BUILD / "libfake_cuda.so", self.directory / "libToolsInjection64.so")
        self.says("injection.preload", "warning", "probably a tool", "env -u LD_PRELOAD", env={"LD_PRELOAD": tool})
        self.says("injection.preload", "ok", "libfake", env={"LD_PRELOAD": BUILD / "libfake_cuda.so"})

    def test_tools(self):
        self.says("injection.tools", "ok")
        for name, tool in (("NSYS_PROFILING_SESSION_ID", "Nsight Systems"), ("NV_NSIGHT_INJECTION_PORT_BASE", "Nsight Compute"),
                           ("KINETO_USE_DAEMON", "PyTorch"), ("CUDA_DEBUGGER_SOFTWARE_PREEMPTION", "CUDA-GDB")):
            self.says("injection.tools", "warning", f"{name}.*{tool}", f"unset {name}", env={name: "1"})
        self.put("/proc/self/status", "Name:\tx\nTracerPid:\t77\n")
        self.says("injection.tools", "warning", "debugger.*77", "outside")


class Configuration(Case):
    def file(self, text):
        path = self.directory / "cuspan.yaml"
        path.write_text('file_format: "1.1"\n' + text)
        return path

    SENDS = "tracer_provider:\n  processors:\n  - batch: {exporter: {otlp_http: {}}}\n"

    def test_file(self):
        self.says("configuration.file", "ok", "no file")
        path = self.file(self.SENDS)
        for variable in "CUSPAN_CONFIG_FILE", "OTEL_CONFIG_FILE":
            self.says("configuration.file", "ok", f"selected by {variable}", env={variable: path})
            self.says("configuration.file", "problem", f"{variable} is /nowhere", f"unset {variable}", env={variable: "/nowhere/x.yaml"})
        self.says("configuration.file", "ok", "selected by --config", arguments=["--config", path])
        self.says("configuration.file", "warning", "OTEL_EXPORTER_OTLP_ENDPOINT is set but ignored: .*cuspan.yaml does not reference it", r"write \$\{OTEL_EXPORTER_OTLP_ENDPOINT\}",
                  env={"CUSPAN_CONFIG_FILE": path, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"})
        path = self.file(self.SENDS.replace("otlp_http: {}", 'otlp_http: {endpoint: "${OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces"}'))
        lines = self.doctor("configuration.file", env={"CUSPAN_CONFIG_FILE": path, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"})
        self.assertEqual([line["finding"] for line in lines["configuration.file"]], ["ok"])

    def test_check(self):
        self.says("configuration.check", "ok", "environment is valid")
        path = self.file(self.SENDS + "distribution:\n  cuspan:\n    detial: full\n")
        self.says("configuration.check", "problem", r"cuspan.yaml:\d+:\d+.*detial", "does not trace.*cuspan check .*cuspan.yaml", env={"CUSPAN_CONFIG_FILE": path})
        self.says("configuration.check", "warning", "CUSPAN_DETAIL", "cuspan check", env={"CUSPAN_DETAIL": "ful"})
        self.says("configuration.check", "problem", "detial", arguments=["--set", "detial=full"])
        for check in "enabled", "sampling", "kinds", "filters":
            self.says(f"configuration.{check}", "unknown", "configuration.check", env={"CUSPAN_CONFIG_FILE": path})
        for check in "collector.port", "slow.detail":
            self.says(check, "unknown", "configuration.check", env={"CUSPAN_CONFIG_FILE": path})

    def test_enabled(self):
        self.says("configuration.enabled", "ok", "OTLP/HTTP http://localhost:4318")
        self.says("configuration.enabled", "problem", "OTEL_SDK_DISABLED", "unset OTEL_SDK_DISABLED", env={"OTEL_SDK_DISABLED": "true"})
        self.says("configuration.enabled", "problem", "disabled: true", "disabled: false",
                  env={"CUSPAN_CONFIG_FILE": self.file("disabled: true\n" + self.SENDS)})
        self.says("configuration.enabled", "problem", "no exporter", "OTEL_TRACES_EXPORTER=otlp", env={"OTEL_TRACES_EXPORTER": "none"})
        self.says("configuration.enabled", "warning", "record_file", "cuspan replay", arguments=["--set", "record_file=/tmp/x"])

    def test_sampling(self):
        self.says("configuration.sampling", "ok", "always_on")
        self.says("configuration.sampling", "problem", "always_off", "always_on", env={"OTEL_TRACES_SAMPLER": "always_off"})
        ratio = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio"}
        self.says("configuration.sampling", "problem", "ratio of 0", "always_on", env={**ratio, "OTEL_TRACES_SAMPLER_ARG": "0"})
        self.says("configuration.sampling", "warning", "10 % of root spans", "always_on", env={**ratio, "OTEL_TRACES_SAMPLER_ARG": "0.1"})
        self.says("configuration.sampling", "problem", "the parent is not sampled", "unset TRACEPARENT", env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-00"})
        self.says("configuration.sampling", "ok", "TRACEPARENT is sampled", env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-01", **ratio, "OTEL_TRACES_SAMPLER_ARG": "0"})
        self.says("configuration.sampling", "warning", "invalid and ignored", "unset", env={"TRACEPARENT": "00-nonsense"})
        self.says("configuration.sampling", "warning", "attached", "auto", arguments=["--set", "sampling.sleep=always"])
        self.says("configuration.sampling", "warning", "at most 2", "raise", arguments=["--set", "sampling.traces_per_second=2"])

    def test_kinds(self):
        def off(name, found, fix, *settings):
            arguments = [part for setting in settings for part in ("--set", setting)]
            self.says("configuration.kinds", "problem", f"^{name}: {found}", fix, arguments=["--expect", name, *arguments])

        def on(name, *settings):
            arguments = [part for setting in settings for part in ("--set", setting)]
            self.says("configuration.kinds", "ok", f"^{name}: on", arguments=["--expect", name, *arguments])

        for name in "kernel", "memcpy", "nvtx", "launch", "cudaLaunchKernel", "parameters", "calls":
            on(name)
        for name in "graph-nodes", "cudaGetDevice", "synchronization":
            on(name, "detail=full")
            off(name, "off", "detail: (full|graph-nodes)")
        off("kernel", "off, capture.activities.deny", "change", "capture.activities.deny=kern*")
        off("memcpy", "off, capture.activities.allow", "change", "capture.activities.allow=kernel")
        off("nvtx", "off", "capture.nvtx: true", "capture.nvtx=false")
        off("cudaLaunchKernel", "off, capture.calls.deny", "change", "capture.calls.deny=launch")
        off("cudaLaunchKernel", "off, capture.runtime is false", "change", "capture.runtime=false")
        off("parameters", "off", "capture.parameters", "capture.parameters=false")
        off("graph", "off, detail graph-nodes", "detail: default", "detail=graph-nodes")
        off("kernals", "no kind", "use names such as")
        self.says("configuration.kinds", "warning", "capture.driver is false", "true", arguments=["--set", "capture.driver=false"])

    def test_filters(self):
        self.says("configuration.filters", "ok")
        self.says("configuration.filters", "warning", "kernels.deny .*gemm", "pattern", arguments=["--set", "capture.kernels.deny=*gemm*"])
        self.says("configuration.filters", "warning", "calls.allow launch, copy", arguments=["--set", "capture.calls.allow=launch,copy"])
        self.says("configuration.filters", "warning", "cudaProfilerStart", "false", arguments=["--set", "capture.cuda_profiler=true"])


class Answering(http.server.BaseHTTPRequestHandler):
    """Responds with the status, body and delay of the server."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        server.bodies.append((dict(self.headers.items()), self.rfile.read(int(self.headers.get("Content-Length", 0)))))
        time.sleep(server.delay)
        self.answer(server.status, server.body)

    def do_GET(self):
        self.answer(200 if self.path == "/api/services" else 404, b"{}")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that closes the connection


class Collector(Case):
    def serve(self, status=200, body=b"", delay=0.0, context=None, port=0):
        server = Quiet((LOCAL, port), Answering)
        server.status, server.body, server.delay, server.bodies = status, body, delay, []
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def speak(self, first):
        """A server that sends these bytes to every client."""
        listener = socket.create_server((LOCAL, 0))

        def run():
            while True:
                try:
                    client, _ = listener.accept()
                    client.sendall(first)
                    client.settimeout(5)
                    while client.recv(4096):
                        pass
                    client.close()
                except TimeoutError:
                    pass
                except OSError:
                    if listener.fileno() < 0:
                        return

        threading.Thread(target=run, daemon=True).start()
        self.addCleanup(listener.close)
        return listener.getsockname()[1]

    def asks(self, check, finding, found="", fix="", port=None, url=None, arguments=(), **options):
        url = url or f"http://{LOCAL}:{port}"
        return self.says(f"collector.{check}", finding, found, fix, arguments=["--endpoint", url, *arguments], **options)

    def test_no_fault(self):
        receiver = sink.Sink()
        self.addCleanup(receiver.close)
        for protocol in "http/protobuf", "http/json":
            arguments = ["--protocol", protocol]
            self.asks("answer", "ok", "accepts an empty export request.*HTTP 200", port=receiver.port, arguments=arguments)
        types = {request.headers["Content-Type"]: request for request in receiver.requests}
        self.assertEqual(types["application/x-protobuf"].body, b"")
        self.assertEqual(json.loads(types["application/json"].body), {"resourceSpans": []})
        self.assertEqual({request.path for request in receiver.requests}, {"/v1/traces"})
        self.asks("protocol", "ok", port=receiver.port)
        self.asks("host", "ok", LOCAL, port=receiver.port)
        self.asks("port", "ok", "accepts connections", port=receiver.port)
        self.asks("tls", "skipped", port=receiver.port)
        self.asks("proxy", "ok", "no proxy", port=receiver.port)

    def test_no_network(self):
        for check in "proxy", "host", "port", "protocol", "tls", "answer", "jaeger":
            self.says(f"collector.{check}", "skipped", "no output uses the network", arguments=["--file", "x.jsonl"])

    def test_headers_are_sent_and_not_shown(self):
        server = self.serve(401, b"the key s3cr3t is wrong")
        line = self.asks("answer", "problem", "HTTP 401: .*contains a secret", "headers", port=server.server_port,
                         env={"OTEL_EXPORTER_OTLP_HEADERS": "api-key=s3cr3t"})
        self.assertNotIn("s3cr3t", str(line))
        self.assertEqual(server.bodies[0][0]["api-key"], "s3cr3t")

    def test_refusals(self):
        for status, body, found, fix in ((404, b"", "HTTP 404", "/v1/traces"), (503, b"later", "HTTP 503: later", "log"),
                                          (415, b"no gzip here", "HTTP 415: no gzip here", "compression"), (307, b"", "HTTP 307", "redirects")):
            server = self.serve(status, body)
            self.asks("answer", "problem", found, fix, port=server.server_port)
            self.asks("protocol", "ok", "rejects the request", port=server.server_port)

    def test_unknown_host(self):
        url = "http://no-such-host.invalid:4318"
        self.asks("host", "problem", "no-such-host.invalid: ", "correct the endpoint's host name", url=url)
        self.asks("port", "unknown", url=url)
        self.asks("answer", "unknown", "no connection: ", url=url)

    def test_closed_port(self):
        port = backend.free_ports(1)[0]
        self.asks("port", "problem", "refused", "start the collector", port=port)
        self.asks("protocol", "unknown", port=port)
        self.asks("answer", "unknown", "no connection: ", port=port)
        self.put("/.dockerenv")
        self.asks("port", "problem", "refused", "in a container, 127.0.0.1 is the container itself", port=port)

    def test_http_at_a_grpc_port(self):
        # A gRPC server first sends an empty SETTINGS frame.
        port = self.speak(b"\0\0\0\4\0\0\0\0\0")
        self.asks("protocol", "problem", r"speaks HTTP/2 \(gRPC\)", "4318.*--protocol grpc", port=port)
        self.asks("answer", "problem", f"http://{LOCAL}:{port}", "protocol", port=port)

    def test_grpc_at_an_http_port(self):
        server = self.serve()
        self.asks("protocol", "problem", "speaks HTTP/1.1", "4317.*http/protobuf", port=server.server_port, arguments=["--protocol", "grpc"])

    def test_a_silent_port(self):
        port = self.speak(b"")
        self.asks("protocol", "unknown", "does not respond", port=port, env={"OTEL_EXPORTER_OTLP_TIMEOUT": "500"})
        self.asks("answer", "problem", "", "log", port=port, env={"OTEL_EXPORTER_OTLP_TIMEOUT": "500"})

    def test_proxies(self):
        server = self.serve()
        dead = backend.free_ports(1)[0]
        env = {"http_proxy": f"http://user:s3cr3t@{LOCAL}:{dead}"}
        line = self.asks("proxy", "problem", rf"use the proxy http://{LOCAL}:{dead}.* \(http_proxy\), and fail", f"export no_proxy={LOCAL}", port=server.server_port, env=env)
        self.assertNotIn("s3cr3t", str(line))
        self.asks("proxy", "ok", "no proxy", port=server.server_port, env={**env, "no_proxy": f"example.com,{LOCAL}"})
        self.asks("answer", "ok", port=server.server_port, env={**env, "no_proxy": "*"})
        # This server is a working proxy: it accepts requests for any host.
        self.asks("proxy", "ok", "and succeed", url="http://elsewhere.invalid:4318", env={"http_proxy": f"http://{LOCAL}:{server.server_port}"})
        self.asks("host", "warning", "elsewhere.invalid", "correct", url="http://elsewhere.invalid:4318",
                  env={"http_proxy": f"http://{LOCAL}:{server.server_port}"})

    def certificate(self, name, *more):
        key, certificate = self.directory / f"{name}.key", self.directory / f"{name}.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                        "-out", certificate, "-subj", f"/CN={name}", *more], stderr=subprocess.DEVNULL, check=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return certificate, context

    def test_tls(self):
        certificate, context = self.certificate("good", "-addext", "subjectAltName=IP:127.0.0.1")
        server = self.serve(context=context)
        url = f"https://{LOCAL}:{server.server_port}"
        trusted = {"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate}
        self.asks("tls", "ok", "is trusted by", url=url, env=trusted)
        self.asks("answer", "ok", "HTTP 200", url=url, env=trusted)
        self.asks("tls", "problem", "certificate", "OTEL_EXPORTER_OTLP_CERTIFICATE", url=url)
        self.asks("answer", "problem", "certificate", "TLS", url=url)
        self.asks("tls", "warning", "tls_verify", "true", url=url, arguments=["--set", "tls_verify=false"])
        self.asks("tls", "problem", "/nowhere.pem: No such file", "correct the path", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere.pem"})
        self.asks("protocol", "problem", "speaks TLS", "https://", port=server.server_port)

    def test_a_certificate_with_another_name(self):
        certificate, context = self.certificate("elsewhere", "-addext", "subjectAltName=DNS:elsewhere.example")
        url = f"https://{LOCAL}:{self.serve(context=context).server_port}"
        self.asks("tls", "problem", "", "host name of the certificate", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate})

    def test_an_expired_certificate(self):
        certificate, _ = self.certificate("expired", "-addext", "subjectAltName=IP:127.0.0.1")
        key, request = self.directory / "expired.key", self.directory / "expired.csr"
        extensions = self.directory / "extensions"
        extensions.write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:TRUE\n")
        for command in (["req", "-new", "-key", key, "-subj", "/CN=expired", "-out", request],
                        ["x509", "-req", "-in", request, "-signkey", key, *bad_server.expired_options(), "-extfile", extensions,
                         "-out", certificate]):
            subprocess.run(["openssl", *command], stderr=subprocess.DEVNULL, check=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        url = f"https://{LOCAL}:{self.serve(context=context).server_port}"
        self.asks("tls", "problem", "expired", "renew", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate})

    def test_required_client_certificate(self):
        certificate, context = self.certificate("mutual", "-addext", "subjectAltName=IP:127.0.0.1")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificate)
        url = f"https://{LOCAL}:{self.serve(context=context).server_port}"
        self.asks("tls", "problem", "", "CLIENT_CERTIFICATE", url=url, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": certificate})

    def test_tls_to_a_plain_port(self):
        server = self.serve()
        self.asks("protocol", "problem", "speaks HTTP without TLS", "http:// instead", url=f"https://{LOCAL}:{server.server_port}")
        self.asks("tls", "unknown", "no TLS handshake", url=f"https://{LOCAL}:{server.server_port}")

    def jaeger(self):
        try:
            return self.serve(port=16686)
        except OSError:
            self.skipTest("port 16686 is in use")

    def test_jaeger(self):
        self.jaeger()
        server = self.serve()
        self.asks("jaeger", "ok", f"http://{LOCAL}:16686", port=server.server_port)
        self.asks("jaeger", "skipped", port=backend.free_ports(1)[0])
        refusing = self.serve(404)
        self.asks("answer", "problem", "HTTP 404", port=refusing.server_port)

    def test_jaegers_page_instead_of_the_collector(self):
        self.jaeger().status = 405
        self.asks("protocol", "problem", "Jaeger's web page", "4318", port=16686)

    def test_a_jaeger_that_fails(self):
        self.jaeger().RequestHandlerClass = type("Failing", (Answering,), {"do_GET": lambda self: self.answer(500, b"")})
        self.asks("jaeger", "warning", "500", "log", port=self.serve().server_port)


class Permissions(Case):
    def test_counters(self):
        cuspan = shutil.copy(BUILD / "cuspan", self.directory / "cuspan")
        self.says("permissions.counters", "skipped")
        self.put("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
        self.says("permissions.counters", "warning", "RmProfilingAdminOnly: 1", "NVreg_RestrictProfilingToAdminUsers=0", cuspan=cuspan, **NOBODY)
        self.put("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
        self.says("permissions.counters", "ok", cuspan=cuspan, **NOBODY)

    def test_files(self):
        cuspan = shutil.copy(BUILD / "cuspan", self.directory / "cuspan")
        self.says("permissions.files", "skipped")
        for setting in "record_file", "output_file", "report_file":
            self.says("permissions.files", "ok", f"{setting}.*is writable", arguments=["--set", f"{setting}={self.directory}/x"])
            self.says("permissions.files", "problem", f"{setting} is /nowhere/x.*No such file", "create the folder", arguments=["--set", f"{setting}=/nowhere/x"])
        closed = self.directory / "closed"
        closed.mkdir(mode=0o700 if IS_ROOT else 0)
        self.says("permissions.files", "problem", "Permission denied", "writable for user", arguments=["--set", f"output_file={closed}/x"], cuspan=cuspan, **NOBODY)
        locked = self.directory / "locked.jsonl"
        locked.touch(0o444)
        self.says("permissions.files", "problem", "locked.jsonl: Permission denied", "writable", arguments=["--set", f"output_file={locked}"], cuspan=cuspan, **NOBODY)
        self.says("permissions.files", "problem", "is a folder", "specify a file", arguments=["--set", f"output_file={closed}"])

    def on_disk(self, options, command):
        """The result with a separate file system at `disk`, which `command` fills."""
        (self.directory / "disk").mkdir(exist_ok=True)
        script = (f"mount -t tmpfs -o {options} none disk && {{ {command}; exec \"$0\" doctor --json --only permissions.disk --set "
                  f"output_file=$PWD/disk/x; }}")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, BUILD / "cuspan"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment({}), cwd=self.directory, text=True, check=False)
        if not done.stdout:
            self.skipTest("cannot mount a file system: " + done.stderr.strip())
        SEEN["permissions.disk"].update(line["finding"] for line in json.loads(done.stdout)["checks"])
        return json.loads(done.stdout)["checks"][0]

    def test_disks(self):
        self.says("permissions.disk", "ok", "free")
        line = self.on_disk("size=1m", "dd if=/dev/zero of=disk/y 2>/dev/null")
        self.assertEqual((line["finding"], "is full" in line["found"], "free some space" in line["mend"]), ("problem", True, True), line)
        line = self.on_disk("size=8m", ":")
        self.assertEqual((line["finding"], "8 MiB free" in line["found"]), ("warning", True), line)
        line = self.on_disk("size=1m,ro", ":")
        self.assertEqual((line["finding"], "read-only" in line["found"]), ("problem", True), line)

    def test_runtime_folder(self):
        self.says("permissions.runtime", "skipped")
        folder = self.directory / "runtime"
        env = {"XDG_RUNTIME_DIR": folder}
        self.says("permissions.runtime", "warning", "No such file", "mkdir -m 700", env=env)
        folder.mkdir(mode=0o700)
        self.says("permissions.runtime", "ok", env=env)
        folder.chmod(0o777)
        self.says("permissions.runtime", "warning", "writable for others", "chmod 700", env=env)

    def test_limits(self):
        if SANITIZERS:
            self.skipTest("a sanitizer needs more than these limits")
        hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
        self.says("permissions.limits", "ok", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard)))
        for limit, value, found, fix in ((resource.RLIMIT_NOFILE, 32, "32 open files", "ulimit -n"), (resource.RLIMIT_AS, 8 << 30, "8589934592", "ulimit -v"),
                                          (resource.RLIMIT_FSIZE, 1 << 20, "1048576", "ulimit -f"), (resource.RLIMIT_MEMLOCK, 4096, "4096 bytes", "ulimit -l"),
                                          (resource.RLIMIT_NPROC, 20, "20 processes", "ulimit -u")):
            if limit == resource.RLIMIT_NPROC and not IS_ROOT:
                continue  # otherwise fork fails, too
            self.says("permissions.limits", "warning", found, fix,
                      preexec_fn=lambda limit=limit, value=value: resource.setrlimit(limit, (value, resource.getrlimit(limit)[1])))

    @staticmethod
    def forbid_reading_memory():
        """A seccomp filter like a container's: process_vm_readv fails with EPERM."""
        number = {"x86_64": 310, "aarch64": 270}[platform.machine()]
        code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 1), (0x06, 0, 0, 0x7fff0000)]
        program = b"".join(struct.pack("HBBI", *each) for each in code)
        buffer = ctypes.create_string_buffer(program, len(program))
        head = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(38, 1, 0, 0, 0)
        if libc.prctl(22, 2, head, 0, 0):
            raise OSError(ctypes.get_errno(), "no seccomp filter")

    def test_filters_of_system_calls(self):
        self.put("/proc/self/status", "Seccomp:\t0\n")
        self.says("permissions.seccomp", "ok", "no seccomp filter")
        self.put("/proc/self/status", "Seccomp:\t2\n")
        self.says("permissions.seccomp", "ok", "allows what cuspan needs")
        self.says("permissions.seccomp", "warning", "process_vm_readv", "seccomp=unconfined", preexec_fn=self.forbid_reading_memory)
        self.put("/proc/self/status", "Seccomp:\t1\n")
        self.says("permissions.seccomp", "problem", "strict", "mode 2")


class Slow(Case):
    def test_processors(self):
        first = min(os.sched_getaffinity(0))
        self.says("slow.processors", "warning", "one processor", "taskset", preexec_fn=lambda: os.sched_setaffinity(0, {first}))
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two processors")
        two = set(sorted(os.sched_getaffinity(0))[:2])
        self.says("slow.processors", "ok", "2", preexec_fn=lambda: os.sched_setaffinity(0, two))
        self.put("/sys/devices/system/cpu/smt/active", "1\n")
        self.says("slow.processors", "warning", "SMT", "lscpu", preexec_fn=lambda: os.sched_setaffinity(0, two))
        self.put("/sys/fs/cgroup/cpu.max", "150000 100000\n")
        self.says("slow.processors", "warning", "1.5 of", "cpus")
        self.put("/sys/fs/cgroup/cpu.max", "max 100000\n")
        (self.root / "sys/devices/system/cpu/smt/active").write_text("0")
        self.says("slow.processors", "ok", preexec_fn=lambda: os.sched_setaffinity(0, two))

    def test_an_older_cgroup(self):
        self.put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n")
        self.put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
        self.says("slow.processors", "warning", "0.5 of", "cpus")

    def test_detail(self):
        self.says("slow.detail", "ok", "default")
        self.says("slow.detail", "warning", "cudaGetDevice", "detail: default", arguments=["--detail", "full"])

    def test_graphs(self):
        self.says("slow.graphs", "ok")
        self.says("slow.graphs", "warning", r"1\.7 times", "detail: default", arguments=["--detail", "graph-nodes"])
        self.says("slow.graphs", "warning", "0.11 us", "when-used", arguments=["--set", "cupti.graph_records=always"])

    def test_graphs_of_an_older_cupti(self):
        arguments = ["--set", f"cupti.library={self.cupti('other', 130200)}"]
        done = self.run_doctor("--json", *arguments, "--file", "x")
        line = next(line for line in json.loads(done.stdout)["checks"] if (line["group"], line["name"]) == ("slow", "graphs"))
        self.assertEqual(line["finding"], "warning", line)
        self.assertIn("from the start", line["found"])

    def test_rings(self):
        self.says("slow.rings", "ok")
        for setting, found in (("rings.bytes=16384", "16384"), ("cupti.host_buffer_bytes=32768", "578 ns"), ("cupti.per_thread_buffers=false", "wait for each other"),
                               ("cupti.host_buffer_count=2", "2 for")):
            self.says("slow.rings", "warning", found, "default", arguments=["--set", setting],
                      preexec_fn=lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))

    def test_queues(self):
        self.says("slow.queues", "ok")
        self.says("slow.queues", "warning", "max_queue_size is 2048 for", "raise", env={"OTEL_BSP_MAX_QUEUE_SIZE": "2048", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1024"})
        self.says("slow.queues", "warning", "max_export_batch_size is 64", "raise", env={"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "64"})
        self.says("slow.queues", "warning", "memory_bytes_max leaves", "raise memory_bytes_max", arguments=["--set", "memory_bytes_max=60000000"])

    serve = Collector.serve

    def test_collector(self):
        quick, slow = self.serve(), self.serve(delay=0.6)
        self.says("slow.collector", "ok", "took", arguments=["--endpoint", f"http://{LOCAL}:{quick.server_port}"])
        self.says("slow.collector", "warning", "spans per second", "near the program", arguments=["--endpoint", f"http://{LOCAL}:{slow.server_port}"])
        self.says("slow.collector", "skipped", arguments=["--file", "x"])

    def test_compression(self):
        self.says("slow.compression", "ok", "gzip")
        self.says("slow.compression", "ok", "to this machine", arguments=["--set", "compression=none", "--endpoint", f"http://{LOCAL}:9"])
        self.says("slow.compression", "warning", "420 bytes", "COMPRESSION=gzip",
                  arguments=["--set", "compression=none", "--endpoint", "http://elsewhere.invalid:4318"])

    def test_clock(self):
        folder = "/sys/devices/system/clocksource/clocksource0"
        self.says("slow.clock", "unknown")
        self.put(f"{folder}/current_clocksource", "tsc\n")
        self.says("slow.clock", "ok", "tsc")
        self.put(f"{folder}/current_clocksource", "hpet\n")
        self.says("slow.clock", "warning", "hpet", "clocksource=tsc")
        self.put(f"{folder}/available_clocksource", "tsc hpet acpi_pm\n")
        self.says("slow.clock", "warning", "hpet", "echo tsc")


class Agents(Case):
    def process(self, pid, name, maps, thread="main"):
        self.put(f"/proc/{pid}/comm", name + "\n")
        self.put(f"/proc/{pid}/maps", "".join(f"7f00-7f01 r-xp 00000000 08:01 12 {path}\n" for path in maps))
        self.put(f"/proc/{pid}/task/{pid}/comm", "main\n")
        self.put(f"/proc/{pid}/task/{pid + 1}/comm", thread + "\n")

    def test_running(self):
        self.put("/proc/version")
        self.says("agents.running", "skipped", "no process uses CUDA")
        self.process(300, "plain", ["/usr/lib/libc.so.6"])
        self.says("agents.running", "skipped", "no process uses CUDA")
        self.process(400, "train", ["/usr/lib/libcuda.so.1", "/opt/cuspan/libcuspan.so"], "cuspan/pipeline")
        self.process(500, "asleep", ["/opt/cuspan/libcuspan.so"])
        self.process(600, "without", ["/usr/lib/libcuda.so.570.10"])
        self.process(700, "old", ["/opt/cuspan/libcuspan.so (deleted)"], "cuspan/pipeline")
        self.says("agents.running", "ok", r"400 \(train\) has an active agent: /opt")
        self.says("agents.running", "warning", r"500 \(asleep\) .*does not trace", "OTEL_LOG_LEVEL=info")
        self.says("agents.running", "warning", r"600 \(without\) uses CUDA", "cuspan run.*running process")
        self.says("agents.running", "warning", r"700 \(old\) .*replaced", "restart the program")

    def test_real_process(self):
        """In the real /proc, a process with a loaded agent is listed."""
        process = subprocess.Popen([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(self.agent())!r}); print(1, flush=True); input()"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE) if not SANITIZERS else None
        if not process:
            self.skipTest("a sanitized library needs its runtime")
        self.addCleanup(process.communicate, b"\n")
        process.stdout.readline()
        lines = self.doctor("agents.running", env={"CUSPAN_DOCTOR_ROOT": None})["agents.running"]
        self.assertTrue(any(f"process {process.pid} " in line["found"] or "more processes" in line["found"] for line in lines), lines)


class Program(Case):
    """The stage at which a program's data ends."""

    def host(self, recording="vector_add"):
        return [BUILD / "agent_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so", ROOT / f"examples/recordings/{recording}.cuspanrec"]

    def run_it(self, finding, found, fix="", settings=(), program=None, arguments=(), **options):
        target = self.directory / "spans.jsonl"
        arguments = [*arguments, *(part for setting in [f"cupti.library={BUILD}/libcuspan-replay.so", *settings] for part in ("--set", setting))]
        if not any("endpoint" in str(each) or "record_file" in str(each) for each in arguments):
            arguments += ["--file", target]
        return self.says("program.run", finding, found, fix, arguments=arguments, program=program or self.host(), **options)

    def test_no_fault(self):
        self.run_it("ok", r"\d+ spans delivered, from \d+ calls and \d+ GPU records")
        spans = [span for line in (self.directory / "spans.jsonl").read_text().splitlines() for span in backend.spans_of(json.loads(line))]
        self.assertGreater(len(spans), 20)

    def test_no_program(self):
        self.says("program.run", "skipped")
        self.run_it("problem", "cannot run .*: No such file", "in PATH", program=["no-such-program-at-all"])

    def test_never_loaded(self):
        self.run_it("problem", "never loaded.*status 0", "driver.start", program=["true"])
        self.run_it("problem", r"never loaded.*crashed \(Segmentation", program=["sh", "-c", "kill -SEGV $$"])

    def test_a_driver_without_an_agent(self):
        self.driver()
        code = "import ctypes, time; ctypes.CDLL('libcuda.so.1'); time.sleep(1)"
        self.run_it("problem", "the driver did not load the agent", "driver.start", program=[sys.executable, "-c", code])

    def test_another_subscriber(self):
        self.run_it("problem", "did not start: another tool .*some-profiler", "this line", env={"CUSPAN_REPLAY_FAIL": "subscribe"})

    def test_agent_did_not_start(self):
        self.run_it("problem", "did not start: the sampler is always_off", env={"OTEL_TRACES_SAMPLER": "always_off"})
        self.run_it("problem", "did not start: cuspan is disabled", env={"OTEL_SDK_DISABLED": "true"})

    def test_no_exit_handlers(self):
        if SANITIZERS:
            self.skipTest("a sanitized library needs its runtime")
        code = ("import ctypes, os; d = ctypes.CDLL(os.environ['HOST_DOUBLE']); d.cuspan_replay_load(os.environ['HOST_RECORDING'].encode(), "
                "ctypes.create_string_buffer(512)); ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH']).InitializeInjection(); os._exit(3)")
        host = self.host()
        self.run_it("problem", "wrote no final report: the program exited with status 3", "cuspan_finish", program=[sys.executable, "-c", code],
                    env={"HOST_DOUBLE": host[2], "HOST_RECORDING": host[3]})

    def test_no_calls_at_all(self):
        self.run_it("problem", "saw no calls and no GPU work", "configuration.filters", program=self.host()[:2],
                    settings=[f"cupti.library={self.cupti('other', 130200)}"])

    def test_nothing_sampled(self):
        ratio = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}
        self.run_it("problem", r"but no spans: [1-9]\d* not sampled", "configuration.sampling", env=ratio)

    def test_no_gpu_records(self):
        self.run_it("problem", r"\d+ calls, but CUPTI reported no GPU work", "cupti.api", settings=["capture.activities.deny=*"])

    def test_nothing_delivered(self):
        port = backend.free_ports(1)[0]
        self.run_it("problem", r"none of \d+ spans was delivered: lost_\w+ \d+", "collector", settings=["exit_deadline_ms=500"],
                    arguments=["--endpoint", f"http://{LOCAL}:{port}"])

    serve = Collector.serve

    def test_refused(self):
        server = self.serve(400)
        self.run_it("problem", r"none of \d+ spans was delivered: lost_refused \d+; .* refuses spans", "collector",
                    arguments=["--endpoint", f"http://{LOCAL}:{server.server_port}"])

    def test_losses(self):
        self.run_it("warning", r"\d+ of \d+ spans were delivered; lost: lost_cupti_dropped 5", "troubleshooting", env={"CUSPAN_REPLAY_FAIL": "dropped=5"})

    def test_recorded(self):
        self.run_it("warning", "recorded", "record_file", settings=[f"record_file={self.directory}/x.cuspanrec"])

    def test_long_program(self):
        self.run_it("problem", "never loaded.*was terminated by cuspan doctor", program=["sleep", "3600"], arguments=["--seconds", "1"])

    def test_long_program_with_an_agent(self):
        script = self.directory / "long.sh"
        script.write_text("#!/bin/sh\n" + " ".join(map(str, self.host())) + "\nexec sleep 120\n")
        script.chmod(0o755)
        self.run_it("warning", "was terminated after 5 s", "--seconds", program=[script], arguments=["--seconds", "5"])

    def test_another_tools_variable(self):
        self.run_it("problem", "not run: CUDA_INJECTION64_PATH is set to", "fix this first", env={"CUDA_INJECTION64_PATH": BUILD / "libfake_cuda.so"})

    def test_program_output_is_discarded(self):
        done = self.run_doctor("--only", "program", program=["sh", "-c", "echo loud; echo loud >&2"])
        self.assertNotIn("loud", done.stdout + done.stderr)


class Output(Case):
    def test_plain_and_colored(self):
        plain = self.run_doctor("--only", "driver.library")
        self.assertRegex(plain.stdout, r"\Aproblem   driver\.library: .*\n          fix: .*\n\n1 problem, 0 warnings, 0 unknown")
        self.assertNotIn("\033", plain.stdout)
        colored = self.run_doctor("--only", "driver.library", "--color", "always")
        self.assertEqual(re.sub("\033\\[[0-9;]*m", "", colored.stdout), plain.stdout)
        self.assertIn("\033[1;31mproblem", colored.stdout)
        self.assertNotIn("\033", self.run_doctor("--only", "driver.library", env={"NO_COLOR": "1"}).stdout)

    def test_a_terminal(self):
        for env, is_colored in ({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False):
            ours, theirs = os.openpty()
            subprocess.run([BUILD / "cuspan", "doctor", "--only", "driver.library"], stdout=theirs, env=self.environment({"TERM": "xterm", "NO_COLOR": None, **env}), check=False)
            os.close(theirs)
            self.assertEqual(b"\033[" in os.read(ours, 4096), is_colored, env)
            os.close(ours)

    def test_control_characters_are_removed(self):
        done = self.run_doctor("--only", "injection.variable", env={"CUDA_INJECTION64_PATH": "/nowhere/\033[2J\nx.so"})
        self.assertNotIn("\033", done.stdout)
        self.assertIn("/nowhere/?[2J?x.so", done.stdout)
        lines = self.doctor("injection.variable", env={"CUDA_INJECTION64_PATH": "/nowhere/\033[2J\nx.so"})
        self.assertIn("\033[2J\n", lines["injection.variable"][0]["found"])

    def test_usage(self):
        for arguments in ["--only", "nonsense"], ["--only", "driver.nonsense"], ["--seconds", "0"], ["--protocol", "x"], ["--nonsense"], ["--color", "blue"]:
            done = self.run_doctor(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)

    def test_a_whole_run(self):
        self.driver()
        done = self.run_doctor("--json", "--file", "x")
        said = json.loads(done.stdout)
        self.assertEqual({f"{line['group']}.{line['name']}" for line in said["checks"]}, set(all_checks()))
        order = list(dict.fromkeys(f"{line['group']}.{line['name']}" for line in said["checks"]))
        self.assertEqual(order, all_checks())


class Page(Case):
    """docs/troubleshooting.md."""

    def test_has_every_check(self):
        page = (ROOT / "docs/troubleshooting.md").read_text()
        named = set(re.findall(r"`([a-z]+\.[a-z]+)`", page))
        for check in all_checks():
            self.assertIn(check, named)
        groups = {check.split(".")[0] for check in all_checks()}
        self.assertEqual({name for name in named if name.split(".")[0] in groups} - set(all_checks()), set())

    def test_has_every_loss(self):
        page = (ROOT / "docs/troubleshooting.md").read_text()
        counters = (ROOT / "src/base/accounting/counters.h").read_text()
        for name in re.findall(r"X\((lost_\w+), true", counters):
            self.assertIn(f"`{name}`", page)


def all_checks():
    done = subprocess.run([BUILD / "cuspan", "doctor", "--list"], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def missing_results():
    """Checks that never reported a fault, or never reported ok."""
    for check in all_checks():
        if not SEEN[check] & {"problem", "warning"}:
            yield f"{check} never reported a fault"
        if not SEEN[check] & {"ok"}:
            yield f"{check} never reported ok"


def main():
    global BUILD, SANITIZERS
    parser = argparse.ArgumentParser(description="Runs cuspan doctor against the faults that it reports.")
    parser.add_argument("--build", required=True, type=Path, help="the build's directory")
    parser.add_argument("--sanitizers", default="", help="what it was built with")
    parser.add_argument("tests", nargs="*", help="groups or single tests; none: all")
    args = parser.parse_args()
    BUILD, SANITIZERS = args.build.resolve(), args.sanitizers
    result = unittest.main(argv=[sys.argv[0], *args.tests], verbosity=2, exit=False).result
    missing = [] if args.tests or result.skipped else list(missing_results())
    for line in missing:
        print("FAIL:", line, file=sys.stderr)
    sys.exit(not result.wasSuccessful() or bool(missing))


if __name__ == "__main__":
    main()
