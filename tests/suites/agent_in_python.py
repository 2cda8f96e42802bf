"""In each Python process of another project's tests, if SUITE_AGENT is set: starts the agent on a recording, before the program
and without it knowing, with the hooks of the Python package. A .pth file of the environment imports this module, so also -I and -E
start it. The number of reports says in how many processes it ran."""

import os


def start():
    import sys

    for folder in os.environ["SUITE_AGENT"].split(os.pathsep):  # python/ and tests/support/
        sys.path.append(folder)
    try:
        import python_host
        from cuspan import _agent

        double = python_host.begin()
        assert _agent.look_now() is not None
        python_host.work(double)
    finally:
        del sys.path[-2:]


if os.environ.get("SUITE_AGENT"):
    try:
        start()
    except (ImportError, RuntimeError):  # in a second interpreter of the process: the recording is already loaded
        pass
