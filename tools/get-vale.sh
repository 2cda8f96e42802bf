#!/bin/bash
# Prints the path of Vale, the prose linter. Builds it first from its Go module if the user has none yet (two minutes).
# It is kept in ~/.cache/cuspan (or $CUSPAN_CACHE), once per user.
#   tools/get-vale.sh
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

MODULE=github.com/vale-cli/vale/v3/cmd/vale
VERSION=v3.22.0
GO_VERSION_MIN=1.25.7 # the module requires it
FOLDER=$CACHE/vale-$VERSION

main() {
    local work
    mkdir -p "$FOLDER"
    # A second run waits here and then finds the binary.
    exec 9>"$FOLDER/lock"
    flock 9
    if [ ! -x "$FOLDER/vale" ]; then
        work=$(mktemp -d "$FOLDER/work.XXXXXX")
        # shellcheck disable=SC2064 # the folder as it is now
        trap "rm -rf '$work'" EXIT
        find_go "$work" "$GO_VERSION_MIN" || fail "no Go $GO_VERSION_MIN: install it (go.dev/dl) and run this again"
        note "building Vale $VERSION from its Go module, once for this user: about two minutes on two cores"
        GOBIN=$work "$GO" install -trimpath -ldflags '-s -w' "$MODULE@$VERSION" >&2 ||
            fail "cannot build $MODULE@$VERSION; check the network and run this again"
        mv "$work/vale" "$FOLDER/vale"
    fi
    echo "$FOLDER/vale"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
