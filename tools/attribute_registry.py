"""Reads the registry of attributes and metrics, src/model/attributes.yaml and metrics.yaml, which have the form that OpenTelemetry's Weaver
reads."""

import json
import re
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "src/model/attributes.yaml"
METRICS = FILE.with_name("metrics.yaml")
LOGS = FILE.with_name("logs.yaml")
INSTRUMENTS = {"counter", "updowncounter", "gauge", "histogram"}
TYPES = {f"{kind}{array}" for kind in ("string", "int", "double", "boolean") for array in ("", "[]")}
STABILITY = {"stable", "development", "alpha", "beta", "release_candidate"}
KEYS = {"id", "ref", "type", "stability", "brief", "note", "examples", "requirement_level", "deprecated", "annotations"}


def lines(path=FILE):
    """(depth, starts an item, key, value) of each line. The file has one `key: value` a line, and quotes as JSON has them, so no
    library is needed."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        found = re.fullmatch(r"( *)(- )?(\w+):(?: (.+))?", line)
        if not found:
            raise ValueError(f"{path.name}:{number}: not `key: value`")
        value = found[4] or ""
        yield len(found[1]), bool(found[2]), found[3], json.loads(value) if value.startswith('"') else value


def read(path=FILE):
    """{group: {name: {"type": ..., "brief": ..., ...}}}, annotations among the others. A reference has what the attribute has that it
    refers to, with changes."""
    groups, group, entry, known = {}, {}, None, {}
    for depth, starts, key, value in lines(path):
        if starts and depth == 2:
            group, entry = groups.setdefault(value, {}), None
        elif starts:
            entry = group[value] = dict(known.get(value, {}), ref=value) if key == "ref" else known.setdefault(value, {})
            if key == "ref":
                entry.pop("where", None)
        elif entry is not None and value:
            entry[key] = value
    return groups


def renamed(path=FILE):
    """{name of an earlier version: name of today}"""
    return {name: entry["renamed_to"] for name, entry in read(path)["cuspan.renamed"].items()}


def events(path=FILE):
    """{name: {"brief": ..., "attributes": [names], ...}}"""
    found, event = {}, None
    for depth, starts, key, value in lines(path):
        if starts and depth == 2:
            event = {"attributes": []} if value.startswith("event.") else None
        elif event is None:
            continue
        elif key == "ref":
            event["attributes"].append(value)
        elif key == "name":
            found[value] = event
        elif value:
            event[key] = value
    return found


def metrics(path=METRICS):
    """{name: {"brief": ..., "instrument": ..., "unit": ..., "attributes": [names], ...}}, annotations among the others, in the order of the
    file."""
    found, metric = {}, None
    for depth, starts, key, value in lines(path):
        if starts and depth == 2:
            metric = {"attributes": []} if value.startswith("metric.") else None
        elif metric is None:
            continue
        elif key == "ref":
            metric["attributes"].append(value)
        elif key == "metric_name":
            found[value] = metric
        elif value:
            metric[key] = value
    return found


def problems_of_metrics(known, path=METRICS):
    """The same for metrics. `known`: the names of attributes."""
    for name, metric in metrics(path).items():
        if metric.get("instrument") not in INSTRUMENTS:
            yield f"{name}: no instrument of Weaver: {metric.get('instrument')}"
        if metric.get("stability") not in STABILITY:
            yield f"{name}: no level of stability: {metric.get('stability')}"
        yield from (f"{name}: no {key}" for key in ("brief", "unit", "identifier", "value") if key not in metric)
        yield from (f"{name}: no such attribute: {attribute}" for attribute in metric["attributes"] if attribute not in known)
    yield from clashes(set(metrics(path)))


def problems(path=FILE):
    """Reasons for Weaver to refuse the file, and names that break OpenTelemetry's rules."""
    seen, name = set(), None
    for depth, starts, key, value in lines(path):
        if starts and depth == 6:
            name = value
            if key == "id" and value in seen:
                yield f"{value} is defined twice; use `ref`"
            if key == "ref" and value not in seen:
                yield f"{value} is used before it is defined"
            if key == "id":
                seen.add(value)
        if depth in (6, 8) and key not in KEYS:
            yield f"{name}: Weaver knows no `{key}` of an attribute; make it an annotation"
    groups = read(path)
    for entries in groups.values():
        for name, entry in entries.items():
            if "renamed_to" in entry and not any(entry["renamed_to"] in group for group in groups.values()):
                yield f"{name}: renamed to {entry['renamed_to']}, which there is not"
            if entry.get("type") not in TYPES:
                yield f"{name}: no type of Weaver: {entry.get('type')}"
            if entry.get("stability") not in STABILITY:
                yield f"{name}: no level of stability: {entry.get('stability')}"
            if not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-zA-Z0-9_ ]+)*", name):
                yield f"{name}: not a name in lower case with dots"
    for name, event in events(path).items():
        if event.get("stability") not in STABILITY or not event.get("brief") or not event["attributes"]:
            yield f"{name}: an event has a stability, a brief and attributes"
    yield from clashes({name for group in groups if group != "cuspan.renamed" for name in groups[group]})


def clashes(names):
    """Names that a store cannot keep apart: a value that is also a namespace (Elasticsearch makes objects of names with dots), and names
    that differ only in dots and underscores (labels of Prometheus)."""
    namespaces = {name[:dot.start()] for name in names for dot in re.finditer(r"\.", name)}
    yield from (f"{name}: also the namespace of other names" for name in sorted(names & namespaces))
    labels = {}
    for name in sorted(names):
        other = labels.setdefault(name.replace(".", "_"), name)
        if other != name:
            yield f"{name}: the same label as {other}"


def macro(name):
    """The macro of a name in src/model/semconv.h."""
    return "SEMCONV_" + re.sub(r"\W", "_", name).upper()
