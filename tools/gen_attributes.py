#!/usr/bin/env python3
"""Generates docs/attributes.md, every attribute that cuspan writes with its type, its unit and when it is present,
src/model/semconv.h, their names for C, and src/model/metrics/metrics_list.h, the table of metrics.

    tools/gen_attributes.py             writes them
    tools/gen_attributes.py --check     fails and prints the difference if a committed one is out of date

Names, types, units and meanings are those of the registry, src/model/attributes.yaml. Which calls and kinds of work have them
comes from the code: the tables of src/model and the keys in src/agent/correlate and src/agent/core. The tool fails if the two differ."""

import difflib
import re
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

import attribute_registry

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/attributes.md"
REGISTRY = attribute_registry.FILE
HEADER = ROOT / "src/model/semconv.h"
GROUPS = attribute_registry.read()
METRIC_ATTRIBUTES = attribute_registry.read(attribute_registry.METRICS)["cuspan.metric"]
LOG_ATTRIBUTES = attribute_registry.read(attribute_registry.LOGS)["cuspan.log"]
METRICS = ROOT / "src/model/metrics/metrics_list.h"
RENAMED = attribute_registry.renamed()
del GROUPS["cuspan.renamed"]
EVENTS = attribute_registry.events()
NAMES = {attribute_registry.macro(name): f'"{name}"' for group in (*GROUPS.values(), METRIC_ATTRIBUTES, LOG_ATTRIBUTES) for name in group}
NAMES |= {attribute_registry.macro(f"event.{name}"): f'"{name}"' for name in (*EVENTS, *attribute_registry.events(attribute_registry.LOGS))}

# How the page names the types of the code.
TYPES = {"INT": "int", "UINT": "int", "BOOL": "bool", "DOUBLE": "double", "STRING": "string", "ENUM": "string", "strings": "string[]",
         "POINTER": "string, hex", "DIM3": "int[3]", "DIM3_X": "int[3]", "BYTES": "string",
         "int": "int", "bool": "bool", "string": "string", "bytes": "string", "double": "double",
         "pointer": "string, hex"}
PLAIN = {"string, hex": "string", "bool": "boolean", "int[3]": "int[]"}  # how the registry names them
DETAILS = {"ALWAYS": "default", "DEFAULT": "default", "FULL": "full"}


def read(path):
    """The text of a source, with the names instead of their macros."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"\bSEMCONV_\w+", lambda macro: NAMES.get(macro[0], macro[0]), text)


class Missing(Exception):
    pass


def match(found, registered):
    """Names and types in the code ({name: types}) are those of the registry."""
    wrong = [f"{name} is not in {REGISTRY.name}" for name in sorted(set(found) - set(registered))]
    wrong += [f"{REGISTRY.name}: {name} is not in the code" for name in sorted(set(registered) - set(found))]
    for name in sorted(set(found) & set(registered)):
        entry = registered[name]
        known = {entry["type"], *filter(None, entry.get("also", "").split(", "))}
        types = {PLAIN.get(kind, kind) for kind in found[name]}
        if types != known:
            wrong.append(f"{REGISTRY.name}: {name} is {' or '.join(sorted(known))}, and in the code {' or '.join(sorted(types))}")
        texts = {kind for kind in found[name] if PLAIN.get(kind, kind) == "string"}
        if (texts == {"string, hex"}) != (entry.get("format") == "hex"):
            wrong.append(f"{REGISTRY.name}: {name} is hexadecimal in the code or here, and not in both")
    if wrong:
        raise Missing("\n".join(wrong))


# ---- The code --------------------------------------------------------------------------------------------------------


def span_keys():
    """{key: type} of the keys that src/agent/correlate and the root span have by name."""
    found = {}
    for path in sorted([*(ROOT / "src/agent/correlate").rglob("*.c"), ROOT / "src/agent/core/entry/root_span.c"]):
        text = read(path)
        uses = re.findall(r"(?:attr|put)_(\w+)\(\w+,\s*ATTR\(\"([^\"]+)\"\)", text)
        uses += [(kind, key) for key, kind in re.findall(r"key = ATTR\(\"([^\"]+)\"\), \.type = ATTR_(\w+)", text)]
        for table, body in re.findall(r"(\w+)\[\w*\] = \{(.*?)\};", text, re.S):
            use = re.search(rf"attr_(\w+)\(\w+, &{table}\[|put_(\w+)\(\w+, &{table}\[", text)
            uses += [(use and (use[1] or use[2]), key) for key in re.findall(r"ATTR_KEY\(\"([^\"]+)\"\)", body)]
        found.update({key: TYPES[kind] if kind != "array" else GROUPS["cuspan.span"].get(key, {}).get("type") for kind, key in uses})
        unused = set(re.findall(r"ATTR(?:_KEY)?\(\"([^\"]+)\"\)", text)) - {key for _, key in uses}
        if unused:
            raise Missing(f"{path.name}: the types of {', '.join(sorted(unused))} are not found")
    prefix = re.search(r'GPU_COUNTER_PREFIX "([^"]+)"', read("src/model/gpu_counter_names.h"))[1]
    return {**found, f"{prefix}NAME": "double", **dict.fromkeys(losses(), "int"), **nvtx_keys()}


def losses():
    """The keys of the reasons for which spans are lost (src/agent/correlate/trace/session.c makes them)."""
    return [f"cuspan.lost.{reason}" for reason in re.findall(r"X\(lost_(\w+), true,", read("src/base/accounting/counters.h"))]


def nvtx_keys():
    """{key: type} of what src/agent/capture/nvtx/nvtx.c adds to ranges and marks. A payload's type is the program's."""
    keys = re.findall(r"ADD_ATTR\(event, \"([^\"]+)\", ATTR_(\w+)\)", read("src/agent/capture/nvtx/nvtx.c"))
    return {key: "int, double or string" if key == "nvtx.payload" else TYPES[kind] for key, kind in keys}


def resource_keys():
    """{key: type} of what src/agent/core and src/agent/correlate put on resources by name."""
    texts = "".join(map(read, ("src/agent/core/resource/detect.c", "src/agent/core/resource/deployment.c", "src/agent/correlate/trace/devices.c", "src/model/metrics/links.c")))
    calls = re.findall(r"(?:add|resource_set)_(strings?|int)\(resource, \"([^\"]+)\"", texts)
    calls += [("int", key) for key in re.findall(r"\bset\(resource, \"([^\"]+)\"", texts)]
    calls += [("strings", key) for key in re.findall(r"\.key = \"([^\"]+)\",\s*\.type = RESOURCE_STRING,\s*\.is_array", texts)]
    calls += [("string", key) for key in re.findall(r"\{\"((?:slurm|k8s)\.[^\"]+)\",", texts)]  # of tables
    return {key: TYPES[kind] for kind, key in calls}


class Field:
    def __init__(self, match_, enums):
        self.key, kind, self.detail, self.role = match_[1], match_[2], match_[3], match_[4]
        self.kind, self.type = kind, TYPES[kind] if self.key else None
        self.values = enums[int(match_[5])] if kind == "ENUM" else []


def enums_of(text):
    bodies = re.findall(r"activity_enum_names_\d+\[\] = \{[^\n]*\n(.*?)\n\};", text, re.S)
    return [[]] + [re.findall(r'"([^"]+)"', body) for body in bodies]


def activity_kinds():
    """[(name, least detail, fields)] of the kinds, as the table has them."""
    text = read("src/model/cuda/activities_table.c")
    enums, fields = enums_of(text), {}
    for name, body in re.findall(r"struct activity_field (\w+)_fields\[\] = \{\n(.*?)\n\};", text, re.S):
        rows = re.finditer(r'\{(?:ATTR_KEY\("([^"]+)"\)|NO_KEY), FIELD_(\w+), ACTIVITY_(\w+), ROLE_(\w+), \d+, (\d+)\}', body)
        fields[name] = [Field(row, enums) for row in rows]
    kinds = re.findall(r'\[\d+\] = \{"(\w+)", (\w+)_fields, \d+, ACTIVITY_(\w+), ', text)
    return [(name, DETAILS[detail], fields[table]) for name, table, detail in kinds if detail in DETAILS]


def is_on_span(field):
    return (field.key and field.detail in DETAILS and field.role not in ("START", "END", "NAME", "DEVICE"))


def span_fields(kinds):
    """{key: Field}, {key: [(kind, detail)]} of what becomes an attribute of a span; kinds without a time make none."""
    fields, places = {}, defaultdict(list)
    for name, kind_detail, kind_fields in kinds:
        if name in ("device", "context", *facts_of(kinds)):
            continue
        for field in filter(is_on_span, kind_fields):
            fields.setdefault(field.key, field)
            detail = "full" if "full" in (kind_detail, DETAILS[field.detail]) else "default"
            places[field.key].append((name, detail))
    return fields, places


def facts_of(kinds):
    return [name for name, _, fields in kinds
            if name not in ("device", "context") and not any(field.role == "START" for field in fields)]


def device_fields(kinds):
    """Attributes that devices.c makes of a device's record, which has no dimensions."""
    device = next(fields for name, _, fields in kinds if name == "device")
    return {field.key: "int" if field.kind == "ENUM" else field.type for field in device
            if field.key and field.kind not in ("DIM3_X", "DIM3_YZ")}


def enumerations(fields):
    """The names whose values come from CUDA's enumerations; a value without a name is a number."""
    text = read("src/model/cuda/calls_table.c")
    keys = re.findall(r'ATTR_KEY\("(cuda\.arg\.[^"]+)"\)', text)
    body = re.search(r"const struct call_param call_params\[\] = \{(.*?)\n\};", text, re.S)[1]
    return {keys[int(key)] for key in re.findall(r"\{(\d+), PARAM_ENUM, \d+\}", body)} | {
        key for key, field in fields.items() if field.kind == "ENUM"}


def call_arguments():
    """{key: (types, calls of the default profile, other calls)}, calls without the variants of per-thread streams."""
    text = read("src/model/cuda/calls_table.c")
    keys = re.findall(r'ATTR_KEY\("(cuda\.arg\.[^"]+)"\)', text)
    body = re.search(r"const struct call_param call_params\[\] = \{(.*?)\n\};", text, re.S)[1]
    params = re.findall(r"\{(\d+), PARAM_(\w+), \d+\}", body)
    found = {key: (set(), set(), set()) for key in keys}
    rows = re.findall(r"= \{\d+, (\d+), (\d+), CALL_GROUP_\w+, (\d), \d, \d\}, /\* (\w+) \*/", text)
    for first, count, is_default, name in rows:
        for key, kind in params[int(first):int(first) + int(count)]:
            types, usual, others = found[keys[int(key)]]
            types.add(TYPES[kind])
            (usual if is_default == "1" else others).add(re.sub(r"_pt[sd][zs]$", "", name))
    return found


# ---- The page --------------------------------------------------------------------------------------------------------


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cell or "" for cell in row) + " |" for row in rows])


def code(text):
    return f"`{text}`"


def typed(kind, unit):
    return f"{kind}, {unit}" if unit else kind


def row(key, kind, entry, *columns):
    return code(key), typed(kind, entry.get("unit")), *(entry.get(column, "") for column in columns)


def where(places):
    """kernel, memcpy; full: cuda_event, jit"""
    by_detail = defaultdict(list)
    for name, detail in places:
        by_detail[detail].append(name)
    parts = [", ".join(by_detail["default"])] if by_detail["default"] else []
    if by_detail["full"]:
        parts.append("full: " + ", ".join(by_detail["full"]))
    return "; ".join(parts)


def meaning_of(key, entry, values, first):
    """With the values of an enumeration. `first`: {values: key} of the rows above, which rows with the same values name."""
    meaning = entry.get("of_work") or entry.get("brief", "")
    if not values:
        return meaning
    known = first.setdefault(tuple(values), key)
    return f"{meaning} ({', '.join(values)})" if known == key else f"{meaning} (as {known})"


def losses_text(of_spans):
    """The reasons, with the units that are not spans. The page of the counters explains them."""
    found = []
    for key in losses():
        unit = of_spans[key]["unit"]
        found.append(code(key.removeprefix("cuspan.lost.")) + ("" if unit == "{span}" else f" ({unit})"))
    return "\n".join(textwrap.wrap(", ".join(sorted(found)) + ".", 120, break_long_words=False, break_on_hyphens=False))


def type_of_argument(types):
    """An address in one call can be text in another (cuda.arg.symbol)."""
    return " or ".join(sorted(types, key=lambda name: (name == "string", name)))


def argument_rows(arguments, registered, usual):
    """The names of each type and unit, of calls in the default profile or of the others only."""
    names = defaultdict(list)
    for key, (types, default_calls, other_calls) in sorted(arguments.items()):
        if bool(default_calls) == usual and (default_calls or other_calls):
            names[type_of_argument(types), registered[key].get("unit", "")].append(code(key.removeprefix("cuda.arg.")))
    for (kind, unit), keys in sorted(names.items()):
        yield typed(kind, unit), ", ".join(keys)


def page():
    kinds = activity_kinds()
    fields, places = span_fields(kinds)
    devices, spans, resources, arguments = device_fields(kinds), span_keys(), resource_keys(), call_arguments()
    of_spans, of_resources = GROUPS["cuspan.span"], GROUPS["cuspan.resource"]
    types = {key: set(re.split(" or |, (?!hex)", kind)) for key, kind in spans.items()}
    for key, field in fields.items():
        types.setdefault(key, set()).add(field.type)
    match({**{key: found[0] for key, found in arguments.items()}, **types}, of_spans)
    match({key: {kind} for key, kind in {**devices, **resources}.items()}, of_resources)
    unknown = {key for key, entry in of_spans.items() if "unknown" in entry}
    if wrong := unknown ^ enumerations(fields):
        raise Missing(f"{REGISTRY.name}: `unknown: int` is for enumerations, and only for these: {', '.join(sorted(wrong))}")
    # Losses have a sentence.
    by_name = [row(key, kind, of_spans[key], "where", "brief") for key, kind in sorted(spans.items()) if key not in losses()]
    # The generic names are written by the tables, too: `of_work` is what they mean there.
    first = {}
    by_table = [(code(key), typed(fields[key].type, of_spans[key].get("unit")), where(places[key]),
                 meaning_of(key, of_spans[key], fields[key].values, first)) for key in sorted(fields)]
    of_device = [row(key, kind, of_resources[key], "brief") for key, kind in devices.items() if key not in resources]
    by_resource = [row(key, kind, of_resources[key], "where", "brief") for key, kind in resources.items()]
    return TEXT.format(
        names=table(("attribute", "type, unit", "where", "meaning"), by_name),
        losses=losses_text(of_spans),
        events=table(("event", "attributes", "meaning"),
                     [(code(name), ", ".join(map(code, event["attributes"])), event["brief"]) for name, event in EVENTS.items()]),
        facts=", ".join(code(name) for name in facts_of(kinds)),
        fields=table(("attribute", "type, unit", "kind of work", "meaning"), by_table),
        resources=table(("attribute", "type, unit", "where", "meaning"), by_resource),
        devices=table(("attribute", "type, unit", "meaning"), of_device),
        usual=table(("type, unit", "parameters"), argument_rows(arguments, of_spans, True)),
        others=table(("type, unit", "parameters"), argument_rows(arguments, of_spans, False)))


TEXT = """# Attributes

Every attribute of cuspan's spans and resources. Units follow UCUM (By: bytes; a word in braces is a count). IDs of CUDA
contexts, streams, graphs and calls are CUPTI's numbers, unique in a process. Names that start with `collective.`, `cuda.`,
`cuspan.`, `nvtx.`, `slurm.` or `training.` are cuspan's own. All others follow OpenTelemetry's semantic conventions.
`tools/gen_attributes.py` generates this page: do not edit it.

## Attributes set by name

{names}

Session spans also have `cuspan.lost.REASON` (int, {{span}}) for each counter of losses that is not 0, of the process so far.
Spans of an engine's requests have `engine.request.header.NAME` (string) for `engine.headers`.
[troubleshooting.md](troubleshooting.md#something-is-missing-in-the-traces) explains each as `lost_REASON`. The reasons:
{losses}

The totals of kernels, copies and memsets leave out work inside graphs that are traced as a whole.

A session span has up to 128 events, a call span up to 8. An event belongs to the call in which it happened, or to the
session if there was none. Marks of the program are events, too, with the program's name and attributes. The others:

{events}

## GPU work and other CUPTI records

Each field of a CUPTI record becomes one attribute. Kinds after "full:" have it only with `detail: full` or, for kinds
that are off by default, if `capture.activities.allow` lists the kind. Unknown values of enumerations are numbers.

{fields}

Kinds without a time do not become spans. `device` becomes a resource (below), `context` identifies the NULL stream, and
the others are only stored in recordings: {facts}.

## Resources

The resource of call and session spans is the process, that of GPU spans the process and the device.

{resources}

The configuration (`resource.attributes`, `OTEL_RESOURCE_ATTRIBUTES`) has precedence. Next is the process context that an
OpenTelemetry SDK in the process publishes (OTEP 4719: a mapping named `OTEL_CTX`), except `telemetry.*`. Later changes of
it are detected within 1 to 10 s, and apply to spans from then on. A program that runs with another user's rights gets no
attributes from its environment. Devices also have these attributes, as CUPTI reports them:

{devices}

## Parameters of calls

`cuda.arg.NAME` is a parameter of the call, with `capture.parameters` enabled. A name has the same meaning in all calls:
`bytes` stands for the parameters count, sizeBytes and ByteCount. Output parameters are present if the call succeeded.
Enumerations have the names in CUDA's headers. Strings are truncated after 120 bytes. cuspan follows pointers only to
handles, strings and the structs that describe the call, never to data. Widths and offsets without a unit are bytes or
elements, as CUDA documents the call. Calls in the default profile have these:

{usual}

These appear only with calls that `capture.calls.allow` or `detail: full` adds:

{others}
"""


def header():
    """Without the parameters of calls, which only tables name, except those that something reads."""
    read_by = {macro for path in sources() for macro in re.findall(r"\bSEMCONV_\w+", path.read_text(encoding="utf-8"))}
    used = {macro: name for macro, name in NAMES.items() if not name.startswith('"cuda.arg.') or macro in read_by}
    width = max(map(len, used))
    renamed = "".join(f' \\\n    X("{old}", {attribute_registry.macro(new)})' for old, new in sorted(RENAMED.items()))
    return (HEAD + "".join(f"#define {macro:<{width}} {name}\n" for macro, name in sorted(used.items())) +
            f"\n/* Names of earlier versions, for readers. */\n#define SEMCONV_RENAMED(X){renamed}\n")


HEAD = """/* The names of attributes, by tools/gen_attributes.py from attributes.yaml: do not edit. */
/* clang-format off */
#pragma once

"""


def sources():
    """The files that may name attributes: not the tables, which are generated, and not recordings, whose format has keys of its own."""
    return [path for path in sorted((ROOT / "src").rglob("*.[ch]"))
            if not path.name.endswith("_table.c") and path not in (HEADER, METRICS) and path.parent.name != "recording"]


def check_registry():
    known = {name for group in (*GROUPS.values(), METRIC_ATTRIBUTES) for name in group}
    if wrong := [*attribute_registry.problems(), *attribute_registry.problems_of_metrics(known)]:
        raise Missing("\n".join(wrong))


def metrics_list():
    """The rows of the table of metrics."""
    types = {"counter": "SUM", "updowncounter": "UP_DOWN", "gauge": "GAUGE", "histogram": "HISTOGRAM"}
    rows = []
    for name, metric in attribute_registry.metrics().items():
        attributes = ", ".join(metric["attributes"]).replace(", otel.metric.overflow", " or otel.metric.overflow")
        rows.append(f'    X({metric["identifier"]}, "{name}", "{metric["unit"]}", {types[metric["instrument"]]}, {metric["value"].upper()}, '
                    f'"{attributes}", "{metric["brief"]}")')
    return METRICS_HEAD + " \\\n".join(rows) + "\n"


METRICS_HEAD = """/* The table of metrics, by tools/gen_attributes.py from metrics.yaml: do not edit. */
/* clang-format off */
#pragma once

/* X(identifier, name, unit, type, value, attributes, description) */
#define METRICS(X) \\
"""


def check_literals():
    """No source has a name as a literal."""
    known = set(NAMES.values())
    for path in sources():
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        if found := known & set(re.findall(r'"[^"\\\n]*"', text)):
            raise Missing("\n".join(f"{path.relative_to(ROOT)}: use {attribute_registry.macro(name.strip(chr(34)))} instead of {name}"
                                    for name in sorted(found)))


def differences(path, text):
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    name = str(path.relative_to(ROOT))
    return list(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name, name + " (made again)", n=1))


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    try:
        check_registry()
        check_literals()
        made = {HEADER: header(), METRICS: metrics_list(), PAGE: page()}
    except Missing as missing:
        print(missing)
        return 1
    changed = [line for path, text in made.items() for line in differences(path, text)]
    if sys.argv[1:]:
        sys.stdout.writelines(changed)
        return int(bool(changed))
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
