#!/bin/bash
# tests/run.sh in other places than a clone of root's, without the sanitizers: nothing that is built or tested depends on
# the name or the place of the checkout, on the user, on what ran before, or on what the cache holds. Needs root, which it
# gives up. Parts that need root are skipped there, each with its reason.
#
#   tests/places/run.sh path        a clone whose path has a space and a letter outside ASCII
#   tests/places/run.sh user        a user without root and sudo, with a copy of this cache
#   tests/places/run.sh empty       a clone, with a cache that was empty
#   tests/places/run.sh order       one run for each part, in the opposite order, with a copy of this cache; with PART..., only these
#   tests/places/run.sh bookworm    bare Debian 12, as a user with sudo
#   tests/places/run.sh trixie      bare Debian 13
#   tests/places/run.sh bytes       the release's files, from two folders of different names
#   tests/places/run.sh PLACE ARGUMENT...   tests/run.sh with these arguments there, for example: user quick
#
# Clones and users are removed at the end. Logs of a place stay in build/log/places-PLACE/. The last line is
# "N passed, N failed, N skipped".
set -euo pipefail
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=../containers/engine.sh
. "$ROOT/tests/containers/engine.sh"
cd "$ROOT"

USER_NAME=cuspan-places
# Parts start engines and systems of their own, for which a container has no rights.
NOT_IN_A_CONTAINER=(containers)

# run_tests FOLDER COMMAND...: tests/run.sh of the clone in FOLDER, run by COMMAND. Keeps its logs, and prints what is not
# run as lines that tests/run.sh counts.
run_tests() {
    local folder=$1 status=0
    shift
    (cd "$folder" && "$@" </dev/null) 2>&1 | sed -u 's/^skipped  /skipped: /' || status=$?
    keep_logs "$folder"
    return "$status"
}
keep_logs() {
    rm -rf "$LOGS" && mkdir -p "$LOGS" && cp -r "$1/build/log/." "$LOGS/"
}

# tests ARGUMENT...: the arguments of tests/run.sh.
tests() { [ $# -gt 0 ] && printf '%s\n' "$@" || echo --no-sanitizers; }

place_path() {
    local clone="$WORK/a päth/clöne of it"
    clone_of "$clone"
    run_tests "$clone" tests/run.sh "${ARGUMENTS[@]}"
}

# make_user: one that cannot become root. It has the packages of this machine, the network that root has, and a copy of what was
# built before.
make_user() {
    local name
    id "$USER_NAME" >/dev/null 2>&1 || useradd --home-dir "$WORK/home" --create-home --shell /bin/bash "$USER_NAME"
    mkdir -p "$WORK/home/.cache" && cp -r "$CACHE" "$WORK/home/.cache/cuspan" && chown -R "$USER_NAME:" "$WORK/home/.cache"
    if have go; then
        for name in GOPROXY GOSUMDB GONOSUMDB; do export "$name=$(go env "$name")"; done
    fi
}
as_user() {
    local path='' folder
    while IFS= read -r -d : folder; do # root's folders are closed
        ! setpriv --reuid "$USER_NAME" --regid "$USER_NAME" --clear-groups test -x "$folder" || path+=$folder:
    done <<<"$PATH:"
    env -u XDG_CACHE_HOME -u CUSPAN_CACHE -u PYENV_ROOT HOME="$WORK/home" USER="$USER_NAME" LOGNAME="$USER_NAME" PATH="${path%:}" \
        setpriv --reuid "$USER_NAME" --regid "$USER_NAME" --init-groups --no-new-privs "$@"
}
place_user() {
    make_user
    clone_of "$WORK/cuspan"
    chown -R "$USER_NAME:" "$WORK/cuspan"
    run_tests "$WORK/cuspan" as_user tests/run.sh "${ARGUMENTS[@]}"
}

place_empty() {
    export CUSPAN_CACHE=$WORK/cache
    clone_of "$WORK/cuspan"
    run_tests "$WORK/cuspan" tests/run.sh "${ARGUMENTS[@]}"
}

place_order() {
    local part passed=0 failed=0 skipped=0 line status parts=("${RELEASE_ARGUMENTS[@]}")
    cp -r "$CACHE" "$WORK/cache"
    export CUSPAN_CACHE=$WORK/cache
    [ ${#parts[@]} -gt 0 ] || mapfile -t parts < <(tests/run.sh --list | grep -vx '[at]san' | tac)
    clone_of "$WORK/cuspan"
    cd "$WORK/cuspan"
    for part in "${parts[@]}"; do
        status=0
        tests/run.sh "$part" >"$WORK/out" 2>&1 </dev/null || status=$?
        sed 's/^skipped  /skipped: /' "$WORK/out"
        line=$(tail -n 1 "$WORK/out")
        [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] || { failed=$((failed + 1)) && continue; }
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + BASH_REMATCH[3]))
    done
    keep_logs "$WORK/cuspan"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}

# place_debian SUITE COMMAND: the command in a new container, in a clone in /cuspan.
place_debian() {
    local suite=$1 parts=() part obstacle
    if obstacle=$(engine_obstacle); then
        echo "skipped: $obstacle"
        return 77
    fi
    jaeger_binary || fail "there is no Jaeger"
    trap 'set +e; engine_stop; clean_up' EXIT
    engine_start
    bare_image "$suite"
    clone_of "$WORK/cuspan"
    if [ "${ARGUMENTS[*]}" = --no-sanitizers ]; then
        for part in $(tests/run.sh --list); do
            [[ " asan tsan ${NOT_IN_A_CONTAINER[*]} " == *" $part "* ]] || parts+=("$part")
        done
        ARGUMENTS=("${parts[@]}")
        echo "skipped: ${NOT_IN_A_CONTAINER[*]}: needs rights that a container does not have"
    fi
    run_tests "$WORK/cuspan" in_bare "$suite" "$WORK/cuspan" bash -c "$2" - "${ARGUMENTS[@]}"
}
# The user's cache is the one that in_bare keeps. git wants the clone to be the user's own.
# shellcheck disable=SC2016 # the inner shell's
place_bookworm() {
    place_debian bookworm 'set -e
        apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo git >/dev/null 2>&1
        useradd --create-home user && echo "user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/user
        chmod 755 /root /root/.cache && chown -R user: /cuspan && { chown -R user: /root/.cache/cuspan 2>/dev/null || true; }
        exec setpriv --reuid user --regid user --init-groups env HOME=/home/user USER=user CUSPAN_CACHE=/root/.cache/cuspan \
            tests/run.sh "$@"'
}
# shellcheck disable=SC2016 # the inner shell's
place_trixie() {
    place_debian trixie 'apt-get update -qq && apt-get install -y -qq --no-install-recommends git >/dev/null 2>&1 &&
        git config --global --add safe.directory /cuspan && exec tests/run.sh "$@"'
}

place_bytes() {
    local folder files
    export CUSPAN_NEWER_SOURCES=1 # a source that Debian has replaced must not fail a test
    for folder in "$WORK/cuspan" "$WORK/a nöther/folder"; do
        clone_of "$folder"
        (cd "$folder" && tools/release.sh "${RELEASE_ARGUMENTS[@]}")
        LOGS=$ROOT/build/log/places-bytes-${folder##*/} keep_logs "$folder"
    done
    if diff -r "$WORK/cuspan/dist" "$WORK/a nöther/folder/dist"; then
        files=$(find "$WORK/cuspan/dist" -type f | wc -l)
        echo "$files passed, 0 failed, 0 skipped"
    else
        echo "0 passed, 1 failed, 0 skipped"
        return 1
    fi
}

clean_up() {
    [ "$PLACE" != user ] || ! id "$USER_NAME" >/dev/null 2>&1 || userdel "$USER_NAME"
    rm -rf --one-file-system "$WORK"
}

main() {
    PLACE=${1:-}
    case $PLACE in
    path | user | empty | order | bookworm | trixie | bytes) ;;
    *) sed -n '2,17s/^# \{0,1\}//p' "$0"; [ "$PLACE" = --help ]; return ;;
    esac
    [ "$(id -u)" = 0 ] || fail "only root can do this: it makes users and Debian systems"
    shift
    unset CI # parts may be skipped
    RELEASE_ARGUMENTS=("$@")
    mapfile -t ARGUMENTS < <(tests "$@")
    LOGS=$ROOT/build/log/places-$PLACE
    mkdir -p "$ROOT/build/log"
    # Where every user can read it.
    WORK=$(mktemp -d /var/tmp/cuspan-places.XXXXXX)
    chmod 755 "$WORK"
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    "place_$PLACE"
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
