"""Reads OTLP profiles with opentelemetry-proto's generated classes, without any code of cuspan, and checks their form."""

from collections import Counter
from dataclasses import dataclass

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest


EMPTY_VALUE = b"\x12\x00"  # of an attribute; a Collector writes it


@dataclass(frozen=True)
class Frame:
    function: str
    file: str
    line: int
    module: str
    type: str


@dataclass
class Profile:
    type: str
    unit: str
    begin_ns: int
    end_ns: int
    period: int
    resource: dict
    samples: list  # (frames from the leaf, link as (trace ID, span ID) or None, value)

    def times(self):
        """{(frames, link): ns}"""
        found = Counter()
        for frames, link, value in self.samples:
            found[frames, link] += value
        return found


def check_tables(dictionary):
    """Entry 0 of each table stands for "none", and no entry is there twice."""
    for table in (dictionary.mapping_table, dictionary.location_table, dictionary.function_table, dictionary.link_table,
                  dictionary.string_table, dictionary.attribute_table, dictionary.stack_table):
        encoded = [entry if isinstance(entry, str) else entry.SerializeToString(deterministic=True) for entry in table]
        assert encoded[0] in ("", b"", EMPTY_VALUE), table[0]
        assert len(set(encoded)) == len(encoded), "an entry is there twice"


def read_frame(dictionary, index):
    strings = dictionary.string_table
    location = dictionary.location_table[index]
    assert index > 0 and location.address == 0
    line, = location.lines
    function = dictionary.function_table[line.function_index]
    attribute, = [dictionary.attribute_table[i] for i in location.attribute_indices]
    assert strings[attribute.key_strindex] == "profile.frame.type"
    return Frame(strings[function.name_strindex], strings[function.filename_strindex], line.line,
                 strings[dictionary.mapping_table[location.mapping_index].filename_strindex], attribute.value.string_value)


def read_profile(message, dictionary, resource):
    strings = dictionary.string_table

    def read_link(index):
        link = dictionary.link_table[index]
        assert not index or (len(link.trace_id) == 16 and len(link.span_id) == 8)
        return (link.trace_id.hex(), link.span_id.hex()) if index else None

    samples = []
    for sample in message.samples:
        assert len(sample.values) == 1 and sample.values[0] > 0 and not sample.timestamps_unix_nano
        frames = tuple(read_frame(dictionary, i) for i in dictionary.stack_table[sample.stack_index].location_indices)
        samples.append((frames, read_link(sample.link_index), sample.values[0]))
    assert message.period_type == message.sample_type
    keys = [(frames, link) for frames, link, _ in samples]
    assert len(set(keys)) == len(keys), "a stack is there twice"
    return Profile(strings[message.sample_type.type_strindex], strings[message.sample_type.unit_strindex], message.time_unix_nano,
                   message.time_unix_nano + message.duration_nano, message.period, resource, samples)


def read(body):
    """The profiles of a request."""
    request = ExportProfilesServiceRequest.FromString(body)
    dictionary = request.dictionary
    check_tables(dictionary)
    found = []
    for of_resource in request.resource_profiles:
        resource = {pair.key: pair.value.string_value or pair.value.int_value for pair in of_resource.resource.attributes}
        for scope in of_resource.scope_profiles:
            assert scope.scope.name == "cuspan" and scope.schema_url and of_resource.schema_url
            found += [read_profile(profile, dictionary, resource) for profile in scope.profiles]
    return found
