#!/usr/bin/env bash
# Random spans through both encoders, decoded by an independent decoder: protobuf and JSON are equal, and equal to the
# input. Then the decoder gets wrong payloads, which it must reject.
#
#   otlp_decode_test.sh OTLP_PAYLOADS [SEED]
set -euo pipefail

payloads=$1
seed=${2:-20260801}
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/../../support/otlp_python.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

decode() { # FOLDER
    "$python" "$here/../../support/otlp_decode.py" --protobuf "$1"/*.pb --json "$1"/*.json --expect "$1/spans.jsonl"
}

round() { # SEED SPANS [LIMITS...]
    local folder=$work/$1
    mkdir "$folder"
    "$payloads" "$folder" "$@"
    echo "seed $1, limits: ${*:3}"
    decode "$folder"
}

refuses() { # STATUS WHAT ARGUMENTS...
    local status=0
    "$python" "$here/../../support/otlp_decode.py" "${@:3}" >"$work/refused" 2>&1 || status=$?
    if [ "$status" != "$1" ]; then
        echo "$2: exit status $status in place of $1"
        cat "$work/refused"
        exit 1
    fi
}

round "$seed" 2000
round $((seed + 1)) 500 10 3 1 1
round $((seed + 2)) 500 0 0 0 0
round $((seed + 3)) 200 1 1 128 0

good=$work/$seed
sed 's/"kind":1/"kind":2/' "$good/000.json" >"$work/changed.json"
refuses 1 "a changed span" --protobuf "$good/000.pb" --json "$work/changed.json"
head -c 1000 "$good/000.pb" >"$work/short.pb"
refuses 2 "a truncated payload" --protobuf "$work/short.pb"
sed 's/"traceId":"\(.\)/"traceId":"G/' "$good/000.json" >"$work/id.json"
refuses 2 "an ID that isn't hex" --json "$work/id.json"
sed 's/"startTimeUnixNano":"\([0-9]*\)"/"startTimeUnixNano":\1/' "$good/000.json" >"$work/number.json"
refuses 2 "a 64-bit integer as a number" --json "$work/number.json"
refuses 1 "a payload that is missing" --protobuf "$good/000.pb" --json "$good/000.json" --expect "$good/spans.jsonl"
echo "protobuf and JSON agree with each other and with what went in"
