#include "cli/args/command_table.h"

#include <string.h>

#define OPTIONS_OF_THE_AGENT                                                                                   \
    {OPTION_CONFIG,  "config", "FILE", "use this configuration file (YAML, as OpenTelemetry declares it)",     \
     COMPLETES_FILE, NULL},                                                                                    \
        {OPTION_SERVICE_NAME, "service-name", "NAME", "service.name of the spans", COMPLETES_NOTHING, NULL},   \
        {OPTION_DETAIL,   "detail",                                                                            \
         "LEVEL",         "how much to trace: summary, default, graph-nodes or full",                          \
         COMPLETES_WORDS, "summary default graph-nodes full"},                                                 \
        {OPTION_SET,        "set", "KEY=VALUE", "any setting (see: cuspan help settings); may be given again", \
         COMPLETES_NOTHING, NULL},                                                                             \
        {OPTION_LIBRARY, "library",                                                                            \
         "FILE",         "the agent to load, if not the libcuspan.so that belongs to this program",            \
         COMPLETES_FILE, NULL},                                                                                \
    {                                                                                                          \
        'q', "quiet", NULL, "say nothing at the end", COMPLETES_NOTHING, NULL                                  \
    }

#define OPTIONS_OF_OUTPUTS                                                                                   \
    {OPTION_ENDPOINT,   "endpoint", "URL", "send the spans there, e.g. http://localhost:4318",               \
     COMPLETES_NOTHING, NULL},                                                                               \
        {OPTION_PROTOCOL, "protocol",                                                                        \
         "NAME",          "of the endpoint: http/protobuf (default), http/json or grpc",                     \
         COMPLETES_WORDS, "http/protobuf http/json grpc"},                                                   \
        {OPTION_FILE,    "file", "FILE", "append the spans to this file, as OTLP JSON lines",                \
         COMPLETES_FILE, NULL},                                                                              \
    {                                                                                                        \
        OPTION_CONSOLE, "console", NULL, "write the spans to the program's standard output",                 \
            COMPLETES_NOTHING, NULL                                                                          \
    }

static const struct command_option run_options[] = {
    OPTIONS_OF_OUTPUTS,
    {OPTION_SHARE, "share", NULL,
     "let profilers inside the program (PyTorch's) trace beside cuspan; takes CUPTI 13.3", COMPLETES_NOTHING,
     NULL},
    {OPTION_GIVE_WAY, "give-way", NULL, "leave CUPTI to profilers inside the program while they trace",
     COMPLETES_NOTHING, NULL},
    OPTIONS_OF_THE_AGENT,
    {0}};

static const struct command_example run_examples[] = {
    {"cuspan run ./vector_add", "spans to the collector or Jaeger at http://localhost:4318"},
    {"cuspan run --file trace.jsonl python train.py --epochs 1",
     "spans into a file; look at it with cuspan show"},
    {"cuspan run --endpoint http://collector:4317 --protocol grpc --service-name trainer ./train",
     "to a collector by gRPC"},
    {"cuspan run --share python train.py",
     "beside PyTorch's profiler, which train.py uses: both are complete"},
    {"cuspan run --set session.spans_max=20000 ./server", "any setting of the configuration file"},
    {0}};

static const struct command_option record_options[] = {
    {'o', "output", "FILE", "the recording to write (an existing file is replaced)", COMPLETES_FILE, NULL},
    OPTIONS_OF_THE_AGENT,
    {0}};

static const struct command_example record_examples[] = {
    {"cuspan record -o vector_add.cuspanrec ./vector_add", "record what CUPTI reports, with all parameters"},
    {"cuspan show vector_add.cuspanrec", "draw it"},
    {0}};

static const struct command_option replay_options[] = {
    OPTIONS_OF_OUTPUTS,
    {OPTION_CONFIG, "config", "FILE", "use this configuration file (YAML, as OpenTelemetry declares it)",
     COMPLETES_FILE, NULL},
    {OPTION_SERVICE_NAME, "service-name", "NAME", "service.name of the spans", COMPLETES_NOTHING, NULL},
    {OPTION_SET, "set", "KEY=VALUE", "any setting (see: cuspan help settings); may be given again",
     COMPLETES_NOTHING, NULL},
    {OPTION_PACED, "paced", NULL, "at the pace at which it was recorded; else as fast as the agent accepts",
     COMPLETES_NOTHING, NULL},
    {OPTION_OVERLOAD, "overload", NULL, "don't wait for the agent: what it can't take is lost, and counted",
     COMPLETES_NOTHING, NULL},
    {OPTION_REPEAT, "repeat", "N", "play it N times, with times and IDs shifted", COMPLETES_NOTHING, NULL},
    {OPTION_API, "api", "NAME", "which of CUPTI's interfaces the agent uses: classic or subscriber",
     COMPLETES_WORDS, "classic subscriber"},
    {OPTION_CUPTI_VERSION, "cupti-version", "RELEASE",
     "whose CUPTI the stand-in poses as: a CUDA release from 12.0 to 13.5 (13.5)", COMPLETES_NOTHING, NULL},
    {'q', "quiet", NULL, "say nothing at the end", COMPLETES_NOTHING, NULL},
    {0}};

static const struct command_example replay_examples[] = {
    {"cuspan replay vector_add.cuspanrec", "send the recording's spans as if the program ran now"},
    {"cuspan replay --file trace.jsonl --repeat 100 threads.cuspanrec", "a hundred runs into a file"},
    {0}};

static const struct command_option send_options[] = {
    {OPTION_ENDPOINT, "endpoint", "URL", "send the spans there, e.g. http://localhost:4318",
     COMPLETES_NOTHING, NULL},
    {OPTION_PROTOCOL, "protocol", "NAME", "of the endpoint: http/protobuf (default), http/json or grpc",
     COMPLETES_WORDS, "http/protobuf http/json grpc"},
    {OPTION_TIMEOUT, "timeout", "SECONDS",
     "give up when nothing was accepted for so long; else the export_timeout of the configuration (30)",
     COMPLETES_NOTHING, NULL},
    {OPTION_CONFIG, "config", "FILE", "use this configuration file (YAML, as OpenTelemetry declares it)",
     COMPLETES_FILE, NULL},
    {OPTION_SET, "set", "KEY=VALUE", "any setting (see: cuspan help settings); may be given again",
     COMPLETES_NOTHING, NULL},
    {OPTION_LIBRARY, "library", "FILE",
     "the agent to load, if not the libcuspan.so that belongs to this program", COMPLETES_FILE, NULL},
    {'q', "quiet", NULL, "say nothing at the end", COMPLETES_NOTHING, NULL},
    {0}};

static const struct command_example send_examples[] = {
    {"cuspan send /var/spool/cuspan",
     "what agents that are gone have left there, to the configured collector"},
    {"cuspan send --endpoint http://collector:4318 trace.jsonl", "a file of spans, as --file wrote it"},
    {0}};

static const struct command_option show_options[] = {
    {OPTION_TRACE, "trace", "ID",
     "the trace to show (or the first digits of its ID); else the one with the most spans", COMPLETES_NOTHING,
     NULL},
    {OPTION_LINES, "lines", NULL, "one line a span, in order of time, for grep, awk and sort",
     COMPLETES_NOTHING, NULL},
    {OPTION_PERFETTO, "perfetto", "FILE",
     "write the trace for https://ui.perfetto.dev (\"-\": standard output)", COMPLETES_FILE, NULL},
    {OPTION_WIDTH, "width", "N", "columns of the picture, 40 to 300; else as wide as the terminal",
     COMPLETES_NOTHING, NULL},
    {OPTION_ROWS, "rows", "N",
     "lines of the picture, about (40); equal spans are drawn as one line until it fits (0: a line for each "
     "span)",
     COMPLETES_NOTHING, NULL},
    {OPTION_LINEAR, "linear", NULL, "don't shorten stretches of time in which nothing begins or ends",
     COMPLETES_NOTHING, NULL},
    {OPTION_COLOR, "color", "WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never",
     COMPLETES_WORDS, "auto always never"},
    {OPTION_MAX_SPANS, "max-spans", "N", "read at most so many spans of the trace (200000)",
     COMPLETES_NOTHING, NULL},
    {0}};

static const struct command_example show_examples[] = {
    {"cuspan show trace.jsonl", "a picture of the largest trace in the file"},
    {"cuspan show --lines trace.jsonl | grep error", "the spans that failed"},
    {"cuspan show --perfetto trace.json trace.jsonl", "the same for https://ui.perfetto.dev"},
    {"curl -s localhost:16686/api/v3/traces/ID | cuspan show -", "a trace out of Jaeger"},
    {0}};

static const struct command_option stat_options[] = {
    {OPTION_BY, "by", "WHAT",
     "all tables for each range, stream, thread, device, request or process by itself (memory and findings "
     "for devices and processes alone)",
     COMPLETES_WORDS, "range stream thread device request process"},
    {OPTION_TOP, "top", "N", "rows of a table (20; 0: all); with --by, of each group, and groups",
     COMPLETES_NOTHING, NULL},
    {OPTION_TABLE, "table", "NAME", "this table alone", COMPLETES_WORDS,
     "headline calls errors synchronization kernels counters copies sizes devices gaps streams latency "
     "latency_histogram memory memory_over_time memory_pytorch memory_unfreed memory_wrong_frees "
     "memory_failed findings own"},
    {OPTION_FINDINGS, "findings", NULL, "what could be better, with the evidence and what to do about it",
     COMPLETES_NOTHING, NULL},
    {'o', "output", "FILE", "write the tables there (of a program: else to standard error)", COMPLETES_FILE,
     NULL},
    {OPTION_SAVE, "save", "FILE", "write a baseline for cuspan diff, of all FILEs, and no tables",
     COMPLETES_FILE, NULL},
    {OPTION_SQLITE, "sqlite", "FILE",
     "write every record into an SQLite file, in Nsight Systems' tables (docs/sqlite.md), and no tables here",
     COMPLETES_FILE, NULL},
    {OPTION_JSON, "json", NULL, "as JSON: times in ns, sizes in bytes, shares of 1", COMPLETES_NOTHING, NULL},
    {OPTION_CSV, "csv", NULL, "as CSV, a table after the other, each below a line \"# NAME\"",
     COMPLETES_NOTHING, NULL},
    {OPTION_MARKDOWN, "markdown", NULL, "as Markdown, to paste", COMPLETES_NOTHING, NULL},
    {OPTION_WIDTH, "width", "N", "columns, 40 to 300; else as wide as the terminal", COMPLETES_NOTHING, NULL},
    {OPTION_COLOR, "color", "WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never",
     COMPLETES_WORDS, "auto always never"},
    {OPTION_MAX_SPANS, "max-spans", "N", "read at most so many spans (5000000)", COMPLETES_NOTHING, NULL},
    OPTIONS_OF_THE_AGENT,
    {0}};

static const struct command_example stat_examples[] = {
    {"cuspan stat ./vector_add", "run it, then all tables of what it did"},
    {"cuspan stat trace.jsonl", "all tables of the spans in the file"},
    {"cuspan stat --table kernels --top 5 train.cuspanrec", "the five kernels that took the longest"},
    {"cuspan stat --findings train.cuspanrec", "what could be better, and what it would bring"},
    {"cuspan stat --by thread --table headline trace.jsonl", "which thread did how much?"},
    {"cuspan stat --sqlite train.sqlite train.cuspanrec",
     "for queries that were made for Nsight Systems' files"},
    {"cuspan stat --save baseline.json run1.cuspanrec run2.cuspanrec", "runs to compare later ones with"},
    {"cuspan stat --json trace.jsonl | jq .kernels[0]", "for programs"},
    {0}};

static const struct command_option diff_options[] = {
    {OPTION_BASE, "base", "FILE", "the base's runs: this file and the operands that follow", COMPLETES_FILE,
     NULL},
    {OPTION_NEW, "new", "FILE", "the new runs, likewise", COMPLETES_FILE, NULL},
    {OPTION_LIMITS, "limits", "FILE", "thresholds and absolute limits, in YAML (docs/diff.md)",
     COMPLETES_FILE, NULL},
    {OPTION_ALL, "all", NULL, "also list what doesn't differ", COMPLETES_NOTHING, NULL},
    {OPTION_JSON, "json", NULL, "as JSON: times in ns, shares of 1", COMPLETES_NOTHING, NULL},
    {OPTION_CSV, "csv", NULL, "as CSV, a table after the other, each below a line \"# NAME\"",
     COMPLETES_NOTHING, NULL},
    {OPTION_MARKDOWN, "markdown", NULL, "as Markdown, for a pull request", COMPLETES_NOTHING, NULL},
    {OPTION_WIDTH, "width", "N", "columns, 40 to 300; else as wide as the terminal", COMPLETES_NOTHING, NULL},
    {OPTION_COLOR, "color", "WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never",
     COMPLETES_WORDS, "auto always never"},
    {OPTION_MAX_SPANS, "max-spans", "N", "read at most so many spans of a file (5000000)", COMPLETES_NOTHING,
     NULL},
    {0}};

static const struct command_example diff_examples[] = {
    {"cuspan diff before.cuspanrec after.cuspanrec", "a run of each"},
    {"cuspan diff --base a1 a2 a3 a4 --new b1 b2 b3 b4", "several runs of each tell noise from change"},
    {"cuspan diff --limits limits.yaml --markdown baseline.json runs/",
     "in CI: a baseline in git against the runs in a folder"},
    {0}};

static const struct command_option overhead_options[] = {
    {OPTION_LEVELS, "levels", "LIST",
     "some of none, asleep, summary, default, graph-nodes, full and counters, with commas between (all but "
     "counters; none is always among them)",
     COMPLETES_NOTHING, NULL},
    {OPTION_ROUNDS, "rounds", "N", "runs under each level (10; six are the least for an interval)",
     COMPLETES_NOTHING, NULL},
    {OPTION_WARM_UP, "warm-up", "N", "rounds before them that don't count (1)", COMPLETES_NOTHING, NULL},
    {OPTION_SECONDS, "seconds", "N", "begin no further round after so long", COMPLETES_NOTHING, NULL},
    {OPTION_FIGURE, "figure", "REGEX",
     "compare what the program writes, too: a number in parentheses, \"step ([0-9.]+) ms\"; the last one "
     "counts",
     COMPLETES_NOTHING, NULL},
    {OPTION_RATE, "rate", NULL, "of the figure more is better: images a second", COMPLETES_NOTHING, NULL},
    {OPTION_JSON, "json", NULL, "as JSON, with each run", COMPLETES_NOTHING, NULL},
    {OPTION_MARKDOWN, "markdown", NULL, "as Markdown, to paste", COMPLETES_NOTHING, NULL},
    {OPTION_COLOR, "color", "WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never",
     COMPLETES_WORDS, "auto always never"},
    {OPTION_ENDPOINT, "endpoint", "URL", "send the spans there; else they are made, and thrown away",
     COMPLETES_NOTHING, NULL},
    {OPTION_CONFIG, "config", "FILE", "use this configuration file (YAML, as OpenTelemetry declares it)",
     COMPLETES_FILE, NULL},
    {OPTION_SET, "set", "KEY=VALUE", "any setting (see: cuspan help settings); may be given again",
     COMPLETES_NOTHING, NULL},
    {OPTION_LIBRARY, "library", "FILE",
     "the agent to load, if not the libcuspan.so that belongs to this program", COMPLETES_FILE, NULL},
    {'q', "quiet", NULL, "show no progress", COMPLETES_NOTHING, NULL},
    {0}};

static const struct command_example overhead_examples[] = {
    {"cuspan overhead ./vector_add", "what would tracing cost this program?"},
    {"cuspan overhead --levels default,full --rounds 20 --figure 'step ([0-9.]+) ms' -- python train.py",
     "by the time of a step that the program prints itself, without its start"},
    {"cuspan overhead --markdown --endpoint http://collector:4318 ./infer", "with the collector, to paste"},
    {0}};

static const struct command_option counters_options[] = {
    {OPTION_DEVICE, "device", "N", "of this GPU alone, as the driver counts them", COMPLETES_NOTHING, NULL},
    {OPTION_PASSES, "passes", "LIST",
     "in how many passes could these be counted? As counters.metrics has them, with commas between",
     COMPLETES_NOTHING, NULL},
    {OPTION_SAMPLING, "sampling", NULL, "what can be sampled over time (counters.sampling.metrics)",
     COMPLETES_NOTHING, NULL},
    {OPTION_CUPTI, "cupti", "FILE", "ask this CUPTI, if not the one that an agent would take", COMPLETES_FILE,
     NULL},
    {OPTION_JSON, "json", NULL, "as JSON, with each metric's rollups", COMPLETES_NOTHING, NULL},
    {OPTION_LIBRARY, "library", "FILE",
     "the agent to load, if not the libcuspan.so that belongs to this program", COMPLETES_FILE, NULL},
    {0}};

static const struct command_example counters_examples[] = {
    {"cuspan counters", "the plain names, and the metric behind each"},
    {"cuspan counters 'dram*' 'lts__t*'", "what the chip can count of its memory and L2 cache"},
    {"cuspan counters --passes dram.read,dram.write,l2.hit_rate",
     "can these be counted together, without running kernels again?"},
    {"cuspan run --set counters.metrics=dram.read,dram.write ./vector_add", "then count them"},
    {"cuspan counters --sampling --passes dram.read,tensor.utilization", "can one sample have both?"},
    {0}};

static const struct command_example check_examples[] = {
    {"cuspan check config/cuspan.yaml", "is this file right, and what would it do?"},
    {"cuspan check", "the same for the environment as it is"},
    {0}};

static const struct command_option check_options[] = {
    {OPTION_ALL, "all", NULL, "also list every setting with the value that holds", COMPLETES_NOTHING, NULL},
    {OPTION_SET, "set", "KEY=VALUE", "check with this setting; may be given again", COMPLETES_NOTHING, NULL},
    {0}};

#define OPTION_OF_FOLDER                                                                                     \
    {                                                                                                        \
        OPTION_DIRECTORY, "directory", "DIR",                                                                \
            "look in this folder alone: the agents' control.directory (CUSPAN_CONTROL_DIRECTORY)",           \
            COMPLETES_FILE, NULL                                                                             \
    }
#define OPTION_OF_TIMEOUT(text)                                                                              \
    {                                                                                                        \
        OPTION_TIMEOUT, "timeout", "MS", text, COMPLETES_NOTHING, NULL                                       \
    }

static const struct command_option ps_options[] = {
    {OPTION_JSON, "json", NULL, "as JSON: a list", COMPLETES_NOTHING, NULL}, OPTION_OF_FOLDER, {0}};

static const struct command_option status_options[] = {
    {OPTION_JSON, "json", NULL, "as JSON: a line for each agent", COMPLETES_NOTHING, NULL},
    OPTION_OF_TIMEOUT("wait so long for each agent's answer (5000)"),
    OPTION_OF_FOLDER,
    {0}};

static const struct command_example status_examples[] = {
    {"cuspan status 4242", "what became of all that process 4242 did"},
    {"cuspan status --json train.py | jq .losses", "what was lost, by its reason"},
    {0}};

static const struct command_option top_options[] = {
    {OPTION_INTERVAL, "interval", "SECONDS", "from one look to the next, 0.1 to 9 (2)", COMPLETES_NOTHING,
     NULL},
    {OPTION_SORT, "sort", "NAME", "kernels by time (default), count, average or name", COMPLETES_WORDS,
     "time count average name"},
    {OPTION_ONCE, "once", NULL, "write one screen as text, after one interval, and end", COMPLETES_NOTHING,
     NULL},
    {OPTION_JSON, "json", NULL, "a line of JSON an interval: what has happened in it", COMPLETES_NOTHING,
     NULL},
    {OPTION_WIDTH, "width", "N", "with --once: columns, 40 to 300; else as wide as the terminal",
     COMPLETES_NOTHING, NULL},
    {OPTION_ROWS, "rows", "N", "with --once: lines at most (0: as many as there are)", COMPLETES_NOTHING,
     NULL},
    {OPTION_COLOR, "color", "WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never",
     COMPLETES_WORDS, "auto always never"},
    OPTION_OF_FOLDER,
    {0}};

static const struct command_example top_examples[] = {
    {"cuspan top", "all processes of this user that have an agent"},
    {"cuspan top --once train.py", "one screen of one of them, as text"},
    {"cuspan top --json --interval 5 | jq '.agents[].launches'", "for programs"},
    {0}};

static const struct command_option control_options[] = {
    {OPTION_ALL, "all", NULL, "every agent that is found", COMPLETES_NOTHING, NULL},
    OPTION_OF_TIMEOUT("how long it may take, and an answer may be waited for (5000)"),
    OPTION_OF_FOLDER,
    {0}};

static const struct command_option stop_options[] = {
    {OPTION_RELEASE, "release", NULL, "leave CUPTI to other tools, too, until the next start",
     COMPLETES_NOTHING, NULL},
    {OPTION_ALL, "all", NULL, "every agent that is found", COMPLETES_NOTHING, NULL},
    OPTION_OF_TIMEOUT("how long it may take, and an answer may be waited for (5000)"),
    OPTION_OF_FOLDER,
    {0}};

static const struct command_example start_examples[] = {
    {"CUSPAN_START_ON=control cuspan run ./server &", "a server with an agent that waits"},
    {"cuspan start server; sleep 10; cuspan stop server", "ten seconds of it"},
    {0}};

static const struct command_option doctor_options[] = {
    {OPTION_ENDPOINT, "endpoint", "URL", "ask this collector, e.g. http://localhost:4318", COMPLETES_NOTHING,
     NULL},
    {OPTION_PROTOCOL, "protocol", "NAME", "of the endpoint: http/protobuf (default), http/json or grpc",
     COMPLETES_WORDS, "http/protobuf http/json grpc"},
    {OPTION_FILE, "file", "FILE", "spans are to go to this file", COMPLETES_FILE, NULL},
    {OPTION_CONFIG, "config", "FILE", "use this configuration file (YAML, as OpenTelemetry declares it)",
     COMPLETES_FILE, NULL},
    {OPTION_SERVICE_NAME, "service-name", "NAME", "service.name of the spans", COMPLETES_NOTHING, NULL},
    {OPTION_DETAIL, "detail", "LEVEL", "how much to trace: summary, default, graph-nodes or full",
     COMPLETES_WORDS, "summary default graph-nodes full"},
    {OPTION_SET, "set", "KEY=VALUE", "any setting (see: cuspan help settings); may be given again",
     COMPLETES_NOTHING, NULL},
    {OPTION_LIBRARY, "library", "FILE",
     "the agent to load, if not the libcuspan.so that belongs to this program", COMPLETES_FILE, NULL},
    {OPTION_EXPECT, "expect", "NAMES",
     "what is missed, separated by commas: kinds (kernel, memcpy), nvtx, graph-nodes, parameters, groups "
     "(launch), calls (cudaGetDevice)",
     COMPLETES_NOTHING, NULL},
    {OPTION_ONLY, "only", "NAME", "only this group of checks (collector), or this one (collector.port)",
     COMPLETES_WORDS, "driver cupti injection configuration collector permissions slow agents program"},
    {OPTION_SECONDS, "seconds", "N", "end PROGRAM after so long (30)", COMPLETES_NOTHING, NULL},
    {OPTION_JSON, "json", NULL, "as JSON", COMPLETES_NOTHING, NULL},
    {OPTION_COLOR, "color", "WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never",
     COMPLETES_WORDS, "auto always never"},
    {OPTION_LIST, "list", NULL, "list the checks, with the question that each answers", COMPLETES_NOTHING,
     NULL},
    {0}};

static const struct command_example doctor_examples[] = {
    {"cuspan doctor", "why is there no data, and why is it slow? As far as this machine and shell tell"},
    {"cuspan doctor --endpoint http://collector:4318 -- python train.py --epochs 1",
     "also run the program, and say how far its data came"},
    {"cuspan doctor --expect nvtx,graph-nodes,cudaGetDevice", "is what I miss switched on?"},
    {0}};

static const struct command_option version_options[] = {
    {OPTION_JSON, "json", NULL, "as JSON", COMPLETES_NOTHING, NULL}, {0}};

static const struct command_option help_options[] = {
    {OPTION_MAN, "man", "COMMAND", "write the command's man page (\"cuspan\": the one of all)",
     COMPLETES_COMMAND, NULL},
    {OPTION_COMPLETION, "completion", "SHELL", "write the completion for a shell: bash", COMPLETES_WORDS,
     "bash"},
    {0}};

static const struct command_example help_examples[] = {
    {"cuspan help run", "how to run a program under the agent"},
    {"cuspan help --man show | man -l -", "a man page"},
    {"source <(cuspan help --completion bash)", "completion in this shell"},
    {0}};

const struct command commands[] = {
    {
        .name = "run",
        .operands = "[--] PROGRAM [ARGUMENT...]",
        .run = cmd_run,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "run a program and send its CUDA calls and GPU work as spans",
        .text =
            "Runs PROGRAM with the agent in it and ends with its exit status; its output is untouched. "
            "At the end, says on standard "
            "error how many spans went where, what was lost and why, and where to look at the trace.\n"
            "\n"
            "All processes of PROGRAM are one trace: where no TRACEPARENT is set, makes one, and sends the "
            "root span when PROGRAM has ended.\n"
            "\n"
            "CUPTI has one user in a process. cuspan holds it, unless --share or --give-way preloads a small "
            "library that sees what others ask of CUPTI. With --share they become subscribers beside cuspan, "
            "and "
            "CUDA graphs show their nodes; with --give-way cuspan leaves while they trace, and comes back.\n"
            "\n"
            "Without options, the agent is configured as it always is: by CUSPAN_CONFIG_FILE or "
            "OTEL_CONFIG_FILE, else by the OTEL_* "
            "variables, else spans go to http://localhost:4318. Options go before the file.",
        .options = run_options,
        .examples = run_examples,
    },
    {
        .name = "record",
        .operands = "-o FILE [--] PROGRAM [ARGUMENT...]",
        .run = cmd_record,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "run a program and record its raw events, to be replayed without a GPU",
        .text =
            "Runs PROGRAM with the agent in it, which writes what CUPTI reports (calls with their "
            "parameters, GPU activity) to FILE and "
            "exports nothing. The recording holds names, parameters and times, but no data of the program.",
        .options = record_options,
        .examples = record_examples,
    },
    {
        .name = "replay",
        .operands = "FILE",
        .run = cmd_replay,
        .completes = COMPLETES_FILE,
        .summary = "run the whole agent on a recording, without a GPU",
        .text = "Plays FILE to the agent through a stand-in for CUPTI: what leaves is what left when it was "
                "recorded. The exit status is 1 if one of the outputs got none of the spans.",
        .options = replay_options,
        .examples = replay_examples,
    },
    {
        .name = "send",
        .operands = "[DIRECTORY|FILE...]",
        .run = cmd_send,
        .completes = COMPLETES_FILE,
        .summary = "deliver spans and metrics that wait on the disk",
        .text =
            "Delivers what lies in a spool (setting spool.directory, which is also what is sent where "
            "nothing is "
            "named): oldest first, each process's spans in their order. What is delivered is removed; what a "
            "running process has there is left to it. A FILE is one of a spool's files, or of OTLP JSON "
            "lines, as "
            "cuspan and the OpenTelemetry Collector write them: such a file stays as it is, and sending it "
            "again "
            "sends it twice.\n"
            "\n"
            "Where to, and with which headers, the configuration says, as for an agent. Metrics that it has "
            "no "
            "place for go beside the spans: to /v1/metrics of /v1/traces, or the same endpoint by gRPC. The "
            "exit status is 1 if anything stays or was refused.",
        .options = send_options,
        .examples = send_examples,
    },
    {
        .name = "show",
        .operands = "FILE|-",
        .run = cmd_show,
        .completes = COMPLETES_FILE,
        .summary = "draw a trace in the terminal, list it, or write it for Perfetto",
        .text =
            "FILE is a file of OTLP JSON lines, as cuspan and the OpenTelemetry Collector write them, or a "
            "recording, or what Jaeger's "
            "API answers; \"-\" is standard input.\n"
            "\n"
            "Each line of the picture is a span, or several equal ones (\"x1200\"), under the span that "
            "caused it. A bar is the time of one "
            "span; where a line stands for several, the height says which share of that moment they took. "
            "All bars have one scale; a long "
            "stretch in which nothing begins or ends is drawn short and marked (--linear draws it in full).",
        .options = show_options,
        .examples = show_examples,
    },
    {
        .name = "stat",
        .operands = "FILE | [--] PROGRAM [ARGUMENT...]",
        .run = cmd_stat,
        .completes = COMPLETES_FILE,
        .summary = "tables of calls, kernels, copies, waiting, GPUs, latencies and memory, and findings",
        .text =
            "FILE is a file of OTLP JSON lines, as cuspan and the OpenTelemetry Collector write them, or a "
            "recording; \"-\" is standard "
            "input. All spans of the file are counted, of however many traces and processes.\n"
            "\n"
            "PROGRAM is run with the agent in it, as by cuspan run, and its spans are counted when it has "
            "ended; "
            "what a sampler leaves out, isn't. The tables go to standard error, for the output is the "
            "program's, "
            "and so is the exit status.\n"
            "\n"
            "Medians and 99th percentiles are values that occur (nearest rank). Times are as CUPTI gave "
            "them: "
            "the sums agree with its "
            "records to the nanosecond.\n"
            "\n"
            "With --by each table is what it would be of the group's spans alone, and each span is in one "
            "group, "
            "so that sums over all groups are those of the whole. GPU work is its call's thread's; a range "
            "is "
            "the innermost one, all of one name together; a request is a trace, unless a session made it; a "
            "call is on the stream and device of its work, else on its context's device.",
        .options = stat_options,
        .examples = stat_examples,
    },
    {
        .name = "diff",
        .operands = "BASE NEW",
        .run = cmd_diff,
        .completes = COMPLETES_FILE,
        .summary = "compare runs; fail on a regression",
        .text = "BASE and NEW are recordings, files of OTLP JSON lines, baselines (cuspan stat --save), or "
                "folders of such files: each file but a baseline is one run. Several runs a side also go by "
                "--base and "
                "--new.\n"
                "\n"
                "Compares the time of every kernel, call and sort of copy, and each run's totals. With four "
                "runs a "
                "side or more, runs are permuted between the sides (Westfall and Young), else executions are "
                "compared "
                "(Mann and Whitney, corrected by Holm); both keep false alarms of the whole comparison at "
                "the level, "
                "5 %. What is significant and beyond its threshold (5 % for kernels, 10 % for copies and "
                "totals, 25 % "
                "for calls, unless --limits says otherwise) is a regression or an improvement. docs/diff.md "
                "has the "
                "rules.\n"
                "\n"
                "The exit status is 1 where there is a regression or a limit is passed, 2 if something can't "
                "be read.",
        .options = diff_options,
        .examples = diff_examples,
    },
    {
        .name = "overhead",
        .operands = "[--] PROGRAM [ARGUMENT...]",
        .run = cmd_overhead,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "measure what each level of tracing costs a program",
        .text =
            "Runs PROGRAM without cuspan and under each level, one after the other, and again in another "
            "order, "
            "round by round; then says what each level costs beside the run without cuspan in the same "
            "round, with its 95 % interval. The "
            "program's output is kept from the terminal, and its standard input is empty.\n"
            "\n"
            "none: without cuspan. asleep: the agent is there, and nothing is sampled. The others are the "
            "levels of the "
            "setting detail; counters is default with counters.metrics (dram.read and dram.write, unless "
            "--set "
            "names others), which waits for kernels. Wall time includes the program's start and end, and the "
            "agent's; a figure that "
            "the program prints itself (--figure) may leave them out.\n"
            "\n"
            "A level under which PROGRAM ends in another way than without cuspan is left out, and said; the "
            "exit "
            "status is 1 then. Spans are made and encoded, and go to /dev/null, unless --endpoint or "
            "--config says where to.",
        .options = overhead_options,
        .examples = overhead_examples,
    },
    {
        .name = "check",
        .operands = "[FILE]",
        .run = cmd_check,
        .completes = COMPLETES_FILE,
        .summary = "check a configuration and say what it would do",
        .text =
            "Loads FILE, or without one what the environment names, as the agent would. Each error says "
            "file, line, column, key, what was "
            "expected and the nearest known key. The exit status is 1 if the agent would not start with it.",
        .options = check_options,
        .examples = check_examples,
    },
    {
        .name = "ps",
        .run = cmd_ps,
        .summary = "list the processes that have an agent",
        .text = "Lists the agents of this user, and for root those of all users: whether they wait, trace, "
                "sleep, or "
                "are off and why, and how many spans they have made and lost. The exit status is 1 if there "
                "is none.",
        .options = ps_options,
    },
    {
        .name = "status",
        .operands = "[PID|PROGRAM]",
        .run = cmd_status,
        .summary = "say what became of all that a process did",
        .text = "Shows the accounts of a running agent, or of all: what was captured, and what it came to; "
                "what each "
                "output has got; each loss by its reason, with the setting that mends it; the time asleep; "
                "memory; "
                "CUPTI. The sums add up exactly: what doesn't is shown as unaccounted for, and is a defect.",
        .options = status_options,
        .examples = status_examples,
    },
    {
        .name = "top",
        .operands = "[PID|PROGRAM]",
        .run = cmd_top,
        .summary = "watch what processes with an agent do",
        .text =
            "A live screen: how busy the GPUs are, calls, launches, waiting, the kernels that take the most "
            "time, the memory that the program holds, what tracing takes of it, and losses. Of one process, "
            "or of "
            "all of this user's (root: of all users).\n"
            "\n"
            "Keys: q ends, p pauses, s sorts the kernels otherwise, the arrows choose a process, a takes all "
            "together, + and - change the interval.\n"
            "\n"
            "An agent counts while somebody looks, and for 10 s more: else it costs nothing. GPU work shows "
            "when CUPTI "
            "hands its records over, once a second (cupti.flush_interval_ms). The memory is what the calls "
            "allocate that cuspan has seen.",
        .options = top_options,
        .examples = top_examples,
    },
    {
        .name = "start",
        .operands = "[PID|PROGRAM]",
        .run = cmd_start,
        .summary = "begin to trace a process that has an agent",
        .text = "The agent begins to trace: one that waits (start_on: control), one that was stopped, or one "
                "that "
                "sleeps since nothing of its process is sampled. Without an operand it must be the only one. "
                "A process "
                "that began without the agent can't be traced: CUDA offers no way in from outside. A program "
                "that is "
                "built with cuspan.h can load it itself.",
        .options = control_options,
        .examples = start_examples,
    },
    {
        .name = "stop",
        .operands = "[PID|PROGRAM]",
        .run = cmd_stop,
        .summary = "end the tracing of a process, until the next start",
        .text = "No further call is captured. Those that are under way have --timeout to return, and then "
                "have their "
                "span; the rest is counted. What was captured is delivered; the session's span leaves. With "
                "--release CUPTI's "
                "slot is free for another tool in the process; start takes it back.",
        .options = stop_options,
    },
    {
        .name = "flush",
        .operands = "[PID|PROGRAM]",
        .run = cmd_flush,
        .summary = "make a process deliver what it has captured",
        .text = "Waits until all that is finished on the GPU is delivered. The exit status is 1 if it isn't "
                "after "
                "--timeout.",
        .options = control_options,
    },
    {
        .name = "counters",
        .operands = "[PATTERN...]",
        .run = cmd_counters,
        .summary = "list the hardware counters that this machine's GPUs have",
        .text =
            "Hardware counters say of a kernel what no timestamp tells: bytes read from memory, cache hits, "
            "instructions. The setting counters.metrics names them, by plain names or by the chip's own "
            "metrics, which are listed where they match a PATTERN with '*' and '?'. A metric is named with "
            "one "
            "of its rollups: dram__bytes_read.sum.\n"
            "\n"
            "docs/counters.md says what counting costs and what it changes.",
        .options = counters_options,
        .examples = counters_examples,
    },
    {
        .name = "doctor",
        .operands = "[[--] PROGRAM [ARGUMENT...]]",
        .run = cmd_doctor,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "say why there is no data, or why it is slow, and what mends it",
        .text = "Looks along the data's way: driver, CUPTI, injection, configuration, collector, "
                "permissions, what costs "
                "time, agents that run. One line for each check: ok, warning, problem, unknown (this machine "
                "doesn't "
                "tell) or not here (nothing to look at), with what was found; below it what mends it. The "
                "exit status is "
                "1 where a problem was found.\n"
                "\n"
                "With PROGRAM, runs it with the agent in it, its output thrown away, and says at which stage "
                "its data "
                "ended: agent never loaded, asleep, no CUPTI, no GPU records, nothing delivered, or all "
                "well. Its spans "
                "are sent as always.\n"
                "\n"
                "docs/troubleshooting.md has every check by its name.",
        .options = doctor_options,
        .examples = doctor_examples,
    },
    {
        .name = "version",
        .run = cmd_version,
        .summary = "version and build of this program",
        .options = version_options,
    },
    {
        .name = "help",
        .operands = "[COMMAND|settings|metrics|environment]",
        .run = cmd_help,
        .completes = COMPLETES_COMMAND,
        .words = "settings metrics environment",
        .summary = "help on a command, on all settings, on the metrics, on the environment",
        .options = help_options,
        .examples = help_examples,
    },
};

const size_t command_count = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}
