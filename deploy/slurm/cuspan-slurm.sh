#!/bin/sh
# Traces the jobs whose comment asks for it. One script for Slurm's Prolog, TaskProlog, TaskEpilog and Epilog.
#
#   sbatch --comment=cuspan job.sh
#   sbatch --comment='cuspan:endpoint=http://collector:4318,detail=graph-nodes' job.sh
#
# README.md beside this file says how to install it. Settings of the site are in cuspan.conf in the same folder.
#
# Only the Prolog and the Epilog know the comment, and they run as root. The Prolog checks the comment and writes what it
# allows to a file for the job's user. The TaskProlog prints it as variables of the task. The TaskEpilog prints the reason
# if a job that asked for traces is not traced: Slurm has no way from a TaskProlog to the job's standard error.
#
# The comment is input from a user. It is split and compared here, never evaluated, and a character outside a short
# list rejects it. The exit status is always 0, because Slurm drains a node whose Prolog fails.

PATH=/usr/bin:/bin:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
umask 077
set -f # no patterns of file names anywhere
trap 'exit 0' EXIT

VALUE_MAX=256

# ---- Settings of the site --------------------------------------------------------------------------------------------

# A value with other characters is never used: none of these means anything to a shell, or ends a setting of cuspan.
is_plain() {
    case $1 in
    '' | *[!A-Za-z0-9._:/%+-]*) return 1 ;;
    esac
    [ "${#1}" -le "$VALUE_MAX" ]
}

# Of cuspan.conf beside this script. PREFIX: where cuspan is installed. STATE: the Prolog's files.
read_site() {
    PREFIX=/usr ENDPOINT='' STATE=/run/cuspan-slurm
    [ -r "${0%/*}/cuspan.conf" ] || return 0
    while IFS='=' read -r key value; do
        is_plain "$value" || continue
        case $key in
        prefix) PREFIX=$value ;;
        endpoint) ENDPOINT=$value ;;
        state) STATE=$value ;;
        esac
    done <"${0%/*}/cuspan.conf"
    case $PREFIX in # one folder for each kind of node, on a shared file system
    *%m*) PREFIX=${PREFIX%%%m*}$(uname -m)${PREFIX#*%m} ;;
    esac
    AGENT=$PREFIX/lib/cuspan/libcuspan.so
    ARCHIVE=$PREFIX/lib/cuspan/python.zip
}

# The Prolog's file for this job. The node is in its name for slurmds that share a machine.
find_state() {
    case $SLURM_JOB_ID in
    '' | *[!0-9]*) return 1 ;;
    esac
    case $SLURMD_NODENAME in
    */*) return 1 ;;
    esac
    STATE_FILE=$STATE/$SLURM_JOB_ID.$SLURMD_NODENAME
}

# ---- The comment -----------------------------------------------------------------------------------------------------

# Leaves the first word "cuspan" or "cuspan:..." in REQUEST. The words of a site's own comments may surround it.
find_request() {
    REQUEST=''
    IFS="; $(printf '\t\n_')"
    IFS=${IFS%_}
    # shellcheck disable=SC2086 # split into words on purpose
    for word in $SLURM_JOB_COMMENT; do
        case $word in
        cuspan | cuspan:*) REQUEST=$word && break ;;
        esac
    done
    unset IFS
    [ -n "$REQUEST" ]
}

# Options of the comment go to SET (settings of cuspan, each with ";"), FILES and TRACE; an error to WRONG.
read_request() {
    SET='' FILES='' TRACE=job WRONG=''
    options=${REQUEST#cuspan}
    options=${options#:}
    IFS=,
    for option in $options; do
        unset IFS
        key=${option%%=*} value=${option#*=}
        if ! is_plain "$key" || ! is_plain "$value"; then
            # Not repeated: a terminal or a log would get its characters.
            wrong "an option is empty, longer than $VALUE_MAX characters, or has a character other than letters, digits and . _ : / % + -"
        else
            read_option "$key" "$value"
        fi
    done
    unset IFS
    case $SET in
    *endpoint=* | *protocol=*) [ -z "$FILES" ] || wrong "files excludes endpoint and protocol" ;;
    esac
}

wrong() { WRONG=${WRONG:-$1}; }

read_option() {
    case $1=$2 in
    "$option=$option") wrong "$1 has no value" ;;
    endpoint=http://* | endpoint=https://*) add_setting endpoint "$2" ;;
    protocol=http/protobuf | protocol=http/json | protocol=grpc) add_setting protocol "$2" ;;
    detail=summary | detail=default | detail=graph-nodes | detail=full) add_setting detail "$2" ;;
    service=*) add_setting service_name "$2" ;;
    files=/*) FILES=$2 ;;
    trace=job | trace=rank) TRACE=$2 ;;
    endpoint=* | protocol=* | detail=* | files=* | trace=*) wrong "$1 cannot be $2" ;;
    *) wrong "$1 is unknown; use endpoint, protocol, detail, service, files or trace" ;;
    esac
}

add_setting() { SET="$SET$1=$2;"; }

# ---- Prolog and Epilog, as root --------------------------------------------------------------------------------------

# All nodes get the same trace and parent without talking to each other.
trace_of_job() {
    [ "$TRACE" = job ] || return 0
    digest=$(printf '%s\n' cuspan "$SLURM_CLUSTER_NAME" "$SLURM_JOB_ID" "$SLURM_JOB_RESTART_COUNT" | sha256sum)
    [ "${#digest}" -ge 64 ] || return 0
    rest=${digest#????????????????????????????????}
    parent=${rest%"${rest#????????????????}"}
    echo "00-${digest%"$rest"}-$parent-01"
}

prolog() {
    rm -f "$STATE_FILE" # of an earlier job with this number whose Epilog did not run
    find_request || return 0
    read_request
    save_state ||
        logger -t cuspan "job $SLURM_JOB_ID is not traced: cannot write $STATE_FILE; make $STATE a folder of root"
}

save_state() {
    [ -d "$STATE" ] || mkdir -m 755 "$STATE" || return
    [ -O "$STATE" ] || return
    write_state >"$STATE_FILE.new" && chown "$SLURM_JOB_UID" "$STATE_FILE.new" && mv "$STATE_FILE.new" "$STATE_FILE"
}

write_state() {
    if [ -n "$WRONG" ]; then
        echo "wrong=$WRONG"
        return
    fi
    printf '%s\n' "set=$SET" "files=$FILES" "trace=$(trace_of_job)"
}

epilog() { rm -f "$STATE_FILE" "$STATE_FILE.new"; }

# ---- TaskProlog and TaskEpilog, as the user --------------------------------------------------------------------------

# False if the job did not ask for traces.
read_state() {
    SET='' FILES='' TRACE='' WRONG=''
    [ -r "$STATE_FILE" ] || return 1
    while IFS='=' read -r key value; do
        case $key in
        set) SET=$value ;;
        files) FILES=$value ;;
        trace) TRACE=$value ;;
        wrong) WRONG=$value ;;
        esac
    done <"$STATE_FILE"
}

# Why this task is not traced, in WHY. The task for which SPEAKER is 0 reports it: the first of the step or of the node.
# False if it is traced.
find_obstacle() {
    WHY='' SPEAKER=${SLURM_PROCID:-0}
    if [ -n "$WRONG" ]; then
        WHY="the job's comment is invalid: $WRONG"
    elif [ -n "$CUDA_INJECTION64_PATH" ] && ! is_agent "$CUDA_INJECTION64_PATH"; then
        WHY="CUDA_INJECTION64_PATH names another library, and CUDA loads only one; unset it to trace with cuspan"
    else
        find_obstacle_of_node
    fi
    [ -n "$WHY" ]
}

is_agent() { [ "$(readlink -f "$1")" = "$(readlink -f "$AGENT")" ]; }

# CUDA's driver ignores a library that it cannot load, without a message.
find_obstacle_of_node() {
    SPEAKER=${SLURM_LOCALID:-0}
    if ! [ -r "$AGENT" ]; then
        WHY="there is no $AGENT; install cuspan on this node, or correct prefix in cuspan.conf"
    elif ! timeout 10 "$PREFIX/bin/cuspan" version >/dev/null 2>&1; then
        WHY="$PREFIX/bin/cuspan does not run here; install the build for this node's processor and glibc"
    fi
}

# The user's own settings come last, so they win. Those that the job's script inherited from its own TaskProlog do not
# count as such: its file is not the file of this task.
settings_of_task() {
    users=$(printf '%s' "$CUSPAN_SET" | tr '\n' ';')
    ours=$SET
    if [ -n "$FILES" ]; then
        users=$(printf '%s' "$users" | sed "s|output_file=$FILES/cuspan-$SLURM_JOB_ID\.[^;]*;*||g")
        ours="output_file=$FILES/cuspan-$SLURM_JOB_ID.${SLURM_STEP_ID:-batch}.${SLURM_PROCID:-0}.jsonl;$SET"
    fi
    case $users in
    "$SET"*) users=${users#"$SET"} ;;
    esac
    SETTINGS=$ours$users
}

# Python then finds the steps of PyTorch. Slurm reads one line for each variable, so a value with several stays.
print_python_path() {
    [ -r "$ARCHIVE" ] || return 0
    newline=$(printf '\n_')
    case :$PYTHONPATH: in
    *":$ARCHIVE:"* | *"${newline%_}"*) ;;
    *) printf 'export PYTHONPATH=%s\n' "$ARCHIVE${PYTHONPATH:+:$PYTHONPATH}" ;;
    esac
}

# Slurm reads standard output and standard error here, and sets what lines with "export" say.
task_prolog() {
    exec 2>/dev/null
    read_state || return 0
    ! find_obstacle || return 0
    settings_of_task
    [ -z "$FILES" ] || mkdir -p "$FILES"
    echo "export CUDA_INJECTION64_PATH=$AGENT"
    [ -n "$NVTX_INJECTION64_PATH" ] || echo "export NVTX_INJECTION64_PATH=$AGENT"
    [ -n "$NCCL_PROFILER_PLUGIN" ] || echo "export NCCL_PROFILER_PLUGIN=$AGENT"
    print_python_path
    [ -z "$SETTINGS" ] || printf 'export CUSPAN_SET=%s\n' "$SETTINGS"
    [ -n "$TRACEPARENT" ] || [ -z "$TRACE" ] || echo "export TRACEPARENT=$TRACE"
    [ -z "$ENDPOINT" ] || [ -n "$OTEL_EXPORTER_OTLP_ENDPOINT$OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" ] ||
        echo "export OTEL_EXPORTER_OTLP_ENDPOINT=$ENDPOINT"
}

task_epilog() {
    read_state || return 0
    ! find_obstacle || [ "$SPEAKER" != 0 ] || echo "cuspan: $SLURMD_NODENAME: not traced: $WHY" >&2
}

read_site
find_state || exit 0
case $SLURM_SCRIPT_CONTEXT in
prolog_slurmd) prolog ;;
epilog_slurmd) epilog ;;
prolog_task) task_prolog ;;
epilog_task) task_epilog ;;
esac
