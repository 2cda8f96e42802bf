"""OpenTelemetry as in any service: OTLP/HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, and traceparent for the context."""

import os
import signal
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

tracer = trace.get_tracer("examples.service")


def start(service_name):
    """Call it once, before the first span. Remaining spans are sent when the program ends, even on SIGTERM."""
    os.environ.setdefault("OTEL_SERVICE_NAME", service_name)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def trace_id_of(span):
    return f"{span.get_span_context().trace_id:032x}"
