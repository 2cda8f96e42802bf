#!/usr/bin/env python3
"""The scripts of tests/gpu/numbers.sh without a GPU: on programs that replay a recording where an agent is injected, on stand-ins
for Nsight Systems, nvidia-smi and NVML, and on figures that are wrong, which have to be found.

    numbers_test.py --build BUILD-DIR [unittest's arguments]
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import profilers_test  # noqa: E402
from checks import ROOT, run  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/e2e"))
from backend import spans_of  # noqa: E402

BUILD = ROOT / "build"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def standin(self, recording="threads", name="standin", after="echo done"):
        """A program that replays where an agent is injected, and else does nothing."""
        host = " ".join(map(str, (BUILD / "exit_host", BUILD / "libcuspan.so", BUILD / "libcuspan-replay.so",
                                  ROOT / f"examples/recordings/{recording}.cuspanrec", "return")))
        return self.script(name, f"[ -z \"$CUDA_INJECTION64_PATH\" ] || {host} > /dev/null || [ $? = 7 ] || exit 9\n{after}\n")

    def run_script(self, name, *arguments, status=0, **environment):
        done = run([sys.executable, ROOT / f"tests/gpu/{name}", *arguments], 300, **environment)
        self.assertEqual(done.status, status, done.out + done.err)
        return done.out

    def spans(self, recording):
        """(file, spans)"""
        file = self.folder / f"{recording}.jsonl"
        run([BUILD / "cuspan", "replay", "--quiet", "--file", file, ROOT / f"examples/recordings/{recording}.cuspanrec"],
            60).wanted()
        return file, [span for line in file.read_text().splitlines() for span in spans_of(json.loads(line))]


class Profilers(Case):
    def events(self, spans):
        """As PyTorch's profiler would have them."""
        short = {long: short for short, long in profilers_test.COPY_KINDS.items()}
        found = []
        for span in spans:
            attributes, length = span.attributes, span.end_ns - span.start_ns
            sort = attributes.get("cuda.activity")
            if sort == "kernel":
                found.append(("kernel", attributes["cuda.kernel.name"], length))
            elif sort == "memset":
                found.append(("fill", "Memset (Device)", length))
            elif sort == "memcpy":
                found.append(("copy", f"Memcpy {short[attributes['cuda.memcpy.kind']]} ({attributes['cuda.memcpy.src_kind'].title()}"
                              f" -> {attributes['cuda.memcpy.dst_kind'].title()})", length))
        return found

    def test_what_pytorch_has_is_compared(self):
        file, spans = self.spans("torch_inference")
        tables = profilers_test.of_tables(json.loads(run([BUILD / "cuspan", "stat", "--json", "--top", "0", file]).wanted().out))
        events = self.events(spans)
        self.assertGreater(len(events), 400)

        def differ(seen):
            seen = profilers_test.of_events(seen)
            return (list(profilers_test.counts_differ(seen, tables)),
                    profilers_test.times_differ(seen, tables, profilers_test.CLOCKS_NS)[0])
        self.assertEqual(differ(events), ([], []))
        self.assertEqual(profilers_test.times_differ(profilers_test.of_events(events), tables, 0)[1], 0)
        for sort in "kernel", "copy", "fill":
            at = next(i for i, event in enumerate(events) if event[0] == sort)
            self.assertTrue(differ(events[:at] + events[at + 1:])[0], sort)
            name, length = events[at][1:]
            self.assertTrue(differ([*events[:at], (sort, name, length + 10**6), *events[at + 1:]])[1], sort)

    def test_noise_has_bounds(self):
        one = {"a": (10, 100000), "b": (1, 50000)}
        self.assertEqual(list(profilers_test.noise_differs(one, {"a": (10, 110000), "b": (1, 52000)})), [])
        self.assertEqual(len(list(profilers_test.noise_differs(one, {"a": (10, 200000), "b": (1, 50000)}))), 2)

    def nsys(self, text):
        return self.run_script("profilers_test.py", BUILD, self.folder / "out", BUILD / "libcuspan-replay.so", "--",
                               self.standin(), NSYS=self.script("nsys", text))

    def test_nsight_systems(self):
        """Its file is that of a run of ours; then one without a kernel; then there is none."""
        file, _ = self.spans("threads")
        database = self.folder / "made.sqlite"
        run([BUILD / "cuspan", "stat", "--sqlite", database, file]).wanted()
        text = (f'case $1 in profile) shift; while [ "$1" != -o ]; do shift; done; touch "$2.nsys-rep"; shift 2; exec "$@";; '
                f'export) while [ "$1" != -o ]; do shift; done; cp {database} "$2";; esac')
        out = self.nsys(text)
        self.assertIn("ok     Nsight Systems, standin: as many kernels by name", out)
        self.assertRegex(out, "profilers: passed: 0 of 4 checks failed, 1 parts left out")
        import sqlite3
        with sqlite3.connect(database) as connection:
            connection.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 1")
            connection.execute("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = bytes + 1 WHERE rowid = 1")
        connection.close()
        out = run([sys.executable, ROOT / "tests/gpu/profilers_test.py", BUILD, self.folder / "out",
                   BUILD / "libcuspan-replay.so", "--", self.standin()], NSYS=self.script("nsys", text)).wanted(1).out
        self.assertRegex(out, "profilers: FAILED: 2 of 4 checks failed")

    def test_nsight_systems_that_makes_no_report(self):
        done = run([sys.executable, ROOT / "tests/gpu/profilers_test.py", BUILD, self.folder / "out",
                    BUILD / "libcuspan-replay.so", "--", self.standin()],
                   NSYS=self.script("nsys", "echo Importer error: no importer >&2; exit 1"))
        self.assertEqual(done.status, 1)  # nothing was checked
        self.assertIn("made no report (status 1): Importer error: no importer", done.out)


if __name__ == "__main__":
    if "--build" in sys.argv:
        at = sys.argv.index("--build")
        BUILD = Path(sys.argv[at + 1]).resolve()
        del sys.argv[at:at + 2]
    unittest.main()
