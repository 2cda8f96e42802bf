#!/usr/bin/env python3
"""`cuspan doctor`: the injection of the agent and its configuration.

    doctor_setup_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support"), str(Path(__file__).resolve().parents[3] / "python")]

import doctor_case  # noqa: E402
from cuspan._hook_points import ENGINES  # noqa: E402
from doctor_case import IS_ROOT  # noqa: E402
from made_hook_points import write_engine  # noqa: E402
from preload import preloadable  # noqa: E402

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Injection(doctor_case.Case):
    def test_library(self):
        self.says("injection.library", "ok", "version", arguments=["--library", self.agent()])
        library = self.agent()
        library.chmod(0o750)
        self.says("injection.library", "warning", "other users cannot read", r"chmod o\+rX", arguments=["--library", library])
        self.says("injection.library", "problem", "is not an agent", "--library", arguments=["--library", doctor_case.BUILD / "libfake_cuda.so"])
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
                  arguments=["--library", self.other_machine("libcuspan.so", doctor_case.BUILD / "libcuspan.so")])

    def test_library_of_another_version(self):
        data = (doctor_case.BUILD / "libcuspan.so").read_bytes()
        version = self.version()
        changed = self.directory / "libcuspan.so"
        changed.write_bytes(data.replace(b"\0" + version + b"\0", b"\0" + version[:-1] + b"9\0"))
        self.says("injection.library", "problem", "has version .*9, but this program", "--library", arguments=["--library", changed])

    def other_copy(self, place, version=None):
        """An installation at `place`, of this or another version."""
        target = self.directory / place / "libcuspan.so"
        target.parent.mkdir(parents=True)
        data = (doctor_case.BUILD / "libcuspan.so").read_bytes()
        target.write_bytes(data.replace(b"\0" + self.version() + b"\0", b"\0" + version + b"\0") if version else data)
        return target

    def version(self):
        told = subprocess.run([doctor_case.BUILD / "cuspan", "version", "--json"], stdout=subprocess.PIPE, check=True).stdout
        return json.loads(told)["version"].encode()

    def test_other_copies(self):
        wheel = self.other_copy("venv/lib/python3.12/site-packages/cuspan/native/lib/cuspan")
        env = {"VIRTUAL_ENV": self.directory / "venv"}
        self.says("injection.library", "ok", f"this version is also installed at {re.escape(str(wheel))}", env=env)
        self.says("injection.library", "ok", "version", env=env, arguments=["--library", wheel])
        other = self.other_copy("prefix/lib/cuspan", self.version()[:-1] + b"9")
        program = self.directory / "prefix/bin/cuspan"
        program.parent.mkdir()
        program.touch(0o755)
        env["PATH"] = f"{program.parent}:{os.environ['PATH']}"
        self.says("injection.library", "warning", rf"another version of cuspan \(.*9\) is installed at {re.escape(str(other))}", "remove", env=env)
        self.says("injection.library", "ok", "also installed", env=env)

    def test_module(self):
        library = self.agent()
        self.says("injection.module", "ok", arguments=["--library", library])
        (library.parent / "libcuspan-export.so").unlink()
        self.says("injection.module", "problem", "libcuspan-export.so", "reinstall cuspan", arguments=["--library", library])

    def test_variable(self):
        ours = doctor_case.BUILD / "libcuspan.so"
        self.says("injection.variable", "warning", "not set", f"cuspan run PROGRAM, or export .*{re.escape(str(ours))}")
        self.says("injection.variable", "ok", "cuspan run sets it", program=["true"])
        self.says("injection.variable", "ok", env={"CUDA_INJECTION64_PATH": ours})
        self.says("injection.variable", "ok", "another copy", env={"CUDA_INJECTION64_PATH": self.agent()})
        self.says("injection.variable", "problem", "No such file", "export", env={"CUDA_INJECTION64_PATH": "/nowhere/libcuspan.so"})
        self.says("injection.variable", "problem", "another tool", "unset", env={"CUDA_INJECTION64_PATH": doctor_case.BUILD / "libfake_cuda.so"})
        self.says("injection.variable", "warning", "this folder", "export", env={"CUDA_INJECTION64_PATH": os.path.relpath(self.agent(), self.directory)})
        self.agent().write_text("an older build")
        self.says("injection.variable", "warning", "another version", "export", env={"CUDA_INJECTION64_PATH": self.directory / "agent/libcuspan.so"})

    def test_nvtx(self):
        ours = doctor_case.BUILD / "libcuspan.so"
        cuda = {"CUDA_INJECTION64_PATH": ours}
        self.says("injection.nvtx", "ok", "cuspan run sets it")
        self.says("injection.nvtx", "ok", env={**cuda, "NVTX_INJECTION64_PATH": ours})
        self.says("injection.nvtx", "ok", "capture.nvtx", arguments=["--set", "capture.nvtx=false"])
        self.says("injection.nvtx", "warning", "have no spans", "export NVTX_INJECTION64_PATH", env=cuda)
        self.says("injection.nvtx", "warning", "another library", "export", env={**cuda, "NVTX_INJECTION64_PATH": doctor_case.BUILD / "libfake_cuda.so"})
        self.says("injection.nvtx", "problem", "No such file", "export", env={**cuda, "NVTX_INJECTION64_PATH": "/nowhere.so"})

    def test_nccl(self):
        ours = doctor_case.BUILD / "libcuspan.so"
        cuda = {"CUDA_INJECTION64_PATH": ours}
        self.says("injection.nccl", "ok", "cuspan run sets it")
        self.says("injection.nccl", "ok", "cuspan run sets it", env=cuda, program=["true"])
        self.says("injection.nccl", "ok", re.escape(f"is {ours}"), env={**cuda, "NCCL_PROFILER_PLUGIN": ours})
        self.says("injection.nccl", "warning", "not set: collectives have no datatype", "export NCCL_PROFILER_PLUGIN", env=cuda)
        for other in "inspector", "none", "/opt/nccl/libnccl-profiler-inspector.so", doctor_case.BUILD / "libfake_cuda.so":
            self.says("injection.nccl", "warning", "another plugin", "unset NCCL", env={**cuda, "NCCL_PROFILER_PLUGIN": other})

    def test_python_path(self):
        archive = doctor_case.BUILD / "python.zip"
        cuda = {"CUDA_INJECTION64_PATH": doctor_case.BUILD / "libcuspan.so"}
        self.says("injection.python", "ok", "cuspan run adds it")
        self.says("injection.python", "ok", "PYTHONPATH contains", env={**cuda, "PYTHONPATH": f"/a:{archive}"})
        self.says("injection.python", "warning", "does not contain", f"export PYTHONPATH={re.escape(str(archive))}$", env=cuda)
        self.says("injection.python", "warning", "does not contain", "python.zip:/a:/b$", env={**cuda, "PYTHONPATH": "/a:/b"})
        (self.directory / "sitecustomize.py").touch()
        self.says("injection.python", "ok", env={**cuda, "PYTHONPATH": f"{archive}:{self.directory}"})
        self.says("injection.python", "warning", f"has {re.escape(str(self.directory))} before", "first",
                  env={**cuda, "PYTHONPATH": f"{self.directory}:{archive}"})
        self.says("injection.python", "warning", "python.zip cannot be read", "is_on", arguments=["--library", self.agent()])

    def test_python_program(self):
        script = self.directory / "train"
        script.touch(0o755)
        for options, level, text in (([], "ok", "cuspan run adds"), (["-u", "train.py", "-S"], "ok", "cuspan run adds"),
                                     (["-c", "-I"], "ok", ""), (["-m", "torch.distributed.run", "-I"], "ok", ""),
                                     (["-X", "-I", "t.py"], "ok", ""), (["-Xdev", "-I", "t.py"], "warning", "with -I"),
                                     (["-I"], "warning", "with -I"), (["-uE", "train.py"], "warning", "with -E"),
                                     (["-IS"], "warning", "with -S"), (["-W", "error", "-S", "t.py"], "warning", "with -S")):
            self.says("injection.python", level, text, program=["python3", *options])
            if len(options) < 2:
                for first in f"/usr/bin/python3 {' '.join(options)}", f"/usr/bin/env -S python3 {' '.join(options)}":
                    script.write_text(f"#!{first}\n")
                    self.says("injection.python", level, text, program=[script])
        self.says("injection.python", "ok", "not Python itself", program=["true"])

    def test_engines(self):
        site, programs = self.directory / "site", self.directory / "bin"
        site.mkdir()
        programs.mkdir()
        vllm = next(engine for engine in ENGINES if engine.name == "vLLM")
        write_engine(site, vllm, vllm.tested[0])
        env = {"PYTHONPATH": site}
        found = rf"vLLM {vllm.tested[0]} \({site}\): all hook points found$"
        self.says("injection.engines", "ok", found, env=env)
        self.says("injection.engines", "ok", found, env=env, program=["bash", "serve.sh"])
        (site / "vllm/v1/engine/core.py").write_text("class EngineCore: pass\n")
        self.says("injection.engines", "warning", r"has no EngineCore.__init__\(\), .*; not traced: iterations", "tested", env=env)
        # The program's own Python, which an installed script names.
        own, script = programs / "python3.99", programs / "vllm"
        own.write_text("#!/bin/sh\nprintf 'ok\\tfound by %s\\t\\n' \"$0\"\n")
        script.write_text(f"#!{own}\n")
        own.chmod(0o755)
        script.chmod(0o755)
        for program in [own, "serve.py"], [script, "serve"]:
            self.says("injection.engines", "ok", f"found by {own}$", program=program)
        own.write_text("#!/bin/sh\necho ok\nexit 1\n")
        self.says("injection.engines", "unknown", "did not say", program=[own])
        self.says("injection.engines", "skipped", "nopython was not found", program=[programs / "pythonnopython"])
        self.says("injection.engines", "unknown", "cannot be read", arguments=["--library", self.agent()])

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
        if doctor_case.SANITIZERS:
            self.skipTest("a sanitizer must be the first library")
        self.says("injection.preload", "ok", "not set")
        self.says("injection.preload", "warning", "/nowhere/x.so.*cannot be loaded", "unset LD_PRELOAD", env={"LD_PRELOAD": "/nowhere/x.so"})
        tool = shutil.copy(doctor_case.BUILD / "libfake_cuda.so", self.directory / "libToolsInjection64.so")
        self.says("injection.preload", "warning", "probably a tool", "env -u LD_PRELOAD", env={"LD_PRELOAD": tool})
        self.says("injection.preload", "ok", "libfake", env={"LD_PRELOAD": preloadable(doctor_case.BUILD / "libfake_cuda.so")})

    def test_tools(self):
        self.says("injection.tools", "ok")
        for name, tool in (("NSYS_PROFILING_SESSION_ID", "Nsight Systems"), ("NV_NSIGHT_INJECTION_PORT_BASE", "Nsight Compute"),
                           ("KINETO_USE_DAEMON", "PyTorch"), ("CUDA_DEBUGGER_SOFTWARE_PREEMPTION", "CUDA-GDB")):
            self.says("injection.tools", "warning", f"{name}.*{tool}", f"unset {name}", env={name: "1"})
        self.put("/proc/self/status", "Name:\tx\nTracerPid:\t77\n")
        self.says("injection.tools", "warning", "debugger.*77", "outside")


class Configuration(doctor_case.Case):
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


if __name__ == "__main__":
    doctor_case.main("setup")
