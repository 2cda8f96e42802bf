"""Steps of a simulated training job (tests/training/simulate.py), of which those with a late rank are slow."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from backend import spans_of

SIMULATE = Path(__file__).resolve().parents[1] / "training/simulate.py"


def late_steps(folder, ranks, steps, late_us, slow_ms):
    """A file of spans for each rank, in `folder`; the span IDs of each trace; and the traces that take longer than slow_ms."""
    job = folder / "job.jsonl"
    subprocess.run([sys.executable, SIMULATE, "--ranks", str(ranks), "--steps", str(steps), "--segments", "4", "--no-clocks",
                    "--fault", "late", "--delay-us", str(late_us), "--otlp", job], check=True)
    lines, spans, times = defaultdict(list), defaultdict(set), defaultdict(list)
    for line in job.read_text().splitlines():
        found = list(spans_of(json.loads(line)))
        lines[found[0].resource["cuda.process.rank"]].append(line)
        for span in found:
            spans[span.trace_id].add(span.span_id)
            times[span.trace_id] += [span.start_ns, span.end_ns]
    files = []
    for rank, own in lines.items():
        files.append(folder / f"rank-{rank}.jsonl")
        files[-1].write_text("\n".join(own) + "\n")
    return files, spans, {trace for trace, moments in times.items() if max(moments) - min(moments) > slow_ms * 1e6}
