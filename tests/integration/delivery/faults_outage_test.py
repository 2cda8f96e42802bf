#!/usr/bin/env python3
"""A collector that is away for a long time: first nobody listens, then it does not respond, then it responds with 503.

    faults_outage_test.py --build DIRECTORY [--sanitizers LIST] [--long [--outage-s SECONDS]] [CLASS[.test]...]

The outage has three equal parts. Without --long it is 10 minutes of a clock that runs 60 times faster. With --long it is
an hour in real time at 10,000 spans per second, with the same checks.
"""

import re
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import faults_case  # noqa: E402
from bad_server import Link, answer, broken, take  # noqa: E402
from built import take_flag, take_option  # noqa: E402
from faults_case import DELIVERED, LONGEST_MS, Agent, eventually  # noqa: E402

LONG = take_flag("--long")
OUTAGE_S = int(take_option("--outage-s", 3600)) if LONG else 600  # the option: instead of an hour


class Outage(faults_case.Case):
    def test_no_collector(self):
        haste, every_ms = (1, 104) if LONG else (60, 20000)
        queue = 262144 if LONG else 1280  # of 10,000 spans per second, or 53
        outage_ms = OUTAGE_S * 1000
        times = (outage_ms + 80000) // every_ms if LONG else outage_ms * 95 // 100 // every_ms
        port = backend.free_ports(1)[0]
        before = self.server(take, port=port)
        agent = Agent(self, f"http://127.0.0.1:{port}",
                      {"exit_deadline_ms": LONGEST_MS, "compression": "gzip", "rings.bytes": 1 << 20, "rings.total_bytes": 1 << 24},
                      {"OTEL_BSP_MAX_QUEUE_SIZE": queue, "OTEL_BSP_SCHEDULE_DELAY": 1000,
                       "OTEL_EXPORTER_OTLP_TIMEOUT": 10000, "OTEL_BSP_EXPORT_TIMEOUT": 30000}, patient=False, haste=1)
        agent.process.stdin.write(f"steady {every_ms} {times}\n")
        agent.process.stdin.flush()
        eventually(lambda: before.takings, agent.said)
        if LONG:
            time.sleep(20)
        before.close()
        agent.set_haste(haste)
        peaks = []
        self.rest(agent, haste, peaks)
        silent = self.server(broken(Link.hang, "answer"), port=port)
        self.rest(agent, haste, peaks)
        silent.close()
        busy, opened = self.server(answer(503), port=port), time.monotonic()
        self.rest(agent, haste, peaks)
        busy.close()
        back = time.monotonic()

        def calm_down(link):
            """From now on timeouts are long, also on a busy machine."""
            agent.set_haste(1)
            return answer(503, "Retry-After: 1")(link)

        after = self.server(*([] if LONG else [calm_down]), take, port=port)
        if not LONG:  # older spans may have timed out
            self.assertEqual(agent.process.stdout.readline(), "done\n", agent.said())
            agent.play()
        eventually(lambda: after.takings, agent.said)
        recovery_s = time.monotonic() - back
        if LONG:
            self.assertEqual(agent.process.stdout.readline(), "done\n", agent.said())
        agent.end()
        self.check(agent, before, silent, busy, after, haste, (back - opened) * haste, recovery_s, peaks)

    def rest(self, agent, haste, peaks):
        """Waits for a third of the outage and samples the memory."""
        seconds = OUTAGE_S / 3 / haste
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(1, seconds / 20))
            status = Path(f"/proc/{agent.process.pid}/status").read_text()
            peaks.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]))

    def check(self, agent, before, silent, busy, after, haste, busy_s, recovery_s, peaks):
        self.assert_same(agent, before, after)
        self.assertEqual(silent.takings + busy.takings, [])
        gaps = [(b.time - a.time) * haste for a, b in zip(busy.requests, busy.requests[1:])]
        waits = [(b.time - a.time) * haste for a, b in zip(silent.requests, silent.requests[1:])]
        print(f"{agent.report['spans']} spans, {agent.counters[DELIVERED]} delivered, {agent.losses}; back after "
              f"{recovery_s:.1f} s; {len(busy.requests)} requests during 503, {min(gaps):.1f} to {max(gaps):.1f} s apart; "
              f"{len(silent.requests)} without a response, {min(waits):.1f} s apart at least; memory {min(peaks)} to {max(peaks)} KiB")
        # The longest backoff is 10 s minus up to half, 7.5 s on average. On the fast clock a server thread that is late by
        # milliseconds shifts a request by seconds. There the test limits only the number of requests, which delays reduce.
        self.assertLessEqual(len(busy.requests), busy_s / 5 + 5)
        if LONG:
            self.assertGreaterEqual(min(gaps[3:]), 4.9)
            self.assertIn(round(sum(gaps) / len(gaps)), range(6, 15))
            self.assertLess(recovery_s, 15)
        self.assertGreater(max(gaps[3:]) - min(gaps[3:]), 0.1, "no jitter")
        # A timeout of 10 s and the backoff, unless the batch's 30 s end earlier.
        self.assertGreater(sum(waits) / len(waits), 10)
        # The queued spans are delivered late. The others are lost for these two reasons.
        self.assertLessEqual(set(agent.losses), {"lost_queue_full", "lost_unreachable"})
        self.assertGreater(agent.losses["lost_queue_full"], 0)
        self.assertGreater(agent.losses["lost_unreachable"], 0)
        self.assertGreaterEqual(agent.counters["batches_resent"], len(busy.requests) - 1)
        half = len(peaks) // 2  # by then the queue has been full once
        if not faults_case.SANITIZERS:
            self.assertLess(max(peaks[half:]) - max(peaks[:half]), 4096, "it grows")
            self.assertLess(max(peaks), 64 * 1024)
        self.assert_outage_told(agent)

    def assert_outage_told(self, agent):
        said = "\n".join(agent.lines())
        most = 1 if LONG else 2
        full = "raise distribution.cuspan.memory_bytes_max" if LONG else "the queue .* is full"  # whichever ends first
        for pattern in ("cannot deliver to ", "is not ready: HTTP 503", "are lost: no request was accepted", full, "works again"):
            self.assertIn(len(re.findall(pattern, said)), range(1, most + 1), said)
        self.assertLessEqual(len(agent.lines()), 5 * most, said)


if __name__ == "__main__":
    faults_case.main()
