#!/usr/bin/env python3
"""`cuspan doctor`: permissions, limits and what slows a program down.

    doctor_machine_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import doctor_case  # noqa: E402
from doctor_case import IS_ROOT, LOCAL, NOBODY, SEEN  # noqa: E402


class Permissions(doctor_case.Case):
    def test_counters(self):
        cuspan = shutil.copy(doctor_case.BUILD / "cuspan", self.directory / "cuspan")
        self.says("permissions.counters", "skipped")
        self.put("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
        self.says("permissions.counters", "warning", "RmProfilingAdminOnly: 1", "NVreg_RestrictProfilingToAdminUsers=0", cuspan=cuspan, **NOBODY)
        self.put("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
        self.says("permissions.counters", "ok", cuspan=cuspan, **NOBODY)

    def test_files(self):
        cuspan = shutil.copy(doctor_case.BUILD / "cuspan", self.directory / "cuspan")
        self.says("permissions.files", "skipped")
        for setting in "record_file", "output_file", "accounts_file":
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
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, doctor_case.BUILD / "cuspan"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
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
        if doctor_case.SANITIZERS:
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

    def test_filters_of_system_calls(self):
        self.put("/proc/self/status", "Seccomp:\t0\n")
        self.says("permissions.seccomp", "ok", "no seccomp filter")
        self.put("/proc/self/status", "Seccomp:\t2\n")
        self.says("permissions.seccomp", "ok", "not strict mode")
        self.put("/proc/self/status", "Seccomp:\t1\n")
        self.says("permissions.seccomp", "problem", "strict", "mode 2")


class Slow(doctor_case.Case):
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
        self.says("slow.graphs", "warning", r"2\.5 times", "detail: default", arguments=["--detail", "graph-nodes"])
        self.says("slow.graphs", "warning", "0.11 us", "when-used", arguments=["--set", "cupti.graph_records=always"])

    def test_graphs_of_an_older_cupti(self):
        arguments = ["--set", f"cupti.library={self.cupti('other', 130200)}"]
        done = self.run_doctor("--json", *arguments, "--file", "x")
        line = next(line for line in json.loads(done.stdout)["checks"] if (line["group"], line["name"]) == ("slow", "graphs"))
        self.assertEqual(line["finding"], "warning", line)
        self.assertIn("from the start", line["found"])

    def test_rings(self):
        self.says("slow.rings", "ok")
        for setting, found in (("rings.bytes=16384", "16384"), ("cupti.host_buffer_bytes=32768", "578 ns"), ("cupti.per_thread_buffers=true", "crash inside CUPTI"),
                               ("cupti.host_buffer_count=2", "while all are in use")):
            self.says("slow.rings", "warning", found, "default", arguments=["--set", setting],
                      preexec_fn=lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))

    def test_queues(self):
        self.says("slow.queues", "ok")
        self.says("slow.queues", "warning", "max_queue_size is 2048 for", "raise", env={"OTEL_BSP_MAX_QUEUE_SIZE": "2048", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1024"})
        self.says("slow.queues", "warning", "max_export_batch_size is 64", "raise", env={"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "64"})
        self.says("slow.queues", "warning", "memory_bytes_max leaves", "raise memory_bytes_max", arguments=["--set", "memory_bytes_max=60000000"])

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


if __name__ == "__main__":
    doctor_case.main("machine")
