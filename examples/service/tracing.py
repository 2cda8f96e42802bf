"""OpenTelemetry, as any service has it: spans go by OTLP/HTTP to OTEL_EXPORTER_OTLP_ENDPOINT, contexts by traceparent."""

import os
import signal
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

tracer = trace.get_tracer("examples.service")


def start(service_name):
    """Once, before the first span. What is left of the spans is sent when the program ends, also by SIGTERM."""
    os.environ.setdefault("OTEL_SERVICE_NAME", service_name)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def trace_id_of(span):
    return f"{span.get_span_context().trace_id:032x}"
