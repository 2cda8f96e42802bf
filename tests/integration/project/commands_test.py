#!/usr/bin/env python3
"""Commands and options: help, man pages, completion, `cuspan fleet` in Python, and what pages and scripts use, agree.

    commands_test.py PATH/TO/cuspan"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CUSPAN = ""
# A command line in a page or script. The program that a launcher starts follows, with options of its own.
USED = re.compile(r"(?<![\w./-])cuspan ((?:help )?[a-z]+)((?: +(?:\\\n *)?(?:[^\s|;&<>`#()]+|'[^'\n]*'|\"[^\"\n]*\"))*)")
PAGES = ("README.md", "docs/*.md", "docs/*/*.md", "examples/*.md", "examples/**/*.md", "examples/*.sh", "deploy/**/*.md", "tests/gpu/*.sh")


def said(*arguments):
    return subprocess.run([CUSPAN, *arguments], capture_output=True, text=True, check=True).stdout


def options_in(page):
    """{long option or letter: whether it has an argument}, as the help page lists them."""
    found = {}
    for letter, name, argument in re.findall(r"^  (?:-(\w), )?--([a-z-]+)( \S+)?", page.partition("\noptions:\n")[2], re.M):
        found[f"--{name}"] = bool(argument)
        if letter:
            found[f"-{letter}"] = bool(argument)
    return found


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = re.findall(r"^  ([a-z]+) ", said("help"), re.M)
        cls.pages = {command: said("help", command) for command in cls.commands}
        cls.options = {command: options_in(page) for command, page in cls.pages.items()}

    def test_each_command_has_options(self):
        self.assertIn("fleet", self.commands)
        self.assertTrue(self.options["run"]["--endpoint"])
        self.assertFalse(self.options["fleet"]["--distinct"])

    def test_man_pages(self):
        listed = said("help", "--man", "cuspan").partition(".SH EXIT STATUS")[0]
        self.assertEqual(re.findall(r"^\.BR cuspan\\-(\w+) \(1\)$", listed, re.M), self.commands)
        for command in self.commands:
            page = said("help", "--man", command).replace("\\-", "-").replace("\\&", "")
            listed = re.findall(r"^\\fB(?:-(\w)\\fR, \\fB)?--([a-z-]+)\\fR", page, re.M)
            names = {f"--{name}" for _, name in listed} | {f"-{letter}" for letter, _ in listed if letter}
            with self.subTest(command):
                self.assertEqual(names, set(self.options[command]))

    def test_completion(self):
        self.assertEqual(re.findall(r"^(\w+)\t", said("help", "--candidates", ""), re.M), self.commands)
        for command, options in self.options.items():
            with self.subTest(command):
                offered = re.findall(r"^(-[\w-]+)\t", said("help", "--candidates", command, "-"), re.M)
                self.assertEqual(set(offered) - {"--help"}, set(options))

    def test_fleet_in_python(self):
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(ROOT / "python"))
        from cuspan.fleet.__main__ import GROUPS, _parser, questions
        options = {name: action.nargs != 0 for action in _parser()._actions for name in action.option_strings if name not in ("-h", "--help")}
        self.assertEqual(self.options["fleet"], options)
        listed = re.search(r"QUESTION is one of:\s+([a-z_\s]+)\.", self.pages["fleet"]).group(1).split()
        self.assertEqual(listed, sorted(questions()))
        self.assertEqual(said("help", "--candidates", "fleet", "--by", "").split(), list(GROUPS))

    def used(self):
        for pattern in PAGES:
            for path in ROOT.glob(pattern):
                for found in USED.finditer(path.read_text(encoding="utf-8")):
                    yield path.relative_to(ROOT), found.group(1).split()[-1], found.group(2).replace("\\\n", " ").split()

    def test_pages_use_what_there_is(self):
        count = 0
        for path, command, words in self.used():
            if command not in self.options:
                continue  # prose: "cuspan is ..."
            count += 1
            known, at = self.options[command] | {"--help": False, "-h": False}, 0
            while at < len(words) and words[at] != "--":
                word, has_value = words[at].rstrip(".,:"), "=" in words[at]
                if word.startswith("-") and len(word) > 1:
                    name = word.partition("=")[0]
                    with self.subTest(f"{path}: cuspan {command} {' '.join(words)}"):
                        self.assertIn(name, known)
                    at += known.get(name, False) and not has_value
                elif command in ("run", "record", "doctor", "overhead", "stat", "top"):
                    break  # a program
                at += 1
        self.assertGreater(count, 100)


if __name__ == "__main__":
    CUSPAN = sys.argv.pop(1)
    unittest.main()
