"""OTLP's protobuf as OTLP JSON: IDs in hex, enums as numbers. Needs opentelemetry-proto."""

from base64 import b64decode

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = ("traceId", "spanId", "parentSpanId")


def _hex_ids(item):
    for key in IDS:
        if key in item:
            item[key] = b64decode(item[key]).hex()


def traces_data(body):
    """The body of one request."""
    data = MessageToDict(ExportTraceServiceRequest.FromString(body), use_integers_for_enums=True)
    for of_resource in data.get("resourceSpans", []):
        for of_scope in of_resource.get("scopeSpans", []):
            for span in of_scope.get("spans", []):
                _hex_ids(span)
                for link in span.get("links", []):
                    _hex_ids(link)
    return data


def only_trace(data, trace_id):
    """Only the resources and scopes with spans of one trace."""
    kept = []
    for of_resource in data.get("resourceSpans", []):
        scopes = [{**of_scope, "spans": [span for span in of_scope.get("spans", []) if span["traceId"] == trace_id]}
                  for of_scope in of_resource.get("scopeSpans", [])]
        scopes = [of_scope for of_scope in scopes if of_scope["spans"]]
        if scopes:
            kept.append({**of_resource, "scopeSpans": scopes})
    return kept
