"""The columns of the files (docs/fleet-schema.md), as tools/gen_fleet_schema.py lists them."""

from __future__ import annotations

import json
from pathlib import Path

_LISTED = json.loads((Path(__file__).resolve().parent / "columns.json").read_text(encoding="utf-8"))
VERSION: int = _LISTED["version"]
# DuckDB's types of each table's columns. Files of an older release lack those that were added since.
COLUMNS: dict[str, dict[str, str]] = {table: _LISTED[table] for table in ("spans", "resources")}
ADDED: dict[str, list[str]] = _LISTED["added"]
KEYS: dict[str, str] = _LISTED["keys"]  # columns of spans by the keys of their attributes
