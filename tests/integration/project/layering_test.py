#!/usr/bin/env python3
"""Checks the layering rules: which folder may include which, as tables that a person can read.

The agent (agent/) and the analysis (analysis/) never include each other. They share base, model, yaml and cli. A stage of the
agent includes base and model and never another stage; agent/core wires them together. Each library has few users.
No two folders include each other, and no files do in a circle. Each .c file includes its own header first.
A variable that a header declares extern is written by one file, unless each thread has its own.
Each header compiles on its own, also if it is included twice.

    tests/integration/project/layering_test.py            checks src/
    tests/integration/project/layering_test.py --self     checks that the rules detect violations
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
from source_includes import INCLUDE, includes_of, sources

# WHO WHOM...: the folders of src/ that a folder may include. There are no exceptions.
MAY_INCLUDE = """
base
model            base
yaml             base
cli              base

agent/abi        base model
agent/frames     base model
agent/config     base model yaml
agent/capture    base model agent/abi agent/frames
agent/watch      base model agent/frames
agent/correlate  base model
agent/encode     base model
agent/export     base model
agent/recording  base model
agent/core       base model agent/config agent/capture agent/watch agent/correlate agent/encode agent/export agent/recording
agent/replay     base model agent/abi agent/recording
agent/share      model agent/abi
agent/operate    base model cli agent/config

analysis         base model yaml cli

command          base model cli agent/config agent/operate agent/recording analysis
"""

# HEADER WHO...: the folders that may include the header of a library.
LIBRARIES = """
curl/curl.h      agent/export/curl_module
cjson/cJSON.h    agent/export/curl_module agent/operate command
yyjson.h         analysis
yaml.h           yaml
zlib.h           agent/recording analysis
zstd.h           agent/export/compress analysis
igzip_lib.h      agent/export/compress
libdeflate.h     agent/export/compress
sqlite3.h        analysis/sqlite
curses.h         command/top
cupti.h
cupti_activity.h
cupti_callbacks.h
cuda.h
cuda_runtime.h
cuda_runtime_api.h
"""

ONCE = re.compile(r"^#pragma once$", re.MULTILINE)


def table_of(text):
    return {words[0]: set(words[1:]) for words in map(str.split, text.splitlines()) if words}


def layer_of(name):
    """The row of MAY_INCLUDE for a file or an include; None: it has none."""
    parts = name.split("/")
    return next((layer for layer in ("/".join(parts[:2]), parts[0]) if layer in LAYERS), None)


def is_below(name, folders):
    return any(name.startswith(folder + "/") for folder in folders)


def breaks(name, mark, included):
    """The rule that the include of a file breaks; None: it breaks none."""
    if mark == "<":
        users = HEADERS.get(included)
        return None if users is None or is_below(name, users) else f"only {' and '.join(sorted(users)) or 'nobody'} may include it"
    layer, other = layer_of(name), layer_of(included)
    if "/" not in included or included.startswith("cuspan/") or other in {layer, *LAYERS.get(layer, ())}:
        return None
    return f"{layer} may include {' and '.join(sorted(LAYERS[layer])) or 'nothing'}" if layer else "its folder has no rule"


def check_includes(path, text):
    includes, name = INCLUDE.findall(text), str(path.relative_to(ROOT / "src"))
    wrong = [f"src/{name} includes {included}: {rule}" for mark, included in includes if (rule := breaks(name, mark, included))]
    own = path.with_suffix(".h")
    if path.suffix == ".c" and own.exists():
        header = own.relative_to(ROOT / "src")
        if not includes or includes[0][1] not in (str(header), own.name):
            wrong.append(f"src/{name} does not include its own {header} first")
    return wrong


def check_once(path, text):
    return [] if len(ONCE.findall(text)) == 1 else [f"{path.relative_to(ROOT)} has no #pragma once"]


def pairs_of_folders(includes):
    """Folders that include each other, of {file: files that it includes}."""
    leads = {(file.rpartition("/")[0], other.rpartition("/")[0]) for file, others in includes.items() for other in others}
    return sorted((a, b) for a, b in leads if a < b and (b, a) in leads)


def reached(includes):
    """{file: all files that it includes, also through others}"""
    def reached_from(start):
        seen, todo = set(), [start]
        while todo:
            for other in includes.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen
    return {file: reached_from(file) for file in includes}


def circles_of_files(includes):
    """Groups of files that lead to each other (strongly connected components)."""
    reach = reached(includes)
    return sorted({tuple(sorted(other for other in reach[file] if file in reach.get(other, ()))) for file in includes
                   if file in reach[file]})


def code_of(text):
    """Without comments and strings."""
    return re.sub(r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", "", text, flags=re.DOTALL)


# Not constants, and not variables of which each thread has its own.
EXTERN = re.compile(r"^extern (?!const [^*;]*;|__thread |_Thread_local )[^;{}]*?(?:\(\*(?:_Atomic )?(\w+)\)\([^;]*\)|(\w+)(?:\[[^;]*\])?)(?:\s+__attribute__[^;]*)?;",
                    re.MULTILINE)
# Assignments, and calls that write to the address. Writes through other pointers are not seen.
WRITES = [re.compile(pattern) for pattern in (
    r"(?<![\w.>])(\w+)(?:\.\w+|\[[^\]]*\])*(?:\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)", r"(?:\+\+|--)(\w+)",
    r"\batomic_(?!load)\w+\(&(\w+)", r"\bmem(?:set|cpy|move)\(&?(\w+)")]


def second_writers(code, includes):
    """Variables declared extern that several files write, of {file: its code} and {file: files that it includes}."""
    reach = reached(includes)
    written = {file: {name for pattern in WRITES for name in pattern.findall(text)} for file, text in code.items()}
    declared = {pointer or name: header for header, text in code.items() for pointer, name in EXTERN.findall(text)}
    writers = {name: sorted(file for file in code if name in written[file] and (file == header or header in reach[file]))
               for name, header in declared.items()}
    return {name: files for name, files in sorted(writers.items()) if len(files) > 1}


def check_owners(files):
    code = {}
    for path in files:
        name = str(path.relative_to(ROOT / "src").with_suffix(""))
        code[name] = code.get(name, "") + code_of(path.read_text(encoding="utf-8"))
    return [f"the extern variable {name} is written by {' and '.join(writers)}; give it one owner with functions"
            for name, writers in second_writers(code, includes_of(files)).items()]


def check_walls(files):
    includes = includes_of(files)
    return [f"src/{a} and src/{b} include each other" for a, b in pairs_of_folders(includes)] + [
        f"these files include each other: {', '.join(circle)}" for circle in circles_of_files(includes)]


def stands_alone(header):
    command = [os.environ.get("CC", "cc"), "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-x", "c", "-Werror",
               "-I", str(ROOT / "src"), "-I", str(ROOT / "include"), "-I", str(ROOT / "tests"), *INCLUDE_PATHS, "-"]
    done = subprocess.run(command, input=2 * f'#include "{header}"\n', stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return []
    return [f"{header.relative_to(ROOT)} does not compile by itself: " + done.stderr.strip().splitlines()[0]]


def curl_include():
    """The folder of our own libcurl, if it was built."""
    place = subprocess.run([ROOT / "tools/fetch-sources.sh", "--where", "curl"], stdout=subprocess.PIPE, text=True, check=False)
    return ["-isystem", place.stdout.strip() + "/include"]


# Every descriptor in a host is above 2: opened with base/files.h, or passed through its high_fd().
OPENS = re.compile(r"(?<![\w.>])(open(?:64|at)?|creat|fopen|freopen|opendir|tmpfile|mkos?temp|socket(?:pair)?|accept4?|pipe2?|eventfd|"
                   r"memfd_create|epoll_create1?|inotify_init1?|timerfd_create|signalfd|pidfd_open|dup[23]?|shm_open|popen)\((?!struct |const )")
OPENERS = {"base/files.c", "agent/export/curl_module/module_wraps.c",
           "agent/export/curl_module/module_libc.c"}


NOT_IN_A_HOST = ("cli", "analysis", "command", "agent/operate", "agent/replay")


def check_descriptors(name, text):
    if name in OPENERS or is_below(name, NOT_IN_A_HOST):
        return []
    code = code_of(text)
    return [f"src/{name}: {call[1]}() may return a descriptor below 3; use base/files.h or high_fd()"
            for call in OPENS.finditer(code)
            if not code[:call.start()].endswith(("high_fd(", "high_fd_pair(", "static void "))
            and not re.match(r"open\((?:writer|&json), ", code[call.start():])]


def check_rules_bite():
    """A rule that matches nothing would always pass, so this tries each kind of include."""
    bad = [("agent/correlate/a.c", '"', "agent/capture/cupti.h"), ("agent/export/a.c", '"', "agent/encode/encoder.h"),
           ("agent/core/a.c", '"', "agent/abi/cupti_abi.h"), ("agent/replay/a.c", '"', "agent/capture/capture.h"),
           ("agent/core/a.c", '"', "cli/util/xalloc.h"), ("agent/operate/a.c", '"', "analysis/trace/trace.h"),
           ("analysis/stat/a.c", '"', "agent/config/config.h"), ("analysis/stat/a.c", '"', "command/top/top_ranks.h"),
           ("base/a.c", '"', "model/span.h"), ("new/a.c", '"', "base/clock.h"), ("base/a.c", '"', "new/a.h"),
           ("agent/capture/a.c", "<", "curl/curl.h"), ("agent/export/a.c", "<", "curl/curl.h"), ("cli/a.c", "<", "yaml.h"),
           ("agent/core/a.c", "<", "sqlite3.h"), ("agent/capture/a.c", "<", "cupti.h")]
    good = [("agent/correlate/a.c", '"', "model/span.h"), ("agent/core/a.c", '"', "agent/capture/capture.h"),
            ("agent/capture/a.c", '"', "agent/abi/cupti_abi.h"), ("agent/capture/a.c", '"', "agent/capture/cupti.h"),
            ("analysis/show/a.c", '"', "analysis/stat/sections.h"), ("agent/replay/a.c", '"', "cuspan/cuspan.h"),
            ("analysis/show/a.c", '"', "own.h"), ("agent/export/curl_module/a.c", "<", "curl/curl.h"), ("base/a.c", "<", "stdio.h")]
    wrong = [f"no rule catches {include}" for include in bad if not breaks(*include)]
    if check_once(ROOT / "src/a.h", "#pragma once\n") or not check_once(ROOT / "src/a.h", "/* #pragma once */\n"):
        wrong.append("the check of headers does not see a missing #pragma once")
    circle, line = {"a/x": {"a/y"}, "a/y": {"b/z"}, "b/z": {"a/x"}}, {"a/x": {"b/y"}, "b/y": {"b/z"}, "b/z": set()}
    if circles_of_files(circle) != [("a/x", "a/y", "b/z")] or circles_of_files(line):
        wrong.append("the check of circles does not find one")
    if pairs_of_folders(circle) != [("a", "b")] or pairs_of_folders(line):
        wrong.append("the check of folders does not find a pair")
    for call in ("open(path, 0)", "fopen(a, b)", "socket(1, 2, 3)", "eventfd(0, 0)", "memfd_create(a, 0)", "pipe2(ends, 0)", "dup(1)"):
        if not check_descriptors("agent/core/a.c", f"x = {call};") or check_descriptors("agent/core/a.c", f"x = high_fd({call});"):
            wrong.append(f"the check of descriptors does not see {call}")
    includes = {"a/x": set(), "a/y": {"a/x"}, "b/z": set()}
    code = {"a/x": "extern struct x *v;\nv = 0;", "b/z": "v = 1;"}
    for write in ("v = 1", "v.a[2] |= 1", "v++", "--v.a", "atomic_store(&v, 1)", "memset(&v, 0, 8)"):
        if second_writers({**code, "a/y": f"{write};"}, includes) != {"v": ["a/x", "a/y"]}:
            wrong.append(f"the check of extern variables does not see {write}")
    for read in ("x = v", "v == 1", "atomic_load(&v)", "x.v = 1", "x->v++"):
        if second_writers({**code, "a/y": f"{read};"}, includes):
            wrong.append(f"the check of extern variables takes {read} for a write")
    return wrong + [f"a rule forbids {include}" for include in good if breaks(*include)]


LAYERS, HEADERS = table_of(MAY_INCLUDE), table_of(LIBRARIES)
INCLUDE_PATHS = curl_include()


def main():
    wrong = check_rules_bite()
    if sys.argv[1:] != ["--self"]:
        files = list(sources())
        for path in files:
            text = path.read_text(encoding="utf-8")
            wrong += check_includes(path, text)
            wrong += check_descriptors(str(path.relative_to(ROOT / "src")), text)
            wrong += check_once(path, text) if path.suffix == ".h" else []
        wrong += check_walls(files) + check_owners(files)
        headers = [path for path in files if path.suffix == ".h"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(stands_alone, headers):
                wrong += found
        print(f"{len(files)} files, {len(LAYERS) + len(HEADERS)} rules, {len(headers)} headers by themselves: {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
