# shellcheck shell=bash
# Shared by apply.sh and close.sh: the server's HTTP interface, as the user admin. Source it.
# Environment: CLICKHOUSE_URL (https://clickhouse:8443), SECRETS (/run/secrets): a folder with ca.crt and clickhouse-admin.password.

URL=${CLICKHOUSE_URL:-https://clickhouse:8443}
SECRETS=${SECRETS:-/run/secrets}

fail() {
    echo "$*" >&2
    exit 1
}

# request CURL-OPTION...: the password is not in the arguments, which other users of this machine can see.
request() {
    local password tls=()
    password=$(tr -d '\n' <"$SECRETS/clickhouse-admin.password") || exit 1
    password=${password//\\/\\\\}
    [ "${URL#http:}" != "$URL" ] || tls=(--cacert "$SECRETS/ca.crt")
    curl -sS "${tls[@]}" --config <(printf 'user = "admin:%s"\n' "${password//\"/\\\"}") "$@" "$URL/"
}

# query SQL: prints the answer as tab-separated values.
query() {
    local answer
    answer=$(request --fail-with-body --data-binary "$1") || fail "ClickHouse refused: ${answer:-no answer from $URL}
$1"
    [ -z "$answer" ] || echo "$answer"
}

wait_for_server() {
    request --retry 60 --retry-delay 2 --retry-all-errors --fail --data-binary 'SELECT 1' >/dev/null ||
        fail "no answer from ClickHouse at $URL; check that it runs, and ca.crt and clickhouse-admin.password in $SECRETS"
}
