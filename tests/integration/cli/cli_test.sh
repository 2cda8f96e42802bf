#!/usr/bin/env bash
# The command line as a person uses it, without a GPU and without the agent: stand-ins for a CUDA program read the
# variables
# that `cuspan run` sets for the agent, and write the report that the agent would write.
#
# usage: cli_test.sh PATH/TO/cuspan
set -u
cuspan=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export TMPDIR=$work/tmp LC_ALL=C.UTF-8
mkdir "$TMPDIR"
unset CUSPAN_SET CUSPAN_CONFIG_FILE OTEL_CONFIG_FILE CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH NCCL_PROFILER_PLUGIN PYTHONPATH CUSPAN_LIBRARY NO_COLOR COLUMNS
failures=0
checks=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*" >&2
}

# expect NAME STATUS COMMAND...: runs it with its output in $out and its error output in $err.
expect() {
    local name=$1 wanted=$2 got
    shift 2
    checks=$((checks + 1))
    "$@" >out.txt 2>err.txt
    got=$?
    out=$(<out.txt)
    err=$(<err.txt)
    [[ $got == "$wanted" ]] || fail "$name: exit status $got, not $wanted; standard error: $err"
}

# says NAME TEXT PATTERN: the text must match the pattern of [[ ]].
says() {
    checks=$((checks + 1))
    # shellcheck disable=SC2053 # the right side is a pattern
    [[ $2 == $3 ]] || fail "$1: expected \"$3\" in: $2"
}

one_line() {
    checks=$((checks + 1))
    [[ $(wc -l <err.txt) == 1 ]] || fail "$1: expected one line, got: $err"
}

# man_page NAME: it has the sections of a man page, and groff has no complaint.
man_page() {
    expect "man $1" 0 "$cuspan" help --man "$1"
    says "man $1" "$out" ".TH CUSPAN*.SH NAME*.SH DESCRIPTION*.SH EXIT STATUS*.SH ENVIRONMENT*.SH SEE ALSO*"
    if command -v groff >/dev/null; then
        checks=$((checks + 1))
        groff -man -Tutf8 -ww out.txt >/dev/null 2>groff.txt
        [[ -s groff.txt ]] && fail "man page of $1: $(head -3 groff.txt)"
    fi
}

### output that cannot be written

to_full_disk() {
    "$@" >/dev/full
}
expect "a full disk" 1 to_full_disk "$cuspan" help settings
says "a full disk" "$err" "cuspan: standard output: No space left on device"
expect "a full disk and other problems" 1 to_full_disk "$cuspan" doctor --set detial=full
says "a full disk and other problems" "$err" "cuspan: standard output: No space left on device"

### help, version, usage errors

expect "no command" 2 "$cuspan"
expect "help" 0 "$cuspan" help
says "help" "$out" "*run *record *replay *show *stat *overhead *check *top *counters *doctor *cdi *version *help*"
expect "--help" 0 "$cuspan" --help
for command in $("$cuspan" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    expect "help $command" 0 "$cuspan" help "$command"
    says "help $command" "$out" "usage: cuspan $command*"
    expect "$command --help" 0 "$cuspan" "$command" --help
    man_page "$command"
done
man_page cuspan
expect "help settings" 0 "$cuspan" help settings
says "help settings" "$out" "*otlp_http*"
expect "help environment" 0 "$cuspan" help environment
expect "help fleet" 0 "$cuspan" help fleet
says "help fleet" "$out" "*pip install --find-links dist*"
expect "fleet without the wheel" 2 "$cuspan" fleet kernels .
says "fleet without the wheel" "$err" "*pip install --find-links dist*"
# Packages do not have the folder docs.
checks=$((checks + 1))
grep -qaE 'docs/[a-z-]+\.md' "$cuspan" && fail "a message points to a page by its path: $(grep -aoE '.{60}docs/[a-z-]+\.md' "$cuspan" | head -1)"
expect "help on nothing" 2 "$cuspan" help nonsense
one_line "help on nothing"
expect "unknown command" 2 "$cuspan" recrod
says "unknown command" "$err" "*did you mean record?*"
one_line "unknown command"
expect "unknown option" 2 "$cuspan" show --linse x
says "unknown option" "$err" "*did you mean --lines?*"
one_line "unknown option"
expect "a word instead of a number" 2 "$cuspan" flush --timeout soon
says "a word instead of a number" "$err" "cuspan flush: --timeout needs a number from 0 to *, not \"soon\"*"
expect "version" 0 "$cuspan" version
says "version" "$out" "cuspan [0-9]*CUPTI: tables for 12.0 to 1[3-9].[0-9]*"
expect "version as JSON" 0 "$cuspan" version --json
python3 -m json.tool out.txt >/dev/null || fail "version --json is not JSON"
"$cuspan" version >/dev/full 2>/dev/null && fail "a full disk goes unnoticed"

### completion

"$cuspan" help --completion bash >completion.bash
# complete_line WORDS...: what bash would suggest for the last word.
complete_line() {
    PATH=$(dirname "$cuspan"):$PATH bash -c 'source completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cuspan; echo "${COMPREPLY[*]}"' _ "$@"
}
says "completion of commands" "$(complete_line cuspan re)" "record replay"
says "completion of options" "$(complete_line cuspan show --p)" "--perfetto"
says "completion of words" "$(complete_line cuspan run --detail g)" "graph-nodes"
touch a_file
says "completion of words and files" "$(complete_line cuspan fleet ker) $(complete_line cuspan fleet kernels a_f)" "kernels a_file"
says "completion of files" "$(complete_line cuspan show a_f)" "a_file"
says "completion of a program's arguments" "$(complete_line cuspan run --detail full prog a_f)" "a_file"
says "completion of topics" "$(complete_line cuspan help set)" "settings"

### check

expect "check of the environment" 0 "$cuspan" check
says "check of the environment" "$out" "*: ok*http://localhost:4318/v1/traces*NVTX ranges: on under*"
cat >good.yaml <<'YAML'
file_format: "1.1"
tracer_provider:
  processors:
    - batch:
        exporter:
          otlp_http:
            endpoint: http://user:secret@collector:4318/v1/traces
YAML
expect "check without NVTX" 0 env CUDA_INJECTION64_PATH=/a.so "$cuspan" check
says "check without NVTX" "$out" "*NVTX ranges: off, NVTX_INJECTION64_PATH is not set; set it to /a.so*"
expect "check of NVTX alone" 0 env NVTX_INJECTION64_PATH=/a.so "$cuspan" check
says "check of NVTX alone" "$out" "*NVTX ranges: off without CUDA_INJECTION64_PATH; set it to /a.so*"
expect "check of another's NVTX" 0 env CUDA_INJECTION64_PATH=/a.so NVTX_INJECTION64_PATH=/b.so "$cuspan" check
says "check of another's NVTX" "$out" "*NVTX ranges: off, NVTX_INJECTION64_PATH is another library: /b.so*"
expect "check of both" 0 env CUDA_INJECTION64_PATH=/a.so NVTX_INJECTION64_PATH=/a.so "$cuspan" check
says "check of both" "$out" $'*NVTX ranges: on\n*'
expect "check of NVTX switched off" 0 "$cuspan" check --set capture.nvtx=false
says "check of NVTX switched off" "$out" "*NVTX ranges: off, by capture.nvtx*"
expect "check of a good file" 0 "$cuspan" check good.yaml
says "check of a good file" "$out" "*good.yaml: ok*http://collector:4318/v1/traces*"
[[ $out == *secret* ]] && fail "check shows a password"
sed 's/endpoint:/endpont:/' good.yaml >bad.yaml
expect "check of a bad file" 1 "$cuspan" check bad.yaml
says "check of a bad file" "$err" "*bad.yaml:7:*endpont*endpoint*"
expect "check of no file" 1 "$cuspan" check missing.yaml
expect "check with a setting" 0 "$cuspan" check --set detail=full
says "check with a setting" "$out" "*detail: full*"
expect "check with zstd" 0 "$cuspan" check --set compression=zstd
says "check with zstd" "$out" "*spans go to OTLP/HTTP: *protobuf? with zstd*"

### show

# fits COLUMNS: whether all lines of standard input are at most that wide; double-width characters count as two.
fits() {
    python3 -c '
import sys, unicodedata
def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
sys.stdin.reconfigure(encoding="utf-8")
sys.exit(any(columns(line.rstrip("\n")) > int(sys.argv[1]) for line in sys.stdin))' "$1"
}

for kind in small threads large wide; do
    python3 "$here/../../support/make_trace.py" $kind >$kind.jsonl
    for width in 40 80 133 300; do
        expect "show $kind in $width columns" 0 "$cuspan" show --width $width $kind.jsonl
        checks=$((checks + 1))
        fits "$width" <out.txt || fail "show $kind: a line is wider than $width columns"
    done
    says "show $kind" "$out" "*trace *GPU 0*NVIDIA H200*stream 7*"
done
expect "show of 10,000 spans" 0 "$cuspan" show --width 100 large.jsonl
says "show of 10,000 spans" "$out" "*10,024 spans*cudaLaunchKernel ×4,921*cudaErrorInvalidValue*"
[[ $(wc -l <out.txt) -lt 60 ]] || fail "10,000 spans take $(wc -l <out.txt) lines"
expect "show of every span" 0 "$cuspan" show --rows 0 --width 100 large.jsonl
[[ $(wc -l <out.txt) -gt 10000 ]] || fail "--rows 0 leaves lines out"
expect "show of a pipe" 0 bash -c "'$cuspan' show - <small.jsonl | head -1"
says "show of a pipe" "$out" "vector_add  trace*"
expect "show of a real pipe" 0 bash -c "cat small.jsonl | '$cuspan' show -"
expect "no colours in a file" 0 "$cuspan" show threads.jsonl
[[ $out == *$'\033'* ]] && fail "a control character reaches the output"
expect "colours on request" 0 "$cuspan" show --color always threads.jsonl
says "colours on request" "$out" "*"$'\033[31m'"cudaMalloc*"
expect "ASCII" 0 env LC_ALL=C "$cuspan" show threads.jsonl
LC_ALL=C grep -q '[^ -~]' out.txt && fail "the C locale gets more than ASCII"
expect "COLUMNS" 0 env COLUMNS=50 "$cuspan" show small.jsonl

expect "lines" 0 "$cuspan" show --lines threads.jsonl
[[ $(wc -l <out.txt) == 225 ]] || fail "224 spans give $(wc -l <out.txt) lines with the header"
[[ $(awk -F'  +' '/^ / && $5 == "error"' out.txt | wc -l) == 2 ]] || fail "two errors are not to be found by awk"
LC_ALL=C sort -c -n <(awk '!/^#/ {print $1}' out.txt) || fail "lines are not in order of time"

expect "perfetto" 0 "$cuspan" show --perfetto perfetto.json threads.jsonl
python3 - <<'PY' || fail "the file for Perfetto is wrong"
import json
events = json.load(open("perfetto.json"))["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
assert len(slices) == 224, len(slices)
begins = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
assert begins.keys() == ends.keys() and len(begins) == 109, len(begins)
tracks = {}
for e in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
    open_slices = tracks.setdefault((e["pid"], e["tid"]), [])
    while open_slices and open_slices[-1] <= e["ts"] + 1e-9:
        open_slices.pop()
    assert not open_slices or e["ts"] + e["dur"] <= open_slices[-1] + 1e-6, ("slices overlap", e)
    open_slices.append(e["ts"] + e["dur"])
named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
assert set(tracks) <= named
PY
expect "perfetto to standard output" 0 "$cuspan" show --perfetto - small.jsonl
python3 -m json.tool out.txt >/dev/null || fail "--perfetto - is not JSON"
expect "perfetto to nowhere" 1 "$cuspan" show --perfetto /nonexistent/x small.jsonl
one_line "perfetto to nowhere"
"$cuspan" show --perfetto /dev/full small.jsonl 2>/dev/null && fail "a full disk goes unnoticed by --perfetto"

cat small.jsonl <(python3 "$here/../../support/make_trace.py" small 2) large.jsonl >mixed.jsonl
printf 'not json\n' >>mixed.jsonl
expect "a bad line" 0 "$cuspan" show mixed.jsonl
says "a bad line" "$err" "*mixed.jsonl:23: invalid JSON*"
one_line "a bad line"
expect "no file" 1 "$cuspan" show missing.jsonl
one_line "no file"
mkdir -p no-files
expect "a directory" 1 "$cuspan" show no-files
one_line "a directory"
expect "an empty file" 1 "$cuspan" show /dev/null
one_line "an empty file"
expect "no such trace" 1 "$cuspan" show --trace ffffffff small.jsonl
one_line "no such trace"
tail -c +2 "$here/../../fuzz/seeds/otlp_json/odd_after_choice" >odd.pb # the largest trace cannot be read
expect "another trace can be read" 0 "$cuspan" show odd.pb
says "another trace can be read" "$out" "*trace 0af7651916cd43dd8448eb211c803131*"
expect "a trace that cannot be read" 1 "$cuspan" show --trace 0af7651916cd43dd8448eb211c80319c odd.pb
one_line "a trace that cannot be read"
late=$here/../../../examples/training/late_rank.jsonl.gz
expect "ranks" 0 "$cuspan" show --width 110 "$late"
says "ranks" "$out" "*rank 0  vm *ms ·*░*rank 1  late by 34.3 ms  vm *  0 ns *█ compute*step 15*"
expect "one rank" 0 "$cuspan" show --rank 1 --width 110 "$late"
says "one rank" "$out" "*337 spans *rank 1 *"
[[ $out != *"rank 0"* ]] || fail "--rank 1 shows rank 0"
expect "no such rank" 1 "$cuspan" show --rank 7 "$late"
says "no such rank" "$err" "cuspan show: the trace * has no rank 7; choose another one, or another trace with --trace"
expect "clocks of one host" 0 "$cuspan" show --align-clocks "$late"
says "clocks of one host" "$err" "*no clocks to align: there is one host, or there are no collectives"
expect "a removed option" 2 "$cuspan" show --max-spans 100 large.jsonl
expect "a false recording" 1 "$cuspan" show <(printf '\x89CUSPAN\n\x01\x00')
[[ -z $(ls "$TMPDIR") ]] || fail "show leaves files behind: $(ls "$TMPDIR")"

### run

# The real one, which creates the root span. Without an exporter there is none, unless a test names one.
cp "$(dirname "$cuspan")/libcuspan.so" .
export CUSPAN_LIBRARY=$work/libcuspan.so OTEL_TRACES_EXPORTER=none
cat >app <<'APP'
#!/usr/bin/env bash
# Stands in for a CUDA program with the agent.
report=$(sed -n 's/^accounts_file=//p' <<<"$CUSPAN_SET" | tail -1)
file=$(sed -n 's/^output_file=//p' <<<"$CUSPAN_SET" | tail -1)
record=$(sed -n 's/^record_file=//p' <<<"$CUSPAN_SET" | tail -1)
echo "args:$*"
echo "library:$CUDA_INJECTION64_PATH nvtx:$NVTX_INJECTION64_PATH config:${CUSPAN_CONFIG_FILE-} set:${CUSPAN_SET//$'\n'/|}" >env.txt
echo "${NCCL_PROFILER_PLUGIN-}" >nccl.txt
echo "${PYTHONPATH-unset}" >python.txt
if [[ -n $record ]]; then
    printf 'x' >"$record"
    more=",\"recording\":\"$record\",\"events\":42"
fi
output='{"kind":"otlp_http","endpoint":"http://localhost:4318/v1/traces"}'
[[ -n $file ]] && output="{\"kind\":\"file\",\"endpoint\":\"$file\"}"
echo "{\"version\":1,\"pid\":$$,\"traces\":[\"0af7651916cd43dd8448eb211c80319c\"],\"trace_count\":1,\"spans\":5,\"delivered\":5,\"losses\":{},\"outputs\":[$output]${more-}}" >"$report.$$"
case ${1-} in
exit) exit "$2" ;;
die) kill -"$2" $$ ;;
wait) exec python3 waiter ;;
esac
APP
chmod +x app
cat >waiter <<'PY'
# Counts signals one by one (a shell's trap takes two simultaneous ones for one): TERM ends with 3, QUIT with 40 + the
# number of INTs.
import os, signal
counted, told = os.pipe()
os.set_blocking(told, False)
signal.set_wakeup_fd(told)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, lambda *_: None)
open("ready", "w").close()
interrupts = 0
while True:
    try:
        number = os.read(counted, 1)[0]
    except InterruptedError:
        continue
    if number == signal.SIGINT:
        interrupts += 1
        open("interrupts", "a").write("I")
    else:
        # "run" forwards a signal that was sent to the whole group; it must not reach Python while that exits.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise SystemExit(3 if number == signal.SIGTERM else 40 + interrupts)
PY

expect "run" 0 "$cuspan" run ./app one "two words" --file
says "run" "$out" "args:one two words --file"
says "run" "$err" "cuspan: 5 spans delivered to http://localhost:4318/v1/traces*http://localhost:16686/trace/0af7651916cd43dd8448eb211c80319c"
says "run" "$(<env.txt)" "library:$work/libcuspan.so nvtx:$work/libcuspan.so config: set:on_signal=TERM,INT,HUP|accounts_file=$TMPDIR/cuspan-run-*"
expect "run with options" 0 env CUSPAN_SET=detail=full "$cuspan" run --service-name svc --detail graph-nodes --file t.jsonl \
    --set session.spans_max=7 --config good.yaml ./app
says "run with options" "$(<env.txt)" \
    "*config:$work/good.yaml set:on_signal=TERM,INT,HUP|detail=full|service_name=svc|detail=graph-nodes|output_file=$work/t.jsonl|session.spans_max=7|accounts_file=*"
says "run with options" "$err" "cuspan: 6 spans delivered to $work/t.jsonl*cuspan show $work/t.jsonl"
expect "the root span" 0 "$cuspan" show --lines t.jsonl
says "the root span" "$out" "*  app  *process.exit.code=0*"
expect "run, quiet" 0 "$cuspan" run -q ./app
says "run, quiet" "$err" ""
expect "exit status" 7 "$cuspan" run ./app exit 7
expect "exit status 255" 255 "$cuspan" run ./app exit 255
expect "a program without a CUDA call" 0 "$cuspan" run true
says "a program without a CUDA call" "$err" "*the agent was never started*"
one_line "a program without a CUDA call"
expect "no program" 2 "$cuspan" run
expect "no such program" 127 "$cuspan" run ./nonexistent
one_line "no such program"
printf '#!/bin/sh\r\n' >crlf.sh && chmod +x crlf.sh
expect "a script with carriage returns" 127 "$cuspan" run ./crlf.sh
says "a script with carriage returns" "$err" "cuspan run: ./crlf.sh is there, but not what runs it*carriage return*"
expect "not executable" 126 "$cuspan" run ./env.txt
one_line "not executable"
expect "another injection" 2 env CUDA_INJECTION64_PATH=/opt/other.so "$cuspan" run ./app
says "another injection" "$err" "*/opt/other.so*env -u CUDA_INJECTION64_PATH*"
expect "our own injection" 0 env CUDA_INJECTION64_PATH="$work/libcuspan.so" "$cuspan" run ./app
expect "another injection of NVTX" 0 env NVTX_INJECTION64_PATH=/opt/other.so "$cuspan" run ./app
says "another injection of NVTX" "$err" "*NVTX_INJECTION64_PATH is set to /opt/other.so*5 spans delivered*"
says "another injection of NVTX" "$(<env.txt)" "library:$work/libcuspan.so nvtx:/opt/other.so *"
expect "another injection of NVTX, quiet" 0 env NVTX_INJECTION64_PATH=/opt/other.so "$cuspan" run -q ./app
says "another injection of NVTX, quiet" "$err" ""
expect "our own injection of NVTX" 0 env NVTX_INJECTION64_PATH="$work/./libcuspan.so" "$cuspan" run -q ./app
says "our own injection of NVTX" "$(<env.txt)" "library:$work/libcuspan.so nvtx:$work/libcuspan.so *"
expect "NVTX switched off by nobody" 0 env NVTX_INJECTION64_PATH= "$cuspan" run -q ./app
says "NVTX switched off by nobody" "$(<env.txt)" "*nvtx:$work/libcuspan.so *"
says "NCCL's plugin" "$(<nccl.txt)" "$work/libcuspan.so"
expect "another plugin of NCCL" 0 env NCCL_PROFILER_PLUGIN=inspector "$cuspan" run -q ./app
says "another plugin of NCCL" "$(<nccl.txt)" "inspector"
says "no archive for Python" "$(<python.txt)" "unset"
cp "$(dirname "$cuspan")/python.zip" .
for before in "" /a:/b "/a:$work/python.zip"; do
    expect "Python's path" 0 env PYTHONPATH="$before" "$cuspan" run -q ./app
    case $before in
    *python.zip) says "Python's path, twice" "$(<python.txt)" "$before" ;;
    *) says "Python's path" "$(<python.txt)" "$work/python.zip${before:+:$before}" ;;
    esac
done
expect "Python's path under another tool" 0 env NV_COMPUTE_PROFILER_PERFWORKS_DIR=/ "$cuspan" run -q ./app
says "Python's path under another tool" "$(<python.txt)" "unset"
touch empty.so
expect "a library that is none" 0 env CUSPAN_LIBRARY="$work/empty.so" "$cuspan" run ./app
says "a library that is none" "$err" "cuspan: warning: the command gets no root span: *empty.so: file too short*5 spans delivered*"
expect "no library" 2 env CUSPAN_LIBRARY=/nonexistent.so "$cuspan" run ./app
one_line "no library"
expect "a bad --set" 2 "$cuspan" run --set nonsense ./app
rm -f env.txt
expect "a setting that there is not" 2 "$cuspan" run --set detial=full ./app
says "a setting that there is not" "$err" "cuspan run: options: detial: unknown key; did you mean detail?"
one_line "a setting that there is not"
expect "an address that is none" 2 "$cuspan" run --endpoint nonsense ./app
says "an address that is none" "$err" "*endpoint: expected http://HOST:PORT*"
[[ ! -e env.txt ]] || fail "a wrong option and the program ran all the same"
expect "two ways" 2 "$cuspan" run --file x --endpoint http://localhost:4318 ./app
expect "a file in a missing directory" 2 "$cuspan" run --file missing/x.jsonl touch started
says "a file in a missing directory" "$err" "cuspan run: cannot create $work/missing/x.jsonl: No such file or directory*"
expect "a recording in a missing directory" 2 "$cuspan" record -o missing/x.cuspanrec touch started
one_line "a recording in a missing directory"
[[ ! -e started ]] || fail "a file in a missing directory: the program was started"
expect "a value that can't be passed" 2 "$cuspan" run --service-name "a;b" ./app
expect "a bad --config" 2 "$cuspan" run --config missing.yaml ./app
printf 'file_format: "1.1"\ndistribution: {cuspan: {detial: full}}\n' >wrong.yaml
expect "a wrong key in --config" 2 "$cuspan" run --config wrong.yaml touch started
says "a wrong key in --config" "$err" "cuspan run: *wrong.yaml:2:*: distribution.cuspan.detial: unknown key; did you mean detail?"
[[ ! -e started ]] || fail "a wrong key in --config: the program was started"
printf 'file_format: "1.1"\ndistribution: {cuspan: {memory_bytes_max: 33554432}}\n' >small.yaml
expect "too little memory in --config" 2 "$cuspan" run --config small.yaml touch started
says "too little memory in --config" "$err" "cuspan run: *memory_bytes_max: 33554432 is not enough *"
[[ ! -e started ]] || fail "too little memory in --config: the program was started"
expect "--set corrects --config" 0 "$cuspan" run --config small.yaml --set memory_bytes_max=67108864 touch started
[[ -e started ]] || fail "--set corrects --config: the program was not started"
printf 'file_format: "1.1"\ndistribution: {cuspan: {memory_bytes_max: 33554432, on_signal: [USR1]}}\n' >usr1.yaml
expect "on_signal of a file that --set corrects" 0 env CUSPAN_CONFIG_FILE="$work/usr1.yaml" \
    "$cuspan" run --set memory_bytes_max=67108864 ./app
says "on_signal of a file that --set corrects" "$(<env.txt)" "*set:memory_bytes_max=67108864|accounts_file=*"

# A report that is kept is readable only by the user, like all files that we write.
rm -f kept.*
expect "a report" 0 "$cuspan" run --set accounts_file=kept ./app
says "a report's mode" "$(stat -c %a kept.*)" "600"
expect "a recording to standard output" 2 "$cuspan" record -o - ./app
says "a recording to standard output" "$err" "*cannot go to standard output*"
one_line "a recording to standard output"

# An address may contain secrets before its host and after its path.
expect "check an address" 0 env -u OTEL_TRACES_EXPORTER OTEL_EXPORTER_OTLP_TRACES_ENDPOINT='http://u:PA@SS@h:1/v1/traces?key=SECRET' "$cuspan" check --all
says "check an address" "$out" "*http://h:1/v1/traces (protobuf)*\"http://h:1/v1/traces\"*"
[[ $out != *PA@* && $out != *SS@* && $out != *SECRET* ]] || fail "check shows a secret of an address"
expect "check a pipe" 0 "$cuspan" check <(printf 'file_format: "1.1"\n')

# Signals: Python sees how the process ended, a shell only 128 + n.
python3 - "$cuspan" <<'PY' || fail "signals"
import os, pty, shlex, signal, subprocess, sys, time
cuspan = sys.argv[1]

def clear():
    for name in ("ready", "interrupts"):
        open(name, "w").close()
        os.unlink(name)

def wait_for(name, size=0):
    while not os.path.exists(name) or os.path.getsize(name) < size:
        time.sleep(0.01)

def start(*args, **kwargs):
    clear()
    p = subprocess.Popen([cuspan, "run", "-q", "./app", *args], stdout=subprocess.DEVNULL, **kwargs)
    wait_for("ready")
    return p

for name in ("TERM", "KILL", "SEGV", "INT"):
    number = getattr(signal, "SIG" + name)
    got = subprocess.run([cuspan, "run", "-q", "./app", "die", name], stdout=subprocess.DEVNULL).returncode
    assert got == -number, (name, got)

p = start("wait")
p.terminate()
assert p.wait() == 3, "TERM is not sent on"

p = start("wait")
for number in range(1, 4):
    p.send_signal(signal.SIGINT)
    wait_for("interrupts", number)
p.send_signal(signal.SIGQUIT)
assert p.wait() == 43, "INT is not sent on once each"

# On a terminal, Ctrl-C reaches the program once: from the terminal, and not again from us.
clear()
pid, master = pty.fork()
if pid == 0:
    os.execv(cuspan, [cuspan, "run", "-q", "./app", "wait"])
wait_for("ready")
os.write(master, b"\x03")
wait_for("interrupts", 1)
time.sleep(0.2)  # time for a second one
os.write(master, b"\x1c")
_, status = os.waitpid(pid, 0)
assert os.WEXITSTATUS(status) == 41, status

# Stopped and continued as one job.
clear()
pid, master = pty.fork()
if pid == 0:
    os.execv("/bin/bash", ["bash", "-c", f"set -m; {shlex.quote(cuspan)} run -q ./app wait; echo stopped=$?; kill -TERM %1; fg >/dev/null; echo ended=$?"])
wait_for("ready")
os.write(master, b"\x1a")
text = b""
try:
    while b"ended=" not in text:
        text += os.read(master, 4096)
except OSError:
    pass
os.waitpid(pid, 0)
assert b"stopped=148" in text and b"ended=3" in text, text
PY
checks=$((checks + 9))
[[ -z $(ls "$TMPDIR") ]] || fail "run leaves files behind: $(ls "$TMPDIR")"

### record

expect "record" 5 "$cuspan" record -o r.cuspan ./app exit 5
says "record" "$(<env.txt)" "*set:on_signal=TERM,INT,HUP|record_file=$work/r.cuspan|accounts_file=*"
says "record" "$err" "cuspan: $work/r.cuspan: 1 B, 42 events; view it: cuspan show $work/r.cuspan"
expect "record over something else" 2 "$cuspan" record -o good.yaml ./app
says "record over something else" "$err" "*good.yaml exists and is not a recording*"
[[ -s good.yaml ]] || fail "record destroyed a file"
printf '\x89CUSPAN\n old recording' >r.cuspan
expect "record over a recording" 0 "$cuspan" record -o r.cuspan ./app
[[ $(<r.cuspan) == x ]] || fail "an old recording is not replaced"
printf '\x89CUSPAN\n old recording' >r.cuspan
expect "record of no program" 127 "$cuspan" record -o r.cuspan ./no-such-app
[[ $(<r.cuspan) == *" old recording" ]] || fail "a program that does not exist cost a recording"
[[ $(echo r.cuspan*) == r.cuspan ]] || fail "record leaves files: $(echo r.cuspan*)"
expect "record to nowhere" 2 "$cuspan" record ./app
one_line "record to nowhere"

if ((failures)); then
    echo "$failures of $checks checks failed" >&2
    exit 1
fi
echo "$checks checks passed"
