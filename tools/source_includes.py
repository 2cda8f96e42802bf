"""Which file of src/ includes which: for tests/integration/project/layering_test.py and tools/gen_architecture.py."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources():
    yield from sorted(path for path in (ROOT / "src").rglob("*") if path.suffix in (".c", ".h"))


def includes_of(files):
    """{file: files that it includes}, without suffixes: a header and its source are one file."""
    found = {}
    for path in files:
        name = str(path.relative_to(ROOT / "src").with_suffix(""))
        others = {included.rpartition(".")[0] for mark, included in INCLUDE.findall(path.read_text(encoding="utf-8")) if mark == '"'}
        found.setdefault(name, set()).update(others - {name})
    return {name: {other for other in others if other in found} for name, others in found.items()}
