"""Holds spans against src/model/attributes.yaml: names, types, formats, units, and what belongs together.

Stand-ins for the agent in tests (simulators, generators of spans) go through the same checks as the agent's own spans, so that
they cannot write spans that the agent never would.

    wrong = Registry().problems(documents)   # OTLP JSON, one object for each line of a file"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

from otlp_sink import fields

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

import attribute_registry  # noqa: E402

OURS = ("collective.", "cuda.", "cuspan.", "hw.", "training.")  # names below these must be known
TYPES = {"stringValue": "string", "intValue": "int", "doubleValue": "double", "boolValue": "boolean"}
FORMATS = {"hex": re.compile("0x(0|[1-9a-f][0-9a-f]*)"),
           "uuid": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")}
COUNTERS = re.compile(r"cuda\.counter\.")
EPOCHS_NS = 946684800 * 10**9, 4102444800 * 10**9  # of this century
# If a span has the first attribute, then also the others.
TOGETHER = {
    "collective.key": ("collective.communicator", "collective.ordinal", "collective.operation"),
    "collective.operation": ("collective.source",),
    "training.step.number": ("training.step.kind", "training.step.source"),
    "training.step.gpu_backlog": ("training.step.number", "cuda.session.end_reason"),
}


def type_of(value):
    (kind, content), = value.items()
    if kind != "arrayValue":
        return TYPES.get(kind, kind)
    kinds = {type_of(item) for item in content.get("values", [])}
    return f"{kinds.pop()}[]" if len(kinds) == 1 else "[]"


def text_of(value):
    (content,) = value.values()
    return str(content)


def documents_in(data):
    """OTLP protobuf as the Collector's file exporter writes it, as documents of OTLP JSON: what the registry looks at."""
    def parts(place, number):
        return [value for found, value in fields(data, *place) if found == number]

    def text(place):
        return data[slice(*place)].decode()

    def attributes(place, number):
        for pair in parts(place, number):
            ((kind, value),) = fields(data, *parts(pair, 2)[0])
            yield {"key": text(parts(pair, 1)[0]), "value": any_value(kind, value)}

    def any_value(kind, value):
        if kind == 5:
            return {"arrayValue": {"values": [any_value(*next(iter(fields(data, *item)))) for item in parts(value, 1)]}}
        name = {1: "stringValue", 2: "boolValue", 3: "intValue"}[kind]
        return {name: text(value) if kind == 1 else bool(value) if kind == 2 else str(value)}

    def span(place):
        known = {number: value for number, value in fields(data, *place) if number != 9}
        parent = {"parentSpanId": data[slice(*known[4])].hex()} if 4 in known else {}
        return {"traceId": data[slice(*known[1])].hex(), "spanId": data[slice(*known[2])].hex(), **parent, "name": text(known[5]),
                "startTimeUnixNano": str(known[7]), "endTimeUnixNano": str(known[8]), "attributes": list(attributes(place, 9))}

    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at:at + 4], "big")
        yield {"resourceSpans": [{"resource": {"attributes": list(attributes(parts(group, 1)[0], 1))},
                                  "scopeSpans": [{"spans": [span(each) for each in parts(scope, 2)]} for scope in parts(group, 2)]}
                                 for group in parts((at + 4, end), 1)]}
        at = end


class Registry:
    def __init__(self):
        groups = attribute_registry.read()
        self.spans, self.resources = groups["cuspan.span"], groups["cuspan.resource"]
        self.events = {name: {key: groups["cuspan.span"][key] for key in event["attributes"]}
                       for name, event in attribute_registry.events().items()}

    def entry(self, name, known):
        return known.get(name) or (known.get("cuda.counter.NAME") if COUNTERS.match(name) else None)

    def problems_of_value(self, name, value, entry):
        types = [entry["type"], entry.get("unknown", ""), *entry.get("also", "").replace(" ", "").split(",")]
        kind = type_of(value)
        if kind not in types and not (kind == "[]" and any(each.endswith("[]") for each in types)):
            yield f"{name}: {kind}, not {entry['type']}"
            return
        text = text_of(value)
        if kind == "string" and "format" in entry and not FORMATS[entry["format"]].fullmatch(text):
            yield f"{name}: {text!r} is no {entry['format']}"
        if "values" in entry and text not in entry["values"].split(", "):
            yield f"{name}: {text!r} is none of {entry['values']}"
        if kind == "int" and "min" in entry and int(text) < int(entry["min"]):
            yield f"{name}: {text} is below {entry['min']}"
        if kind == "int" and entry.get("unit") in ("By", "ns") and not -2**63 <= int(text) < 2**63:
            yield f"{name}: {text} does not fit"

    def problems_of_attributes(self, attributes, known, others=()):
        names = Counter(attribute["key"] for attribute in attributes)
        yield from (f"{name}: twice" for name, count in names.items() if count > 1)
        for attribute in attributes:
            name, entry = attribute["key"], self.entry(attribute["key"], known)
            if entry:
                yield from self.problems_of_value(name, attribute["value"], entry)
            elif name.startswith(OURS) and not any(self.entry(name, other) for other in others):
                yield f"{name}: unknown"

    def problems_of_span(self, span):
        if not re.fullmatch("[0-9a-f]{32}", span["traceId"]) or not re.fullmatch("[0-9a-f]{16}", span["spanId"]):
            yield "IDs are not 32 and 16 digits"
        if span.get("parentSpanId") and not re.fullmatch("[0-9a-f]{16}", span["parentSpanId"]):
            yield "the parent's ID is not 16 digits"
        times = span["startTimeUnixNano"], span["endTimeUnixNano"]
        if not all(isinstance(time, str) and EPOCHS_NS[0] < int(time) < EPOCHS_NS[1] for time in times) or int(times[0]) > int(times[1]):
            yield f"times {times}"
        if not span.get("name"):
            yield "no name"
        attributes = span.get("attributes", [])
        names = {attribute["key"] for attribute in attributes}
        for name, needed in TOGETHER.items():
            if name in names and not names.issuperset(needed):
                yield f"{name} without {sorted(set(needed) - names)}"
        yield from self.problems_of_attributes(attributes, self.spans, [self.resources])
        for event in span.get("events", []):
            if event["name"].startswith("cuda.") and event["name"] not in self.events:
                yield f"event {event['name']}: unknown"
            yield from self.problems_of_attributes(event.get("attributes", []), self.events.get(event["name"], self.spans))
        for link in span.get("links", []):
            yield from self.problems_of_attributes(link.get("attributes", []), self.spans)

    def problems(self, documents, shapes=None):
        """Each kind of problem once, with the name of a span that has it. `shapes`: a set of what was seen before; then only the
        first span with the same names of attributes is looked at."""
        found = {}
        for document in documents:
            for resource in document.get("resourceSpans", []):
                for problem in self.problems_of_attributes(resource["resource"].get("attributes", []), self.resources, [self.spans]):
                    found.setdefault(problem, "resource")
                for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
                    if shapes is not None:
                        shape = tuple([attribute["key"] for attribute in span.get("attributes", [])])
                        if shape in shapes:
                            continue
                        shapes.add(shape)
                    for problem in self.problems_of_span(span):
                        found.setdefault(problem, span.get("name"))
        return [f"{name}: {problem}" for problem, name in found.items()]

    def problems_of_file(self, path):
        with open(path, encoding="utf-8") as lines:
            return self.problems(json.loads(line) for line in lines if line.strip())
