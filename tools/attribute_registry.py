"""Reads the registry of attributes, src/model/attributes.yaml."""

import json
import re
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "src/model/attributes.yaml"


def read(path=FILE):
    """{group: {name: {"type": ..., "brief": ..., ...}}}, annotations among the others. The file has one `key: value` a line, and
    quotes as JSON has them, so no library is needed."""
    groups, group, entry = {}, None, None
    for line in path.read_text(encoding="utf-8").splitlines():
        found = re.match(r"( *)(- )?(\w+): ?(.*)", line)
        if not found or line.startswith("#"):
            continue
        depth, starts, key, value = len(found[1]), found[2], found[3], found[4]
        value = json.loads(value) if value.startswith('"') else value
        if starts and depth == 2:
            group, entry = groups.setdefault(value, {}), None
        elif starts:
            entry = group.setdefault(value, {})
        elif entry is not None and value:
            entry[key] = value
    return groups


def macro(name):
    """The macro of a name in src/model/semconv.h."""
    return "SEMCONV_" + re.sub(r"\W", "_", name).upper()
