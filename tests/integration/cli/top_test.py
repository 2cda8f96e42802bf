#!/usr/bin/env python3
"""`cuspan top` in its own terminal, watching agents that replay recordings of real GPU runs: figures, keys, window
sizes, ends of processes, text and JSON for pipes, and no counting when no client watches.

    top_test.py --build BUILD-DIR [unittest's arguments]      (needs the package pyte: see top_test.sh)
"""

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from collections import defaultdict, deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))

from backend import spans_of  # noqa: E402
from built import BUILD  # noqa: E402
from preload import preloadable  # noqa: E402
from terminal import Terminal  # noqa: E402

LOOKS = 20  # at each of which something is tried
TRIES = 100  # polls of an agent that may not have had the CPU yet
ROUNDING_NS = 1000  # times are doubles in top
SLOWLY = ("--set", "exit_deadline_ms=600000", "--set", "correlation.wait_ms=60000")  # nothing is lost on a busy machine


def has_kernel(text):
    """Whether the table of kernels has a row. Which kernel, depends on how much of the recording an interval takes."""
    return re.search(r"^KERNELS BY .*\n\S.* \d+ % ", text, re.MULTILINE) is not None


class Player:
    """`cuspan replay`; `pid` is the agent's, which runs in a child."""

    def __init__(self, running):
        self.running, self.pid = running, 0

    def signal(self, number):
        os.killpg(self.running.pid, number)

    def end(self):
        if self.running.returncode is None:
            self.signal(signal.SIGKILL)
            self.running.wait()


class Top(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="top-test-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.sockets = self.folder / "sockets"
        left = {key: value for key, value in os.environ.items()
                if not key.startswith(("OTEL_", "CUSPAN_", "TRACE", "CUDA_INJECTION", "NVTX_")) and key not in ("NO_COLOR", "LINES",
                                                                                                             "COLUMNS")}
        self.env = {**left, "LC_ALL": "C.UTF-8"}
        for library in BUILD.glob("libcuspan*.so"):
            (self.folder / library.name).symlink_to(library)

    def replay(self, name, recording, **more):
        """A process with that name that plays a recording in real time, repeatedly."""
        program = self.folder / name
        shutil.copy2(BUILD / "cuspan", program)  # a link would have the name of its target
        before = set(self.sockets.glob("*.sock"))
        running = subprocess.Popen([program, "replay", "--quiet", "--file", "/dev/null", "--paced", "--repeat", "100000",
                                    "--set", f"control.directory={self.sockets}", "--set", "cupti.flush_interval_ms=100",
                                    ROOT / f"examples/recordings/{recording}.cuspanrec"],
                                   env={**self.env, **more}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        player = Player(running)
        self.addCleanup(player.end)
        while not (new := set(self.sockets.glob("*.sock")) - before) and running.poll() is None:
            time.sleep(0.01)
        player.pid = int(new.pop().stem)
        return player

    def top(self, *arguments, status=0, **more):
        done = subprocess.run([BUILD / "cuspan", "top", "--directory", self.sockets, *map(str, arguments)], env={**self.env, **more},
                              capture_output=True, text=True, timeout=600, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def terminal(self, *arguments, columns=110, lines=30, **more):
        made = Terminal([BUILD / "cuspan", "top", "--directory", self.sockets, "--interval", "0.2", *arguments], {**self.env, **more},
                        columns, lines)
        self.addCleanup(made.close)
        return made

    def ask(self, pid, request):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(str(self.sockets / f"{pid}.sock"))
            client.sendall(request.encode() + b"\n")
            answer = b""
            while part := client.recv(65536):
                answer += part
        return json.loads(answer)

    def looks(self):
        """The lines of `top --json`, parsed."""
        lines = subprocess.Popen([BUILD / "cuspan", "top", "--json", "--interval", "0.2", "--directory", self.sockets],
                                 env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            yield from (json.loads(line) for line in lines.stdout)
        finally:
            lines.kill()
            lines.wait()
            lines.stdout.close()

    def test_what_it_shows_is_what_was_recorded(self):
        spans = self.folder / "spans.jsonl"
        subprocess.run([BUILD / "cuspan", "replay", "--quiet", *SLOWLY, "--file", spans, ROOT / "examples/recordings/torch_inference.cuspanrec"],
                       env=self.env, check=True, capture_output=True, timeout=600)
        durations = defaultdict(list)
        for line in spans.read_text().splitlines():
            for span in spans_of(json.loads(line)):
                if span.attributes.get("cuda.activity") == "kernel":
                    durations[span.name].append(span.end_ns - span.start_ns)
        running, seen_ns, shown_ns = self.replay("trainer", "torch_inference"), 0, 0
        answers = deque()  # of the agent, whose clock is that of the recording: (when it was here, its clock)
        for number, (look, _) in enumerate(zip(self.looks(), range(TRIES))):
            agent, = look["agents"]
            self.assertEqual((agent["pid"], agent["lost_since_begin"]), (running.pid, 0))
            if agent["why"] != "it does not respond":
                self.assertEqual(agent["program"], "trainer")
            if "window_ns" not in agent:
                continue
            self.check_figures(agent, durations)
            # All windows together, from the start of tracing until the look: not shorter than what the agent said
            # before this look, nor longer than what it says now.
            shown_ns += agent["window_ns"]
            while answers and answers[0][0] < look["time_ns"]:
                seen_ns = answers.popleft()[1]
            answer = self.ask(running.pid, "figures")
            answers.append((time.time_ns(), answer["time_ns"]))
            if seen_ns:
                self.assertGreaterEqual(shown_ns + ROUNDING_NS, seen_ns - answer["since_ns"])
            self.assertLessEqual(shown_ns, answer["time_ns"] - answer["since_ns"] + ROUNDING_NS)
            if number > 6 and seen_ns and agent["devices"] and agent["own"]["spans"] and agent["own"]["threads_ns"]:
                return
        self.fail(f"no look with kernels, spans and CPU time: {agent}")

    def start_ranks(self, players):
        """The processes of the ranks of a job, which go on until they are killed: a recording and words of control_host each."""
        started = []
        for rank, (recording, words) in enumerate(players):
            settings = {"cupti.library": BUILD / "libcuspan-replay.so", "output_file": "/dev/null", "control.directory": self.sockets,
                        "cupti.flush_interval_ms": 100, "steps.traced": "all", "steps.spans_max": 0, "correlation.wait_ms": 60000,
                        "rings.bytes": 1 << 24, "rings.total_bytes": 1 << 27, "memory_bytes_max": 1 << 28}  # nothing is lost
            running = subprocess.Popen(
                [BUILD / "control_host", BUILD / "libcuspan-replay.so", recording, BUILD / "libcuspan.so", "inject", *words],
                env={**self.env, "CUSPAN_SET": ";".join(f"{key}={value}" for key, value in settings.items()), "CUSPAN_JOB_ID": "job",
                     "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(players))},
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            self.addCleanup(running.stdin.close)
            self.addCleanup(Player(running).end)
            started.append(running)
            while not (self.sockets / f"{running.pid}.sock").exists() and running.poll() is None:
                time.sleep(0.01)
        return started

    def test_delays_are_those_of_stat(self):
        """A recorded job of four GPUs. Three ranks wait for rank 2, but their hosts are nearly as slow. The recordings are played again and
        again, with the same step numbers."""
        recordings = [ROOT / f"tests/training/recordings/fsdp_tp-late/rank{rank}.cuspanrec" for rank in range(4)]
        spans = self.folder / "spans"
        spans.mkdir()
        for rank, recording in enumerate(recordings):
            subprocess.run([BUILD / "cuspan", "replay", "--quiet", *SLOWLY, "--set", "steps.traced=all", "--file", spans / f"{rank}.jsonl",
                            recording], env=self.env, check=True, capture_output=True, timeout=600)
        found = subprocess.run([BUILD / "cuspan", "stat", "--json", "--top", "0", "--table", "steps", spans], env=self.env, check=True,
                               capture_output=True, timeout=600)
        rows = [row for row in json.loads(found.stdout)["steps"] if "delay_ns" in row and row["process"].startswith("rank ")]
        wanted = {(row["step"], int(row["process"].split()[1])): row for row in rows}
        self.assertEqual({rank for _, rank in wanted}, {0, 1, 2, 3})
        # All ranks rest at the same step until the next line, so how fast each of them is does not matter.
        ranks = self.start_ranks([(recording, ["line", "play-waiting"] * TRIES) for recording in recordings])
        seen = {}
        for number, look in zip(range(TRIES * LOOKS), self.looks()):
            if number % LOOKS == 0:
                for rank in ranks:
                    rank.stdin.write(b"\n")
                    rank.stdin.flush()
            # Only a step whose host work all four agents know. It is unknown while calls of the step wait for GPU records.
            known = [sum("host_ns" in step for step in agent["steps"]["sampled"] if step["number"] == rank["step"])
                     for agent in look["agents"] for rank in look["ranks"][:1] if "steps" in agent]
            for rank in look["ranks"] if known == [1, 1, 1, 1] else []:
                if row := wanted.get((rank["step"], rank["rank"])):
                    self.assertLess(abs(rank["delay_ns"] - row["delay_ns"]), ROUNDING_NS, (rank, row))
                    seen[rank["step"], rank["rank"]] = row
            if seen:
                break
        self.assertEqual({rank for _, rank in seen}, {0, 1, 2, 3})
        # Against the time of their GPUs, rank 2 would be later.
        for (step, rank), row in seen.items():
            if rank == 2:
                busy = {peer: wanted[step, peer]["duration_ns"] - wanted[step, peer]["exposed_communication_ns"] for peer in range(4)}
                self.assertGreater(busy[2] - max(busy[peer] for peer in (0, 1, 3)), row["delay_ns"] + 1e6)

    def test_the_ranks_of_a_job(self):
        """Rank 1 takes longer for a step. Neither communicates, so it isn't known who waits for whom."""
        recording = ROOT / "examples/recordings/vector_add.cuspanrec"
        self.start_ranks([
            (recording, [word for number in range(1, 2000) for word in (f"step={number}", "play", "nap")]),
            (recording, [word for number in range(1, 2000) for word in (f"step={number}", "play", "play", "nap", "nap")])])
        for look, _ in zip(self.looks(), range(TRIES)):
            ranks = {agent["steps"]["rank"]: agent["steps"] for agent in look["agents"] if agent.get("steps", {}).get("sampled")}
            if len(ranks) == 2 and all(steps["count"] and len(steps["sampled"]) > 1 for steps in ranks.values()):
                break
        self.assertEqual(sorted(ranks), [0, 1])
        self.assertEqual(ranks[0]["job"], ranks[1]["job"])
        for steps in ranks.values():
            numbers = [step["number"] for step in steps["sampled"]]
            self.assertEqual(numbers, list(range(numbers[0], numbers[-1] - 1, -1)))
            self.assertGreater(steps["number"], numbers[0])
            self.assertGreater(steps["total_ns"], 0.1e9 * steps["count"])  # of the naps
            self.assertEqual({step["communication_ns"] for step in steps["sampled"]}, {0})
            self.assertGreater(min(step["compute_ns"] for step in steps["sampled"]), 0)
        shown = self.top("--once", "--interval", "0.5").stdout
        self.assertRegex(shown, r"(?m)^ RANK +PID +STEP +STEP TIME +COMPUTE +EXPOSED +IDLE +DELAY$")
        self.assertRegex(shown, r"(?m)^    0 +\d+ +\d+ +\d+ ms .* -$")
        self.assertRegex(shown, r"(?m)^    1 +\d+ +\d+ +\d+ ms .* -$")

    def test_who_does_not_respond_keeps_its_name(self):
        running = self.replay("trainer", "torch_inference")
        looks = (look["agents"][0] for look in self.looks())
        next(look for look in looks if "window_ns" in look)
        os.kill(running.pid, signal.SIGSTOP)
        silent = next(look for look in looks if look["why"])
        self.assertEqual((silent["program"], silent["state"], silent["why"]), ("trainer", "tracing", "it does not respond"))
        self.assertNotIn("window_ns", silent)
        os.kill(running.pid, signal.SIGCONT)
        next(look for look in looks if "window_ns" in look and not look["why"])

    def check_figures(self, agent, durations):
        """The kernels of any interval are among the recorded ones, which `durations` has by name."""
        kernels = 0
        for kernel in agent["kernels"]:
            recorded = durations[kernel["name"]]
            self.assertTrue(min(recorded) * kernel["count"] <= kernel["total_ns"] <= max(recorded) * kernel["count"], kernel)
            kernels += kernel["count"]
        for device in agent["devices"]:
            self.assertEqual(device["name"], "NVIDIA H200")
            self.assertTrue(device["id"].startswith("GPU-"))
            self.assertEqual(kernels + agent["kernels_other"]["count"], device["kernels"])
            self.assertEqual(sum(kernel["total_ns"] for kernel in agent["kernels"]) + agent["kernels_other"]["total_ns"],
                             device["kernel_ns"])
            self.assertGreaterEqual(device["busy_ns"], device["kernel_ns"] * 0.9)

    def test_once_is_text(self):
        self.replay("trainer", "torch_inference")
        for _ in range(TRIES):
            shown = self.top("--once", "--interval", "0.3", "--width", "110").stdout
            if has_kernel(shown):
                break
        self.assertNotIn("\033", shown)
        self.assertRegex(shown, r"(?m)^>\s+\d+ trainer +tracing +[\d,.]+/s ")
        self.assertRegex(shown, r"(?m)^GPU 0 .* kernels .* live, peak .* NVIDIA ")
        self.assertRegex(shown, r"(?m)^KERNELS BY TIME ")
        self.assertTrue(has_kernel(shown), shown)
        self.assertTrue(all(len(line) <= 110 for line in shown.splitlines()))
        short = self.top("--once", "--interval", "0.2", "--rows", "12").stdout
        self.assertLessEqual(len(short.splitlines()), 12)
        self.assertTrue(all(len(line) <= 80 for line in short.splitlines()), "80 columns where there is no terminal")

    def test_the_live_screen_and_its_keys(self):
        running = self.replay("trainer", "torch_inference")
        screen = self.terminal()
        before = screen.wait_for("no kernels", lambda text: has_kernel(text) and "GPU 0" in text and
                                 text.splitlines()[-1].startswith("q quit"))
        self.assertIn("trainer (PID %d)" % running.pid, before)
        self.assertIn("KERNELS BY TIME", before)
        self.assertIn("1 agent, every 0.2 s", before)
        screen.press("s")
        screen.wait_for("another order", lambda text: "KERNELS BY COUNT" in text and "s sort (count)" in text)
        screen.press("+")
        screen.wait_for("a longer interval", lambda text: "every 0.7 s" in text)
        screen.press("p")
        paused = screen.wait_for("a pause", lambda text: "(paused)" in text and "p resume" in text and text.endswith("interval"))
        self.assertGreater(self.ask(running.pid, "figures")["time_ns"], 0)
        screen.read(1.5)
        self.assertEqual(screen.text(), paused, "nothing moves while it is paused")
        screen.press("p")
        screen.wait_for("it going on", lambda text: "(paused)" not in text)
        screen.press("q")
        self.assertEqual(screen.wait(), 0)
        self.assertTrue(screen.modes() & termios.ECHO and screen.modes() & termios.ICANON, "the terminal is as it was")

    def test_it_follows_the_size(self):
        self.replay("trainer", "torch_inference")
        screen = self.terminal(columns=120, lines=40)
        screen.wait_for("a wide screen", lambda text: "LAUNCHES" in text and has_kernel(text))
        screen.resize(60, 12)
        # A terminal that shrinks keeps its last lines, so the first line shows that the program has followed.
        text = screen.wait_for("a small screen", lambda text: text.startswith("cuspan top") and "LAUNCHES" not in text
                               and "q quit" in text.splitlines()[-1])
        self.assertEqual(len(text.splitlines()), 12)
        screen.resize(120, 40)
        screen.wait_for("a wide screen again", lambda text: "LAUNCHES" in text and "q quit" in text.splitlines()[-1])

    def test_several_agents(self):
        first, second = self.replay("trainer", "torch_inference"), self.replay("server", "threads")
        screen = self.terminal(columns=120, lines=40)
        both = screen.wait_for("two agents", lambda text: "2 agents" in text and text.count("/s ") > 8)
        self.assertRegex(both, r"(?m)^>\s+%d " % min(first.pid, second.pid))
        screen.press("\033[B" if min(first.pid, second.pid) == first.pid else "\033[A")
        screen.press("j" if first.pid > second.pid else "")
        screen.press("k")
        screen.press("a")
        screen.wait_for("all agents", lambda text: "\nall agents" in text and has_kernel(text))
        screen.press("j")
        screen.wait_for("one again", lambda text: "\nall agents" not in text)
        second.end()
        screen.wait_for("the second one's end", lambda text: "1 agent," in text and "trainer (PID" in text)
        self.assertEqual(json.loads(self.top("--once", "--json", "--interval", "0.3", "trainer").stdout)["agents"][0]["pid"], first.pid)
        first.end()
        screen.wait_for("no agent", lambda text: "no agent is running" in text)
        screen.press("q")
        self.assertEqual(screen.wait(), 0)

    def test_counting_ends_when_nobody_looks(self):
        """Between two polls, the agent's clock runs 100 times faster: the lease of 10 s takes 0.1 s. Each poll renews it."""
        clock = self.folder / "clock"
        clock.write_bytes(struct.pack("=q", 1))
        running = self.replay("trainer", "torch_inference", LD_PRELOAD=preloadable(BUILD / "libfaults_doubles.so"), FAULTS_CLOCK=str(clock),
                              ASAN_OPTIONS=f"verify_asan_link_order=0:{self.env.get('ASAN_OPTIONS', '')}")
        screen = self.terminal()
        screen.wait_for("no kernels", has_kernel)
        while not (since := self.ask(running.pid, "figures")["since_ns"]):
            pass
        screen.press("q")
        screen.wait()
        for _ in range(TRIES):
            self.set_speed(clock, 100)
            time.sleep(0.5)
            self.set_speed(clock, 1)
            time.sleep(0.2)  # waits follow a new factor after 0.1 s
            answer = self.ask(running.pid, "figures")
            if answer["since_ns"] and not answer["is_on"]:  # 0: the agent was too slow to answer
                break
        else:
            self.fail("it counts without a lease")
        self.assertGreater(self.ask(running.pid, "figures")["since_ns"], since)

    @staticmethod
    def set_speed(clock, factor):
        with open(clock, "r+b") as file:  # in place: the agent has mapped it
            file.write(struct.pack("=q", factor))

    def test_ctrl_c_gives_the_terminal_back(self):
        self.replay("trainer", "vector_add")
        screen = self.terminal()
        screen.wait_for("a screen", lambda text: "trainer" in text)
        screen.press("\x03")
        self.assertNotEqual(screen.wait(), 0)
        self.assertTrue(screen.modes() & termios.ECHO and screen.modes() & termios.ICANON)

    def test_an_agent_that_does_not_answer(self):
        running = self.replay("trainer", "torch_inference")
        running.signal(signal.SIGSTOP)
        shown = self.top("--once", "--interval", "0.2").stdout
        self.assertRegex(shown, r"%d .*it does not respond" % running.pid)
        running.signal(signal.SIGCONT)

    def test_color_and_its_absence(self):
        self.replay("trainer", "torch_inference")

        def colors(**more):
            screen = self.terminal(**more)
            screen.wait_for("no kernels", has_kernel)
            return {cell.fg for line in screen.screen.buffer.values() for cell in line.values()}
        self.assertIn("cyan", colors())
        self.assertEqual(colors(NO_COLOR="1"), {"default"})

    def test_wrong_arguments_and_no_terminal(self):
        for arguments, said in ((("--interval", "20"), "from 0.1 to 9"), (("--interval", "x"), "from 0.1 to 9"),
                                (("--sort", "size"), "time count average name"), (("a", "b"), "name only one PID or program")):
            self.assertIn(said, self.top(*arguments, status=2).stderr)
        self.assertIn("standard output is not a terminal: use --once", self.top(status=1).stderr)
        self.assertIn("no agent found", self.top("--once", status=1).stderr)
        screen = Terminal([BUILD / "cuspan", "top", "--directory", self.sockets], self.env)
        self.addCleanup(screen.close)
        screen.press("q")
        self.assertEqual(screen.wait(), 0)
        self.assertTrue(re.search("q quit|^$", screen.text().splitlines()[-1]))
        for kind in ("dumb", "unknown-kind"):
            screen = Terminal([BUILD / "cuspan", "top", "--directory", self.sockets], self.env, kind=kind)
            self.addCleanup(screen.close)
            self.assertEqual(screen.wait(), 1)
            self.assertIn(f"cannot control this terminal (TERM is {kind})", screen.text().replace("\n", ""))

    def test_a_directory_that_is_missing_is_named(self):
        missing = self.sockets / "missing"
        done = subprocess.run([BUILD / "cuspan", "ps", "--directory", missing], env=self.env, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cuspan: {missing}: No such file or directory\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
