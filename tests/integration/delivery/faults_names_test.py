#!/usr/bin/env python3
"""Name resolution that fails, and names with dead addresses.

    faults_names_test.py --build DIRECTORY [--sanitizers LIST] [CLASS[.test]...]
"""

import contextlib
import socket
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "support")]

import backend  # noqa: E402
import faults_case  # noqa: E402
from bad_server import take  # noqa: E402
from faults_case import eventually  # noqa: E402


class Names(faults_case.Case):
    def hosts(self, text):
        (self.directory / "hosts").write_text(text)
        return {"FAULTS_HOSTS": self.directory / "hosts"}

    def test_a_name_that_resolves_later(self):
        server = self.server()
        agent = self.agent(server, host="collector.test", env=self.hosts(""))
        agent.play()
        agent.wait_for_line("cannot deliver to")
        self.hosts("collector.test 127.0.0.1\n")
        agent.wait_for_line("works again")
        agent.end()
        self.assert_delivered(agent, server)
        self.assert_said(agent, "cannot deliver to .*: Could not resolve host: collector.test.*cuspan keeps .* and retries", "works again")

    def test_a_name_that_moves(self):
        """The collector restarts at another address, as in a cluster. After the connection ends, the agent resolves again."""
        port = backend.free_ports(1, "127.0.0.2")[0]
        first = self.server(take, host="127.0.0.1", port=port)
        agent = self.agent(first, host="collector.test", env=self.hosts("collector.test 127.0.0.1\n"))
        agent.play()
        eventually(lambda: first.requests, agent.said)
        first.close()
        self.hosts("collector.test 127.0.0.2\n")
        second = self.server(take, host="127.0.0.2", port=port)
        agent.play()
        eventually(lambda: second.requests, agent.said)
        agent.end()
        self.assert_delivered(agent, first, second)

    def test_an_address_of_ipv6(self):
        self.needs_ipv6()
        self.delivers(self.server(host="::1"), host="[::1]")
        self.delivers(self.server(host="::1", grpc=True), host="[::1]")

    def test_one_family_is_refused(self):
        self.needs_ipv6()
        one, other = backend.free_ports(2, "::1")
        self.delivers(self.server(port=one), host="collector.test", env=self.hosts("collector.test ::1 127.0.0.1\n"))
        self.delivers(self.server(host="::1", port=other), host="collector.test", env=self.hosts("collector.test 127.0.0.1 ::1\n"))

    def test_one_family_is_silent(self):
        """A listener with a full queue does not respond. The agent tries the other address family in time."""
        self.needs_ipv6()
        server = self.server(port=backend.free_ports(1, "::1")[0])
        with socket.socket(socket.AF_INET6) as silent, contextlib.ExitStack() as waiting:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            silent.bind(("::1", server.port))
            silent.listen(0)
            for _ in range(3):
                client = waiting.enter_context(socket.socket(socket.AF_INET6))
                client.setblocking(False)
                client.connect_ex(("::1", server.port))
            self.delivers(server, host="collector.test", env=self.hosts("collector.test ::1 127.0.0.1\n"))


if __name__ == "__main__":
    faults_case.main()
