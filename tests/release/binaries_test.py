#!/usr/bin/env python3
"""Checks the files of a release: what each needs, exports and contains.

    binaries_test.py [STAGE...]     by default every build/release/stage-ARCH

Reads them with readelf, for any architecture. Debug files are expected in build/release/debug-ARCH beside the stage.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLIBC_FLOOR = (2, 28)
# All of these are part of glibc.
MAY_NEED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
MAPS = {
    "libcuspan.so": "src/agent/core/libcuspan.map",
    "libcuspan-export.so": "src/agent/export/curl_module/module.map",
    "libcuspan-share.so": "src/agent/share/libcuspan-share.map",
    "libcuspan-thread-ctx.so": "src/agent/capture/context/thread_ctx.map",
}
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
PAGE_MAX = 0x10000  # kernels for arm64 may have pages of 64 KiB


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def global_of(map_file):
    """The symbols of a version script, as regular expressions."""
    text = (ROOT / map_file).read_text()
    text = re.sub(r"/\*.*?\*/|^#[^\n]*$", "", text, flags=re.S | re.M)
    names = re.search(r"global:(.*?)local:", text, re.S)[1]
    return [re.escape(name).replace(r"\*", ".*") for name in re.findall(r"[\w*]+", names)]


class Binary:
    def __init__(self, path, arch):
        self.path, self.arch, self.name = path, arch, path.name
        self.header = readelf(path, "-h")
        self.segments = readelf(path, "-l")
        self.sections = readelf(path, "-S")
        self.dynamic = readelf(path, "-d")
        self.symbols = readelf(path, "--dyn-syms")
        self.notes = readelf(path, "-n")

    def needed(self):
        return set(re.findall(r"\(NEEDED\).*\[(.*)\]", self.dynamic))

    def glibc(self):
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", readelf(self.path, "-V"))
        return max(((int(major), int(minor)) for major, minor in versions), default=(0, 0))

    def exports(self):
        line = re.compile(r"^\s*\d+: \w+\s+\d+ (?:FUNC|OBJECT|TLS|NOTYPE|IFUNC)\s+(?:GLOBAL|WEAK)\s+\w+\s+(?!UND)\S+ (\S+)", re.M)
        return {name.split("@")[0] for name in line.findall(self.symbols)}

    def build_id(self):
        return re.search(r"Build ID: ([0-9a-f]+)", self.notes)[1]


class Release(unittest.TestCase):
    stages = []

    def setUp(self):
        self.binaries = []
        for stage in self.stages:
            files = [*sorted((stage / "lib/cuspan").glob("*.so")), stage / "bin/cuspan"]
            self.assertEqual(len(files), 7, f"files of {stage}")
            self.binaries += [Binary(path, stage.name.split("-", 1)[1]) for path in files]

    def test_machine(self):
        for binary in self.binaries:
            self.assertIn(f"Machine:                           {MACHINES[binary.arch]}", binary.header, binary.path)

    def test_needs_glibc_only(self):
        for binary in self.binaries:
            self.assertLessEqual(binary.needed(), MAY_NEED, binary.path)

    def test_glibc_floor(self):
        for binary in self.binaries:
            self.assertLessEqual(binary.glibc(), GLIBC_FLOOR, binary.path)

    def test_no_search_path(self):
        for binary in self.binaries:
            self.assertNotRegex(binary.dynamic, r"\((RPATH|RUNPATH)\)", binary.path)

    def test_exports(self):
        for binary in self.binaries:
            if binary.name in MAPS:
                allowed = re.compile("|".join(global_of(MAPS[binary.name])))
                strange = {name for name in binary.exports() if not allowed.fullmatch(name)}
                self.assertEqual(strange, set(), binary.path)
                self.assertTrue(binary.exports(), binary.path)
            elif binary.name.startswith("libcuspan-replay"):
                # CUPTI's functions and the replay's own, nothing of zlib.
                strange = {name for name in binary.exports() if not re.match("cupti|cuspan|replay|cu[A-Z]|InitializeInjection", name)}
                self.assertEqual(strange, set(), binary.path)
            else:
                self.assertEqual(binary.exports() & {"deflate", "sqlite3_open", "initscr", "cJSON_Parse"}, set(), binary.path)

    def test_hardened(self):
        for binary in self.binaries:
            self.assertRegex(binary.dynamic, r"BIND_NOW|Flags:.*NOW", binary.path)
            self.assertIn("GNU_RELRO", binary.segments, binary.path)
            self.assertRegex(binary.segments, r"GNU_STACK .* RW ", binary.path)
            self.assertNotIn("TEXTREL", binary.dynamic, binary.path)
            self.assertRegex(binary.header, r"Type:\s+DYN", f"{binary.path} is not position independent")

    def test_aligned_for_every_page_size(self):
        for binary in self.binaries:
            if binary.arch == "aarch64":
                for alignment in re.findall(r"^\s+LOAD\s.*\s(0x[0-9a-f]+)$", binary.segments, re.M):
                    self.assertEqual(int(alignment, 16) % PAGE_MAX, 0, binary.path)

    def test_thread_local_storage(self):
        """The agent's variables need no call to find them. Readers of the published context are promised descriptors."""
        for binary in self.binaries:
            relocations = readelf(binary.path, "-r")
            if binary.name == "libcuspan.so":
                self.assertNotIn("__tls_get_addr", binary.symbols, binary.path)
            if binary.name == "libcuspan-thread-ctx.so":
                self.assertIn("TLSDESC", relocations, binary.path)

    def test_stripped_with_debug_file(self):
        for binary in self.binaries:
            self.assertNotRegex(binary.sections, r"\.debug_info|\.symtab", binary.path)
            build_id = binary.build_id()
            stage = next(stage for stage in self.stages if stage in binary.path.parents)
            debug = stage.parent / f"debug-{binary.arch}" / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
            self.assertTrue(debug.is_file(), f"{binary.path} has no debug file {debug}")
            self.assertIn(".debug_info", readelf(debug, "-S"), debug)

    def test_names_no_folder_of_the_build(self):
        # The path /cuspan is in /lib/cuspan, too.
        folders = [f"{ROOT}/{name}" for name in ("build", "include", "src", "tools")] if str(ROOT) == "/cuspan" else [str(ROOT)]
        for binary in self.binaries:
            for text in (*map(str.encode, folders), b"/.cache/cuspan"):
                self.assertFalse(text in binary.path.read_bytes(), f"{binary.path} contains {text.decode()}")

    def test_licenses(self):
        names = {line.split()[0] for line in (ROOT / "tools/release/sources.txt").read_text().splitlines() if line and line[0] != "#"}
        for stage in self.stages:
            kept = {path.name for path in (stage / "share/cuspan/licenses").iterdir() if path.stat().st_size}
            self.assertLessEqual(names, kept | {"cmocka"}, f"licenses of {stage}")


def main():
    stages = [Path(name).resolve() for name in sys.argv[1:]] or sorted((ROOT / "build/release").glob("stage-*"))
    if not stages:
        sys.exit("there is no release build: tools/release/build.sh x86_64")
    Release.stages = stages
    result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
