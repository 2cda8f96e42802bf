"""A program on its own pseudo-terminal (pty). pyte interprets its output like a terminal and gives the screen's
content."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

FOREVER_S = 300


class Terminal:
    def __init__(self, command, env, columns=100, lines=30, kind="xterm-256color"):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(str(command[0]), list(map(str, command)), {**env, "TERM": kind})
        self.status = None
        self.resize(columns, lines)

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds=0.05):
        """Reads what arrives within the time. False: the program has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                break
            try:
                written = os.read(self.master, 65536)
            except OSError:  # Linux reports a closed peer this way
                return False
            if not written:
                return False
            self.stream.feed(written)
        return True

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, what, condition, seconds=FOREVER_S):
        """Waits until the screen's text matches; returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()
            if condition(self.text()):
                return self.text()
        raise AssertionError(f"{what} after {seconds} s:\n{self.text()}")

    def wait(self, seconds=FOREVER_S):
        """Waits for the program's end; returns its exit status."""
        end = time.monotonic() + seconds
        while self.status is None and time.monotonic() < end:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        if self.status is None:
            raise AssertionError(f"it goes on after {seconds} s:\n{self.text()}")
        return self.status

    def modes(self):
        """The line discipline's local flags, as the next program finds them."""
        return termios.tcgetattr(self.master)[3]

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL
        os.close(self.master)
