#!/usr/bin/env python3
"""`cuspan doctor`: the driver and CUPTI.

    doctor_driver_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import shutil
import struct
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import doctor_case  # noqa: E402
from doctor_case import IS_ROOT, NOBODY, SEEN  # noqa: E402


class Driver(doctor_case.Case):
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
        cuspan = shutil.copy(doctor_case.BUILD / "cuspan", self.directory / "cuspan")
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
        self.says("driver.start", "ok", env={"CUDA_INJECTION64_PATH": doctor_case.BUILD / "libcuspan.so"})


class Cupti(doctor_case.Case):
    def test_none(self):
        self.says("cupti.library", "problem", "found no CUPTI", r"pip install nvidia-cuda-cupti .*--find-links dist", arguments=["--library", self.agent()])
        self.driver()
        self.says("cupti.library", "problem", "found no CUPTI.*cupti-cu12", "cupti-cu12.*find-links dist", arguments=["--library", self.agent()],
                  env={"FAKE_CUDA_VERSION": 12080})

    def test_the_newest_is_taken(self):
        self.driver()
        library = self.agent()
        self.cupti("agent/cupti", 130200)
        self.says("cupti.library", "ok", r"CUDA 13.2,.*agent/cupti/libcupti.so.13, the only one found \(beside libcuspan.so\)", arguments=["--library", library])
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
        self.says("cupti.others", "warning", "CUPTI result 7", "see driver.library", arguments=["--library", library], env={"FAKE_CUPTI_RESULT": 7})
        path.write_text("no library")
        self.says("cupti.others", "warning", "cannot load CUPTI.*invalid ELF|cannot load CUPTI.*too short", "install the package",
                  arguments=["--library", library])
        header = bytearray(Path(library).read_bytes()[:64])
        header[18:20] = struct.pack("<H", 8)  # MIPS
        path.write_bytes(header)
        self.says("cupti.others", "warning", "libcupti.so.13 is for another architecture", "for this machine", arguments=["--library", library])
        self.says("cupti.library", "problem", "for another architecture", "pip install", arguments=["--library", library])

    def test_unreadable(self):
        self.driver()
        library = self.agent()
        self.cupti("agent/cupti", 130500).chmod(0)
        self.cupti("agent/cupti", 130500, "libcupti.so.12")
        self.says("cupti.others", "warning", "so.13: .*Permission denied", r"chmod o\+r .*so.13", arguments=["--library", library], **NOBODY)
        self.says("cupti.library", "ok", "so.12", arguments=["--library", library], **NOBODY)

    def wheel(self, site):
        """The agent as a wheel installs it below a folder of packages."""
        folder = self.directory / site / "cuspan/native/lib/cuspan"
        folder.mkdir(parents=True)
        for name in "libcuspan.so", "libcuspan-export.so":
            shutil.copy(doctor_case.BUILD / name, folder)
        return folder / "libcuspan.so"

    def test_packages_of_the_wheel(self):
        self.driver()
        site = "venv/lib/python3.12/site-packages"
        library = self.wheel(site)
        self.says("cupti.library", "problem", "found no CUPTI", "pip install", arguments=["--library", library])
        self.cupti(f"{site}/nvidia/cu13/lib", 130500)
        self.says("cupti.library", "ok", r"the only one found \(a Python package beside cuspan\)$", arguments=["--library", library])
        (self.directory / site / "torch").mkdir()
        (self.directory / site / "torch/version.py").touch()
        self.says("cupti.library", "ok", r"beside cuspan, which PyTorch also uses\)$", arguments=["--library", library])
        self.cupti(f"{site}/nvidia/cuda_cupti/lib", 28, "libcupti.so.12")
        old = {"FAKE_CUDA_VERSION": 12080}
        self.says("cupti.library", "ok", "CUDA 12.9, .*so.12, the newest that the driver supports", arguments=["--library", library], env=old)
        self.says("cupti.others", "warning", "so.13 needs a newer driver", "cupti-cu12", arguments=["--library", library], env=old)

    def test_without_a_driver(self):
        library = self.wheel("site")
        self.cupti("site/nvidia/cu13/lib", 130500)
        no_driver = {"FAKE_CUPTI_RESULT": 999}
        self.says("cupti.library", "unknown", r"so.13 \(a Python package beside cuspan\) cannot be checked without NVIDIA's driver",
                  arguments=["--library", library], env=no_driver)
        self.driver()
        self.says("cupti.library", "problem", "does not report its version", arguments=["--library", library], env=no_driver)

    def test_the_programs_packages(self):
        """A program of another Python environment than cuspan's."""
        self.driver()
        library = self.agent()
        self.cupti("env/lib/python3.9/site-packages/nvidia/cu13/lib", 130500)
        program = self.directory / "env/bin/python"
        program.parent.mkdir()
        shutil.copy("/bin/true", program)
        self.says("cupti.library", "problem", "found no CUPTI", "pip install", arguments=["--library", library])
        self.says("cupti.library", "ok", "a Python package of the program", arguments=["--library", library], program=[program])

    def test_cupti_library_setting(self):
        path = self.cupti("other", 130500)
        self.says("cupti.library", "ok", "set by cupti.library", arguments=["--set", f"cupti.library={path}"])
        self.says("cupti.library", "problem", "/nowhere/libcupti.so.*cannot load", "unset it", arguments=["--set", "cupti.library=/nowhere/libcupti.so"])

    def test_python(self):
        self.cupti("venv/lib/python3.11/site-packages/nvidia/cu13/lib", 130000)
        env = {"VIRTUAL_ENV": self.directory / "venv"}
        self.says("cupti.python", "ok", "CUDA 13.0,.*this Python environment", env=env)
        self.says("cupti.library", "ok", "a Python package of the program", env=env, arguments=["--library", self.agent()])
        self.cupti(".local/lib/python3.11/site-packages/nvidia/cu13/lib", 130000)
        self.says("cupti.library", "warning", "only Python packages have a CUPTI", "pip install", arguments=["--library", self.agent()])
        shutil.rmtree(self.directory / ".local")
        self.says("cupti.python", "skipped")
        self.says("cupti.python", "warning", "result 7", env={**env, "FAKE_CUPTI_RESULT": 7})

    def test_interfaces(self):
        for version, found in (130200, "13.3"), (130500, "subscriber: "):
            self.says("cupti.api", "ok", found, arguments=["--set", f"cupti.library={self.cupti('other', version)}"])
        path = self.cupti("other", 130200)
        self.says("cupti.api", "problem", "cupti.api is subscriber", "auto",
                  arguments=["--set", f"cupti.library={path}", "--set", "cupti.api=subscriber"])

    def test_without_the_agents_library(self):
        self.says("cupti.library", "unknown", "cannot be loaded", arguments=["--library", doctor_case.BUILD / "libfake_cuda.so"])


if __name__ == "__main__":
    doctor_case.main("driver")
