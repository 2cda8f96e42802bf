"""Checks of the spans, the output and the report of a program that the agent was attached to: each function yields one line for
each fault. The spans are those of tests/support/backend.py. attach_check_test.py tests each function with wrong input."""

import re
from collections import Counter, defaultdict
from itertools import pairwise

import accounts

LAUNCHES_PERIOD = 64  # PERIOD of programs/attach.cu
LAUNCH = re.compile(r"cu(da)?Launch(Cooperative)?Kernel")
GRAPH_LAUNCH = "cudaGraphLaunch"
ERROR = 2  # the status of a span whose call failed, and launched nothing
WORK = {"kernel", "memcpy", "memcpy_peer", "memset", "graph"}


def correlation_of(span):
    return span.attributes.get("cuda.correlation.id")


def is_work(span):
    return span.attributes.get("cuda.activity") in WORK


def work_below(spans):
    """By the call that launched it. The kernel of a collective is a child of the collective, which is a child of the call."""
    found, above = defaultdict(list), {span.span_id: span.parent_id for span in spans if "collective.operation" in span.attributes}
    for span in spans:
        if is_work(span):
            found[above.get(span.parent_id, span.parent_id)].append(span)
    return found


def orphans_in(spans):
    """Their launches came before the callbacks were on, and their records after the records were."""
    return [span for span in spans if "cuda.orphan" in span.attributes]


def times_lost(report):
    """Records of CUPTI without times, which are counted: 13.5 makes about one in a million launches after a late start."""
    return report["losses"].get("lost_zero_timestamps", 0)


def check_launches(spans, lost=0):
    """From the first traced launch on, every launch has its kernel or is counted, and no correlation ID occurs twice."""
    below = work_below(spans)
    calls = [span for span in spans if "cuda.api" in span.attributes]
    launches = [span for span in calls if LAUNCH.match(span.name) and span.status != ERROR]
    if not launches:
        yield "no launch was traced"
    for what, group in (("calls", calls), ("kernels of launches", [work for call in launches for work in below[call.span_id]])):
        twice = [number for number, count in Counter(map(correlation_of, group)).items() if count > 1]
        if twice:
            yield f"{len(twice)} correlation IDs of {what} occur twice, such as {twice[0]}"
    without = sum(not below[call.span_id] for call in launches)
    if without != lost:
        yield f"{without} of {len(launches)} launches have no kernel, and {lost} are counted as lost"
    others = sum(correlation_of(work) != correlation_of(call) for call in launches for work in below[call.span_id])
    if others:
        yield f"{others} kernels have another correlation ID than their launch"
    first = {}  # by thread
    for call in launches:
        for work in below[call.span_id]:
            thread = call.attributes.get("cuspan.thread.id")
            first[thread] = min(work.start_ns, first.get(thread, work.start_ns))
    late = sum(span.start_ns > max(first.values(), default=0) for span in orphans_in(spans))
    if late:
        yield f"{late} orphans after the first traced launch of each thread"


def threads_in(output):
    """Of attach.cu: {number of the thread: (its ID, its launches)}."""
    return {int(number): (int(thread), int(count)) for number, thread, count in re.findall(r"^thread (\d+) (\d+) (\d+)$", output, re.M)}


def check_sequences(spans, output, after, lost=0):
    """For attach.cu: each thread's launches are complete from the first traced one to its last, and have its own kernels."""
    below = work_below(spans)
    by_thread = defaultdict(list)
    for span in spans:
        if LAUNCH.match(span.name):
            by_thread[span.attributes.get("cuspan.thread.id")].append(span)
    threads = threads_in(output)
    if not threads:
        yield "the program named no threads"
    for number, (thread, count) in threads.items():
        calls = sorted(by_thread[thread], key=lambda span: span.start_ns)
        kernels = [work for call in calls for work in below[call.span_id]]
        foreign = {work.name for work in kernels} - {f"work_{number}"}
        if foreign:
            yield f"thread {number} has kernels of others: {sorted(foreign)}"
        if len(kernels) < after:
            yield f"thread {number} has {len(kernels)} kernels, and launched {after} after the attach"
        places = [work.attributes["cuda.kernel.grid"][0] - 1 for work in kernels]
        gaps = sum((place + 1) % LAUNCHES_PERIOD != following for place, following in pairwise(places))
        if gaps > lost:
            yield f"thread {number}: {gaps} gaps in the order of its {len(kernels)} kernels"
        if places and places[-1] != (count - 1) % LAUNCHES_PERIOD:
            yield f"thread {number}: its last kernel is not that of its last launch"


def check_results(output):
    if "results same" not in output.splitlines():
        yield "the program's results are not the same as without the agent"


def check_graphs(spans, report):
    """Each launch of a graph has its work or is counted: of graphs from before the attach, CUPTI has no records."""
    below = work_below(spans)
    launches = [span for span in spans if span.name == GRAPH_LAUNCH]
    without, lost = sum(not below[call.span_id] for call in launches), report["losses"].get("lost_graph_record", 0)
    if not launches:
        yield "no launch of a graph was traced"
    if without != lost:
        yield f"{without} of {len(launches)} launches of graphs have no work, and {lost} are counted as lost"


def check_report(report, allowed=("lost_zero_timestamps",)):
    """The accounts add up, and nothing is lost but what is allowed."""
    yield from accounts.differences(report)
    yield from (f"lost: {name} {lost}" for name, lost in report["losses"].items() if lost and name not in allowed)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def check_first_span(seconds, limit_s):
    late = [second for second in seconds if second > limit_s]
    if late:
        yield f"the first span came after {max(late):.2f} s, and {len(late)} of {len(seconds)} after more than {limit_s} s"
