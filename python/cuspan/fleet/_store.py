"""The files of an export (docs/fleet-schema.md) and the view of their spans that all questions share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
HOUR_NS = 3600 * 10**9
_GLOB = re.compile(r"[*?\[]")

# In SQL, because every value that users and spans have is a parameter. Nothing else enters a query's text.
_PROCESS = """CASE WHEN rank IS NULL AND pid IS NULL
    THEN coalesce(nullif(known_service(service_name), ''), host, '')
    ELSE CASE WHEN rank IS NOT NULL THEN 'rank ' || rank
        ELSE coalesce(nullif(known_service(service_name), ''), 'process') || ' ' || pid END
    || CASE WHEN rank IS NOT NULL AND coalesce(known_service(service_name), '') <> ''
        THEN ' (' || coalesce(nullif(host, '') || ', ', '') || known_service(service_name) || ')'
        WHEN coalesce(host, '') <> '' THEN ' (' || host || ')' ELSE '' END
    END"""
_CLASS = """CASE WHEN device IS NOT NULL OR (stream IS NOT NULL AND work_of(activity) <> 'gpu') THEN work_of(activity)
    WHEN api IS NOT NULL THEN 'call' ELSE 'span' END"""
GROUPS = {
    "service": "coalesce(service_name, '(no service)')",
    "job": "coalesce(job, '(no job)')",
    "host": "coalesce(host, '(no host)')",
    "gpu": "coalesce(hw_id, CAST(device AS VARCHAR), '(no gpu)')",
    "rank": "coalesce(CAST(rank AS VARCHAR), '(no rank)')",
    "process": "process",
    "day": "strftime(make_timestamp(start_ns // 1000), '%Y-%m-%d')",
    "hour": "strftime(make_timestamp(start_ns // 1000), '%Y-%m-%d %H:00')",
}
_FILTERS = {
    "since": "start_ns >= $since",
    "until": "start_ns < $until",
    "service": "service_name = $service",
    "job": "job = $job",
    "host": "host = $host",
    "gpu": "(hw_id = $gpu OR CAST(device AS VARCHAR) = $gpu)",
    "rank": "rank = $rank",
    "release": """resource_id IN (SELECT resource_id FROM read_parquet($resource_files, hive_partitioning = false)
        WHERE attributes['service.version'] = $release)""",
}
MACROS = (
    """CREATE TEMP MACRO work_of(activity) AS CASE WHEN activity = 'collective' THEN 'comm'
    WHEN contains(activity, 'kernel') THEN 'kernel'
    WHEN contains(activity, 'memcpy') OR contains(activity, 'copy') THEN 'copy'
    WHEN contains(activity, 'memset') OR contains(activity, 'fill') THEN 'fill' ELSE 'gpu' END""",
    """CREATE TEMP MACRO known_service(name) AS CASE WHEN starts_with(name, 'unknown_service:') THEN name[17:]
    WHEN starts_with(name, 'unknown_service') THEN '' ELSE name END""",
    # The middle of a logarithmic bucket of 1 %, for quantiles of very many distinct values.
    """CREATE TEMP MACRO bucket(value) AS CASE WHEN value < 1 THEN value
    ELSE CAST(round(pow(1.01, floor(ln(value) / ln(1.01)) + 0.5)) AS BIGINT) END""",
    "CREATE TEMP MACRO nearest_rank(count, percent) AS (count * percent + 99) // 100",
    "CREATE TEMP MACRO clamp(value, low, high) AS least(greatest(value, low), high)",
)


class Problem(Exception):
    """Its text names the failure and the remedy in one line."""


@dataclass(frozen=True)
class Filters:
    """Which spans count. Times are nanoseconds since 1970; `until` is exclusive."""

    since: int | None = None
    until: int | None = None
    service: str | None = None
    job: str | None = None
    host: str | None = None
    gpu: str | None = None
    rank: int | None = None
    release: str | None = None  # service.version

    def values(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class File:
    path: str
    resource: str  # 16 hexadecimal digits
    hour: int  # its start, in ns
    size: int


def _hour_of(path: Path) -> int:
    """Of spans/date=2026-11-26/hour=03/service=NAME/FILE."""
    date, hour = path.parts[-4], path.parts[-3]
    try:
        day = datetime.strptime(date, "date=%Y-%m-%d").replace(tzinfo=timezone.utc)
        return int((day + timedelta(hours=int(hour[len("hour=") :]))).timestamp()) * 10**9
    except ValueError:
        raise Problem(f"{path} is not in a folder of a date and an hour; export into an empty folder") from None


def literal_path(path: str) -> str:
    """A pattern that matches this path only: the engine expands patterns in every path."""
    return _GLOB.sub(lambda found: f"[{found.group()}]", path)


class Store:
    """A folder that `cuspan export` wrote."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        description = self.folder / "cuspan-schema.json"
        try:
            version = json.loads(description.read_text(encoding="utf-8"))["version"]
        except OSError as error:
            raise Problem(
                f"cannot read {description}: {error.strerror}; name the folder of: cuspan export -o FOLDER FILE..."
            ) from None
        except (ValueError, KeyError, TypeError):
            raise Problem(f"{description} has no version of a schema; export again into an empty folder") from None
        if version != SCHEMA_VERSION:
            raise Problem(
                f"{self.folder} has version {version} of the schema, and this cuspan reads version {SCHEMA_VERSION}; "
                "install the release that wrote it, or export again"
            )

    def files(self, since: int | None = None, until: int | None = None) -> list[File]:
        """Those that can have spans of the range, in order of resource and time."""
        found = []
        for path in (self.folder / "spans").rglob("*.parquet"):
            hour = _hour_of(path)
            if (until is None or hour < until) and (since is None or hour + HOUR_NS > since):
                found.append(File(str(path), path.name[:16], hour, path.stat().st_size))
        return sorted(found, key=lambda file: (file.resource, file.hour, file.path))

    def resource_files(self) -> list[str]:
        return sorted(str(path) for path in (self.folder / "resources").glob("*.parquet"))


def spans_query(filters: Filters, by: str | None, distinct: bool) -> str:
    """The common table expressions `spans` and `resources`. $files, $resource_files and the filters are parameters.
    Spans of a rank's step that are repeated for the step of all ranks do not count."""
    conditions = ["step_copy IS NULL", *(_FILTERS[name] for name in filters.values())]
    once = "QUALIFY row_number() OVER (PARTITION BY trace_id, span_id ORDER BY start_ns) = 1" if distinct else ""
    return f"""
all_spans AS (
    SELECT *, start_ns + least(duration_ns, 9223372036854775807 - start_ns) AS end_ns, {_PROCESS} AS process,
        {_CLASS} AS class, coalesce(error, CASE WHEN status = 2 THEN status_message END) AS error_text
    FROM read_parquet($files, hive_partitioning = false)
    WHERE {" AND ".join(conditions)}
    {once}
),
spans AS (
    SELECT *, {GROUPS[by] if by else "''"} AS grp, class IN ('kernel', 'copy', 'fill', 'gpu') AS is_work FROM all_spans
),
resources AS (
    SELECT DISTINCT ON (resource_id) *, {_PROCESS} AS process
    FROM read_parquet($resource_files, hive_partitioning = false)
)"""


def batches(files: Sequence[File], most_bytes: int) -> Iterable[list[File]]:
    """All files of a resource are in one batch."""
    batch: list[File] = []
    size = 0
    for i, file in enumerate(files):
        if batch and size >= most_bytes and file.resource != files[i - 1].resource:
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch
