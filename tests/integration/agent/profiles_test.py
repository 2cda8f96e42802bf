"""Profiles (`profiles.enabled`): recordings whose calls have stacks, replayed to a receiver of OTLP. The spans of the same run are the
truth, and the generated classes of opentelemetry-proto the decoder.

    profiles_test.sh BUILD-DIR [unittest's arguments]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import otlp_profiles  # noqa: E402
from accounts import differences  # noqa: E402
from backend import free_ports, spans_of  # noqa: E402
from metrics_case import RECORDINGS, build, cuspan  # noqa: E402
from otlp_profiles import Frame  # noqa: E402
from sink import Sink  # noqa: E402

PATH = "/v1development/profiles"
TORCH, THREADS, SERVICE = (f"{name}.cuspanrec" for name in ("torch_inference", "threads", "service"))
COPIES = {"memcpy", "memset", "memcpy_peer"}
SETTINGS = ("profiles.enabled=true", "capture.launch_stacks=python", "memory_bytes_max=268435456")


def frames_of(rest):
    """The rule of tests/support/code_recording.c. `rest`: of the stack's number; None: no stack."""
    if rest is None:
        return ()
    if rest == 6:
        return (Frame("at::native::add", "", 0, "/usr/lib/libtorch_cpu.so", "native"),
                Frame("/opt/program+0x20", "", 0, "/opt/program", "native"))
    return (Frame("linear", "site-packages/torch/nn/functional.py", 100, "", "cpython"),
            Frame("Block.forward", "model.py", 10 + rest, "", "cpython"), Frame("<module>", "train.py", 5, "", "cpython"))


def expected(spans):
    """{type of sample: {(frames, trace ID): ns}}, by GPU spans"""
    found = {}
    stacks = {span.span_id: int(span.attributes["cuspan.stack.id"], 16) - 1000 for span in spans if "cuspan.stack.id" in span.attributes}
    for span in spans:
        kind = span.attributes.get("cuda.activity")
        if kind not in COPIES and kind not in ("kernel", "graph"):
            continue
        frames = frames_of(stacks.get(span.span_id, stacks.get(span.parent_id)))
        leaf = Frame(span.name, "", 0, "", "cuda")
        times = found.setdefault("gpu_copy_time" if kind in COPIES else "gpu_kernel_time", Counter())
        times[(leaf, *frames), span.trace_id] += span.end_ns - span.start_ns
    return found


def got(profiles, with_traces=True):
    found = {}
    for profile in profiles:
        for (frames, link), ns in profile.times().items():
            found.setdefault(profile.type, Counter())[frames, link[0] if link and with_traces else None] += ns
    return found


def without_traces(times):
    found = {}
    for kind, of_kind in times.items():
        for (frames, _), ns in of_kind.items():
            found.setdefault(kind, Counter())[frames, None] += ns
    return found


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recordings = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for recording in RECORDINGS:
            subprocess.run([build("code_recording"), recording, cls.recording(recording.name)], check=True)

    @classmethod
    def recording(cls, name):
        return Path(cls.recordings, name)

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.sink = Sink()
        self.addCleanup(self.sink.close)

    def replay(self, name, *settings, options=(), **variables):
        """(spans, profiles) of a replay"""
        for old in self.folder.glob("report*"):
            old.unlink()
        self.sink.requests.clear()
        sets = [word for setting in (*SETTINGS, f"accounts_file={self.folder / 'report'}", *settings) for word in ("--set", setting)]
        done = cuspan("replay", "--endpoint", f"http://127.0.0.1:{self.sink.port}", "--protocol", "http/json", *sets, *options,
                      self.recording(name), **variables)
        self.stderr = done.stderr
        report, = self.folder.glob("report*")
        self.report = json.loads(report.read_text())
        self.assertEqual(differences(self.report), [])
        spans = [span for request in self.sink.requests if request.path == "/v1/traces" for span in spans_of(json.loads(request.body))]
        self.requests = [request for request in self.sink.requests if request.path.endswith("profiles")]
        return spans, [profile for request in self.requests for profile in otlp_profiles.read(request.body)]


    def expect_equal(self, times, wanted):
        """Without a difference of megabytes."""
        self.assertEqual(set(times), set(wanted))
        for kind in wanted:
            different = [key for key in times[kind].keys() | wanted[kind].keys() if times[kind][key] != wanted[kind][key]]
            self.assertEqual([(key, times[kind][key], wanted[kind][key]) for key in different[:3]], [], f"and {len(different)} in all")


class Contents(Case):
    def test_every_ns_of_gpu_time_is_at_its_stack(self):
        for recording in RECORDINGS:
            with self.subTest(recording=recording.name):
                spans, profiles = self.replay(recording.name)
                self.expect_equal(got(profiles), expected(spans))
                self.assertTrue(expected(spans))
                counters = self.report["counters"]
                samples = sum(len(profile.samples) for profile in profiles)
                self.assertEqual((counters["profile_samples_made"], counters["profile_samples_delivered"]), (samples, samples))
                self.assertEqual(counters["profile_unplaced"], 0)

    def test_nodes_of_a_graph_are_at_their_own_stack(self):
        spans, profiles = self.replay("graph_nodes.cuspanrec", "detail=graph-nodes")
        own = [span for span in spans if span.attributes.get("cuda.activity") == "kernel" and "cuspan.stack.id" in span.attributes]
        self.assertGreater(len(own), 10)
        self.expect_equal(got(profiles), expected(spans))
        self.assertEqual(self.report["counters"]["profile_unplaced"], 0)

    def test_the_form(self):
        _, profiles = self.replay(TORCH)
        request, = self.requests
        self.assertEqual(request.path, PATH)
        self.assertEqual(request.headers["Content-Type"], "application/x-protobuf")
        self.assertEqual(request.headers["Content-Encoding"], "gzip")
        self.assertEqual([profile.type for profile in profiles], ["gpu_kernel_time", "gpu_copy_time"])
        for profile in profiles:
            self.assertEqual((profile.unit, profile.period), ("nanoseconds", 1))
            self.assertTrue(0 < profile.begin_ns < profile.end_ns)
            self.assertEqual(profile.resource["telemetry.sdk.name"], "cuspan")
            self.assertIn("service.name", profile.resource)
        self.assertNotIn(b"code.", request.body)  # the conventions forbid these attributes in profiles

    def test_links_lead_to_the_session_or_the_request(self):
        spans, profiles = self.replay(TORCH)
        sessions = {(span.trace_id, span.span_id) for span in spans if not span.parent_id}
        self.assertTrue(sessions)
        self.assertEqual({link for profile in profiles for _, link, _ in profile.samples}, sessions)
        spans, profiles = self.replay(SERVICE)
        made = {span.span_id for span in spans}
        with_work = {span.trace_id for span in spans if "cuda.activity" in span.attributes}
        roots = {(span.trace_id, span.parent_id or span.span_id) for span in spans if span.parent_id not in made}
        self.assertEqual({link for profile in profiles for _, link, _ in profile.samples},
                         {root for root in roots if root[0] in with_work})
        self.assertTrue(any(span_id not in made for _, span_id in roots))  # a request's span, which another process made

    def test_off_there_is_none(self):
        self.replay(THREADS, "profiles.enabled=false")
        self.assertEqual({request.path for request in self.sink.requests}, {"/v1/traces"})
        self.assertNotIn("profiles", self.report)

    def test_without_stacks_there_are_kernels(self):
        spans, profiles = self.replay(TORCH, "capture.launch_stacks=none")
        self.assertIn("profiles have kernels but no stacks", self.stderr)
        wanted = Counter()
        for (frames, _), ns in expected(spans)["gpu_kernel_time"].items():
            wanted[frames[:1]] += ns
        self.assertEqual({frames: ns for (frames, _), ns in got(profiles, False)["gpu_kernel_time"].items()}, wanted)

    def test_what_is_not_sampled_counts_without_a_link(self):
        wanted = without_traces(expected(self.replay(TORCH)[0]))
        for variables in {"OTEL_TRACES_SAMPLER": "always_off"}, {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"}:
            with self.subTest(**variables):
                spans, profiles = self.replay(TORCH, **variables)
                self.assertEqual(spans, [])
                self.expect_equal(got(profiles), wanted)
                self.assertEqual({link for profile in profiles for _, link, _ in profile.samples}, {None})

    def test_summaries_have_profiles_too(self):
        def by_stack(times):  # summaries have no directions of copies
            found = Counter()
            for kind, of_kind in times.items():
                for (frames, trace), ns in of_kind.items():
                    found[kind, frames[1:], trace] += ns
            return found

        wanted = by_stack(expected(self.replay(SERVICE)[0]))
        spans, profiles = self.replay(SERVICE, "detail=summary")
        self.assertFalse([span for span in spans if "cuda.correlation.id" in span.attributes])
        found = by_stack(got(profiles))
        self.assertEqual({key[:2] for key in found}, {key[:2] for key in wanted})
        self.assertEqual(sum(found.values()), sum(wanted.values()))

    def test_intervals_follow_each_other(self):
        spans, profiles = self.replay(TORCH, "profiles.interval_ms=1000", options=("--paced", "--repeat", "4"))
        kernels = [profile for profile in profiles if profile.type == "gpu_kernel_time"]
        self.assertGreater(len(kernels), 1)
        for before, after in zip(kernels, kernels[1:]):
            self.assertLessEqual(before.end_ns, after.begin_ns)
        self.expect_equal(without_traces(got(profiles)), without_traces(expected(spans)))

    def test_links_beyond_the_limit_begin_a_new_profile(self):
        spans, profiles = self.replay(TORCH, "session.spans_max=4", options=("--repeat", "10"))
        self.assertGreater(len({link for profile in profiles for _, link, _ in profile.samples}), 1024)
        self.assertGreater(len(self.requests), 1)
        self.expect_equal(got(profiles), expected(spans))


class Delivery(Case):
    def test_a_refused_profile_is_lost_and_counted(self):
        self.sink.statuses[PATH] = [404]
        spans, profiles = self.replay(TORCH)
        samples = sum(len(profile.samples) for profile in profiles)
        self.assertEqual(self.report["losses"], {"lost_profile_samples": samples})
        self.assertIn("refuses profiles, which are lost: HTTP 404", self.stderr)
        self.assertEqual(self.report["profiles"]["lost"], samples)
        self.assertIn("HTTP 404", self.report["profiles"]["trouble"])
        self.assertEqual(self.report["outputs"][0]["delivered"], len(spans))

    def test_a_busy_collector_gets_it_again(self):
        self.sink.statuses[PATH] = [503]
        _, profiles = self.replay(TORCH)
        self.assertEqual(len(self.requests), 2)
        self.assertEqual(self.requests[0].body, self.requests[1].body)
        self.assertEqual(self.report["losses"], {})
        self.assertEqual(self.report["profiles"]["delivered"], sum(len(profile.samples) for profile in profiles) // 2)

    def test_nobody_listens(self):
        port, = free_ports(1)
        for deadline_ms in 1000, 10000, 100000:  # until a busy machine has time for all spans before it
            spans, _ = self.replay(TORCH, f"profiles.endpoint=http://127.0.0.1:{port}/p", f"exit_deadline_ms={deadline_ms}")
            if len(self.report["losses"]) == 1:
                break
        self.assertEqual(self.report["losses"], {"lost_profile_samples": self.report["counters"]["profile_samples_made"]})
        self.assertGreater(self.report["losses"]["lost_profile_samples"], 0)
        self.assertEqual(self.report["outputs"][0]["delivered"], len(spans))

    def test_its_own_endpoint_and_the_headers(self):
        headers = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=s3cret"}
        other = Sink()
        self.addCleanup(other.close)
        self.replay(TORCH, f"profiles.endpoint=http://127.0.0.1:{self.sink.port}/api/x/v1/profiles", **headers)
        request, = self.requests
        self.assertEqual((request.path, request.headers["api-key"]), ("/api/x/v1/profiles", "s3cret"))
        self.replay(TORCH, f"profiles.endpoint=http://127.0.0.1:{other.port}/p", **headers)
        request, = other.requests  # another server, which must not learn the key
        self.assertNotIn("api-key", request.headers)
        self.assertEqual(request.path, "/p")

    def test_with_metrics_and_a_spool(self):
        spool = self.folder / "spool"
        spans, profiles = self.replay(TORCH, f"spool.directory={spool}", OTEL_METRICS_EXPORTER="otlp",
                                      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"http://127.0.0.1:{self.sink.port}/v1/metrics")
        self.expect_equal(got(profiles), expected(spans))
        self.assertIn("/v1/metrics", {request.path for request in self.sink.requests})

    def test_check_says_where_they_go(self):
        sets = [word for setting in SETTINGS for word in ("--set", setting)]
        out = cuspan("check", "--set", "endpoint=http://u:s3cret@h:4318", *sets).stdout
        self.assertIn("profiles of GPU time, every 10 s:\n  profiles go to OTLP/HTTP: http://h:4318/v1development/profiles", out)
        self.assertNotIn("s3cret", out)


if __name__ == "__main__":
    unittest.main()
