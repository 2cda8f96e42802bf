"""Makes python.zip, which `cuspan run` puts into PYTHONPATH: the package, and the sitecustomize that loads it. The same
files give the same bytes.

    startup_archive.py FILE"""

from __future__ import annotations

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import metadata  # noqa: E402
from archive import ZIP_STARTS, Entry, write_zip  # noqa: E402

PACKAGE = Path(__file__).resolve().parents[1]  # python/
_LEFT_OUT = ("__main__.py", "_cli.py", "_version.py")  # what needs the native parts of a wheel, and what is made


def entries() -> list[Entry]:
    names = sorted(path.name for path in (PACKAGE / "cuspan").glob("*.py") if path.name not in _LEFT_OUT)
    return [
        Entry("sitecustomize.py", PACKAGE / "startup/sitecustomize.py"),
        Entry("cuspan_auto.py", PACKAGE / "cuspan_auto.py"),
        Entry("cuspan/_version.py", metadata.version_module()),
        *(Entry(f"cuspan/{name}", PACKAGE / "cuspan" / name) for name in names),
    ]


if __name__ == "__main__":
    write_zip(Path(sys.argv[1]), entries(), ZIP_STARTS)
