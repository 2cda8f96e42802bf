"""A program on a terminal of its own (a pty), and what its screen shows: read by pyte, as a terminal would."""

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
    def __init__(self, command, env, columns=100, lines=30):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execvpe(str(command[0]), list(map(str, command)), {**env, "TERM": "xterm-256color"})
        self.status = None
        self.resize(columns, lines)

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds=0.05):
        """Takes what comes within so long; False: the program has ended."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                break
            try:
                written = os.read(self.master, 65536)
            except OSError:  # how Linux says that the other side is closed
                return False
            if not written:
                return False
            self.stream.feed(written)
        return True

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, what, condition, seconds=FOREVER_S):
        """Until the screen's text is as wanted; returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read()
            if condition(self.text()):
                return self.text()
        raise AssertionError(f"{what} after {seconds} s:\n{self.text()}")

    def wait(self, seconds=FOREVER_S):
        """The exit status of the program, which ends."""
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
        """The line discipline's local flags, as whoever comes after finds them."""
        return termios.tcgetattr(self.master)[3]

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL
        os.close(self.master)
