#!/usr/bin/env python3
"""Generates the committed tables of CUPTI's calls and records from the headers of CUDA 12.0 to 13.5.

    gen_cupti_tables.py                 writes the tables
    gen_cupti_tables.py --check         fails and prints the difference if the committed tables differ
    gen_cupti_tables.py --notes ...     also prints the differences between the versions

The headers come from --headers DIR, or from --fetch DIR, which first downloads missing ones with pip and keeps only the
include folders. The default is --fetch with cuda-headers in $CUSPAN_CACHE, or else in ~/.cache/cuspan.

DIR holds VERSION/nvidia/{cuda_cupti,cuda_runtime}/include for 12.x and VERSION/nvidia/cu13/include for 13.x. Needs gcc
and readelf. To change the tables, edit call_groups.txt, activity_kinds.txt and call_params.py in cupti_tables. For a
new CUDA version, add a line to headers.py."""

import argparse
import difflib
import os
import sys
import tempfile
from pathlib import Path

from cupti_tables import activities, calls, headers


def tables(root):
    """{path: text} of all tables, and the notes."""
    with tempfile.TemporaryDirectory() as scratch:
        versions = headers.load(root, scratch)
        all_calls, kinds = calls.Calls(versions), activities.Activities(versions)
        texts = {
            "src/model/cuda/calls_table.c": calls.model_text(all_calls),
            "src/model/cuda/results_table.c": calls.results_text(versions),
            "src/model/cuda/activities_table.c": activities.model_text(kinds),
            "src/agent/abi/params_table.c": calls.capture_text(all_calls),
            "src/agent/abi/layouts_table.c": activities.capture_text(kinds, versions),
        }
    return texts, all_calls.notes + kinds.notes


def check(repository, texts):
    """Prints the differences and returns how many files differ."""
    wrong = 0
    for path, text in texts.items():
        file = repository / path
        old = file.read_text() if file.exists() else ""
        if old != text:
            wrong += 1
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True),
                                                       path, path + " (made again)", n=1))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--headers", metavar="DIR", help="the unpacked headers")
    source.add_argument("--fetch", metavar="DIR", help="download them to DIR first, and use those")
    parser.add_argument("--check", action="store_true", help="compare with the committed tables, write nothing")
    parser.add_argument("--notes", action="store_true", help="print the differences between the versions")
    args = parser.parse_args()
    root = args.headers
    if not root:
        cache = os.environ.get("CUSPAN_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "cuspan")
        root = args.fetch or Path(cache) / "cuda-headers"
        headers.fetch(root)
    texts, notes = tables(root)
    if args.notes:
        print("\n".join(notes))
    repository = Path(__file__).resolve().parent.parent
    if args.check:
        wrong = check(repository, texts)
        print(f"{len(texts) - wrong} of {len(texts)} tables match the headers")
        return 1 if wrong else 0
    for path, text in texts.items():
        (repository / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
