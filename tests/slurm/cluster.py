"""A Slurm cluster of two nodes on this machine, with its own munge key, ports and folders, from its start until stop().
Nothing of it is left afterwards: daemons run in the foreground as children, and orphans become children, too."""

import contextlib
import ctypes
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from backend import free_ports

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None, use_errno=True)
HANG_S = 300  # nothing here takes so long, however slow the machine is

CONFIG = """
ClusterName=cuspan-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmctldPidFile={work}/run/slurmctld.pid
SlurmctldLogFile={work}/log/slurmctld.log
SlurmdPidFile={work}/run/slurmd.%n.pid
SlurmdLogFile={work}/log/slurmd.%n.log
SlurmdSpoolDir={work}/run/spool.%n
StateSaveLocation={work}/run/state
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={work}/run/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node1} CPUs=4
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={node2} CPUs=4
PartitionName=main Nodes=n1,n2 Default=YES State=UP MaxTime=INFINITE
"""
SCRIPTS = ("Prolog", "Epilog", "TaskProlog", "TaskEpilog")


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def children():
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def wait_until(holds, what):
    deadline = time.monotonic() + HANG_S
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {HANG_S} s for {what}")
        time.sleep(0.1)


class Cluster:
    """`private`: a folder that the second node has for itself, as each node of a real cluster has its own /tmp."""

    def __init__(self, work, private):
        self.work, self.private = work, private
        self.config = work / "etc/slurm.conf"
        self.has_private = False
        self.daemons = []
        for folder in ("etc", "run", "log"):
            (work / folder).mkdir(exist_ok=True)
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)

    def start(self):
        run = self.work / "run"
        (run / "munge.key").write_bytes(os.urandom(1024))
        (run / "munge.key").chmod(0o400)
        self._daemon("munged", "--foreground", "--force", f"--socket={run}/munge.socket", f"--key-file={run}/munge.key",
                     f"--pid-file={run}/munged.pid", f"--seed-file={run}/munge.seed", f"--log-file={self.work}/log/munged.log")
        wait_until((run / "munge.socket").exists, "munged")
        self.write_config()
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", "n1")
        private = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {self.private} && exec \"$@\"", "-"]
        self.has_private = subprocess.run([*private, "true"], capture_output=True, check=False).returncode == 0
        self._daemon(*(private if self.has_private else []), "slurmd", "-D", "-N", "n2")
        self.wait_for_nodes()

    def write_config(self, **scripts):
        if not self.config.exists():
            controller, node1, node2 = free_ports(3)
            self.text = CONFIG.format(work=self.work, host=socket.gethostname().split(".")[0], controller=controller,
                                      node1=node1, node2=node2)
        self.config.write_text(self.text + "".join(f"{name}={path}\n" for name, path in scripts.items()))

    def use_scripts(self, path, **others):
        """Makes Slurm call this script; None: no script."""
        scripts = {name: path for name in SCRIPTS} | others
        self.write_config(**{name: value for name, value in scripts.items() if value})
        self.wait_for_no_jobs()
        self.control("reconfigure")
        for name, value in scripts.items():
            line = re.compile(rf"^{name} += {re.escape(str(value or '(null)'))}$", re.M)
            wait_until(lambda line=line: line.search(self.control("show", "config")), f"the new {name}")

    def environment(self):
        return {"SLURM_CONF": str(self.config)}

    def _daemon(self, *command):
        with open(self.work / "log" / "daemons.log", "ab") as log:
            self.daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 env={**os.environ, **self.environment()}, preexec_fn=end_with_parent))

    def control(self, *arguments):
        return self._tool("scontrol", *arguments)

    def _tool(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_S,
                              env={**os.environ, **self.environment()})
        return done.stdout

    def states(self):
        return self._tool("sinfo", "--noheader", "--Node", "--format=%T").split()

    def wait_for_nodes(self):
        wait_until(lambda: self.states() == ["idle", "idle"], "two idle nodes")

    def wait_for_no_jobs(self):
        wait_until(lambda: not self._tool("squeue", "--noheader").strip(), "the end of all jobs")

    def stop(self):
        with contextlib.suppress(Exception):
            self._tool("scancel", "--full", "--user=root")
            self._tool("scancel", "--full", "--user=nobody")
            self.wait_for_no_jobs()
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for pid in children():  # of the daemons: steps that have not ended
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
