#include "command/table/command_table.h"

#include <string.h>

#define FLAG(id, name, help)                    VALUE(id, name, NULL, help)
#define VALUE(id, name, argument, help)         OPTION(id, name, argument, help, COMPLETES_NOTHING, NULL)
#define A_FILE(id, name, argument, help)        OPTION(id, name, argument, help, COMPLETES_FILE, NULL)
#define OUTPUT(id, name, argument, help)        OPTION(id, name, argument, help, COMPLETES_OUTPUT, NULL)
#define OUTPUT_FILE(id, name, argument, help)   OPTION(id, name, argument, help, COMPLETES_OUTPUT_FILE, NULL)
#define ONE_OF(id, name, argument, help, words) OPTION(id, name, argument, help, COMPLETES_WORDS, words)
#define OPTION(id, name, argument, help, completes, words)                                                   \
    {                                                                                                        \
        id, name, argument, help, completes, words                                                           \
    }

/* Options that several commands have. */
#define CONFIG                                                                                               \
    A_FILE(OPTION_CONFIG, "config", "FILE", "configuration file (OpenTelemetry's declarative YAML)")
#define SERVICE_NAME VALUE(OPTION_SERVICE_NAME, "service-name", "NAME", "service.name of the spans")
#define DETAIL                                                                                               \
    ONE_OF(OPTION_DETAIL, "detail", "LEVEL", "how much to trace: summary, default, graph-nodes or full",     \
           "summary default graph-nodes full")
#define SET                                                                                                  \
    VALUE(OPTION_SET, "set", "KEY=VALUE", "override a setting (see cuspan help settings); can be repeated")
#define LIBRARY                                                                                              \
    A_FILE(OPTION_LIBRARY, "library", "FILE",                                                                \
           "agent to load instead of the libcuspan.so installed with this program")
#define QUIET FLAG('q', "quiet", "print no summary at the end")
#define ENDPOINT                                                                                             \
    VALUE(OPTION_ENDPOINT, "endpoint", "URL", "send spans to this URL, such as http://localhost:4318")
#define PROTOCOL                                                                                             \
    ONE_OF(OPTION_PROTOCOL, "protocol", "NAME",                                                              \
           "protocol of the endpoint: http/protobuf (default), http/json or grpc",                           \
           "http/protobuf http/json grpc")
#define COLOR                                                                                                \
    ONE_OF(OPTION_COLOR, "color", "WHEN", "auto (on a terminal, unless NO_COLOR is set), always or never",   \
           "auto always never")
#define WIDTH VALUE(OPTION_WIDTH, "width", "N", "columns, from 40 to 300 (default: the terminal's width)")
#define CSV                                                                                                  \
    FLAG(OPTION_CSV, "csv",                                                                                  \
         "print CSV: one table after another, each with its name in a line \"# NAME\" before it")
#define DIRECTORY                                                                                            \
    A_FILE(OPTION_DIRECTORY, "directory", "DIR",                                                             \
           "search only this directory (control.directory of the agents, CUSPAN_CONTROL_DIRECTORY)")
#define ANSWER_TIMEOUT                                                                                       \
    VALUE(OPTION_TIMEOUT, "timeout", "MS", "limit for the operation and for the agent's answer (5000)")
#define ALL_AGENTS    FLAG(OPTION_ALL, "all", "apply to all agents")
#define AGENT_OPTIONS CONFIG, SERVICE_NAME, DETAIL, SET, LIBRARY, QUIET
#define OUTPUT_OPTIONS                                                                                       \
    ENDPOINT, PROTOCOL,                                                                                      \
        OUTPUT(OPTION_FILE, "file", "FILE",                                                                  \
               "append spans to this file as OTLP JSON lines (\"-\": standard output)"),                     \
        FLAG(OPTION_CONSOLE, "console", "write spans to standard output, as OTLP JSON lines")

#define RUN_OPTIONS                                                                                          \
    OUTPUT_OPTIONS,                                                                                          \
        FLAG(OPTION_SHARE, "share",                                                                          \
             "trace beside profilers inside the program, such as PyTorch's (needs CUPTI 13.3 or later)"),    \
        FLAG(OPTION_GIVE_WAY, "give-way",                                                                    \
             "release CUPTI while a profiler inside the program traces, whatever the detail"),               \
        AGENT_OPTIONS

static const struct command_option run_options[] = {RUN_OPTIONS, {0}};

static const struct command_example run_examples[] = {
    {"cuspan run ./vector_add", "send spans to the collector or Jaeger at http://localhost:4318"},
    {"cuspan run --file trace.jsonl python train.py --epochs 1", "write spans to a file for cuspan show"},
    {"cuspan run --endpoint http://collector:4317 --protocol grpc --service-name trainer ./train",
     "send spans over gRPC"},
    {"cuspan run --share python train.py", "trace beside PyTorch's profiler; both get complete data"},
    {"cuspan run --set session.spans_max=20000 ./server", "override one setting"},
    {0}};

static const struct command_option record_options[] = {
    OUTPUT('o', "output", "FILE", "recording to write; replaces an existing file"), AGENT_OPTIONS, {0}};

static const struct command_example record_examples[] = {
    {"cuspan record -o vector_add.cuspanrec ./vector_add", "record what CUPTI reports, with all parameters"},
    {"cuspan show vector_add.cuspanrec", "draw the recording"},
    {0}};

static const struct command_option replay_options[] = {
    OUTPUT_OPTIONS,
    CONFIG,
    SERVICE_NAME,
    SET,
    FLAG(OPTION_PACED, "paced", "replay at the recorded pace (default: as fast as the agent accepts)"),
    FLAG(OPTION_OVERLOAD, "overload",
         "do not wait for the agent; records that it cannot accept are dropped and counted"),
    VALUE(OPTION_REPEAT, "repeat", "N", "replay N times, with shifted times and IDs"),
    FLAG(OPTION_NOW, "now",
         "move the recorded times so that they end now, where viewers search (default: the recorded times)"),
    ONE_OF(OPTION_API, "api", "NAME", "CUPTI API that the agent uses: classic or subscriber",
           "classic subscriber"),
    VALUE(OPTION_CUPTI_VERSION, "cupti-version", "RELEASE",
          "CUPTI release to imitate, from 12.0 to 13.5 (13.5)"),
    QUIET,
    {0}};

static const struct command_example replay_examples[] = {
    {"cuspan replay vector_add.cuspanrec", "send the recording's spans as if the program ran now"},
    {"cuspan replay --file trace.jsonl --repeat 100 threads.cuspanrec", "write a hundred runs to a file"},
    {0}};

static const struct command_option send_options[] = {
    ENDPOINT,
    PROTOCOL,
    VALUE(OPTION_TIMEOUT, "timeout", "SECONDS",
          "give up after this long without an accepted request (default: export_timeout, 30)"),
    CONFIG,
    SET,
    LIBRARY,
    QUIET,
    {0}};

static const struct command_example send_examples[] = {
    {"cuspan send /var/spool/cuspan",
     "deliver what ended processes left in a spool to the configured collector"},
    {"cuspan send --endpoint http://collector:4318 trace.jsonl", "send a file that --file wrote"},
    {0}};

static const struct command_option show_options[] = {
    VALUE(OPTION_TRACE, "trace", "ID",
          "trace ID, or its first digits (default: the trace with the most spans)"),
    FLAG(OPTION_LINES, "lines", "print one line per span in order of time, for grep, awk and sort"),
    OUTPUT(
        OPTION_PERFETTO, "perfetto", "FILE",
        "write the trace for https://ui.perfetto.dev, compressed if the name ends with .gz (\"-\": standard "
        "output)"),
    WIDTH,
    VALUE(OPTION_ROWS, "rows", "N",
          "approximate number of lines (40); equal spans share a line until it fits (0: one line per span)"),
    VALUE(OPTION_RANK, "rank", "N", "only the spans of this rank, in the trace of a training step"),
    FLAG(OPTION_ALIGN_CLOCKS, "align-clocks",
         "correct the times of other hosts by the offsets that the collectives of the step show"),
    FLAG(OPTION_LINEAR, "linear", "do not shorten intervals in which nothing starts or ends"),
    COLOR,
    {0}};

static const struct command_example show_examples[] = {
    {"cuspan show trace.jsonl", "draw the largest trace in the file"},
    {"cuspan show --lines trace.jsonl | grep error", "list the spans that failed"},
    {"cuspan show --perfetto trace.json trace.jsonl", "convert the trace for https://ui.perfetto.dev"},
    {"curl -s localhost:16686/api/v3/traces/ID | cuspan show -", "draw a trace from Jaeger"},
    {0}};

static const struct command_option stat_options[] = {
    ONE_OF(OPTION_BY, "by", "WHAT",
           "repeat all tables for each range, stream, thread, device, request, process, rank or step (memory "
           "and findings: for devices, processes and ranks only); line, function or module: the rows of the "
           "tables of code and memory_code; without --table, the table of code alone",
           "range stream thread device request process rank step " /* as enum stat_by */
           "line function module"),                                /* as enum stat_code_by */
    VALUE(OPTION_TOP, "top", "N", "rows per table (20; 0: all); with --by, also the number of groups"),
    VALUE(OPTION_SORT, "sort", "COLUMN",
          "order rows by this column, largest first: its title, or its name in JSON (waits, wait_ns)"),
    OPTION(OPTION_TABLE, "table", "NAMES", "print only these tables (steps,ranks)", COMPLETES_SUGGESTIONS,
           "headline calls errors synchronization kernels code counters copies sizes devices gaps streams "
           "latency "
           "latency_histogram memory memory_over_time memory_pytorch memory_unfreed memory_wrong_frees "
           "memory_failed memory_code findings own steps collectives ranks clocks rank_findings "
           "iterations slow_iterations engine_requests slow_engine_requests"),
    FLAG(OPTION_FINDINGS, "findings",
         "print what could be improved, with evidence and advice, in each process and across ranks"),
    FLAG(
        OPTION_ALIGN_CLOCKS, "align-clocks",
        "correct the times of other hosts by the offsets that the collectives show (table clocks); reads the "
        "files twice"),
    A_FILE(
        OPTION_SOURCE, "source", "DIR",
        "print the source lines of the table of code, from files below this directory only; can be repeated"),
    A_FILE(OPTION_KERNEL_LINES, "kernel-lines", "FILE",
           "print where kernels are defined, from a program, library or cubin compiled with -lineinfo, or a "
           "directory of cubins; can be repeated"),
    OUTPUT('o', "output", "FILE",
           "write the tables to this file (\"-\": standard output, the default for files; for a program: "
           "standard error)"),
    OUTPUT_FILE(OPTION_SAVE, "save", "FILE",
                "write a baseline of all FILEs for cuspan diff instead of tables"),
    OUTPUT_FILE(OPTION_SQLITE, "sqlite", "FILE",
                "write every record to an SQLite file in the schema of Nsight Systems, instead of "
                "printing tables"),
    FLAG(OPTION_JSON, "json", "print JSON: times in ns, sizes in bytes, shares between 0 and 1"),
    CSV,
    FLAG(OPTION_MARKDOWN, "markdown", "print Markdown"),
    WIDTH,
    COLOR,
    AGENT_OPTIONS,
    {0}};

static const struct command_example stat_examples[] = {
    {"cuspan stat ./vector_add", "run a program and print its tables"},
    {"cuspan stat trace.jsonl", "print all tables of the spans in a file"},
    {"cuspan stat --table kernels --top 5 train.cuspanrec", "print the five kernels that took the most time"},
    {"cuspan stat --findings train.cuspanrec",
     "print what could be improved, and how much time that would save"},
    {"cuspan stat --by line --source . trace.jsonl", "print which lines of the program the GPU worked for"},
    {"cuspan stat --by thread --table headline trace.jsonl", "compare threads"},
    {"cuspan stat --sqlite train.sqlite train.cuspanrec", "run queries written for Nsight Systems' files"},
    {"cuspan stat --save baseline.json run1.cuspanrec run2.cuspanrec",
     "save runs to compare later ones with"},
    {"cuspan stat --json trace.jsonl | jq .kernels[0]", "process a table with another program"},
    {0}};

static const struct command_option flame_options[] = {
    OUTPUT('o', "output", "FILE",
           "file to write, in the format of its end: .svg, .folded or .pb.gz (pprof); \"-\": "
           "standard output (default: flame.svg on a terminal, otherwise standard output)"),
    ONE_OF(OPTION_FORMAT, "format", "NAME", "format, whatever the file is called",
           "svg folded pprof"), /* as enum flame_format */
    ONE_OF(OPTION_WEIGHT, "weight", "WHAT",
           "what the widths are: gpu-time (default), wait (for the GPU), bytes (copied) or launches",
           "gpu-time wait bytes launches"), /* as enum flame_weight */
    FLAG(OPTION_DIFF, "diff", "compare two runs, OLD and NEW: red grew, blue shrank"),
    {0}};

static const struct command_example flame_examples[] = {
    {"cuspan flame -o train.svg trace.jsonl", "draw the GPU time by call stack, for a browser"},
    {"cuspan flame --weight wait -o waits.svg trace.jsonl", "draw what the program waited for"},
    {"cuspan flame --diff -o change.svg before.jsonl after.jsonl", "compare two runs"},
    {"cuspan flame -o train.pb.gz trace.jsonl && go tool pprof -http=: train.pb.gz", "use pprof"},
    {0}};

static const struct command_option export_options[] = {
    OUTPUT('o', "output", "DEST",
           "folder for Parquet files, FILE.sqlite, or FILE.json or FILE.json.gz for Perfetto (with --format "
           "perfetto also \"-\": standard output)"),
    ONE_OF(OPTION_FORMAT, "format", "NAME", "format, whatever the destination is called",
           "parquet perfetto sqlite"), /* as enum format */
    VALUE(OPTION_TRACE, "trace", "ID",
          "for Perfetto: trace ID, or its first digits (default: the trace with the most spans)"),
    LIBRARY,
    QUIET,
    {0}};

static const struct command_example export_examples[] = {
    {"cuspan export -o fleet /var/log/cuspan/*.jsonl.zst",
     "add the spans of many files to a folder of Parquet files"},
    {"cuspan export -o train.sqlite train.cuspanrec", "run queries written for Nsight Systems' files"},
    {"cuspan export -o train.json trace.jsonl", "convert the largest trace for https://ui.perfetto.dev"},
    {0}};

static const struct command_option diff_options[] = {
    A_FILE(OPTION_BASE, "base", "FILE", "runs of the base: this file and the operands after it"),
    A_FILE(OPTION_NEW, "new", "FILE", "new runs: this file and the operands after it"),
    A_FILE(OPTION_LIMITS, "limits", "FILE", "thresholds and absolute limits in YAML"),
    FLAG(OPTION_ALL, "all", "also list rows without a difference, and all rows of the table of code"),
    ONE_OF(OPTION_BY, "by", "WHAT",
           "rows of the table of code: line (default), function or module; edits move lines",
           "line function module"), /* as enum stat_code_by */
    FLAG(OPTION_JSON, "json", "print JSON: times in ns, shares between 0 and 1"),
    CSV,
    FLAG(OPTION_MARKDOWN, "markdown", "print Markdown, for a pull request"),
    WIDTH,
    COLOR,
    {0}};

static const struct command_example diff_examples[] = {
    {"cuspan diff before.cuspanrec after.cuspanrec", "compare one run with another"},
    {"cuspan diff --base a1 a2 a3 a4 --new b1 b2 b3 b4",
     "compare several runs per side, to tell a change from noise"},
    {"cuspan diff --limits limits.yaml --markdown baseline.json runs/",
     "in CI: compare the runs in a folder with a committed baseline"},
    {0}};

static const struct command_option overhead_options[] = {
    VALUE(OPTION_LEVELS, "levels", "LIST",
          "comma-separated levels: none, asleep, summary, default, graph-nodes, full, counters (default: all "
          "but counters; none is always included)"),
    VALUE(OPTION_ROUNDS, "rounds", "N", "runs under each level (10; an interval needs at least six)"),
    VALUE(OPTION_WARM_UP, "warm-up", "N", "rounds before the first one that counts (1)"),
    VALUE(OPTION_SECONDS, "seconds", "N", "start no further round after this time"),
    VALUE(OPTION_FIGURE, "figure", "REGEX",
          "also compare a number that the program prints, in parentheses: \"step ([0-9.]+) ms\"; the last "
          "match counts"),
    FLAG(OPTION_RATE, "rate", "--figure is a rate: higher is better"),
    FLAG(OPTION_JSON, "json", "print JSON, with each run"),
    FLAG(OPTION_MARKDOWN, "markdown", "print Markdown"),
    COLOR,
    VALUE(OPTION_ENDPOINT, "endpoint", "URL",
          "send the spans to this URL (default: create and discard them)"),
    CONFIG,
    SET,
    LIBRARY,
    FLAG('q', "quiet", "show no progress"),
    {0}};

static const struct command_example overhead_examples[] = {
    {"cuspan overhead ./vector_add", "measure what tracing would cost this program"},
    {"cuspan overhead --levels default,full --rounds 20 --figure 'step ([0-9.]+) ms' -- python train.py",
     "use the step time that the program prints, which excludes startup"},
    {"cuspan overhead --markdown --endpoint http://collector:4318 ./infer",
     "include a collector, and print Markdown"},
    {0}};

static const struct command_option counters_options[] = {
    VALUE(OPTION_DEVICE, "device", "N", "only this GPU, by the driver's number"),
    VALUE(OPTION_PASSES, "passes", "LIST",
          "print how many passes these metrics take, separated by commas as in counters.metrics"),
    FLAG(OPTION_SAMPLING, "sampling", "list what can be sampled over time (counters.sampling.metrics)"),
    A_FILE(OPTION_CUPTI, "cupti", "FILE", "use this CUPTI instead of the one that an agent would load"),
    FLAG(OPTION_JSON, "json", "print JSON, with the rollups of each metric"),
    LIBRARY,
    {0}};

static const struct command_example counters_examples[] = {
    {"cuspan counters", "list the plain names and the metric behind each"},
    {"cuspan counters 'dram*' 'lts__t*'", "list the chip's metrics of memory and L2 cache"},
    {"cuspan counters --passes dram.read,dram.write,l2.hit_rate",
     "check whether one pass can count them together"},
    {"cuspan run --set counters.metrics=dram.read,dram.write ./vector_add",
     "run a program with these counters"},
    {"cuspan counters --sampling --passes dram.read,tensor.utilization",
     "check whether both can be sampled together"},
    {0}};

static const struct command_example check_examples[] = {
    {"cuspan check config/cuspan.yaml", "check this file and print its effect"},
    {"cuspan check", "check the current environment"},
    {0}};

static const struct command_option check_options[] = {
    FLAG(OPTION_ALL, "all", "also list every setting with its value"),
    VALUE(OPTION_SET, "set", "KEY=VALUE", "check with this setting; can be repeated"),
    {0}};

static const struct command_option ps_options[] = {
    FLAG(OPTION_JSON, "json", "print a JSON list"), DIRECTORY, {0}};

static const struct command_option status_options[] = {
    FLAG(OPTION_JSON, "json", "print one line of JSON per agent"),
    VALUE(OPTION_TIMEOUT, "timeout", "MS", "limit for the answer of each agent (5000)"),
    DIRECTORY,
    {0}};

static const struct command_example status_examples[] = {
    {"cuspan status 4242", "print what the agent of process 4242 captured, delivered and lost"},
    {"cuspan status --json train.py | jq .losses", "list losses by reason"},
    {0}};

static const struct command_option top_options[] = {
    VALUE(OPTION_INTERVAL, "interval", "SECONDS", "time between updates, from 0.1 to 9 (2)"),
    ONE_OF(OPTION_SORT, "sort", "NAME", "sort kernels by time (default), count, average or name",
           "time count average name"), /* as enum top_sort */
    FLAG(OPTION_ONCE, "once", "print one screen as text after one interval, and exit"),
    FLAG(OPTION_JSON, "json", "print one line of JSON per interval"),
    VALUE(OPTION_WIDTH, "width", "N", "with --once: columns, from 40 to 300 (default: the terminal's width)"),
    VALUE(OPTION_ROWS, "rows", "N", "with --once: maximum number of lines (0: no limit)"),
    COLOR,
    DIRECTORY,
    {0}};

static const struct command_example top_examples[] = {
    {"cuspan top", "watch all processes of this user that have an agent"},
    {"cuspan top --once train.py", "print one screen of one process as text"},
    {"cuspan top --json --interval 5 | jq '.agents[].launches'", "process the numbers with another program"},
    {0}};

static const struct command_option hang_options[] = {
    VALUE(OPTION_JOB, "job", "ID", "ask the hosts of this Slurm job, by srun"),
    VALUE(OPTION_PODS, "pods", "SELECTOR", "ask the running pods with these labels, by kubectl exec"),
    VALUE('n', "namespace", "NAME", "namespace of the pods (default: kubectl's)"),
    VALUE(OPTION_HOSTS, "hosts", "LIST", "ask these hosts (with commas), by ssh"),
    VALUE(OPTION_RAS, "ras", "ADDRESS",
          "also ask NCCL's RAS (2.28.7 or later) for ranks without an agent: localhost:28028"),
    VALUE(OPTION_TIMEOUT, "timeout", "MS", "limit for the answer of each host (20000)"),
    FLAG(OPTION_THIS_HOST, "this-host",
         "also read the processes of this host; with --json, print what is known of each rank, for cuspan "
         "hang "
         "FILE on another host"),
    FLAG(OPTION_JSON, "json", "print JSON"),
    WIDTH,
    {0}};

static const struct command_example hang_examples[] = {
    {"cuspan hang", "explain the hang of the ranks on this host"},
    {"cuspan hang --job 4711", "explain the hang of a Slurm job"},
    {"cuspan hang --pods app=train -n ml", "explain the hang of a job in Kubernetes"},
    {0}};

static const struct command_option control_options[] = {ALL_AGENTS, ANSWER_TIMEOUT, DIRECTORY, {0}};

static const struct command_option attach_options[] = {
    RUN_OPTIONS,
    FLAG(OPTION_ALL, "all", "attach to all processes of this user that use a GPU and have no agent"),
    VALUE(OPTION_USER, "user", "NAME", "for root, with --all: the processes of this user"),
    FLAG(OPTION_ALL_USERS, "all-users", "for root, with --all: the processes of all users"),
    VALUE(OPTION_CONTAINER, "container", "NAME",
          "attach to all processes of a container that use a GPU, and copy the agent into it: the start of "
          "its ID, "
          "Docker's name, or POD/CONTAINER"),
    VALUE(OPTION_TIMEOUT, "timeout", "MS",
          "limit for finding a thread at a safe place, and for the agent's start (10000)"),
    DIRECTORY,
    {0}};

static const struct command_example attach_examples[] = {
    {"cuspan attach 4242", "trace a running process, with the settings of its environment"},
    {"sudo cuspan attach --file /tmp/trace.jsonl train.py", "write the spans of a running program to a file"},
    {"cuspan attach --all --endpoint http://collector:4318",
     "trace all your processes that use a GPU and have no agent"},
    {"sudo cuspan attach --container train --endpoint http://collector:4318",
     "trace all processes of a container that use a GPU"},
    {"cuspan detach train.py", "stop tracing, and release CUPTI"},
    {0}};

static const struct command_option stop_options[] = {
    FLAG(OPTION_RELEASE, "release", "also release CUPTI to other tools until the next start"),
    ALL_AGENTS,
    ANSWER_TIMEOUT,
    DIRECTORY,
    {0}};

static const struct command_example start_examples[] = {
    {"CUSPAN_START_ON=control cuspan run ./server &", "start a server whose agent waits"},
    {"cuspan start server; sleep 10; cuspan stop server", "trace it for ten seconds"},
    {0}};

static const struct command_option doctor_options[] = {
    VALUE(OPTION_ENDPOINT, "endpoint", "URL", "check this collector, such as http://localhost:4318"),
    PROTOCOL,
    OUTPUT_FILE(OPTION_FILE, "file", "FILE", "check that spans can be written to this file"),
    CONFIG,
    SERVICE_NAME,
    DETAIL,
    SET,
    LIBRARY,
    VALUE(OPTION_EXPECT, "expect", "NAMES",
          "what is missing from your traces, separated by commas: kinds (kernel, memcpy), nvtx, graph-nodes, "
          "parameters, groups (launch), calls (cudaGetDevice)"),
    OPTION(OPTION_ONLY, "only", "NAME",
           "run only this group of checks (collector) or this check (collector.port)", COMPLETES_SUGGESTIONS,
           "driver cupti injection configuration collector permissions slow agents program"),
    VALUE(OPTION_SECONDS, "seconds", "N", "end PROGRAM after this time (30)"),
    FLAG(OPTION_JSON, "json", "print JSON"),
    COLOR,
    FLAG(OPTION_LIST, "list", "list the checks, with the question that each answers"),
    {0}};

static const struct command_example doctor_examples[] = {
    {"cuspan doctor", "find out why there is no data, or why it is slow"},
    {"cuspan doctor --endpoint http://collector:4318 -- python train.py --epochs 1",
     "also run the program and follow its data"},
    {"cuspan doctor --expect nvtx,graph-nodes,cudaGetDevice", "check whether the missing data is enabled"},
    {0}};

static const struct command_option cdi_options[] = {
    A_FILE(OPTION_DIRECTORY, "directory", "DIR", "folder of the CDI file (default: /etc/cdi)"),
    VALUE(OPTION_ENDPOINT, "endpoint", "URL",
          "write: containers send spans to this URL, whatever their variables say"),
    PROTOCOL,
    VALUE(OPTION_SERVICE_NAME, "service-name", "NAME", "write: service.name of the spans of all containers"),
    A_FILE(OPTION_CONFIG, "config", "FILE", "write: configuration file to mount into containers"),
    LIBRARY,
    {0}};

static const struct command_example cdi_examples[] = {
    {"cuspan cdi write", "define the device cuspan.io/agent=on (as root)"},
    {"podman run --device nvidia.com/gpu=all --device cuspan.io/agent=on IMAGE",
     "trace a container; the same with Docker 28.2 or later"},
    {"cuspan cdi write --endpoint http://collector:4318", "the same, with the destination of the spans"},
    {"cuspan cdi remove", "remove the device"},
    {0}};

static const struct command_option version_options[] = {FLAG(OPTION_JSON, "json", "print JSON"), {0}};

static const struct command_option help_options[] = {
    OPTION(OPTION_MAN, "man", "COMMAND", "print the command's man page (\"cuspan\": the main page)",
           COMPLETES_COMMAND, NULL),
    ONE_OF(OPTION_COMPLETION, "completion", "SHELL",
           "print the completion script for a shell: bash, zsh or fish",
           "bash zsh fish"), /* as in completion.c */
    FLAG(OPTION_CANDIDATES, "candidates", "used by these scripts: print what completes the last word"),
    {0}};

static const struct command_example help_examples[] = {
    {"cuspan help run", "explain how to run a program under the agent"},
    {"cuspan help --man show | man -l -", "open a man page"},
    {"source <(cuspan help --completion bash)", "enable completion in this shell"},
    {0}};

/* Python reads them (python/cuspan/fleet/__main__.py); a test compares the two. */
#define OF_FLEET(name, argument, help)      VALUE(OPTION_OF_FLEET, name, argument, help)
#define FILE_OF_FLEET(name, argument, help) A_FILE(OPTION_OF_FLEET, name, argument, help)
#define QUESTIONS                                                                                            \
    "calls code_lines collectives copies duplicates engine_requests errors iterations kernels "              \
    "launch_latency memory ranks slow_requests steps stragglers utilization waits"
static const struct command_option fleet_options[] = {
    OF_FLEET("engine", "URL",
             "query this server instead of a folder: clickhouse://[USER@]HOST[:PORT][/DATABASE]"),
    FILE_OF_FLEET("password-file", "FILE",
                  "file with the password of --engine (default: $CUSPAN_CLICKHOUSE_PASSWORD)"),
    ONE_OF(OPTION_OF_FLEET, "by", "WHAT",
           "repeat the answer for each of these, or each value of an attribute (its key)",
           "service job host gpu rank process day hour release"),
    OF_FLEET("top", "N", "rows, and groups with --by (20; 0: all)"),
    OF_FLEET("since", "TIME", "only spans that start at this time or later (UTC)"),
    OF_FLEET("until", "TIME", "only spans that start before this time (UTC)"),
    OF_FLEET("service", "NAME", "only spans of this service"),
    OF_FLEET("job", "NAME", "only spans of this job"),
    OF_FLEET("host", "NAME", "only spans of this host"),
    OF_FLEET("release", "VERSION", "only spans with this service.version"),
    OF_FLEET("gpu", "GPU", "only work on this GPU: UUID, or CUDA's number"),
    OF_FLEET("rank", "N", "only spans of this rank"),
    OF_FLEET("distinct", NULL, "leave out repeated spans; takes longer"),
    OF_FLEET("question", "QUESTION", "of compare: which rows (kernels)"),
    OF_FLEET("before", "WHAT", "of compare: a day or a service.version; of close: a time"),
    OF_FLEET("after", "WHAT", "of compare: the other side"),
    OF_FLEET("json", NULL, "print JSON: times in ns, sizes in bytes"),
    OF_FLEET("csv", NULL, "print CSV"),
    OF_FLEET("markdown", NULL, "print Markdown"),
    OUTPUT(OPTION_OF_FLEET, "plot", "FILE",
           "also draw the answer into this .png, .svg or .pdf; needs matplotlib"),
    OUTPUT('o', "output", "FILE", "write the answer to this file"),
    OF_FLEET("memory", "SIZE", "memory for the query engine (1GB)"),
    OF_FLEET("threads", "N", "threads of the query engine (default: all cores)"),
    {0}};

static const struct command_example fleet_examples[] = {
    {"cuspan fleet kernels fleet --by host --top 5",
     "print the five kernels of each host that took the most time"},
    {"cuspan fleet compare fleet --question calls --before 2026-11-25 --after 2026-11-26",
     "compare two days"},
    {0}};

const struct command commands[] = {
    {
        .name = "run",
        .operands = "[--] PROGRAM [ARGUMENT...]",
        .run = cmd_run,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "run a program and export its CUDA calls and GPU work as spans",
        .text = "Runs PROGRAM with the agent and exits with its status. The program's output does not "
                "change. At the end, cuspan reports on standard error how many spans were delivered to which "
                "destination, what was lost and why, and where to find the trace."
                "\n\n"
                "All processes of PROGRAM start in one trace. After 10,000 spans or 60 s (session.spans_max, "
                "session.age_max_ms), a process continues in a new trace, linked to the previous one. If "
                "TRACEPARENT is not set, cuspan creates it, and sends the root span when PROGRAM has ended."
                "\n\n"
                "CUPTI supports one tool per process. While a profiler inside PROGRAM uses it, cuspan traces "
                "nothing. It continues afterwards, and says in one line what it left out. With --share, and "
                "where graphs are traced by node anyway, both trace, if CUPTI is new enough (13.3)."
                "\n\n"
                "Options override the configuration. Without options, the agent reads CUSPAN_CONFIG_FILE or "
                "OTEL_CONFIG_FILE, else the OTEL_* variables. The default endpoint is http://localhost:4318.",
        .options = run_options,
        .examples = run_examples,
        .related = "record show stat doctor",
    },
    {
        .name = "record",
        .operands = "-o FILE [--] PROGRAM [ARGUMENT...]",
        .run = cmd_record,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "run a program and record its raw events for replay without a GPU",
        .text = "Runs PROGRAM with the agent, which writes what CUPTI reports (calls with their parameters, "
                "GPU activity) to FILE and exports nothing. The recording holds names, parameters and times, "
                "but none of the program's data.",
        .options = record_options,
        .examples = record_examples,
        .related = "replay show stat",
    },
    {
        .name = "replay",
        .operands = "FILE",
        .run = cmd_replay,
        .completes = COMPLETES_FILE,
        .summary = "run the complete agent on a recording, without a GPU",
        .text = "Replays FILE through a CUPTI stand-in, so that the agent exports what it exported when "
                "FILE was recorded. The exit status is 1 if an output received none of the spans.",
        .options = replay_options,
        .examples = replay_examples,
        .related = "record show",
    },
    {
        .name = "send",
        .operands = "[DIRECTORY|FILE...]",
        .run = cmd_send,
        .completes = COMPLETES_FILE,
        .summary = "deliver spans and metrics that are stored on disk",
        .text = "Delivers the contents of a spool, oldest first, and each process's spans in order. Without "
                "an operand, cuspan send uses the spool of the setting spool.directory. Delivered data is "
                "removed. "
                "Data of a running process stays for that process to send."
                "\n\n"
                "FILE is a file of a spool, or of OTLP JSON lines as cuspan and the OpenTelemetry Collector "
                "write them. A file of JSON lines is kept, so sending it again delivers it twice."
                "\n\n"
                "The configuration determines destination and headers, as for an agent. Metrics without a "
                "destination of their own go where the spans go: to /v1/metrics instead of /v1/traces, or to "
                "the same gRPC endpoint. The exit status is 1 if anything was refused or remains.",
        .options = send_options,
        .examples = send_examples,
        .related = "run",
    },
    {
        .name = "show",
        .operands = "FILE|-",
        .run = cmd_show,
        .completes = COMPLETES_FILE,
        .summary = "draw a trace in the terminal, list it, or convert it for Perfetto",
        .text =
            "Draws a trace in the terminal, lists its spans (--lines), or converts it (--perfetto). FILE is "
            "a file of OTLP JSON lines or protobuf messages as cuspan and the OpenTelemetry Collector write "
            "them, "
            "also compressed by gzip or zstd, a recording, or a response of Jaeger's API; \"-\" is standard "
            "input."
            "\n\n"
            "Each line of the picture is a span, or several equal spans (\"x1200\"), below the span that "
            "caused it. A bar shows the time of the span. Where a line stands for several spans, the "
            "bar's height shows their share of each moment. All bars use one scale. A long interval in "
            "which nothing starts or ends is shortened and marked (--linear draws it in full)."
            "\n\n"
            "A step of a training job begins with a line for each rank, in which the rank that the others "
            "waited for is marked. Below an iteration or a request of a serving engine are its requests or "
            "times, and the traces that it links to.",
        .options = show_options,
        .examples = show_examples,
        .related = "stat run",
    },
    {
        .name = "stat",
        .operands = "FILE... | [--] PROGRAM [ARGUMENT...]",
        .run = cmd_stat,
        .completes = COMPLETES_FILE,
        .summary = "print tables of calls, kernels, copies, GPUs, memory and findings",
        .text =
            "Prints tables of the spans in all FILEs, or of a run of PROGRAM. FILE is a file of OTLP JSON "
            "lines or "
            "protobuf messages as cuspan and the OpenTelemetry Collector write them, also compressed by gzip "
            "or "
            "zstd, a recording, a folder of such files, or a pattern in quotes; \"-\" is standard input. "
            "Spans of all traces and processes count. Input that is larger than memory is sorted in TMPDIR."
            "\n\n"
            "PROGRAM runs with the agent, as with cuspan run, and its spans are counted at the end. Spans "
            "that a sampler drops do not count. The tables go to standard error, because the output is the "
            "program's, and the exit status is the program's too."
            "\n\n"
            "Medians and 99th percentiles are values that occur (nearest rank). Times are CUPTI's: sums "
            "agree with its records to the nanosecond."
            "\n\n"
            "With --by, each table covers the spans of one group, and each span belongs to one group, so "
            "that the sum over all groups is the total. GPU work belongs to the thread of its call. A range "
            "is the innermost one; ranges of one name form one group. A request is a trace that no session "
            "started. A call belongs to the stream and device of its work, or else to its context's device.",
        .options = stat_options,
        .examples = stat_examples,
        .related = "flame diff show run",
    },
    {
        .name = "flame",
        .operands = "FILE...",
        .run = cmd_flame,
        .completes = COMPLETES_FILE,
        .summary = "draw GPU time by call stack: flame graph, folded stacks, pprof",
        .text = "Draws the GPU time of the spans in all FILEs by the call stacks of the launches, from the "
                "program's outermost function to the kernel. The program must have been traced with "
                "capture.launch_stacks. FILE is a file of spans or a recording, as for cuspan "
                "stat."
                "\n\n"
                "The SVG opens in any browser: click to zoom, search by regular expression. It loads nothing "
                "from "
                "the network. Values are exact: ns, bytes or launches. Work without a stack has frames of "
                "its own."
                "\n\n"
                "With --diff, the width of a frame is the sum of both runs. A frame is a function, without a "
                "line "
                "number, because edits move lines.",
        .options = flame_options,
        .examples = flame_examples,
        .related = "stat diff",
    },
    {
        .name = "export",
        .operands = "FILE...",
        .run = cmd_export,
        .completes = COMPLETES_FILE,
        .summary = "write spans as Parquet, for Perfetto, or to SQLite",
        .text =
            "Writes the spans of all FILEs in another format. FILE is a file of spans or a recording, as for "
            "cuspan stat. Input that is larger than memory is sorted in TMPDIR."
            "\n\n"
            "Parquet: a folder with a file per hour, process and GPU, for queries over many machines with "
            "DuckDB, ClickHouse, pandas or Spark. Later exports "
            "add files to the folder. A second export of the same files replaces theirs, and a second one of "
            "a recording is refused."
            "\n\n"
            "SQLite: all spans in the schema of Nsight Systems, as with cuspan stat "
            "--sqlite. Perfetto: one trace, as with cuspan show --perfetto.",
        .options = export_options,
        .examples = export_examples,
        .related = "stat show",
    },
    {
        .name = "fleet",
        .operands = "QUESTION [FOLDER]",
        .run = cmd_fleet,
        .completes = COMPLETES_WORD_OR_FILE,
        .words = QUESTIONS " compare close",
        .summary = "answer questions about the spans of many machines (Python)",
        .text =
            "Answers questions about the spans of many programs, in FOLDER, which cuspan export wrote, or in "
            "ClickHouse. QUESTION is one of: " QUESTIONS ". "
            "compare compares two days or two releases, and close merges the files of past hours."
            "\n\n"
            "It is a part of cuspan's Python package, and needs DuckDB. With the wheel in the folder dist:"
            "\n"
            "pip install --find-links dist 'cuspan[fleet]'",
        .options = fleet_options,
        .examples = fleet_examples,
        .related = "export stat",
    },
    {
        .name = "diff",
        .operands = "BASE NEW",
        .run = cmd_diff,
        .completes = COMPLETES_FILE,
        .summary = "compare runs, and fail on a regression",
        .text =
            "Compares the time of every kernel, call and kind of copy, and the totals of each run. With four "
            "or more runs per side, it permutes runs between the sides (Westfall and Young). Otherwise it "
            "compares executions (Mann and Whitney, with Holm's correction). Both keep the rate of false "
            "alarms of the whole comparison at 5 %. A significant difference beyond its threshold (5 % for "
            "kernels, 10 % for copies and totals, 25 % for calls, or as --limits says) is a regression or an "
            "improvement."
            "\n\n"
            "If both sides have call stacks, it also lists the lines of the program whose GPU time changed "
            "the "
            "most. They do not change the verdict."
            "\n\n"
            "BASE and NEW are recordings, files of OTLP spans, baselines (cuspan stat --save), or "
            "folders of such files. Each file except a baseline is one run. For several runs per side, use "
            "--base and --new."
            "\n\n"
            "The exit status is 1 after a regression or an exceeded limit, and 2 if a file cannot be read.",
        .options = diff_options,
        .examples = diff_examples,
        .related = "stat",
    },
    {
        .name = "overhead",
        .operands = "[--] PROGRAM [ARGUMENT...]",
        .run = cmd_overhead,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "measure what each level of tracing costs a program",
        .text =
            "Runs PROGRAM without cuspan and under each level, round by round, each round in another order. "
            "Then it prints the cost of each level relative to the run without cuspan in the same round, "
            "with a 95 % interval. The program's output is not shown, and its standard input is empty."
            "\n\n"
            "Levels:\n"
            "none: without cuspan\n"
            "asleep: with the agent, and nothing sampled\n"
            "summary, default, graph-nodes, full: with this value of the setting detail\n"
            "counters: default with counters.metrics (dram.read and dram.write, or those of --set), which "
            "waits for kernels"
            "\n\n"
            "Wall time includes the start and end of the program and of the agent. A number that the program "
            "prints (--figure) can exclude them."
            "\n\n"
            "If PROGRAM ends differently under a level, cuspan reports that, leaves the level out, and exits "
            "with status 1. Spans are created, encoded and written to /dev/null, unless --endpoint or "
            "--config sets a destination.",
        .options = overhead_options,
        .examples = overhead_examples,
        .related = "stat run",
    },
    {
        .name = "check",
        .operands = "[FILE]",
        .run = cmd_check,
        .completes = COMPLETES_FILE,
        .summary = "check a configuration and print its effect",
        .text = "Loads FILE as the agent would, or, without FILE, what the environment names. Each error "
                "gives file, line, column, key, the expected value and the closest known key. The exit "
                "status is 1 if the agent would not start with this configuration.",
        .options = check_options,
        .examples = check_examples,
        .related = "doctor",
    },
    {
        .name = "ps",
        .run = cmd_ps,
        .summary = "list processes that have an agent",
        .text = "Lists the agents of this user, or, for root, of all users: whether they wait, trace, sleep, "
                "or are disabled and why, and how many spans they created and lost. Processes that use a GPU "
                "without "
                "an agent follow. The exit status is 1 if there is no agent.",
        .options = ps_options,
        .related = "status top",
    },
    {
        .name = "status",
        .operands = "[PID|PROGRAM]",
        .run = cmd_status,
        .summary = "print what an agent captured, delivered and lost",
        .text = "Shows the accounts of one running agent, or of all: what was captured and what became of "
                "it, what each output received, each loss by reason with the setting that prevents it, time "
                "asleep, memory, and CUPTI. The sums add up exactly. Anything else is shown as unaccounted "
                "for, and is a bug.",
        .options = status_options,
        .examples = status_examples,
        .related = "ps top doctor",
    },
    {
        .name = "top",
        .operands = "[PID|PROGRAM]",
        .run = cmd_top,
        .summary = "watch processes that have an agent",
        .text = "Shows a live view of one process, or of all processes of this user (for root: of all "
                "users): GPU "
                "utilization, calls, launches, waits, the kernels that take the most time, allocated memory, "
                "the cost of tracing, and losses. Of training jobs, also the ranks on this host."
                "\n\n"
                "Keys: q quits, p pauses, s changes the order of kernels, the arrow keys select a process, a "
                "selects all, + and - change the interval."
                "\n\n"
                "An agent counts only while it is watched, and for 10 s afterwards. GPU work appears when "
                "CUPTI delivers its records, once a second (cupti.flush_interval_ms). Memory is what the "
                "traced calls have allocated.",
        .options = top_options,
        .examples = top_examples,
        .related = "ps status",
    },
    {
        .name = "hang",
        .operands = "[FILE...]",
        .run = cmd_hang,
        .completes = COMPLETES_FILE,
        .summary = "explain which rank holds up a job",
        .text =
            "Reads what each rank has enqueued at its communicators, while the job hangs, and names the "
            "rank that the others wait for, with the call that it did not make, made differently or made in "
            "another order, whether this is sure, and what is unknown. Without FILE, the processes of this "
            "user on this host; for root, of all users."
            "\n\n"
            "FILE is what --json --this-host printed on other hosts (\"-\": standard input), a file of OTLP "
            "logs with reports of agents, or a file of a live state that an ended process has left."
            "\n\n"
            "With --job, --pods or --hosts, it runs cuspan hang --json --this-host there. Hosts that give no "
            "answer are named."
            "\n\n"
            "The exit status is 3 if a job hangs, 0 if none does or it may be a pause (\"No movement\"), and "
            "1 if nothing is known, a FILE cannot be read, or no job hangs on the hosts that answer, and "
            "others do not.",
        .options = hang_options,
        .examples = hang_examples,
        .related = "top ps",
    },
    {
        .name = "attach",
        .operands = "PID|PROGRAM",
        .run = cmd_attach,
        .summary = "trace a process that runs already, without restarting it",
        .text =
            "Loads the agent into a running process and starts tracing. One thread that sleeps is stopped "
            "for about a millisecond and creates another one, which loads the agent; its own system call "
            "continues. If the process cannot be attached to, one line says why, and it is unchanged."
            "\n\n"
            "The agent reads the settings in the environment with which the process was started, not in "
            "that of this command; options override them. Files are opened by the process, as its user."
            "\n\n"
            "If the process has an agent already, this is `cuspan start`."
            "\n\n"
            "After an attach, these are unknown: CUDA graphs and memory from before, NVTX ranges, "
            "operations of NCCL, and steps of training loops that only Python hooks can see. "
            "The page attach.md of the documentation has the details.",
        .options = attach_options,
        .examples = attach_examples,
        .related = "detach run ps",
    },
    {
        .name = "detach",
        .operands = "[PID|PROGRAM]",
        .run = cmd_detach,
        .summary = "stop tracing a process and release CUPTI to other tools",
        .text =
            "The same as `cuspan stop --release`. Delivers what was captured, and leaves CUPTI, so that "
            "calls run as without an agent and other tools can use CUPTI. The agent and its threads stay in "
            "the process until it ends. `cuspan start` traces again.",
        .options = control_options,
        .related = "attach stop start",
    },
    {
        .name = "start",
        .operands = "[PID|PROGRAM]",
        .run = cmd_start,
        .summary = "start tracing a process that has an agent",
        .text = "Starts an agent that waits (start_on: control), that was stopped, or that sleeps because "
                "its process is not sampled. Without an operand, there must be exactly one agent. `cuspan "
                "attach` traces a process that was started without the agent.",
        .options = control_options,
        .examples = start_examples,
        .related = "stop flush ps",
    },
    {
        .name = "stop",
        .operands = "[PID|PROGRAM]",
        .run = cmd_stop,
        .summary = "stop tracing a process until the next start",
        .text = "Stops capturing calls. Calls in progress have until --timeout to return and become "
                "spans; the others are counted. Captured data is delivered, and the session's span is "
                "sent. With --release, another tool in the process can use CUPTI until the next start.",
        .options = stop_options,
        .related = "start flush ps",
    },
    {
        .name = "flush",
        .operands = "[PID|PROGRAM]",
        .run = cmd_flush,
        .summary = "make a process deliver what it has captured",
        .text = "Waits until all work that has finished on the GPU is delivered. The exit status is 1 if "
                "that takes longer than --timeout.",
        .options = control_options,
        .related = "start stop ps",
    },
    {
        .name = "counters",
        .operands = "[PATTERN...]",
        .run = cmd_counters,
        .summary = "list the hardware counters of this machine's GPUs",
        .text = "Lists hardware counters, which measure what timestamps cannot show: bytes read from memory, "
                "cache hits, "
                "instructions. The setting counters.metrics selects them by plain names or by the chip's own "
                "metrics. PATTERN, with '*' and '?', lists the chip's metrics that match. A metric needs one "
                "of its rollups: dram__bytes_read.sum."
                "\n\n"
                "Counting costs time and changes what it measures: the page counters.md of the documentation "
                "explains it.",
        .options = counters_options,
        .examples = counters_examples,
        .related = "run stat",
    },
    {
        .name = "doctor",
        .operands = "[[--] PROGRAM [ARGUMENT...]]",
        .run = cmd_doctor,
        .is_launcher = true,
        .completes = COMPLETES_PROGRAM,
        .summary = "find out why there is no data, or why it is slow, and how to fix it",
        .text = "Checks every step from driver to collector: driver, CUPTI, injection, configuration, "
                "collector, permissions, causes of slowness, and running agents. Each check prints one line: "
                "ok, warning, problem, unknown (cannot be determined) or skipped (nothing to check), "
                "with what it found, and below it a fix. The exit status is 1 if there is a problem."
                "\n\n"
                "With PROGRAM, it also runs the program with the agent, discards its output, and reports "
                "where its data stopped: agent never loaded, asleep, no CUPTI, no GPU records, nothing "
                "delivered, or no fault found. The spans are sent as usual."
                "\n\n"
                "The page troubleshooting.md of the documentation explains every check by name.",
        .options = doctor_options,
        .examples = doctor_examples,
        .related = "check status",
    },
    {
        .name = "cdi",
        .operands = "write|remove",
        .run = cmd_cdi,
        .completes = COMPLETES_WORDS,
        .words = "write remove",
        .summary = "let containers load the agent without changing their image",
        .text =
            "Writes or removes a CDI file (Container Device Interface), by which Podman and Docker "
            "add the agent to a container: a read-only mount of the agent's folder below /opt/cuspan, and "
            "the "
            "variables CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH and NCCL_PROFILER_PLUGIN. Only "
            "containers "
            "that name the device are affected."
            "\n\n"
            "--device cuspan.io/agent=on overrides these variables if the container sets them itself. "
            "--device cuspan.io/agent=files only mounts the agent, and leaves the container's variables "
            "alone."
            "\n\n"
            "The file must not contain secrets, because every user can read it. cuspan cdi never overwrites "
            "or removes a file that it did not write.",
        .options = cdi_options,
        .examples = cdi_examples,
        .related = "doctor run",
    },
    {
        .name = "version",
        .run = cmd_version,
        .summary = "print the version and build of this program",
        .text =
            "Prints the version and build of this program, and the CUPTI versions whose records it knows.",
        .options = version_options,
    },
    {
        .name = "help",
        .operands = "[COMMAND|settings|metrics|environment]",
        .run = cmd_help,
        .completes = COMPLETES_COMMAND,
        .words = "settings metrics environment",
        .summary = "print help on a command, settings, metrics or environment variables",
        .text = "Prints the list of commands, help on one command, or the list of all settings, metrics or "
                "environment variables.",
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
