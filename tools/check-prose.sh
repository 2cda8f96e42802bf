#!/bin/bash
# Checks what people read with Vale: Markdown, comments, and the strings of programs. The rules are in tests/prose/styles.
#   tools/check-prose.sh                 all files that tests/prose/checked names
#   tools/check-prose.sh FILE...         these files
#   --long                               lists long sentences, too
# Prints FILE:LINE:COLUMN:RULE:MESSAGE for each finding. Exit status: 0 if there is none, else 1.
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

LEVEL=error

main() {
    local files=() folder vale line status=0
    if [ "${1:-}" = --long ]; then
        LEVEL=suggestion
        shift
    fi
    if [ $# -gt 0 ]; then
        files=("$@")
    else
        cd "$ROOT"
        mapfile -t files < <(sed -E '/^#|^$/d' tests/prose/checked | xargs git ls-files --)
        [ ${#files[@]} -gt 0 ] || fail "tests/prose/checked names no file"
    fi
    vale=$("$ROOT/tools/get-vale.sh")
    folder=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder as it is now
    trap "rm -rf '$folder'" EXIT
    "$ROOT/tests/prose/prose_of.py" "$folder" "${files[@]}"
    cd "$folder"
    "$vale" --config "$ROOT/.vale.ini" --minAlertLevel "$LEVEL" --no-wrap --output line . >found || true
    while IFS= read -r line; do
        echo "${line/.txt:/:}"
        status=1
    done <found
    [ "$LEVEL" = suggestion ] || [ "$status" = 1 ] || echo "${#files[@]} files"
    return "$status"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
