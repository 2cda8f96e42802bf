import os

# Before anything of OpenTelemetry is loaded. Empty: tests.cost measures without an agent.
if os.environ.get("CUDA_INJECTION64_PATH") != "":
    from tests import support  # noqa: F401
