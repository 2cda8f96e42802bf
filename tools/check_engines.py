#!/usr/bin/env python3
"""Which hook points (python/cuspan/_hook_points.py) moved in wheels of serving engines on PyPI.

    tools/check_engines.py [--wheel FILE]... [PACKAGE[==VERSION]...]    by default the newest of each that was tested

pip finds the wheels. Of each, only the source files that matter are read, by HTTP ranges, a few MB. Nothing is installed, and
nothing of the engine runs. Exit status 1: a hook point moved, 2: a wheel could not be read."""

import argparse
import http.client
import io
import json
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from cuspan._hook_points import ENGINES, Engine  # noqa: E402
from cuspan._hook_search import look  # noqa: E402

BLOCK_BYTES = 1 << 18
TIMEOUT_S = 60
# Any system, because nothing is installed.
PLATFORMS = [f"--platform=manylinux{version}_x86_64" for version in ["2014", *(f"_2_{minor}" for minor in range(17, 40))]]
TARGET = ["--only-binary=:all:", "--python-version=3.12", *PLATFORMS]


class Remote(io.RawIOBase):
    """A file behind HTTP, of which only the blocks that are read are fetched."""

    def __init__(self, url: str) -> None:
        self._url, self._blocks, self._at = url, {}, 0
        with self._open({"Range": "bytes=0-0"}) as answer:
            content = answer.headers.get("Content-Range", "")
            if answer.status != 206 or "/" not in content:
                raise OSError("the server does not support ranges")
            self._bytes = int(content.rpartition("/")[2])

    def _open(self, headers: dict[str, str]) -> http.client.HTTPResponse:
        request = urllib.request.Request(self._url, headers={"Accept-Encoding": "identity", **headers})
        return urllib.request.urlopen(request, timeout=TIMEOUT_S, context=ssl.create_default_context())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._bytes}[whence]
        return self._at

    def readinto(self, buffer: memoryview) -> int:
        number, offset = divmod(self._at, BLOCK_BYTES)
        data = self._block(number)[offset : offset + len(buffer)] if self._at < self._bytes else b""
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            start = number * BLOCK_BYTES
            with self._open({"Range": f"bytes={start}-{start + BLOCK_BYTES - 1}"}) as answer:
                self._blocks[number] = answer.read()
        return self._blocks[number]


def find_url(requirement: str) -> str:
    """As pip would install it. It downloads no wheel for that."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--dry-run", "--ignore-installed"]
        command += ["--no-deps", *TARGET, "--target", folder, "--report", str(report), requirement]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise OSError(f"pip: {done.stderr.strip().splitlines()[-1:]}")
        return json.loads(report.read_text())["install"][0]["download_info"]["url"]


def open_wheel(url: str) -> zipfile.ZipFile:
    if not url.startswith("http"):
        return zipfile.ZipFile(url.removeprefix("file://"))
    try:
        return zipfile.ZipFile(io.BufferedReader(Remote(url), BLOCK_BYTES))
    except (OSError, zipfile.BadZipFile):
        whole = tempfile.TemporaryFile()
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            while piece := answer.read(1 << 20):
                whole.write(piece)
        return zipfile.ZipFile(whole)


def check(url: str) -> tuple[str, list[str]]:
    """The wheel's name and version, and a line for each point that moved."""
    name, version = Path(url).name.split("-")[:2]
    engine = engine_of(name)
    with open_wheel(url) as wheel:
        names = set(wheel.namelist())
        moved = look(engine, version, lambda path: wheel.read(path).decode() if path in names else None)
    return f"{engine.name} {version}", [f"no {', '.join(gone)} in {point.module}: {point.lost}" for point, gone in moved]


def engine_of(distribution: str) -> Engine:
    wanted = distribution.replace("_", "-").lower()
    if wanted not in known():
        raise OSError(f"no engine with hook points; those are {' '.join(known())}")
    return next(engine for engine in ENGINES if wanted in engine.distributions)


def known() -> list[str]:
    return [name for engine in ENGINES if engine.points for name in engine.distributions]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wheel", action="append", default=[], metavar="FILE", help="a wheel on this machine")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE[==VERSION]")
    options = parser.parse_args()
    newest = [engine.distributions[0] for engine in ENGINES if engine.tested and engine.distributions]
    status = 0
    for given in [*options.wheel, *(options.packages or ([] if options.wheel else newest))]:
        try:
            title, moved = check(given if given in options.wheel else find_url(given))
        except (OSError, ValueError, subprocess.TimeoutExpired, zipfile.BadZipFile) as error:
            print(f"{given}: cannot be read: {error}")
            status = 2
            continue
        print(f"{title}: {'hook points moved' if moved else 'all hook points found'}")
        for line in moved:
            print(f"    {line}")
        status = max(status, 1 if moved else 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
