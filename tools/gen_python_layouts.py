#!/usr/bin/env python3
"""Generates src/agent/frames/python_layouts.c from the headers of CPython 3.9 to 3.15.

    gen_python_layouts.py INCLUDE...            replaces the rows of these versions
    gen_python_layouts.py --check INCLUDE...    fails and prints the difference if rows of these versions differ
    gen_python_layouts.py --check               the same with the headers of all Pythons of this machine

INCLUDE is a folder that has Python.h and internal/, such as /usr/include/python3.11. For Debian packages that were only
unpacked, the folder above it is searched for pyconfig.h, too. From 3.13 on, a row for the free-threaded build is made
from the same headers. Needs gcc. The fields are in python_layouts/print_layout.c and in python_layouts.h."""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRINTER = ROOT / "tools/python_layouts/print_layout.c"
HEADER = ROOT / "src/agent/frames/python_layouts.h"
TABLE = ROOT / "src/agent/frames/python_layouts.c"

HEAD = """\
/* Made by tools/gen_python_layouts.py from the headers of CPython 3.9 to 3.15; don't edit. */
/* clang-format off */
#include "agent/frames/python_layouts.h"

#define N PYTHON_NO_FIELD

static const struct python_layout layouts[] = {
"""
TAIL = """\
};

const struct python_layout *python_layout_find(unsigned minor, bool is_free_threaded)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].minor == minor && layouts[i].is_free_threaded == is_free_threaded)
            return &layouts[i];
    return NULL;
}
"""
ROW = re.compile(r"    /\* 3\.(\d+)(, free-threaded)? \*/\n.*?\n    \}\},\n", re.DOTALL)


def fields():
    text = HEADER.read_text()
    names = re.findall(r"^    PYTHON_(\w+)[,\n]", text[text.index("enum python_field"):], re.MULTILINE)
    return [name.lower() for name in names if name != "FIELDS"]


def printed(include, free_threaded, scratch):
    """{field: (offset, word)} of one version."""
    program = Path(scratch) / "print_layout"
    command = ["gcc", "-w", "-o", program, "-I", include, "-I", include / "internal", "-I", include / "internal/mimalloc"]
    for folder in (include.parent, *include.parent.glob("*-linux-gnu")):
        command += ["-idirafter", folder]
    if free_threaded:
        command.append("-DPy_GIL_DISABLED=1")
    subprocess.run([*command, PRINTER], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {words[0]: tuple(map(int, words[1:])) for words in map(str.split, lines)}


def wrap(numbers):
    lines, line = [], "        "
    for number in numbers:
        if len(line) + len(number) > 108:
            lines.append(line.rstrip())
            line = "        "
        line += f"{number}, "
    return "\n".join([*lines, line.rstrip()])


def row(names, found):
    minor, free_threaded = found["minor"][0], found["free_threaded"][0]
    unknown = set(found) - set(names) - {"minor", "free_threaded"}
    if unknown:
        raise SystemExit(f"python_layouts.h does not have {unknown}")
    offsets = [str(found[name][0]) if name in found else "N" for name in names]
    known = [str(found[name][1]) if len(found.get(name, ())) > 1 else "0" for name in names]
    text = f"    /* 3.{minor}{', free-threaded' if free_threaded else ''} */\n"
    text += f"    {{{minor}, {'true' if free_threaded else 'false'}, {{\n{wrap(offsets)}\n    }}, {{\n{wrap(known)}\n    }}}},\n"
    return (minor, free_threaded), text


def rows_of(include, names):
    patchlevel = (include / "patchlevel.h").read_text()
    minor = int(re.search(r"#define PY_MINOR_VERSION\s+(\d+)", patchlevel)[1])
    own = "Py_GIL_DISABLED 1" in (include / "pyconfig.h").read_text()
    with tempfile.TemporaryDirectory() as scratch:
        if not own:
            yield row(names, printed(include, False, scratch))
        if minor >= 13:
            yield row(names, printed(include, True, scratch))


def of_this_machine():
    folders = [*Path("/usr/include").glob("python3.*"), *Path("/usr/local/include").glob("python3.*")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    if os.access(pyenv, os.X_OK):  # not if it is another user's
        folders += pyenv.glob("versions/3.*/include/python3.*")
    known = [folder for folder in folders if (folder / "internal/pycore_code.h").exists()]
    return [folder for folder in known if 9 <= int(re.match(r"python3\.(\d+)", folder.name)[1]) <= 15]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("include", nargs="*", type=Path)
    options = parser.parse_args()
    names, before = fields(), TABLE.read_text() if TABLE.exists() else HEAD + TAIL
    rows = {(int(match[1]), int(bool(match[2]))): match[0] for match in ROW.finditer(before)}
    for include in options.include or of_this_machine():
        for key, text in rows_of(include, names):
            rows[key] = text
            print(f"{include}: 3.{key[0]}{', free-threaded' if key[1] else ''}")
    after = HEAD + "".join(rows[key] for key in sorted(rows)) + TAIL
    if not options.check:
        TABLE.write_text(after)
    elif after != before:
        sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True), "committed", "made"))
        raise SystemExit(1)


if __name__ == "__main__":
    main()
