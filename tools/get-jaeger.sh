#!/bin/bash
# Prints the path of Jaeger. Gets it first if the user has none yet: the official release, verified by its checksum, or,
# if that site cannot be reached, a build from its Go module (about four minutes; it has no web page).
# It is kept in ~/.cache/cuspan (or $CUSPAN_CACHE), once per user.
#   tools/get-jaeger.sh [--present]     --present: only if it is there already, else exit status 1
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

MODULE_VERSION=v1.76.0 # the name of $JAEGER_VERSION in the module and on the release page
GO_VERSION_MIN=1.24.6  # the module requires it
HOME_OF_IT=$CACHE/jaeger-$JAEGER_VERSION
BINARY=$HOME_OF_IT/jaeger

from_release() {
    local name=jaeger-$JAEGER_VERSION-linux-$ARCH work=$1
    local url=https://github.com/jaegertracing/jaeger/releases/download/$MODULE_VERSION
    cd "$work"
    # The small file first: if the site cannot be reached, this fails within seconds.
    curl -fsSL --connect-timeout 4 --max-time 15 -O "$url/$name.sha256sum.txt" || return 1
    note "fetching Jaeger's release $JAEGER_VERSION"
    curl -fsSL --connect-timeout 4 --max-time 600 -O "$url/$name.tar.gz" || return 1
    tar -xzf "$name.tar.gz" "$name/jaeger" || return 1
    grep -E "[ *]$name/jaeger\$" "$name.sha256sum.txt" | sha256sum --check --status --strict - || {
        note "the checksum of $url/$name.tar.gz is wrong: not used"
        return 1
    }
    mv "$name/jaeger" "$work/jaeger"
}

from_module() {
    local work=$1 module=github.com/jaegertracing/jaeger dir
    export CGO_ENABLED=0
    find_go "$work" "$GO_VERSION_MIN" || return 1
    note "building Jaeger $JAEGER_VERSION from its Go module, once for this user: about four minutes on two cores"
    dir=$(cd "$work" && "$GO" mod download -json "$module@$MODULE_VERSION" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
    [ -n "$dir" ] || return 1
    # Its replace directives count only in the main module, so it is built from a copy.
    cp -r "$dir" "$work/source" && cd "$work/source" || return 1
    "$GO" build -v -trimpath -ldflags '-s -w' -o "$work/jaeger" ./cmd/jaeger >&2
}

main() {
    local work
    if [ "${1:-}" = --present ]; then
        [ -x "$BINARY" ] && echo "$BINARY"
        return
    fi
    mkdir -p "$HOME_OF_IT"
    # A second run waits here and then finds the binary.
    exec 9>"$HOME_OF_IT/lock"
    flock 9
    if [ ! -x "$BINARY" ]; then
        work=$(mktemp -d "$HOME_OF_IT/work.XXXXXX")
        # shellcheck disable=SC2064 # the folder as it is now
        trap "rm -rf '$work'" EXIT
        (from_release "$work") || (from_module "$work") ||
            fail "cannot download Jaeger or its Go module; check the network and run this again, or start your own Jaeger"
        mv "$work/jaeger" "$BINARY"
        chmod +x "$BINARY"
    fi
    echo "$BINARY"
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
