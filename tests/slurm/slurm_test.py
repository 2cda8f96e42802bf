#!/usr/bin/env python3
"""The recipes of deploy/slurm/README.md as printed, the modules (modules_test.py), and the prolog that traces a job because
of its comment, with a real Slurm, real MPI launchers and a real Jaeger. The ranks are tests/slurm/program.py.

    slurm_test.py PREFIX WORK JAEGER [unittest's arguments]

PREFIX: an installation of cuspan with a recording's stand-in for CUPTI. WORK: an empty folder that every user can enter.
WITH_TORCH=1: PyTorch is installed; without it, torchrun is skipped.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/slurm")]

from backend import Jaeger, spans_of  # noqa: E402
import modules_test  # noqa: E402
from cluster import HANG_S, Cluster, wait_until  # noqa: E402
from modules_test import EnvironmentModules, Lmod  # noqa: E402, F401

DEPLOY = ROOT / "deploy/slurm"
PROGRAM_SPANS = 33  # of the recording, with the session
PREFIX = WORK = JAEGER = CLUSTER = None


def printed(heading, number=0):
    """A block of commands below a heading of the README."""
    text = (DEPLOY / "README.md").read_text()
    section = text.split(f"# {heading}\n", 1)[1].split("\n#", 1)
    section = section[0] + ("\n#" + section[1] if section[0].count("```") % 2 else "")
    return re.findall(r"^```\n(.*?)^```$", section.split("\n##", 1)[0], re.M | re.S)[number]


def clean_environment():
    left_out = re.compile("(CUSPAN|OTEL|SLURM|SBATCH|OMPI|PMI|MPI)_|(CUDA|NVTX)_INJECTION|NCCL_|PYTHONPATH|TRACE(PARENT|STATE)|.*_proxy$", re.I)
    return {key: value for key, value in os.environ.items() if not left_out.match(key)}


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = WORK / "jobs" / type(self).__name__ / self._testMethodName
        self.directory.mkdir(parents=True)
        self.directory.chmod(0o1777)
        self.addCleanup(CLUSTER.wait_for_no_jobs)

    def run_command(self, command, status=0, user=None, **environment):
        """Runs a shell command in the test's folder; leaves its output in self.out and self.err."""
        env = {**clean_environment(), **CLUSTER.environment(), "PATH": f"{PREFIX}/bin:{WORK}/bin:/usr/bin:/bin",
               "TMPDIR": str(WORK / "shared"), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "PYTHONDONTWRITEBYTECODE": "1", **environment}
        who = ["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups"] if user else []
        done = subprocess.run([*who, "bash", "-c", command], cwd=self.directory, env=env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=HANG_S, check=False)
        self.out, self.err = done.stdout, done.stderr
        if status is not None:
            self.assertEqual(done.returncode, status, self.out + self.err)
        return self.out

    def batch(self, script, *options, status=0, **environment):
        """Submits the script, waits for its end, and returns the job's output; its errors are in self.err."""
        path = self.directory / "job.sh"
        path.write_text(script if script.startswith("#!") else f"#!/bin/bash\n{script}\n")
        quoted = " ".join(f"'{option}'" for option in options)
        self.run_command(f"sbatch --wait --output=job.out --error=job.err {quoted} job.sh", status, **environment)
        self.job = re.search(r"batch job (\d+)", self.out)[1]
        self.out, self.err = ((self.directory / f"job.{end}").read_text() for end in ("out", "err"))
        return self.out

    def as_here(self, command, variable):
        """The printed command with this test's program, collector and files."""
        return (command.replace("./train", f"{WORK}/program/program.py {variable}").replace("--hostfile hosts", f"--hostfile {WORK}/hosts.ompi")
                .replace("-f hosts", f"-f {WORK}/hosts.mpich").replace("http://collector:4318", self.endpoint())
                .replace("per-rank.yaml", f"{DEPLOY}/per-rank.yaml").replace("train.py", f"{WORK}/program/train.py"))

    @staticmethod
    def endpoint():
        return f"http://127.0.0.1:{JAEGER.otlp_http}"

    def assert_ranks(self, count, state="traced"):
        self.assertEqual(sorted(re.findall("^rank .*$", self.out, re.M)), [f"rank {i} {state}" for i in range(count)], self.err)

    def trace_of_command(self, processes):
        """The spans in Jaeger of the trace whose link the summary prints."""
        found = set(re.findall(r"[0-9a-f]{32}", self.err))
        self.assertEqual(len(found), 1, self.err)
        return JAEGER.traces(found, processes * PROGRAM_SPANS + 1)

    def trace_of_job(self, count):
        """The spans in Jaeger below the parent that the job's tasks print as their TRACEPARENT."""
        found = set(re.findall(r"^parent 00-([0-9a-f]{32})-([0-9a-f]{16})-01$", self.out, re.M))
        self.assertEqual(len(found), 1, self.out + self.err)
        trace, parent = found.pop()
        spans = JAEGER.traces([trace], count)
        self.assertEqual({s.parent_id for s in spans if "cuda.session.number" in s.attributes}, {parent})
        return spans

    def assert_processes(self, spans, ranks, job, nodes=None, step="0"):
        """Each rank has all spans of the recording, with what the launcher says about it."""
        by_rank = defaultdict(list)
        for span in spans:
            if span.parent_id:  # not the command's own, which is in the batch script
                by_rank[span.resource["cuda.process.rank"]].append(span)
        self.assertEqual(sorted(by_rank), list(range(ranks)))
        for rank, own in by_rank.items():
            self.assertEqual(len(own), PROGRAM_SPANS, f"rank {rank}")
            for span in own:
                self.assertEqual(span.resource.get("cuda.process.world_size"), ranks)
                self.assertEqual(span.resource.get("slurm.job.id"), job)
                self.assertEqual(span.resource.get("slurm.step.id"), step if job else None)
                if nodes:
                    self.assertEqual(span.resource["slurm.node.name"], nodes[rank])
                    self.assertEqual(span.resource["cuda.process.local_rank"], nodes[:rank].count(nodes[rank]))

    def assert_one_root(self, spans, name):
        (root,) = [span for span in spans if not span.parent_id]
        self.assertEqual(root.name, name)
        self.assertEqual({s.parent_id for s in spans if "cuda.session.number" in s.attributes}, {root.span_id})
        self.assertEqual(len({s.trace_id for s in spans}), 1)


class Recipes(Case):
    """Each command as the README prints it, except for names of programs, files and collectors."""

    NODES = ["n1", "n1", "n2", "n2"]

    @classmethod
    def setUpClass(cls):
        CLUSTER.use_scripts(None)

    def traced_job(self, heading, variable, *options, replace=(), **environment):
        command = self.as_here(printed(heading), variable)
        for old, new in replace:
            self.assertIn(old, command)
            command = command.replace(old, new)
        self.batch(command, *options, **environment)
        self.assert_ranks(4)
        return self.trace_of_command(4)

    def test_srun(self):
        spans = self.traced_job("srun", "SLURM_PROCID")
        self.assert_one_root(spans, "srun")
        self.assert_processes(spans, 4, self.job, self.NODES)

    def test_srun_without_the_environment(self):
        replace = [("srun ", "srun --export=ALL ")]
        spans = self.traced_job("srun", "SLURM_PROCID", replace=replace, SLURM_EXPORT_ENV="NONE")
        self.assert_processes(spans, 4, self.job, self.NODES)

    def test_several_jobs_have_traces_of_their_own(self):
        first = self.traced_job("srun", "SLURM_PROCID")
        second = self.traced_job("srun", "SLURM_PROCID")
        self.assertFalse({s.trace_id for s in first} & {s.trace_id for s in second})

    def test_openmpi_in_a_job(self):
        spans = self.traced_job("mpirun and mpiexec in a Slurm job", "OMPI_COMM_WORLD_RANK", replace=[("mpirun", "mpirun.openmpi")])
        self.assert_one_root(spans, "mpirun.openmpi")
        self.assert_processes(spans, 4, self.job, self.NODES)

    def test_mpich_in_a_job(self):
        spans = self.traced_job("mpirun and mpiexec in a Slurm job", "PMI_RANK", replace=[("mpirun", "mpirun.mpich")])
        self.assert_one_root(spans, "mpirun.mpich")
        # MPICH starts its proxies by the job's list of nodes, in an order of its own.
        self.assert_processes(spans, 4, self.job)

    def test_openmpi_over_ssh(self):
        command = self.as_here(printed("mpirun of Open MPI over SSH"), "OMPI_COMM_WORLD_RANK").replace("mpirun", "mpirun.openmpi")
        over_ssh = {"OMPI_MCA_plm": "rsh", "OMPI_MCA_plm_rsh_agent": f"{WORK}/bin/login"}
        self.run_command(command, **over_ssh)
        self.assert_ranks(4)
        self.assertIn("login", (WORK / "log/logins").read_text())
        spans = self.trace_of_command(4)
        self.assert_one_root(spans, "mpirun.openmpi")
        self.assert_processes(spans, 4, None)
        # Without -x, the ranks of the second machine get no variables.
        self.run_command(re.sub(r"-x \w+ |\\\n *", "", command), **over_ssh)
        self.assertEqual(sorted(re.findall("rank . (.*)", self.out)), ["traced", "traced", "untraced", "untraced"])

    def test_mpich_over_ssh(self):
        command = self.as_here(printed("mpiexec of MPICH over SSH"), "PMI_RANK").replace("mpiexec", "mpiexec.mpich")
        self.run_command(command, HYDRA_LAUNCHER="ssh", HYDRA_LAUNCHER_EXEC=f"{WORK}/bin/login")
        self.assert_ranks(4)
        spans = self.trace_of_command(4)
        self.assert_one_root(spans, "mpiexec.mpich")
        self.assert_processes(spans, 4, None)

    def test_nodes_with_folders_of_their_own(self):
        """The README's section about TMPDIR."""
        if not CLUSTER.has_private:
            self.skipTest("mount namespaces are not allowed here")
        command = f"cuspan run --endpoint {self.endpoint()} srun -N2 -n2 {WORK}/program/program.py SLURM_PROCID"
        own = {"TMPDIR": str(CLUSTER.private)}
        self.batch(command, "--nodes=2", "--ntasks=2", **own)
        self.assert_ranks(2)
        self.assertEqual(self.err.count("cannot write the report"), 1, self.err)
        self.assertIn(f"cuspan: {PROGRAM_SPANS + 1} spans delivered", self.err)
        self.run_command(command.replace("-N2 -n2", "-w n2 -n1"), **own)
        self.assertIn("the agent was never started", self.err)
        spans = self.traced_job("The summary with several nodes", "SLURM_PROCID", "--nodes=2", "--ntasks-per-node=2", **own)
        self.assertNotIn("cannot write", self.err)
        self.assertIn(f"{len(spans)} spans delivered", self.err)
        self.assert_one_root(spans, "srun")

    def test_files(self):
        self.batch(self.as_here(printed("Jobs without a collector"), "SLURM_PROCID"))
        self.assert_ranks(4)
        files = sorted(path.name for path in (self.directory / "spans").iterdir())
        self.assertEqual(files, [f"{self.job}.0.{rank}.0.0.0.jsonl" for rank in range(4)])
        lines = [line for name in files for line in (self.directory / "spans" / name).read_text().splitlines()]
        spans = [span for line in lines for span in spans_of(json.loads(line))]
        self.assert_one_root(spans, "srun")
        self.assert_processes(spans, 4, self.job, self.NODES)
        stat, send = printed("Jobs without a collector", 1).strip().splitlines()
        self.run_command(stat)
        self.assertEqual(len(set(re.findall(r"^(\d+) \S*program.py ", self.out, re.M))), 4, self.out)
        self.run_command(self.as_here(send, ""))
        self.assertEqual(len(JAEGER.traces({spans[0].trace_id}, len(spans))), len(spans))

    def test_verify(self):
        command = printed("Verify").splitlines()[1]
        self.run_command(self.as_here(command, "SLURM_PROCID"))
        self.assert_ranks(1)
        self.assertIn("cudaLaunchKernel", self.out)

    def test_ranks_of_torchrun(self):
        """The variables of torchrun, which is innermost in a step of Slurm."""
        script = 'for i in 0 1; do RANK=$((SLURM_PROCID * 2 + i)) LOCAL_RANK=$i WORLD_SIZE=4 "$@" & done; wait'
        self.batch(f"cuspan run --endpoint {self.endpoint()} srun bash -c '{script}' - {WORK}/program/program.py RANK", "--nodes=2")
        self.assert_ranks(4)
        self.assert_processes(self.trace_of_command(4), 4, self.job, self.NODES)

    def test_torchrun(self):
        self.torchrun(self.as_here(printed("torchrun"), ""))
        self.assert_processes(self.trace_of_command(2), 2, None)

    def test_torchrun_in_a_job(self):
        self.torchrun(self.as_here(printed("torchrun", 1).replace("$FIRST", "localhost"), ""), self.batch)
        self.assert_processes(self.trace_of_command(4), 4, self.job)  # the order of the nodes is that of their arrival

    def torchrun(self, command, run=None):
        if "WITH_TORCH" not in os.environ:
            self.skipTest("without --torch, PyTorch is not installed for this")
        (run or self.run_command)(command)


class Comments(Case):
    """cuspan-slurm.sh, as the README installs it."""

    STEP = f"srun --ntasks=3 bash -c 'echo parent $TRACEPARENT; exec \"$@\"' - "

    @classmethod
    def setUpClass(cls):
        cls.folder = WORK / "etc/cuspan"
        commands = printed("Install the prolog").splitlines()
        for command in commands[:2]:
            subprocess.run(command.replace("/etc/slurm/cuspan", str(cls.folder)), shell=True, check=True, cwd=DEPLOY)
        config = cls.folder / "cuspan.conf"
        config.write_text(config.read_text().replace("prefix=/usr", f"prefix={PREFIX}") + f"state={WORK}/run/jobs\n")
        CLUSTER.use_scripts(cls.folder / "cuspan-slurm.sh")

    def setUp(self):
        super().setUp()
        self.program = f"{WORK}/program/program.py SLURM_PROCID"
        self.addCleanup(self.assert_cluster_is_well)

    def assert_cluster_is_well(self):
        CLUSTER.wait_for_nodes()
        self.assertEqual(list((WORK / "run/jobs").glob("*")) if (WORK / "run/jobs").exists() else [], [])

    def configure(self, change):
        """Changes cuspan.conf for one test. Not while an Epilog may read it: it runs after srun has ended."""
        config = self.folder / "cuspan.conf"
        before = config.read_text()
        CLUSTER.wait_for_nodes()
        config.write_text(change(before))
        self.addCleanup(config.write_text, before)
        self.addCleanup(CLUSTER.wait_for_nodes)

    def variables(self, comment=None, user=None, **environment):
        """The variables of a task of a job with this comment that concern cuspan."""
        option = f"--comment='{comment}'" if comment is not None else ""
        self.run_command(f"srun --quiet --ntasks=1 {option} env -0", user=user, **environment)
        pairs = (pair.split("=", 1) for pair in self.out.split("\0") if "=" in pair)
        return {key: value for key, value in pairs
                if re.match("CUSPAN_|OTEL_|TRACEPARENT|(CUDA|NVTX)_INJECTION|NCCL_|PYTHONPATH|LD_", key) or key in environment}

    def test_a_comment_traces_all_tasks(self):
        self.batch(self.STEP + self.program, f"--comment=cuspan:endpoint={self.endpoint()},service=trainer", "--nodes=2", "--ntasks=3")
        self.assert_ranks(3)
        spans = self.trace_of_job(3 * PROGRAM_SPANS)
        self.assert_processes(spans, 3, self.job)
        self.assertEqual({s.resource["slurm.node.name"] for s in spans}, {"n1", "n2"})
        self.assertEqual({s.resource["service.name"] for s in spans}, {"trainer"})
        self.assertEqual(self.err, "")

    def test_nodes_agree_on_the_trace(self):
        """Without a script, no task inherits the trace from another one."""
        self.run_command(f"srun -N2 -n2 --comment=cuspan:endpoint={self.endpoint()} bash -c 'echo parent $TRACEPARENT; exec {self.program}'")
        self.assert_ranks(2)
        self.assertEqual({s.resource["slurm.node.name"] for s in self.trace_of_job(2 * PROGRAM_SPANS)}, {"n1", "n2"})

    def test_mpi_in_a_job_with_a_comment(self):
        command = f"mpirun.openmpi bash -c 'echo parent $TRACEPARENT; exec {WORK}/program/program.py OMPI_COMM_WORLD_RANK'"
        self.batch(command, f"--comment=cuspan:endpoint={self.endpoint()}", "--nodes=2", "--ntasks-per-node=2")
        self.assert_ranks(4)
        self.assert_processes(self.trace_of_job(4 * PROGRAM_SPANS), 4, self.job, Recipes.NODES)

    def test_cuspan_run_in_a_job_with_a_comment(self):
        """Its options win, and the trace is the job's."""
        self.batch("echo parent $TRACEPARENT; cuspan run -q --service-name mine srun " + self.program,
                   f"--comment=cuspan:endpoint={self.endpoint()},service=other", "--ntasks=2")
        self.assert_ranks(2)
        spans = self.trace_of_job(2 * PROGRAM_SPANS)
        self.assert_processes(spans, 2, self.job)
        self.assertEqual({s.resource["service.name"] for s in spans}, {"mine"})

    def test_what_is_printed(self):
        for line in printed("Tracing by comment").splitlines():
            submit = self.as_here(line, "SLURM_PROCID").replace("sbatch", "sbatch --wait -o job.out -e job.err")
            (self.directory / "job.sh").write_text(f"#!/bin/bash\nsrun {self.program}\n")
            self.run_command(submit, OTEL_EXPORTER_OTLP_ENDPOINT=self.endpoint())
            output = self.out + (self.directory / "job.out").read_text()
            self.assertIn("rank 0 traced", output, line)
            self.assertNotIn("untraced", output, line)
        self.assertEqual(len(list((self.directory / "spans").iterdir())), 4)

    def test_without_a_comment_nothing_changes(self):
        self.assertEqual(self.variables(), {})
        for comment in ("", "cuspand", "notcuspan", "xcuspan:detail=full", "CUSPAN", "run cuspan-like work", "cuspan=1"):
            self.assertEqual(self.variables(comment), {}, comment)
            self.assertEqual(self.err, "")
        self.batch(self.STEP + self.program, "--ntasks=3")
        self.assert_ranks(3, "untraced")

    def test_each_option(self):
        agent = f"{PREFIX}/lib/cuspan/libcuspan.so"
        for comment, settings in (("cuspan", None), ("cuspan:", None), ("my project; cuspan night", None),
                                  ("a cuspan:detail=full;b", "detail=full;"),
                                  ("cuspan:endpoint=https://a.b:1/c,protocol=grpc", "endpoint=https://a.b:1/c;protocol=grpc;"),
                                  ("cuspan:service=s-1_x.y", "service_name=s-1_x.y;"),
                                  ("cuspan:trace=job", None)):
            found = self.variables(comment)
            self.assertEqual((found["CUDA_INJECTION64_PATH"], found["NVTX_INJECTION64_PATH"]), (agent, agent))
            self.assertEqual((found["NCCL_PROFILER_PLUGIN"], found["PYTHONPATH"]), (agent, f"{PREFIX}/lib/cuspan/python.zip"))
            self.assertEqual(found.get("CUSPAN_SET"), settings, comment)
            self.assertRegex(found["TRACEPARENT"], "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$")
            self.run_command("cuspan check", CUSPAN_SET=settings or "")
        self.assertNotIn("TRACEPARENT", self.variables("cuspan:trace=rank"))

    def test_hostile_comments(self):
        canary = self.directory / "canary"
        touch = f"touch {canary}"
        for comment in (f"cuspan:endpoint=$({touch})", f"cuspan:endpoint=http://a`{touch}`", f"cuspan:service=a$({touch})",
                        f"cuspan:service=x|{touch}", f"cuspan:files=/tmp/$(IFS=_;{touch.replace(' ', '_')})", "cuspan:service=a&b",
                        'cuspan:service="a"', "cuspan:service=a\\nexport", "cuspan:service=../*", "cuspan:service=a=b",
                        "cuspan:service=a b:c,endpoint=x", "cuspan:service=" + "a" * 257, "cuspan:" + "service=a," * 90 + "x",
                        "cuspan:x=1", "cuspan:PATH=/x", "cuspan:LD_PRELOAD=/x.so", "cuspan:service", "cuspan:service=",
                        "cuspan:,", "cuspan:=a", "cuspan:endpoint=ftp://a", "cuspan:files=relative", "cuspan:detail=most",
                        "cuspan:protocol=x", "cuspan:trace=maybe", "cuspan:files=/a,endpoint=http://b",
                        "cuspan:service=\u00e9", "cuspan:service=\x1b[31m"):
            found = self.variables(comment)
            if comment == "cuspan:service=a b:c,endpoint=x":  # the second word is the site's
                self.assertEqual(found.pop("CUSPAN_SET"), "service_name=a;")
                continue
            self.assertEqual(found, {}, comment)
            self.assertRegex(self.err, r"^cuspan: n[12]: not traced: the job's comment is invalid: .+\n$", comment)
            self.assertNotIn("\x1b", self.err)
        self.assertFalse(canary.exists())

    def test_a_comment_of_several_lines(self):
        """Lines of a task prolog are commands to Slurm."""
        self.run_command("srun --quiet -n1 --comment=$'cuspan:service=a\\nexport LD_PRELOAD=/x.so\\nprint evil' env")
        self.assertIn("CUSPAN_SET=service_name=a;\n", self.out)
        self.assertNotRegex(self.out, "LD_PRELOAD=|evil")

    def test_what_the_user_set_stays(self):
        own = {"CUDA_INJECTION64_PATH": "/own/tool.so"}
        self.assertEqual(self.variables("cuspan:detail=full", **own), own)
        self.assertRegex(self.err, r"^cuspan: n1: not traced: CUDA_INJECTION64_PATH names another library.*\n$")
        parent = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
        found = self.variables("cuspan:detail=full", TRACEPARENT=parent, NVTX_INJECTION64_PATH="/own/nvtx.so",
                               NCCL_PROFILER_PLUGIN="inspector", PYTHONPATH="/own/lib:/a b",
                               CUSPAN_SET="detail=summary\nservice_name=x", OTEL_EXPORTER_OTLP_ENDPOINT="http://own")
        self.assertEqual(found, {"CUDA_INJECTION64_PATH": f"{PREFIX}/lib/cuspan/libcuspan.so", "TRACEPARENT": parent,
                                 "NVTX_INJECTION64_PATH": "/own/nvtx.so", "NCCL_PROFILER_PLUGIN": "inspector",
                                 "PYTHONPATH": f"{PREFIX}/lib/cuspan/python.zip:/own/lib:/a b", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://own",
                                 "CUSPAN_SET": "detail=full;detail=summary;service_name=x"})
        checked = self.run_command("cuspan check", CUSPAN_SET=found["CUSPAN_SET"])
        self.assertIn("detail: summary", checked)

    def test_python_path(self):
        archive = f"{PREFIX}/lib/cuspan/python.zip"
        for own in f"{archive}:/own", f"/own:{archive}", "/own\n/lib":
            self.assertEqual(self.variables("cuspan", PYTHONPATH=own)["PYTHONPATH"], own)
        self.assertEqual(self.variables("cuspan", PYTHONPATH=f"/own{archive}")["PYTHONPATH"], f"{archive}:/own{archive}")

    def test_the_endpoint_of_the_site(self):
        self.configure(lambda text: text + f"endpoint={self.endpoint()}\n")
        self.assertEqual(self.variables("cuspan")["OTEL_EXPORTER_OTLP_ENDPOINT"], self.endpoint())
        own = self.variables("cuspan", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://own")
        self.assertNotIn("OTEL_EXPORTER_OTLP_ENDPOINT", own)

    def test_a_file_for_each_task(self):
        step = "srun " + self.program
        self.batch(f"{WORK}/program/program.py SLURM_PROCID\n{step}\n{step}", f"--comment=cuspan:files={self.directory}/spans,detail=full",
                   "--nodes=2", "--ntasks=2")
        self.assertEqual(Counter(re.findall("rank . traced", self.out)), {"rank 0 traced": 3, "rank 1 traced": 2})
        files = {path.name: path.read_text() for path in (self.directory / "spans").iterdir()}
        self.assertEqual(sorted(files), [f"cuspan-{self.job}.{part}.jsonl" for part in ("0.0", "0.1", "1.0", "1.1", "batch.0")])
        traces = set()
        for name, text in files.items():
            spans = [span for line in text.splitlines() for span in spans_of(json.loads(line))]
            traces |= {span.trace_id for span in spans}
            self.assertEqual({f"cuspan-{s.resource['slurm.job.id']}.{s.resource.get('slurm.step.id', 'batch')}."
                              f"{s.resource.get('cuda.process.rank', 0)}.jsonl" for s in spans}, {name})
        self.assertEqual(len(traces), 1)

    def test_another_user(self):
        """The Prolog's file is the user's alone, and the task needs nothing of root."""
        names = self.directory / "names"
        self.run_command(f"srun --quiet -n1 --comment=cuspan:files={self.directory}/spans bash -c "
                         f"'ls -ln {WORK}/run/jobs >{names}; {self.program}'", user="nobody")
        self.assert_ranks(1)
        self.assertRegex(names.read_text(), r"(?m)^-rw------- 1 65534 .*\.n1$")
        self.assertEqual((self.directory / "spans").stat().st_uid, 65534)

    def test_a_node_without_the_agent(self):
        library = PREFIX / "lib/cuspan/libcuspan.so"
        library.rename(library.with_suffix(".away"))
        self.addCleanup(library.with_suffix(".away").rename, library)
        self.batch(self.STEP + self.program, "--comment=cuspan", "--nodes=2", "--ntasks=3")
        self.assert_ranks(3, "untraced")
        lines = Counter(re.findall(r"cuspan: (n\d): not traced: there is no \S+/libcuspan.so; install", self.err))
        self.assertEqual(lines, {"n1": 2, "n2": 1})  # on n1, the script is a step, too
        self.assertEqual(self.variables("cuspan"), {})

    def test_an_agent_for_another_processor(self):
        command = PREFIX / "bin/cuspan"
        real = command.read_bytes()
        self.addCleanup(command.write_bytes, real)
        command.unlink()
        command.write_bytes(real[:18] + b"\xf7\x00" + real[20:])  # the machine in ELF's header: BPF
        command.chmod(0o755)
        self.assertEqual(self.variables("cuspan"), {})
        self.assertIn("does not run here; install the build for this node's processor and glibc", self.err)

    def test_nodes_of_several_kinds(self):
        (WORK / "kinds").mkdir()
        (WORK / "kinds" / os.uname().machine).symlink_to(PREFIX)
        self.configure(lambda text: text.replace(f"prefix={PREFIX}", f"prefix={WORK}/kinds/%m"))
        found = self.variables("cuspan")
        self.assertEqual(found["CUDA_INJECTION64_PATH"], f"{WORK}/kinds/{os.uname().machine}/lib/cuspan/libcuspan.so")

    def test_a_prolog_that_cannot_write(self):
        state = WORK / "run/jobs"
        shutil.rmtree(state, ignore_errors=True)
        self.addCleanup(shutil.rmtree, state, True)
        state.mkdir()
        os.chown(state, 65534, 65534)  # of another user, who could plant settings there
        self.assertEqual(self.variables("cuspan"), {})
        state.rmdir()
        state.write_text("a file")
        self.addCleanup(state.unlink, True)
        self.assertEqual(self.variables("cuspan"), {})

    def test_without_a_configuration(self):
        """Its defaults name /usr, where this machine may have no cuspan: the job must run."""
        self.configure(lambda text: "")
        self.addCleanup(shutil.rmtree, "/run/cuspan-slurm", True)
        self.run_command("srun --quiet -n1 --comment=cuspan echo ran")
        self.assertEqual(self.out, "ran\n")

    def test_a_task_prolog_of_the_site(self):
        site = WORK / "etc/site.sh"
        site.write_text(f"#!/bin/sh\necho export SITE=1\n{self.folder}/cuspan-slurm.sh\n")
        site.chmod(0o755)
        CLUSTER.use_scripts(self.folder / "cuspan-slurm.sh", TaskProlog=site)
        self.addCleanup(CLUSTER.use_scripts, self.folder / "cuspan-slurm.sh")
        found = self.variables("cuspan")
        self.assertIn("CUDA_INJECTION64_PATH", found)
        self.assertIn("SITE=1", self.out)

    def test_verify(self):
        command = re.search(r"To verify: `(.*?)`", (DEPLOY / "README.md").read_text())[1]
        self.assertIn("libcuspan.so", self.run_command(command))
        self.run_command(command.replace("--comment=cuspan", ""), status=1)


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def stop(*_):
    raise KeyboardInterrupt  # unittest would take SystemExit for the failure of one test


class Hangs(Case):
    @classmethod
    def setUpClass(cls):
        CLUSTER.use_scripts(None)

    def test_a_job_that_hangs(self):
        """`cuspan hang --job`, from outside the job. The two nodes are one machine, so both see all of its ranks."""
        (self.directory / "job.sh").write_text(
            f"#!/bin/bash\nexport CUSPAN_CONTROL_DIRECTORY={self.directory}/control\nmkdir -m 700 $CUSPAN_CONTROL_DIRECTORY\n"
            f"srun --nodes=1 --ntasks=1 cuspan run --file hang.jsonl --set hang.after_ms=500 python3 {WORK}/examples/training/hang.py --hang lock\n")
        self.run_command("sbatch --parsable --nodes=2 job.sh")
        job = self.out.strip()
        self.addCleanup(self.run_command, f"scancel {job}")

        def named():
            self.run_command(f"cuspan hang --job {job} --json", None)
            found = json.loads(self.out)["jobs"] if self.out else []
            return [one for one in found if one["sure"] and [culprit["rank"] for culprit in one["culprits"]] == [2]]

        wait_until(named, "a verdict")
        verdict, = named()
        self.assertEqual((verdict["kind"], verdict["ranks_known"], verdict["ranks_expected"]), ("host", 4, 4))
        self.run_command(f"cuspan hang --job {job}", 3)
        self.assertIn("write_metrics", self.out)
        self.run_command("cuspan hang --job 999999", 1)
        self.assertEqual(self.err.count("\n"), 1, self.err)
        self.assertIn("Invalid job id", self.err)


def main():
    global PREFIX, WORK, JAEGER, CLUSTER
    PREFIX, WORK = (Path(path).resolve() for path in sys.argv[1:3])
    modules_test.PREFIX, modules_test.WORK = PREFIX, WORK
    signal.signal(signal.SIGTERM, stop)
    for folder in ("shared", "private"):
        (WORK / folder).mkdir()
        (WORK / folder).chmod(0o1777)
    CLUSTER = Cluster(WORK, WORK / "private")
    try:
        CLUSTER.start()
        JAEGER = Jaeger(sys.argv[3], WORK / "log")
        runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
        result = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], testRunner=runner, exit=False).result
    finally:
        if JAEGER:
            JAEGER.close()
        CLUSTER.stop()
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    for test, why in result.skipped:
        print(f"skipped: {test}: {why}")
    print(f"{result.passed} passed, {wrong} failed, {skipped} skipped")
    sys.exit(wrong > 0)


main()
