#!/usr/bin/env python3
"""Tests `cuspan hang --ras` and files of NCCL's RAS: ranks without an agent.

The stand-in for RAS speaks the protocol of NCCL's src/ras/client.cc and client_support.cc (2.28.7 to 2.32): commands are lines, STATUS
is answered by one JSON document, and the connection is closed. The member names were compared with the strings of libnccl.so 2.28.9."""
import argparse
import copy
import json
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

BUILD = Path("build")
NAMES = {"all_reduce": "AllReduce", "all_gather": "AllGather", "reduce_scatter": "ReduceScatter", "broadcast": "Broadcast", "reduce": "Reduce"}


class Server(threading.Thread):
    """Answers one client."""

    def __init__(self, document, refuses=None, silent=False):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.document, self.refuses, self.silent = document, refuses, silent
        self.lines = []
        self.start()

    def run(self):
        client, _ = self.socket.accept()
        self.socket.close()
        with client, client.makefile("rw") as stream:
            for line in stream:
                self.lines.append(line)
                if self.silent:
                    continue
                if self.refuses and line.startswith(self.refuses):
                    stream.write(f"ERROR: Unknown command {line}")
                elif line.upper().startswith("CLIENT PROTOCOL "):
                    stream.write("SERVER PROTOCOL 2\n")
                elif line == "SET FORMAT json\n":
                    stream.write("OK\n")
                elif line == "STATUS\n":
                    stream.write(self.document)
                    return
                stream.flush()


def simulated(fault, seed, shape=1):
    made = subprocess.run([BUILD / "hang_simulate", "json", str(shape), fault, str(seed)], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(made.stdout)["ranks"]


def ras_of(ranks, missing=(), wrong=0):
    """The output of RAS about them. `missing`: processes that it has given up."""
    communicators = {}
    for rank in ranks:
        for seat in rank["communicators"]:
            of = communicators.setdefault(seat["id"], {"hash": "0x" + seat["id"], "secondary_hash": "0x1:0x2", "size": seat["ranks"], "ranks_count": 0,
                                                       "missing_ranks_count": 0, "ranks": [], "missing_ranks": []})
            place = {"rank": seat["rank"], "host": "10.0.0.7", "pid": 5000 + rank["rank"], "cuda_dev": 0, "nvml_dev": 0}
            if rank["rank"] in missing:
                of["missing_ranks"].append({**place, "status": {"unresponsive": True, "considered_dead": True}})
                continue
            counts = dict.fromkeys(NAMES.values(), 0)
            counts["AllReduce"] = seat["enqueued"] + wrong
            of["ranks"].append({**place, "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False},
                                "collective_counts": counts})
    return json.dumps({"nccl_version": "2.28.9", "cuda_runtime_version": 13000, "cuda_driver_version": 13000, "timestamp": "2026-11-30 13:00:00",
                       "communicators_count": len(communicators), "communicators": list(communicators.values()),
                       "ras": {"collection_time_sec": 0.01, "timeouts_count": 0}}, indent=2) + "\n"


class Ras(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def hang(self, *arguments):
        return subprocess.run([BUILD / "cuspan", "hang", *arguments], capture_output=True, text=True, timeout=120, check=False)

    def agents(self, ranks):
        path = self.folder / "agents.json"
        path.write_text(json.dumps({"cuspan_hang": 1, "ranks": ranks}))
        return path

    def behind(self):
        """All wait for rank 5, which has no agent and made fewer calls."""
        ranks = simulated("loader", 2)
        culprit = min(ranks, key=lambda rank: sum(seat["enqueued"] for seat in rank["communicators"]))
        return ranks, culprit["rank"]

    def verdict(self, *arguments):
        done = self.hang("--json", *arguments)
        self.assertEqual(done.returncode, 3, done.stderr)
        job, = json.loads(done.stdout)["jobs"]
        return job

    def test_a_rank_without_an_agent_is_behind(self):
        ranks, culprit = self.behind()
        agents = self.agents([rank for rank in ranks if rank["rank"] != culprit])
        alone = self.verdict(agents)
        self.assertEqual((alone["kind"], alone["ranks_known"]), ("no_report", 7))
        server = Server(ras_of(ranks))
        job = self.verdict(agents, "--ras", server.address)
        self.assertEqual((job["kind"], job["sure"], job["ranks_known"]), ("host", False, 8))
        self.assertEqual([(one["rank"], one["pid"], one["host"]) for one in job["culprits"]], [(culprit, 5000 + culprit, "10.0.0.7")])
        self.assertIn("calls of 1 ranks without an agent, which NCCL's RAS only counts", job["unknown"])
        self.assertEqual(server.lines, ["CLIENT PROTOCOL 2\n", "SET FORMAT json\n", "STATUS\n"])
        saved = self.folder / "ras.json"
        saved.write_text(ras_of(ranks))
        self.assertEqual(self.verdict(saved, agents)["headline"], job["headline"])
        self.assertEqual(self.verdict(saved, saved, agents)["ranks_known"], 8)

    def test_a_rank_that_ras_has_given_up(self):
        ranks, culprit = self.behind()
        agents = self.agents([rank for rank in ranks if rank["rank"] != culprit])
        job = self.verdict(agents, "--ras", Server(ras_of(ranks, missing=[culprit])).address)
        self.assertEqual((job["kind"], job["sure"]), ("died", False))
        self.assertEqual([one["rank"] for one in job["culprits"]], [culprit])

    def test_agents_are_never_contradicted(self):
        """The facts of agents stay, and counts that are not theirs are not used."""
        ranks, culprit = self.behind()
        agents = self.agents(ranks)
        whole = self.verdict(agents)
        self.assertEqual(self.verdict(agents, "--ras", Server(ras_of(ranks, missing=range(8))).address), whole)
        some = self.agents([rank for rank in ranks if rank["rank"] != culprit])
        self.assertEqual(self.verdict(some, "--ras", Server(ras_of(ranks, wrong=2)).address)["ranks_known"], 7)
        mixed = copy.deepcopy(ranks)
        for seat in next(rank for rank in mixed if rank["rank"] != culprit)["communicators"]:
            seat["enqueued"] += 2
        self.assertEqual(self.verdict(some, "--ras", Server(ras_of(mixed)).address)["ranks_known"], 7)
        others = copy.deepcopy(ranks)
        for rank in others:
            for seat in rank["communicators"]:
                seat["id"] = "77"
        self.assertEqual(self.verdict(some, "--ras", Server(ras_of(others)).address)["ranks_known"], 7)

    def test_values_of_others_may_be_anything(self):
        ranks, culprit = self.behind()
        agents = self.agents([rank for rank in ranks if rank["rank"] != culprit])
        found = json.loads(ras_of(ranks))
        for one in found["communicators"][0]["ranks"]:
            one.update(rank=-1)
        found["communicators"] += [7, {"hash": 5, "size": -1}, {"hash": "0x1", "size": 1 << 40}, {**found["communicators"][0], "ranks": {}}]
        self.assertEqual(self.verdict(agents, "--ras", Server(json.dumps(found)).address)["kind"], "no_report")

    def test_servers_that_are_not_ras(self):
        agents = self.agents(simulated("loader", 2))
        nobody = socket.create_server(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        nobody.close()
        for server, words in ((Server("", refuses="CLIENT").address, "this is not NCCL's RAS"), (Server("", refuses="SET").address, "NCCL is older than 2.28.7"),
                              (Server("", silent=True).address, "no answer to CLIENT"), (Server("{").address, "neither a live state nor JSON"),
                              (Server("").address, "the file is empty"), (address, "Connection refused"), ("nohost.invalid", "nohost.invalid: ")):
            done = self.hang("--timeout", "2000", agents, "--ras", server)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"cuspan hang: NCCL's RAS at {server}: ", done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BUILD = arguments.build.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
