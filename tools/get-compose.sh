#!/bin/bash
# Prints the path of Docker Compose. Builds it first from its Go module if the user has none yet (two minutes).
# It is kept in ~/.cache/cuspan (or $CUSPAN_CACHE), once per user.
#   tools/get-compose.sh [--present]     --present: only if it is there already, else exit status 1
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

MODULE=github.com/docker/compose/v2
VERSION=v2.40.3
GO_VERSION_MIN=1.24.9 # the module requires it
FOLDER=$CACHE/compose-$VERSION

# `go install` does not build it: replace directives count only in the main module.
build() (
    export CGO_ENABLED=0
    find_go "$1" "$GO_VERSION_MIN" || fail "no Go $GO_VERSION_MIN: install it (go.dev/dl) and run this again"
    note "building Docker Compose $VERSION from its Go module, once for this user: about two minutes on two cores"
    dir=$(cd "$1" && "$GO" mod download -json "$MODULE@$VERSION" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
    [ -n "$dir" ] || fail "cannot download $MODULE@$VERSION; check the network and run this again"
    cp -r "$dir" "$1/source" && cd "$1/source" &&
        "$GO" build -trimpath -ldflags '-s -w' -o "$1/docker-compose" ./cmd >&2
)

main() {
    local work
    if [ "${1:-}" = --present ]; then
        [ -x "$FOLDER/docker-compose" ] && echo "$FOLDER/docker-compose"
        return
    fi
    mkdir -p "$FOLDER"
    # A second run waits here and then finds the binary.
    exec 9>"$FOLDER/lock"
    flock 9
    if [ ! -x "$FOLDER/docker-compose" ]; then
        work=$(mktemp -d "$FOLDER/work.XXXXXX")
        # shellcheck disable=SC2064 # the folder as it is now
        trap "rm -rf '$work'" EXIT
        build "$work" || fail "cannot build $MODULE@$VERSION"
        mv "$work/docker-compose" "$FOLDER/docker-compose"
    fi
    echo "$FOLDER/docker-compose"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
