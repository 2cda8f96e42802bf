#!/usr/bin/env python3
"""Holds the layering rules: who may include what, as pairs that a person can read.

A stage includes base and model and never another stage; agent wires them together. Libraries are seen by one stage
each. Each .c includes its own header first, and each header compiles by itself.

    tests/integration/project/layering_test.py            checks src/
    tests/integration/project/layering_test.py --self     checks that the rules catch what they should
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# WHO NEVER WHAT, WHAT... — folders of src/, or headers in angle brackets.
RULES = """
base       NEVER model config capture correlate encode export recording agent cli replay share
model      NEVER config capture correlate encode export recording agent cli replay share
config     NEVER capture correlate encode export recording agent cli replay share
capture    NEVER config correlate encode export recording agent cli replay share
correlate  NEVER config capture encode export recording agent cli replay share
encode     NEVER config capture correlate export recording agent cli replay share
export     NEVER config capture correlate encode recording agent cli replay share
recording  NEVER config capture correlate encode export agent cli replay share
agent      NEVER cli replay share
cli        NEVER capture correlate encode export replay share
replay     NEVER config correlate encode export agent cli share
share      NEVER base config capture correlate encode export recording agent cli replay

base       NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
model      NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
config     NEVER <curl/curl.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
capture    NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
correlate  NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
encode     NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
export     NEVER <yaml.h> <sqlite3.h>
recording  NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
agent      NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>
cli        NEVER <curl/curl.h> <yaml.h> <zstd.h> <igzip_lib.h> <libdeflate.h>
replay     NEVER <curl/curl.h> <yaml.h> <cjson/cJSON.h> <zlib.h> <zstd.h> <igzip_lib.h> <libdeflate.h> <sqlite3.h>

base       NEVER <curses.h>
model      NEVER <curses.h>
config     NEVER <curses.h>
capture    NEVER <curses.h>
correlate  NEVER <curses.h>
encode     NEVER <curses.h>
export     NEVER <curses.h>
recording  NEVER <curses.h>
agent      NEVER <curses.h>

anyone     NEVER <cupti.h> <cupti_activity.h> <cupti_callbacks.h> <cuda.h> <cuda_runtime.h> <cuda_runtime_api.h>
anyone     NEVER capture/cupti_abi.h capture/profiler_abi.h
anyone     NEVER capture/nvtx_abi.h
"""
# Who knows how CUPTI's and NVTX's own structs look: the stage that calls them, the library that plays CUPTI's part and a
# program's, and the one that stands before CUPTI.
EXCEPT = {("capture", "capture/profiler_abi.h"), ("replay", "capture/profiler_abi.h"), ("capture", "capture/cupti_abi.h"), ("replay", "capture/cupti_abi.h"), ("capture", "capture/nvtx_abi.h"),
          ("replay", "capture/nvtx_abi.h"), ("share", "capture/cupti_abi.h")}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def parse(rules):
    for line in rules.strip().splitlines():
        if line.strip():
            who, what = line.split("NEVER")
            for item in what.split():
                yield who.strip(), item


def layer_of(path):
    return path.relative_to(ROOT).parts[1]


def breaks(rule, layer, mark, included):
    """Does an include in `layer` break the rule? `mark` is its opening bracket or quote."""
    who, what = rule
    if who not in (layer, "anyone") or (layer, included) in EXCEPT:
        return False
    if what.startswith("<"):
        return mark == "<" and included == what[1:-1]
    if what.endswith(".h"):
        return included == what
    return mark == '"' and included.split("/")[0] == what and layer != what


def sources():
    yield from sorted(path for path in (ROOT / "src").rglob("*") if path.suffix in (".c", ".h"))


def check_includes(path, text):
    layer, wrong = layer_of(path), []
    includes = INCLUDE.findall(text)
    for mark, included in includes:
        for rule in RULE_PAIRS:
            if breaks(rule, layer, mark, included):
                wrong.append(f"{path.relative_to(ROOT)} includes {included}: {rule[0]} NEVER {rule[1]}")
    own = path.with_suffix(".h")
    if path.suffix == ".c" and own.exists():
        name = own.relative_to(ROOT / "src")
        if not includes or includes[0][1] not in (str(name), own.name):
            wrong.append(f"{path.relative_to(ROOT)} does not include its own {name} first")
    return wrong


def stands_alone(header):
    command = [os.environ.get("CC", "cc"), "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-x", "c", "-Werror",
               "-I", str(ROOT / "src"), "-I", str(ROOT / "include"), "-I", str(ROOT / "tests"), *INCLUDE_PATHS, str(header)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return []
    return [f"{header.relative_to(ROOT)} does not compile by itself: " + done.stderr.strip().splitlines()[0]]


def curl_include():
    """Where the libcurl of our own lies, if it is there."""
    place = subprocess.run([ROOT / "tools/fetch-sources.sh", "--where", "curl"], stdout=subprocess.PIPE, text=True, check=False)
    return ["-isystem", place.stdout.strip() + "/include"]


def check_rules_bite():
    """A rule that catches nothing would pass for ever: one include against each kind of rule."""
    bad = [("correlate", '"', "capture/cupti.h"), ("export", '"', "encode/encoder.h"), ("capture", "<", "curl/curl.h"),
           ("cli", "<", "yaml.h"), ("agent", "<", "sqlite3.h"), ("capture", "<", "cupti.h"), ("agent", "<", "zstd.h"), ("agent", '"', "capture/cupti_abi.h"),
           ("base", '"', "model/span.h")]
    good = [("correlate", '"', "model/span.h"), ("export", "<", "curl/curl.h"), ("config", "<", "yaml.h"),
            ("cli", "<", "sqlite3.h"), ("agent", '"', "capture/capture.h"), ("capture", '"', "capture/cupti_abi.h"), ("capture", '"', "capture/cupti.h")]
    wrong = [f"no rule catches {i}" for i in bad if not any(breaks(rule, *i) for rule in RULE_PAIRS)]
    return wrong + [f"a rule forbids {i}" for i in good if any(breaks(rule, *i) for rule in RULE_PAIRS)]


RULE_PAIRS = list(parse(RULES))
INCLUDE_PATHS = curl_include()


def main():
    wrong = check_rules_bite()
    if sys.argv[1:] != ["--self"]:
        files = list(sources())
        for path in files:
            wrong += check_includes(path, path.read_text(encoding="utf-8"))
        headers = [path for path in files if path.suffix == ".h"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(stands_alone, headers):
                wrong += found
        print(f"{len(files)} files, {len(RULE_PAIRS)} rules, {len(headers)} headers by themselves: {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
