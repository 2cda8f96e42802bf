#!/usr/bin/env python3
"""`cuspan cdi` on an installation of its own: what it writes, what it says about it, and what it refuses.

    cdi_test.py --build DIRECTORY [CLASS[.test]...]

tests/containers/podman.sh tries the file with a container runtime.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from built import BUILD, output_of  # noqa: E402

IS_ROOT = os.geteuid() == 0
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if IS_ROOT else {}
VERSION = json.loads(output_of("version", "--json"))["version"]
AGENT = "/opt/cuspan/lib/cuspan/libcuspan.so"
INJECTION = [f"CUDA_INJECTION64_PATH={AGENT}", f"NVTX_INJECTION64_PATH={AGENT}", f"NCCL_PROFILER_PLUGIN={AGENT}"]
PASSWORD = "geheim42"


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="cdi-test-"))
        self.directory.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.folder = self.directory / "cdi"
        self.file = self.folder / "cuspan.json"
        self.prefix = self.directory / "prefix"
        self.libraries = self.prefix / "lib/cuspan"
        self.libraries.mkdir(parents=True)
        (self.prefix / "bin").mkdir()
        shutil.copy(BUILD / "cuspan", self.prefix / "bin")
        for name in "libcuspan.so", "libcuspan-export.so":
            shutil.copy(BUILD / name, self.libraries)

    def run_cdi(self, *arguments, **options):
        env = {key: value for key, value in os.environ.items() if not re.match("CUSPAN_|OTEL_|CUDA_|NVTX_|NCCL_", key)}
        command = [self.prefix / "bin/cuspan", "cdi", *arguments]
        if "--directory" not in arguments:
            command += ["--directory", self.folder]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                              check=False, cwd=self.directory, env={**env, "LC_ALL": "C.UTF-8"}, **options)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode("utf-8", "backslashreplace")
        self.assertNotRegex(done.stderr, "Sanitizer|runtime error:", "a sanitizer reports an error")
        return done

    def succeeds(self, *arguments, **options):
        done = self.run_cdi(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def fails(self, pattern, *arguments, status=1, **options):
        """One line on standard error, which matches."""
        done = self.run_cdi(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertRegex(done.stderr, pattern)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def says(self, level, pattern, *options):
        """`cuspan cdi write` has a line with this level and text."""
        said = self.succeeds("write", *options)
        self.assertRegex(said, f"(?m)^  {level} +.*{pattern}")
        return said

    def content(self):
        """The file as a runtime reads it: variables and mounts of each device."""
        spec = json.loads(self.file.read_text(encoding="utf-8"))
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.3.0", "cuspan.io/agent"))
        edits = {device["name"]: device["containerEdits"] for device in spec["devices"]}
        self.assertEqual(sorted(edits), ["files", "on"])
        mounts = {}
        for mount in edits["on"]["mounts"]:
            self.assertEqual(mount["options"], ["ro", "nosuid", "nodev", "rbind"])
            mounts[mount["containerPath"]] = mount["hostPath"]
        self.assertEqual(edits["files"], {"mounts": edits["on"]["mounts"]})
        return edits["on"]["env"], mounts


class Write(Case):
    def test_the_installation_is_mounted_and_injected(self):
        said = self.succeeds("write")
        self.assertRegex(said, "cuspan.io/agent=on ")
        self.assertRegex(said, r"needs glibc 2\.28 or later")
        self.assertRegex(said, "configure them to search")
        self.assertEqual(self.content(), (INJECTION, {"/opt/cuspan/lib/cuspan": str(self.libraries),
                                                     "/opt/cuspan/bin/cuspan": str(self.prefix / "bin/cuspan")}))
        self.assertEqual((self.folder.stat().st_mode & 0o777, self.file.stat().st_mode & 0o777), (0o755, 0o644))
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["cuspan.json"])

    def test_twice_is_the_same(self):
        self.succeeds("write", "--endpoint", "http://collector:4318")
        first = self.file.read_bytes()
        self.succeeds("write", "--endpoint", "http://collector:4318")
        self.assertEqual(self.file.read_bytes(), first)
        self.succeeds("write")
        self.assertEqual(self.content()[0], INJECTION, "settings of an earlier run must not remain")

    def test_modes_do_not_depend_on_the_umask(self):
        self.succeeds("write", umask=0o077)
        self.assertEqual((self.folder.stat().st_mode & 0o777, self.file.stat().st_mode & 0o777), (0o755, 0o644))

    def test_settings(self):
        config = self.directory / "config.yaml"
        config.write_text('file_format: "1.1"\n')
        self.says("note", "settings: endpoint=http://collector:4317", "--endpoint", "http://collector:4317", "--protocol", "grpc",
                  "--service-name", "trainer", "--config", "config.yaml")
        env, mounts = self.content()
        self.assertEqual(env, [*INJECTION, "CUSPAN_CONFIG_FILE=/opt/cuspan/config.yaml",
                               "CUSPAN_SET=endpoint=http://collector:4317;protocol=grpc;service_name=trainer"])
        self.assertEqual(mounts["/opt/cuspan/config.yaml"], str(config), "a relative path becomes absolute")
        done = subprocess.run([self.prefix / "bin/cuspan", "check", "--all"], stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "CUSPAN_SET": env[4].partition("=")[2]})
        self.assertRegex(done.stdout, r"service\.name: trainer[^$]*OTLP/gRPC: http://collector:4317", "the agent must understand it")

    def test_any_name_is_one_string(self):
        for name in '"},{"hooks":[]', "a'b\\", "$(id) `id`", "\x1b[31m\t\x01", "ü☃", "--", "a" * 3000:
            self.assertNotIn("\x1b", self.succeeds("write", f"--service-name={name}"))
            self.assertEqual(self.content()[0], [*INJECTION, f"CUSPAN_SET=service_name={name}"])

    def test_names_that_cannot_be_passed(self):
        self.fails("newline cannot be passed", "write", "--service-name", "a\nb", status=2)
        self.fails('";"', "write", "--service-name", "a;endpoint=http://evil", status=2)
        self.assertNotIn("\x1b", self.fails("not valid UTF-8", "write", "--service-name", b"a\xff\x1b[31m"))
        self.fails("endpoint: expected http", "write", "--endpoint", "collector")
        self.assertFalse(self.file.exists())

    def test_no_secret_reaches_the_file(self):
        for url in f"http://user:{PASSWORD}@c:4318", f"http://c:4318/?key={PASSWORD}", f"http://c:4318/#{PASSWORD}":
            said = self.fails("every user can read.*--config", "write", "--endpoint", url, status=2)
            self.assertNotIn(PASSWORD, said)
        self.assertFalse(self.file.exists())

    def test_configuration_with_errors(self):
        self.fails("--config nowhere.yaml: No such file", "write", "--config", "nowhere.yaml", status=2)
        config = self.directory / "config.yaml"
        config.write_text('file_format: "1.1"\ndistribution: {cuspan: {detail: everything}}\n')
        done = self.run_cdi("write", "--config", config)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "warning: .*detail.*cuspan check")

    def test_usage(self):
        self.fails("needs an action", status=2)
        self.fails("did you mean write?", "wirte", status=2)
        self.fails("use write or remove", "xxxxxxxxxx", status=2)
        self.fails("one action at a time", "write", "remove", status=2)
        self.fails("--endpoint is an option of cuspan cdi write", "remove", "--endpoint", "http://c:4318", status=2)
        self.fails("the argument of --directory is empty", "write", "--directory", "", status=2)

    def test_without_the_agent(self):
        (self.libraries / "libcuspan.so").unlink()
        self.fails("libcuspan.so is neither in", "write")
        self.assertFalse(self.file.exists())
        self.fails("no agent at .*nowhere.so: No such file", "write", "--library", "nowhere.so")
        self.fails("no agent at .*libcuspan.so: No such file.*--library needs", "write", "--library",
                   self.libraries / "libcuspan-export.so")

    def test_folders_that_cannot_be_written(self):
        self.folder.mkdir(mode=0o555)
        self.fails(f"cannot write {self.file}: Permission denied; run it as root, or use --directory", "write", **NOBODY)
        self.fails("cannot create the folder .*/a/b: No such file.*create the folder above it first", "write", "--directory",
                   self.directory / "a/b")
        self.fails("cannot create the folder .*: Permission denied; run it as root", "write", "--directory", self.folder / "c", **NOBODY)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_full_disk_keeps_the_old_file(self):
        self.succeeds("write")
        before = self.file.read_bytes()
        self.fails("cannot write .*: File too large", "write", "--service-name", "new", restore_signals=False,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.assertEqual(self.file.read_bytes(), before)
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["cuspan.json"])


class Others(Case):
    """Files that cuspan did not write stay as they are."""

    def foreign(self, text, reason):
        self.file.write_text(text)
        self.fails(f"was not written by cuspan, because {reason}.*left unchanged", "write")
        self.fails(f"was not written by cuspan, because {reason}.*left unchanged", "remove")
        self.assertEqual(self.file.read_text(), text)

    def test_at_our_path(self):
        self.succeeds("write")
        ours = self.file.read_text()
        self.foreign(ours.replace("cuspan.io/agent", "acme.example/profiler"), 'its kind is "acme.example/profiler"')
        self.foreign(ours.replace(INJECTION[0], "CUDA_INJECTION64_PATH=/opt/nsight/lib.so"), "it contains .*/opt/nsight/lib.so")
        self.foreign(ours.replace('"name":', '"annotations":{},"name":'), 'it contains "annotations"')
        self.foreign(ours[:-20], "it is not a JSON object")
        self.foreign("", "it is not a JSON object")
        self.foreign("[" * 100000, "it has 100000 bytes")

    def test_links_and_folders(self):
        self.folder.mkdir()
        target = self.directory / "target"
        target.write_text("{}")
        self.file.symlink_to(target)
        self.fails("it is a symbolic link", "write")
        self.assertEqual(target.read_text(), "{}")
        self.assertTrue(self.file.is_symlink())
        self.file.unlink()
        self.file.mkdir()
        self.fails("it is not a regular file", "write")
        self.fails("it is not a regular file", "remove")

    def test_of_the_same_kind(self):
        self.folder.mkdir()
        other = self.folder / "acme.yaml"
        other.write_text("cdiVersion: 0.6.0\nkind: cuspan.io/agent\ndevices: []\n")
        self.fails(f"{other} already defines devices of cuspan.io/agent", "write")
        self.assertFalse(self.file.exists())
        other.rename(self.directory / "acme.yaml")
        self.succeeds("write")
        (self.directory / "acme.yaml").rename(other)
        self.succeeds("remove")
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["acme.yaml"])

    def test_with_another_injection(self):
        self.folder.mkdir()
        (self.folder / "tool.json").write_text('{"containerEdits":{"env":["CUDA_INJECTION64_PATH=/opt/tool.so"]}}')
        self.says("warning", "tool.json sets CUDA_INJECTION64_PATH, too.*the last one wins")
        (self.folder / "tool.json").write_text('{"containerEdits":{"env":["NCCL_PROFILER_PLUGIN=inspector"]}}')
        self.says("warning", "tool.json sets NCCL_PROFILER_PLUGIN, too.*the last one wins")
        (self.folder / "tool.json").write_text('{"containerEdits":{"env":["LD_PRELOAD=/opt/tool.so"]}}')
        self.says("note", "tool.json sets LD_PRELOAD")
        (self.folder / "\x1b[31m.json").write_text("LD_AUDIT=/x.so")
        self.assertNotIn("\x1b", self.says("note", "sets LD_AUDIT"))
        (self.folder / "tool.json").chmod(0)
        if not IS_ROOT:
            self.says("warning", "tool.json cannot be read; check it as root")

    def test_a_second_file_of_ours(self):
        self.succeeds("write")
        shutil.copy(self.file, self.folder / "copy.json")
        self.says("problem", "copy.json defines the same devices in the same folder")

    def test_a_file_that_cannot_be_read(self):
        self.succeeds("write")
        self.file.chmod(0)
        self.fails("cannot read .*: Permission denied; run it as root", "write", **NOBODY)
        self.fails("cannot read .*: Permission denied; run it as root", "remove", **NOBODY)


class Says(Case):
    def test_what_to_expect(self):
        said = self.says("note", "CUPTI: the container's own")
        self.assertRegex(said, "spans go to localhost, which is the container itself")
        self.assertNotIn("PYTHONPATH", said)
        self.assertNotRegex(said, "(?m)^  (warning|problem)")
        (self.libraries / "cupti").mkdir()
        self.says("note", f"CUPTI: {self.libraries}/cupti")
        (self.libraries / "python.zip").touch()
        self.says("note", "add -e PYTHONPATH=/opt/cuspan/lib/cuspan/python.zip, in front of the image's own value")
        self.says("note", "localhost, which is the container itself", "--endpoint", "http://127.0.0.1:4318")
        self.assertNotIn("localhost", self.succeeds("write", "--endpoint", "http://collector:4318"))

    def test_what_is_mounted(self):
        config = self.directory / "config.yaml"
        config.write_text('file_format: "1.1"\n')
        config.chmod(0o600)
        self.says("warning", f"config.yaml: some users cannot read it.*chmod o\\+rX {config}", "--config", config)
        config.chmod(0o644)
        self.prefix.chmod(0o700)
        said = self.says("warning", f"because of the mode of {self.prefix};", "--config", config)
        self.assertEqual(said.count("some users cannot read it"), 1, "once for the same folder")
        (self.libraries / "libcuspan-export.so").unlink()
        self.says("problem", "libcuspan-export.so: No such file or directory; reinstall")


class Remove(Case):
    def test_twice(self):
        self.succeeds("write")
        self.assertRegex(self.succeeds("remove"), "removed")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertRegex(self.succeeds("remove"), "nothing to remove")
        shutil.rmtree(self.folder)
        self.assertRegex(self.succeeds("remove"), "nothing to remove")

    def test_after_the_agent(self):
        self.succeeds("write")
        shutil.rmtree(self.libraries)
        self.assertRegex(self.succeeds("remove"), "removed")

    def test_not_allowed(self):
        self.succeeds("write")
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.fails("cannot remove .*: Permission denied; run it as root", "remove", **NOBODY)
        self.assertTrue(self.file.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
