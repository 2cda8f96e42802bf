"""Judges what `cuspan hang --json --this-host` says of a job with a planted hang, without running anything."""

PROGRAM = "torch_hang.py:"
WITHIN_S = 15
# Of each fault: kinds of the verdict that are right, and the function in which the culprit's line must be (None: the line of a
# rank that waits is enough, because nothing can look at the culprit).
FAULTS = {
    "kill": ({"died"}, None),
    "stop": ({"stopped"}, None),
    "lock": ({"host"}, "take_lock"),
    "gil": ({"host"}, "hold_gil"),
    "kernel": ({"kernel", "behind"}, None),
    "skip": ({"skipped_call", "operation_mismatch", "behind", "order"}, None),
    "size": ({"size_mismatch"}, None),
    "order": ({"order", "behind"}, None),
    "end": ({"ended_early", "died"}, None),
    "loader": ({"host"}, "kill_loader"),
}
# Of two ranks that disagree, either may be right.
UNDECIDED = {"skip", "size", "order"}


def job_of(document, pids):
    """The verdict on the job with these processes, and its ranks; None: there is none."""
    ranks = {}  # an earlier process with such a PID may have left its state
    for rank in document.get("ranks", ()):
        if rank["pid"] in pids and rank.get("looked_ns", 0) >= ranks.get(rank["pid"], {}).get("looked_ns", 0):
            ranks[rank["pid"]] = rank
    ranks = list(ranks.values())
    ids = {communicator["id"] for rank in ranks for communicator in rank.get("communicators", ())}
    for job in document.get("jobs", ()):
        is_ours = any(culprit["pid"] in pids for culprit in job["culprits"]) or job.get("call", {}).get("communicator") in ids
        if is_ours and job["kind"] != "none":
            return job, ranks
    return None, ranks


def lines_of(job, ranks, truth, function):
    """Whether the line is there: the culprit's in this function, or that of any rank."""
    if function is None:
        return any(PROGRAM in rank.get("line", "") for rank in ranks)
    return any(PROGRAM in culprit.get("line", "") for culprit in job["culprits"] if culprit["rank"] == truth["culprit"])


def judge(fault, document, truth, pids):
    """The values that are right, by name, and whether the verdict is wrong though sure; None: no verdict."""
    job, ranks = job_of(document, pids)
    if job is None:
        return None
    kinds, function = FAULTS[fault]
    culprits, call = {culprit["rank"] for culprit in job["culprits"]}, job.get("call", {})
    shown = [call, job.get("other_call", {}), job.get("own_call", {})]
    may_be_both = fault in UNDECIDED and not job["sure"]
    right = {
        "rank": truth["culprit"] in culprits and (len(culprits) == 1 or (may_be_both and len(culprits) == 2)),
        "kind": job["kind"] in kinds,
        "communicator": bool(call.get("communicator")) and call.get("size") == truth["ranks"],
        "number": any(one.get("number") == truth["number"] for one in shown),
        "operation": call.get("operation") == truth["operation"],
        "bytes": any(one.get("bytes") == truth["bytes"] for one in shown),
        "line": lines_of(job, ranks, truth, function),
    }
    return {"right": right, "sure": job["sure"], "wrong_sure": job["sure"] and not right["rank"], "alone": culprits == {truth["culprit"]},
            "headline": job["headline"]}


def is_named(judgment):
    """All that the issue asks for. The kind is told beside it."""
    return judgment is not None and all(value for name, value in judgment["right"].items() if name != "kind")


def summarize(runs):
    """Figures of runs, each {fault, seconds (None: not named in time), judgment (the last one), wrong_sure (ever)}."""
    named = [run for run in runs if run["seconds"] is not None and run["seconds"] <= WITHIN_S]
    times = sorted(run["seconds"] for run in named)
    by_fault = {}
    for run in runs:
        of = by_fault.setdefault(run["fault"], {"runs": 0, "named": 0, "kind": 0, "sure": 0, "wrong_sure": 0, "missing": {}})
        of["runs"] += 1
        of["named"] += run in named
        of["wrong_sure"] += run["wrong_sure"]
        if run["judgment"] is None:
            of["missing"]["verdict"] = of["missing"].get("verdict", 0) + 1
            continue
        of["kind"] += run["judgment"]["right"]["kind"]
        of["sure"] += run["judgment"]["sure"]
        for name, is_right in run["judgment"]["right"].items():
            if not is_right:
                of["missing"][name] = of["missing"].get(name, 0) + 1
    return {"runs": len(runs), "named": len(named), "wrong_sure": sum(run["wrong_sure"] for run in runs),
            "seconds_median": times[len(times) // 2] if times else None, "seconds_max": times[-1] if times else None, "faults": by_fault}


def passes(figures, share=0.96):
    return figures["runs"] > 0 and figures["named"] >= share * figures["runs"] and figures["wrong_sure"] == 0
