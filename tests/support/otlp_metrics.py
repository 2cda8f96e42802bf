"""Reads OTLP metrics without any code of cuspan: protobuf with opentelemetry-proto's generated classes, JSON with the
strict reader of otlp_decode.py. Also adds up the points of a process. Run by the Python of otlp_python.sh."""

import json
import sys
from pathlib import Path

import otlp_decode
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

import attribute_registry  # noqa: E402

REGISTERED = attribute_registry.metrics()

CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA


def from_protobuf(payload):
    request = ExportMetricsServiceRequest()
    request.ParseFromString(payload)
    otlp_decode.check_known(request, "request")
    if request.ByteSize() != len(payload):
        raise otlp_decode.Malformed(f"{len(payload)} bytes, its canonical form has {request.ByteSize()}")
    return request


def from_json(text):
    request = ExportMetricsServiceRequest()
    value = json.loads(text, object_pairs_hook=otlp_decode.unique, parse_constant=otlp_decode.refuse)
    otlp_decode.read_object(value, request, "request")
    return request


def attributes(point):
    found = {}
    for pair in point.attributes:
        kind = pair.value.WhichOneof("value")
        assert kind and pair.key not in found, pair
        found[pair.key] = getattr(pair.value, kind)
    return tuple(sorted(found.items()))


def check_histogram(metric, point):
    assert point.count > 0 and point.time_unix_nano >= point.start_time_unix_nano > 0, point
    has_ends = point.HasField("min")
    assert has_ends == point.HasField("max"), point
    assert not has_ends or 0 <= point.min <= point.max and point.min * point.count <= point.sum * (1 + 1e-9), point
    if metric.WhichOneof("data") == "histogram":
        assert sum(point.bucket_counts) == point.count and len(point.bucket_counts) == len(point.explicit_bounds) + 1, point
        assert list(point.explicit_bounds) == sorted(set(point.explicit_bounds)), point
        lowest = next(i for i, count in enumerate(point.bucket_counts) if count)
        highest = max(i for i, count in enumerate(point.bucket_counts) if count)
        bounds = [-1, *point.explicit_bounds, float("inf")]
    else:
        counts = point.positive.bucket_counts
        assert sum(counts) + point.zero_count == point.count and len(counts) <= 160, point
        if not counts:
            return
        assert counts[0] and counts[-1], point
        base = 2 ** (2 ** -point.scale)
        bounds = [base ** (point.positive.offset + i) for i in range(len(counts) + 1)]
        lowest, highest = (0 if not point.zero_count else None), len(counts) - 1
    if lowest is not None and has_ends:
        assert bounds[lowest] * (1 - 1e-6) < point.min <= bounds[lowest + 1] * (1 + 1e-6), (bounds[lowest], point.min)
    assert not has_ends or bounds[highest] * (1 - 1e-6) < point.max <= bounds[highest + 1] * (1 + 1e-6), point
    for exemplar in point.exemplars:
        assert (len(exemplar.trace_id), len(exemplar.span_id)) in ((16, 8), (0, 0)) and exemplar.time_unix_nano, exemplar
        assert not exemplar.span_id or any(exemplar.span_id), exemplar
        assert not has_ends or point.min <= exemplar.as_double <= point.max, (point.min, exemplar.as_double, point.max)


def instrument(metric):
    kind = metric.WhichOneof("data")
    if kind == "sum":
        return "counter" if metric.sum.is_monotonic else "updowncounter"
    return "gauge" if kind == "gauge" else "histogram"


def check_registered(metric, point):
    """As in src/model/metrics.yaml."""
    known = REGISTERED.get(metric.name)
    assert known, f"{metric.name} is not in the registry"
    assert (instrument(metric), metric.unit, metric.description) == (known["instrument"], known["unit"], known["brief"]), metric
    others = {pair.key for pair in point.attributes} - set(known["attributes"]) - {"otel.metric.overflow"}
    assert not others, f"{metric.name} has {others}"


def series(requests, has_views=False):
    """{(metric, attributes): [(metric, point), ...]} in order of arrival. Each point is checked separately; views change what the registry
    says."""
    found = {}
    for request in requests:
        seen = set()
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                assert scope.scope.name == "cuspan", scope.scope
                for metric in scope.metrics:
                    assert metric.name and metric.unit and metric.description, metric
                    data = getattr(metric, metric.WhichOneof("data"))
                    for point in data.data_points:
                        key = metric.name, attributes(point)
                        assert key not in seen, f"{key} stands twice"
                        seen.add(key)
                        if not has_views:
                            check_registered(metric, point)
                        if "istogram" in metric.WhichOneof("data"):
                            check_histogram(metric, point)
                        found.setdefault(key, []).append((metric, point))
    return found


def value(point):
    return getattr(point, point.WhichOneof("value"))


def is_delta(metric):
    return getattr(metric, metric.WhichOneof("data")).aggregation_temporality == DELTA


def total(points):
    """(count, sum) of a histogram's series, or (None, value): the sum of delta points, the last cumulative point."""
    metric = points[-1][0]
    kind = metric.WhichOneof("data")
    counted = points if kind != "gauge" and is_delta(metric) else points[-1:]
    if "istogram" in kind:
        return sum(point.count for _, point in counted), sum(point.sum for _, point in counted)
    return None, sum(value(point) for _, point in counted)
