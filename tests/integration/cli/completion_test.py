#!/usr/bin/env python3
"""The completion scripts for zsh and fish, in the real shells: what they complete, and what not.

    completion_test.py zsh|fish PATH/TO/cuspan [SCRIPT]

SCRIPT is an installed completion script. Default: what `cuspan help --completion` prints. (bash: cli_test.sh.)"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

FOREVER_S = 300
SHELL, CUSPAN, SCRIPT = "", "", ""

# The line before TAB, and the word that TAB completes. None: nothing is offered.
CASES = [
    ("cuspan rep", "replay"),
    ("cuspan show --p", "--perfetto"),
    ("cuspan record --ou", "--output"),
    ("cuspan run --detail g", "graph-nodes"),
    ("cuspan run --detail=g", "--detail=graph-nodes"),
    ("cuspan help --completion z", "zsh"),
    ("cuspan help set", "settings"),
    ("cuspan help rep", "replay"),
    ("cuspan show a_f", "a_file"),
    ("cuspan record -o a_f", "a_file"),
    ("cuspan record --output=a_f", "--output=a_file"),
    ("cuspan run --set a=b --service-n", "--service-name"),
    ("cuspan run unique_pr", "unique_program"),
    ("cuspan run --endpoint x -- unique_pr", "unique_program"),
    ("cuspan record -o x unique_pr", "unique_program"),
    ("cuspan run ./local_pr", "./local_program"),
    ("cuspan run --detail full cat a_f", "a_file"),
    ("cuspan run -- cat a_f", "a_file"),
    ("cuspan overhead -q cat a_f", "a_file"),
    ("cuspan run unique_program --endp", None),
    ("cuspan run -- --endp", None),
    ("cuspan fle", "fleet"),
    ("cuspan fleet utiliz", "utilization"),
    ("cuspan fleet kernels a_f", "a_file"),
    ("cuspan fleet kernels --by servi", "service"),
    ("cuspan version a_f", None),
    ("cuspan status a_f", None),
    ("cuspan run --endpoint a_f", None),
]


class Fish:
    def __init__(self, folder, env):
        loop = "source $argv[1]; while read typed; complete -C $typed; echo '<end>'; end"
        self.fish = subprocess.Popen(["fish", "--no-config", "-c", loop, SCRIPT], cwd=folder, env=env, text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def completed(self, typed):
        """The words that fish offers for the last word of `typed`; or an error of the script."""
        print(typed, file=self.fish.stdin, flush=True)
        words = [line.split("\t")[0].rstrip() for line in iter(self.fish.stdout.readline, "<end>\n")]
        # fish 4 also lists words that only contain the typed letters. It shows these if no word begins with them.
        return [word for word in words if word.startswith(typed.split(" ")[-1])] or words

    offered = completed

    def close(self):
        self.fish.communicate()


class Zsh:
    """An interactive zsh on a terminal. After TAB, a key of its own writes the line to a file."""

    def __init__(self, folder, env):
        functions = folder / "functions"
        functions.mkdir()
        shutil.copy(SCRIPT, functions / "_cuspan")
        self.lines = folder / "lines"
        self.lines.touch()
        (folder / ".zshrc").write_text(
            f"PS1='rea''dy> '; fpath=({functions} $fpath)\n"
            "autoload -Uz compinit; compinit -u -D; bindkey -e; LISTMAX=1000; LINES=100\n"
            f"show() {{ print -r -- \"$BUFFER\" >>{self.lines}; BUFFER=''; print -rn '<shown>' }}\n"
            "zle -N show; bindkey '^T' show\n")
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-d", "-i"], {**env, "ZDOTDIR": str(folder), "TERM": "dumb"})
        self.written = ""
        self.wait_for(lambda: "ready>" in self.written)

    def wait_for(self, condition):
        end = time.monotonic() + FOREVER_S
        while not condition():
            assert time.monotonic() < end, self.written[-2000:]
            if select.select([self.master], [], [], 0.05)[0]:
                self.written += os.read(self.master, 65536).decode(errors="replace")

    def completed(self, typed):
        self.written = ""
        os.write(self.master, f"{typed}\t\x14".encode())
        self.wait_for(lambda: "<shown>" in self.written)
        line = self.lines.read_text().splitlines()[-1]
        return [] if line == typed else [re.sub("=$", "", line.split(" ")[-1] or line.split(" ")[-2])]

    def offered(self, typed):
        """zsh lists several candidates, and inserts a single one."""
        word = self.completed(typed)
        return re.findall(r"^(--[a-z-]+)\s", self.written, re.M) or word

    def close(self):
        os.close(self.master)
        os.waitpid(self.pid, 0)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "a_file").touch()
        programs = cls.folder / "bin"
        programs.mkdir()
        (programs / "cuspan").symlink_to(CUSPAN)
        for program in programs / "unique_program", cls.folder / "local_program":
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
        env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(cls.folder), "LC_ALL": "C.UTF-8"}
        cls.shell = (Zsh if SHELL == "zsh" else Fish)(cls.folder, env)
        cls.addClassCleanup(cls.shell.close)

    def test_words(self):
        for typed, word in CASES:
            with self.subTest(typed):
                self.assertEqual(self.shell.completed(typed), [word] if word else [])

    def test_every_command_and_option(self):
        overview = subprocess.run([CUSPAN, "help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"^  ([a-z]+) ", overview, re.M)
        self.assertIn("run", commands)
        for command in commands:
            page = subprocess.run([CUSPAN, "help", command], capture_output=True, text=True, check=True).stdout
            options = re.findall(r"^  (?:-., )?(--[a-z-]+)", page, re.M) + ["--help"]
            with self.subTest(command):
                offered = self.shell.offered(f"cuspan {command} --")
                self.assertEqual(set(options) - set(offered), set())


if __name__ == "__main__":
    SHELL, CUSPAN = sys.argv[1], str(Path(sys.argv[2]).resolve())
    if not shutil.which(SHELL):
        print(f"skipped: integration/completion_{SHELL}: it is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as made:
        SCRIPT = sys.argv[3] if len(sys.argv) > 3 else f"{made}/script"
        if len(sys.argv) <= 3:
            with open(SCRIPT, "w", encoding="utf-8") as script:
                subprocess.run([CUSPAN, "help", "--completion", SHELL], stdout=script, check=True)
        unittest.main(argv=sys.argv[:1])
