#!/usr/bin/env python3
"""cuspan accepts every configuration that OpenTelemetry's schema allows, in `cuspan check` and in the agent.

    otel_schema_test.py --build BUILD [--schema FILE]

The schema comes from the PyPI package opentelemetry-configuration. For each key that the schema knows, the test writes files in
which the key has each value of interest (null, each enumerator, the bounds, an empty mapping, all keys together, a vendor's
plug-in) and its parents have only the keys that the schema requires.
"""
import argparse
import importlib.resources
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
RECORDING = REPOSITORY / "tests/gpu/recordings/leak.cuspanrec"

# Formats that the schema describes in words only.
TEXTS = {
    "ca_file": "/etc/ssl/ca.pem",
    "endpoint": "http://localhost:4318/v1/traces",
    "output_stream": "stdout",
    "headers_list": "api-key=1234",
    "attributes_list": "service.name=trainer",
}
# A file with one of the two is incomplete, although the schema allows it.
CLIENT_KEYS = {"key_file": "/etc/ssl/client.key", "cert_file": "/etc/ssl/client.pem"}
ATTRIBUTES = {"string": "text", "bool": True, "int": 3, "double": 0.5}
OPTIONS = None


class Generator:
    def __init__(self, schema):
        self.schema = schema

    def resolve(self, node):
        while "$ref" in node:
            node = self.schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        return node

    @staticmethod
    def types(node):
        types = node.get("type", "object" if "properties" in node else "string")
        return types if isinstance(types, list) else [types]

    @staticmethod
    def scalars(node, types, name):
        if "enum" in node:
            values = list(node["enum"])
        elif "boolean" in types:
            values = [True, False]
        elif "integer" in types or "number" in types:
            low = node.get("minimum", node.get("exclusiveMinimum", -1) + 1)
            values = [low, low + 1, node.get("maximum", low + 1000)]
        else:
            values = [TEXTS.get(name, "text")]
        return values + [None] if "null" in types else values

    def smallest(self, node, name):
        node = self.resolve(node)
        types = self.types(node)
        if "object" in types:
            properties = node.get("properties", {})
            keys = node.get("required") or list(properties)[:node.get("minProperties", 0)]
            return {key: self.smallest(properties[key], key) for key in keys}
        if "array" in types:
            return [self.smallest(node["items"], name)] * node.get("minItems", 0)
        return self.scalars(node, types, name)[0]

    def all_keys(self, node, name, depth):
        node = self.resolve(node)
        types = self.types(node)
        if "object" in types and (depth == 0 or node.get("maxProperties") == 1):
            return self.smallest(node, name)
        if "object" in types:
            return {key: CLIENT_KEYS.get(key) or self.all_keys(child, key, depth - 1)
                    for key, child in node.get("properties", {}).items()}
        if "array" in types:
            return [self.all_keys(node["items"], name, depth)]
        return self.scalars(node, types, name)[0]

    def variants(self, node, name, parents=()):
        """Each key below the node in turn, together with the required keys. A type nests in itself once."""
        reference = node.get("$ref")
        if reference and parents.count(reference) > 1:
            return
        node = self.resolve(node)
        parents += (reference,)
        types = self.types(node)
        if "object" in types:
            yield from self.mappings(node, name, types, parents)
        elif "array" in types:
            if not node.get("minItems"):
                yield []
            for value in self.variants(node["items"], name, parents):
                yield [value]
            if self.resolve(node["items"]).get("type") == "number":
                yield [0, 0.5, 1000]
        else:
            yield from self.scalars(node, types, name)

    def mappings(self, node, name, types, parents):
        if "null" in types:
            yield None
        yield self.smallest(node, name)
        is_choice = node.get("maxProperties") == 1
        beside = {} if is_choice else self.smallest(node, name)
        if "value" in node.get("properties", {}) and "type" in node["properties"]:
            yield from self.attributes()
            return
        if not is_choice:
            yield self.all_keys(node, name, 4)
        for key, child in node.get("properties", {}).items():
            if key in CLIENT_KEYS:
                yield CLIENT_KEYS
                continue
            for value in self.variants(child, key, parents):
                yield {**beside, key: value}
        if node.get("additionalProperties"):
            yield {**beside, "vendor": {}}
            yield {**beside, "vendor": {"level": 3, "names": ["a"]}}

    @staticmethod
    def attributes():
        for kind, value in ATTRIBUTES.items():
            yield {"name": kind, "value": value, "type": kind}
            yield {"name": kind, "value": [value], "type": kind + "_array"}
        yield {"name": "none", "value": None}

    def documents(self):
        seen = set()
        validator = jsonschema.Draft202012Validator(self.schema)
        for document in self.variants(self.schema, ""):
            text = json.dumps({**document, "file_format": "1.0"})
            if text not in seen and validator.is_valid(json.loads(text)):
                seen.add(text)
                yield text


# OpenTelemetry's specification rejects a view that gives several instruments one name; the schema cannot express it.
SEVERAL_WITH_ONE_NAME = "cannot all have the name"


class Schema(unittest.TestCase):
    def setUp(self):
        if OPTIONS.schema:
            text = pathlib.Path(OPTIONS.schema).read_text(encoding="utf-8")
        else:
            text = (importlib.resources.files("opentelemetry.configuration") / "schema.json").read_text(encoding="utf-8")
        self.documents = list(Generator(json.loads(text)).documents())
        self.file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "sdk.yaml"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "CUSPAN_"))}

    def run_with(self, document, *arguments, **variables):
        self.file.write_text(document, encoding="utf-8")
        return subprocess.run([OPTIONS.build / "cuspan", *arguments], capture_output=True, text=True, timeout=600, check=False,
                              env={**self.environment, **variables})

    def test_check_accepts_each(self):
        refused = {}
        for document in self.documents:
            result = self.run_with(document, "check", self.file)
            errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
            unexpected = [error for error in errors if SEVERAL_WITH_ONE_NAME not in error]
            if unexpected or (result.returncode and not errors):
                refused.setdefault((unexpected or [result.stderr])[0].replace(str(self.file), ""), document)
        self.assertGreater(len(self.documents), 500)
        self.assertFalse(refused, "\n".join(f"{error}\n    {document}" for error, document in refused.items()))

    def test_agent_accepts_a_sample(self):
        """Like `cuspan check`, which shares its file reader: every 50th file, and those with the most keys."""
        largest = sorted(self.documents, key=len)[-10:]
        for document in self.documents[::50] + largest:
            result = self.run_with(document, "replay", RECORDING, OTEL_CONFIG_FILE=str(self.file),
                                   CUSPAN_SET="exit_deadline_ms=100")
            refusals = [line for line in result.stderr.splitlines() if "not traced" in line and f"{self.file}:" in line]
            self.assertFalse([line for line in refusals if SEVERAL_WITH_ONE_NAME not in line], document)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--schema")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
