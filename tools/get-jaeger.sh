#!/bin/bash
# Prints the path of a Jaeger, getting it first where the user has none yet: the official release, checked by its
# checksum, or, where that can't be reached, built from its Go module (about four minutes; that one has no page).
# It lies in ~/.cache/cuspan (or $CUSPAN_CACHE), once per user.
#   tools/get-jaeger.sh [--present]     --present: only what is there already, else exit status 1
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

MODULE_VERSION=v1.76.0 # what the module and the release page call $JAEGER_VERSION
GO_VERSION_MIN=1.24.6  # the module requires it
HOME_OF_IT=$CACHE/jaeger-$JAEGER_VERSION
BINARY=$HOME_OF_IT/jaeger

from_release() {
    local name=jaeger-$JAEGER_VERSION-linux-$ARCH work=$1
    local url=https://github.com/jaegertracing/jaeger/releases/download/$MODULE_VERSION
    cd "$work"
    # The small file first: where the site can't be reached, this says so within seconds.
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
    # Its replace directives count only where it is the main module, so it is built in a copy of its own.
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
    # Two runs at once: the second waits and then finds what the first has made.
    exec 9>"$HOME_OF_IT/lock"
    flock 9
    if [ ! -x "$BINARY" ]; then
        work=$(mktemp -d "$HOME_OF_IT/work.XXXXXX")
        # shellcheck disable=SC2064 # the directory as it is now
        trap "rm -rf '$work'" EXIT
        (from_release "$work") || (from_module "$work") ||
            fail "neither Jaeger's release nor its Go module is to be had now; come back with a network, or start one yourself"
        mv "$work/jaeger" "$BINARY"
        chmod +x "$BINARY"
    fi
    echo "$BINARY"
}

{ main "$@"; exit; } # in one piece: bash reads a script as it goes, and an edit must not change a run
