"""`cuspan fleet`, and python -m cuspan.fleet."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from cuspan.fleet._answer import printable
from cuspan.fleet._arguments import ns_of, time_of
from cuspan.fleet._compare import compare
from cuspan.fleet._engine_clickhouse import ClickHouse, read_password
from cuspan.fleet._engine_duckdb import DuckDB
from cuspan.fleet._fleet import Fleet, questions
from cuspan.fleet._plot import save
from cuspan.fleet._sql import GROUPS
from cuspan.fleet._store import HOUR_NS, Problem

_ALIASES = {"synchronization": "waits", "devices": "utilization", "code": "code_lines"}  # the names in cuspan stat
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_EXAMPLES = """examples:
  cuspan export -o fleet 'spans/*.jsonl.zst'
      write the spans of many programs into a folder
  cuspan fleet kernels fleet --by host --top 5
      print the five kernels of each host that took the most time
  cuspan fleet utilization fleet --since 2026-11-26T03:00 --until 2026-11-26T04:00
      print how busy the GPUs were in this hour
  cuspan fleet compare fleet --question calls --before 2026-11-25 --after 2026-11-26
      compare two days
"""


def _side(text: str) -> dict[str, Any]:
    """A day, or a release."""
    if not _DAY.fullmatch(text):
        return {"release": text}
    day = time_of(text)
    return {"since": ns_of(day), "until": ns_of(day + timedelta(days=1))}


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:16} {asked.title}" for name, asked in questions().items())
    parser = argparse.ArgumentParser(
        prog="cuspan fleet",
        description="Answers questions about the spans of many programs, in a folder that cuspan export wrote.",
        epilog=f"questions:\n{listed}\n  {'compare':16} two days or two releases\n"
        f"  {'close':16} remove repeated spans of past hours, and merge small files\n\n{_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("question", metavar="QUESTION", help="see below")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="folder of: cuspan export -o FOLDER FILE...")
    parser.add_argument(
        "--engine",
        metavar="URL",
        help="instead of a folder: clickhouse://[USER@]HOST[:PORT][/DATABASE], with TLS unless the host is this "
        "machine; ?secure=0: without, ?ca=FILE: its authority",
    )
    parser.add_argument(
        "--password-file", metavar="FILE", help="with the password of --engine (default: $CUSPAN_CLICKHOUSE_PASSWORD)"
    )
    parser.add_argument(
        "--by", metavar="WHAT", help=f"repeat the answer for each {', '.join(GROUPS)}, or value of this attribute"
    )
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows, and groups with --by (20; 0: all)")
    parser.add_argument("--since", metavar="TIME", help="only spans that start at this time or later (UTC)")
    parser.add_argument("--until", metavar="TIME", help="only spans that start before this time (UTC)")
    for name in ("service", "job", "host"):
        parser.add_argument(f"--{name}", metavar="NAME", help=f"only spans of this {name}")
    parser.add_argument("--release", metavar="VERSION", help="only spans with this service.version")
    parser.add_argument("--gpu", metavar="GPU", help="only work on this GPU: UUID, or CUDA's number")
    parser.add_argument("--rank", type=int, metavar="N", help="only spans of this rank")
    parser.add_argument("--distinct", action="store_true", help="leave out repeated spans; takes longer")
    parser.add_argument("--question", dest="compared", default="kernels", help="compare: which rows (kernels)")
    parser.add_argument(
        "--before",
        metavar="WHAT",
        help="compare: a day (2026-11-25) or a service.version. close: a time; it closes hours that ended by then "
        "(default: an hour ago)",
    )
    parser.add_argument("--after", metavar="WHAT", help="compare: the same for the other side")
    form = parser.add_mutually_exclusive_group()
    for name, content in (("json", "JSON: times in ns, sizes in bytes"), ("csv", "CSV"), ("markdown", "Markdown")):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=f"print {content}")
    parser.add_argument(
        "--plot", metavar="FILE", help="also draw the answer into this .png, .svg or .pdf; needs matplotlib"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the answer to this file")
    parser.add_argument("--memory", default="1GB", metavar="SIZE", help="memory for the query engine (1GB)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the query engine (default: all cores)")
    return parser


def _filters(options: argparse.Namespace) -> dict[str, Any]:
    chosen = {name: getattr(options, name) for name in ("service", "job", "host", "release", "gpu", "rank")}
    for name in ("since", "until"):
        text = getattr(options, name)
        chosen[name] = ns_of(time_of(text)) if text else None
    return {name: value for name, value in chosen.items() if value is not None}


def _open(options: argparse.Namespace) -> Fleet:
    if (options.folder is None) == (options.engine is None):
        raise Problem("name either a folder that cuspan export wrote or --engine clickhouse://HOST")
    if options.engine is None:
        return Fleet(DuckDB(options.folder, options.memory, options.threads))
    return Fleet(ClickHouse(options.engine, read_password(options.password_file)))


def _close(options: argparse.Namespace) -> Any:
    from cuspan.fleet._close import close

    if options.folder is None:
        raise Problem("close needs the folder that cuspan export wrote; ClickHouse removes repeated spans itself")
    before = ns_of(time_of(options.before)) if options.before else time.time_ns() - HOUR_NS
    return close(options.folder, before, memory_limit=options.memory, threads=options.threads)


def _answer(fleet: Fleet, options: argparse.Namespace) -> Any:
    filters = _filters(options)
    if options.question != "compare":
        return fleet.ask(options.question, by=options.by, top=options.top, distinct=options.distinct, **filters)
    if not options.before or not options.after:
        raise Problem("compare needs two sides; add --before and --after, each with a day or a service.version")
    sides = [{**filters, **_side(text)} for text in (options.before, options.after)]
    return compare(fleet, options.compared, *sides, top=options.top, distinct=options.distinct)


def _write(text: str, path: str | None) -> None:
    if path is None:
        print(text)
        sys.stdout.flush()
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_intermixed_args(arguments)
    options.question = _ALIASES.get(options.question, options.question)
    try:
        if options.question == "close":
            _write(getattr(_close(options), options.form or "text")(), options.output)
            return 0
        if options.question != "compare" and options.question not in questions():
            raise Problem(f"unknown question {options.question}; known are: {', '.join(questions())}, compare, close")
        with _open(options) as fleet:
            fleet.engine.progress.is_shown = sys.stderr.isatty()
            answer = _answer(fleet, options)
            if options.plot:
                save(answer, options.plot)
            _write(getattr(answer, options.form or "text")(), options.output)
            if getattr(answer, "is_unanswered", False):
                return 1
    except Problem as problem:
        print(printable(f"cuspan fleet: {problem}"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
