#!/usr/bin/env python3
"""Makes the wheel of one architecture from a staged prefix (bin/cuspan, lib/cuspan/...), or the source archive.

    tools/release/wheel.py --stage DIR --arch x86_64|aarch64 [--out dist] [--max-glibc 2.28|any]
    tools/release/wheel.py --sdist [--out dist]

The wheel's tag names the glibc that the files really need. --max-glibc: fail if it is later (default 2.28). With "any",
the files may also need libraries of this distribution, which changes the tag to linux_ARCH. Prints the path. The same files give
the same bytes; the time of all entries is SOURCE_DATE_EPOCH or that of the last commit.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python/_build"))

import native  # noqa: E402
import package  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", type=Path, help="the staged prefix")
    parser.add_argument("--arch", choices=["x86_64", "aarch64"])
    parser.add_argument("--sdist", action="store_true", help="make the source archive")
    parser.add_argument("--out", type=Path, default=Path("dist"))
    parser.add_argument("--max-glibc", default="2.28")
    options = parser.parse_args()
    if not options.sdist and not (options.stage and options.arch):
        parser.error("--sdist, or --stage and --arch")
    try:
        if options.stage:
            limit = None if options.max_glibc == "any" else options.max_glibc
            print(package.native_wheel(options.out, options.stage, options.arch, limit))
        if options.sdist:
            print(package.source_archive(options.out))
    except native.Unfit as reason:
        sys.exit(f"wheel.py: {reason}")


main()
