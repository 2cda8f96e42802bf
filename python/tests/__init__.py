import os

# Must run before OpenTelemetry is loaded. The variable may be empty: tests.cost also measures without an agent.
if os.environ.get("CUDA_INJECTION64_PATH") != "":
    from tests import support  # noqa: F401
