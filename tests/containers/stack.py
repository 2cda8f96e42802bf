"""Reads a trace back from the running compose stack.   stack.py LOG-OF-THE-DEMO

The log has the link that `cuspan replay` printed. The link must open on this machine, Jaeger must return all spans of the
trace through its published port, and Prometheus must have scraped metrics of the service.
"""

import json
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

SERVICE = "cuspan-demo"
JAEGER = "http://localhost:16686"
PROMETHEUS = "http://localhost:9090"
WAIT_S = 120  # for a scrape every 5 s, on a busy machine


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


def wait_for(what, function):
    """The function's first true result; a service that does not answer yet counts as false."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            result = function()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            result = None
        if result:
            return result
        if time.monotonic() > deadline:
            sys.exit(f"no {what} after {WAIT_S} s")
        time.sleep(0.5)


def spans_of(trace):
    """Names of the spans that Jaeger has of the trace."""
    answer = json.loads(get(f"{JAEGER}/api/v3/traces/{trace}?raw_traces=true&rawTraces=true"))["result"]
    return [
        span["name"] for resource in answer["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]
    ]


def metrics_of(service):
    """Names of the metrics that Prometheus has of the service."""
    query = urllib.parse.quote(f'{{job="{service}"}}')
    answer = json.loads(get(f"{PROMETHEUS}/api/v1/query?query={query}"))
    return sorted({result["metric"]["__name__"] for result in answer["data"]["result"]})


def main():
    log = open(sys.argv[1], encoding="utf-8").read()
    link = re.search(r"http://\S+/trace/([0-9a-f]{32})", log)
    count = re.search(r"\b(\d+) spans?\b", log)
    if not link or not count:
        sys.exit(f"the demo printed no link or no number of spans:\n{log}")
    if not link[0].startswith(f"{JAEGER}/"):
        sys.exit(f"the printed link does not point to this machine: {link[0]}")
    wait_for(f"answer from {link[0]}", lambda: get(link[0]))
    print(f"{link[0]} opens")
    wanted = int(count[1])
    spans = wait_for(f"trace with {wanted} spans in Jaeger", lambda: len(spans := spans_of(link[1])) == wanted and spans)
    print(f"Jaeger has all {len(spans)} spans, {len(set(spans))} names")
    metrics = wait_for(f"metric of {SERVICE} in Prometheus", lambda: metrics_of(SERVICE))
    print(f"Prometheus has {len(metrics)} metrics: {' '.join(metrics[:4])} ...")


if __name__ == "__main__":
    main()
