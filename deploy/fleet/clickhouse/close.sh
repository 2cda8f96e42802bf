#!/bin/bash
# Merges hours of spans to one part each, which removes repeated spans and makes questions faster. The server does this itself an
# hour after the last insert; this script does it now, and prints what was removed.
#   close.sh [--older-than HOURS]     HOURS: since the end of the hour of spans (1; 0: as soon as it ends)
# Environment: see lib.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"

main() {
    local hours=1 partition hour before after closed=0 removed=0
    if [ "${1:-}" = --older-than ]; then
        hours=${2:-}
        shift 2 || true
    fi
    if [ $# -gt 0 ] || ! [[ $hours =~ ^[0-9]{1,5}$ ]]; then
        fail "unknown arguments; see the head of close.sh"
    fi
    # No pipe: an error of the query must end the script.
    local open
    open=$(query "SELECT partition_id, any(partition), sum(rows) FROM system.parts
        WHERE active AND database = 'cuspan' AND table = 'stored_spans'
        GROUP BY partition_id HAVING count() > 1 AND toInt64(partition_id) + 3600 * (1 + $hours) <= toUnixTimestamp(now())
        ORDER BY partition_id")
    while IFS=$'\t' read -r partition hour before; do
        [ -n "$partition" ] || continue
        query "OPTIMIZE TABLE cuspan.stored_spans PARTITION ID '$partition' FINAL"
        after=$(query "SELECT sum(rows) FROM system.parts
            WHERE active AND database = 'cuspan' AND table = 'stored_spans' AND partition_id = '$partition'")
        echo "$hour UTC: $after spans, $((before - after)) repeated ones removed"
        closed=$((closed + 1)) removed=$((removed + before - after))
    done <<<"$open"
    echo "$closed hours merged, $removed repeated spans removed"
}

main "$@"
