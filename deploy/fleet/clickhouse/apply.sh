#!/bin/bash
# Creates the tables for spans in ClickHouse. Run it again after an update of cuspan: it adds new columns, and refuses tables of
# another version. Run it before the Collector that inserts starts.
#   apply.sh [--retention DAYS]     DAYS: spans that are older are deleted (7 in new tables; otherwise as it is)
# Environment: see lib.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

# statements FILE: prints each statement, followed by a NUL. A semicolon at the end of a line ends it.
statements() {
    local line text=''
    while IFS= read -r line; do
        [[ $line =~ ^[[:space:]]*-- ]] && continue
        text+=$line$'\n'
        if [[ $line == *\; ]]; then
            printf '%s\0' "${text%;*}"
            text=''
        fi
    done <"$1"
}

main() {
    local days='' statement
    if [ "${1:-}" = --retention ]; then
        days=${2:-}
        [[ $days =~ ^[1-9][0-9]{0,4}$ ]] || fail "--retention needs a number of days"
        shift 2
    fi
    [ $# -eq 0 ] || fail "unknown argument: $1; see the head of apply.sh"
    wait_for_server
    while IFS= read -r -d '' statement; do
        query "$statement"
    done < <(statements "$here/schema.sql")
    if [ -n "$days" ]; then
        query "ALTER TABLE cuspan.stored_spans MODIFY TTL toDateTime(time) + INTERVAL $days DAY"
        query "ALTER TABLE cuspan.stored_resources MODIFY TTL last_seen + INTERVAL $((days + 1)) DAY"
    fi
    echo "tables for spans are ready at $URL"
}

main "$@"
