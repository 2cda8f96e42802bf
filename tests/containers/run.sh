#!/bin/bash
# Tests on fresh machines: bare Debian containers, docker/Dockerfile and docker/compose.yaml, in a Docker engine that this
# script starts and stops. Needs root and Debian's packages. While it runs, the engine changes the machine's firewall.
#
#   tests/containers/run.sh              examples/demo.sh on Debian 12 and 13, the image, the stack
#   tests/containers/run.sh CHECK...     only some of: demo-bookworm demo-trixie image stack
#   tests/containers/run.sh suite        tests/run.sh quick on Debian 12 and 13 (most of an hour)
#
# Images that cannot be pulled are replaced by images built here. Without a registry, Debian 12 stands in for Ubuntu.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=engine.sh
. "$ROOT/tests/containers/engine.sh"
cd "$ROOT"

CHECKS=(demo-bookworm demo-trixie image stack)
SUITES=(bookworm trixie) # Debian 12 and 13
PORTS=(16686 9090 4317 4318)
PASSED=0 FAILED=0

# ---- examples/demo.sh ------------------------------------------------------------------------------------------------

# Twice in one container: the second run must find everything that the first has installed and built.
check_demo() {
    local suite=$1 tree=$ENGINE/tree-$1 log=$ROOT/build/log/containers-demo-$1
    bare_image "$suite"
    clean_tree "$tree"
    in_bare "$suite" "$tree" bash -c 'examples/demo.sh >build.first 2>&1 && examples/demo.sh >build.second 2>&1' ||
        { tail -n 40 "$tree"/build.*; tail -n 20 "$tree"/build/log/*.log; fail "examples/demo.sh failed on Debian $suite"; }
    mv "$tree/build.first" "$log-1.log"
    mv "$tree/build.second" "$log-2.log"
    demo_shows_trace "$log-1.log"
    demo_shows_trace "$log-2.log"
    if grep 'installing ' "$log-2.log"; then fail "the second run installed packages"; fi
    needs_libc_only "$tree/build/libcuspan.so" "$tree/build/libcuspan-export.so"
    rm -rf "$tree"
}

demo_shows_trace() {
    if ! grep -qE 'Jaeger has all [0-9]+ spans of trace' "$1" || ! grep -E 'This trace in Jaeger: http://localhost:16686/' "$1"; then
        cat "$1"
        fail "examples/demo.sh showed no trace in Jaeger"
    fi
}

# The static libraries must leave no dependency behind.
needs_libc_only() {
    local file needed
    for file in "$@"; do
        needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|ld-linux[^.]*)\.so' || true)
        [ -z "$needed" ] || fail "$(basename "$file") needs more than libc: $needed"
    done
}

# ---- Images ----------------------------------------------------------------------------------------------------------

# The legacy builder where the client has no BuildKit of its own and no plug-in for it.
choose_builder() {
    export DOCKER_BUILDKIT=0
    ! docker buildx version >/dev/null 2>&1 || DOCKER_BUILDKIT=1
}

# provide IMAGE FUNCTION: pulls the image or, where no registry can be reached, makes a stand-in.
provide() {
    if docker pull --quiet "$1" >"$ENGINE/pull.log" 2>&1; then
        say "pulled $1"
    else
        "$2" "$1"
        say "built a stand-in for $1"
    fi
}

stand_in_ubuntu() { bare_image bookworm && docker tag bare:bookworm "$1"; }
stand_in_busybox() { bare_image bookworm && docker tag bare:bookworm "$1"; }

# The same program as in the official image, with its built-in configuration.
stand_in_jaeger() {
    stand_in "$1" "$JAEGER" 'ENV JAEGER_LISTEN_HOST=0.0.0.0'
}
# Jaeger is built from the Collector, and has the components of docker/collector.yaml.
stand_in_collector() { stand_in "$1" "$JAEGER" ''; }
stand_in_prometheus() { stand_in "$1" "$(command -v prometheus)" ''; }

# stand_in IMAGE PROGRAM LINE: the program on the newest Debian, whose C library can run what was built on an older one.
stand_in() {
    local folder=$ENGINE/stand-in
    bare_image trixie
    rm -rf "$folder" && mkdir -p "$folder"
    cp -L "$2" "$folder/program"
    printf '%s\n' 'FROM bare:trixie' 'COPY program /program' "$3" 'WORKDIR /data' 'ENTRYPOINT ["/program"]' >"$folder/Dockerfile"
    build_image "$1" "$folder"
}

base_images() {
    ! docker image inspect busybox:1.36 >/dev/null 2>&1 || return 0
    # Debian 12 has a glibc close to Ubuntu 22.04's. A pulled image needs what the network forces, too.
    provide ubuntu:22.04 stand_in_ubuntu
    add_network ubuntu:22.04 ubuntu:22.04
    provide busybox:1.36 stand_in_busybox
}

# ---- docker/Dockerfile -----------------------------------------------------------------------------------------------

# The agent's image, by the command in its first lines, and what its container puts into a volume.
check_image() {
    local tree=$ENGINE/tree-image volume=$ENGINE/volume file
    clean_tree "$tree"
    base_images
    build_image cuspan "$tree" -f "$tree/docker/Dockerfile"
    mkdir "$volume"
    docker run --rm --user 0 -v "$volume:/cuspan" cuspan
    for file in bin/cuspan lib/cuspan/libcuspan.so lib/cuspan/libcuspan-export.so lib/cuspan/cupti/libcupti.so.12 \
        lib/cuspan/cupti/libcupti.so.13 include/cuspan/cuspan.h share/cuspan/cuspan.yaml share/cuspan/LICENSE; do
        [ -s "$volume/$file" ] || fail "the image's container did not copy $file"
    done
    needs_libc_only "$volume/lib/cuspan/libcuspan.so" "$volume/lib/cuspan/libcuspan-export.so"
    say "the image has $(du -shx "$volume" | cut -f1) in /opt/cuspan"
}

# ---- docker/compose.yaml ---------------------------------------------------------------------------------------------

compose() { "${COMPOSE[@]}" -f "$ENGINE/tree-stack/docker/compose.yaml" "$@"; }

# Grafana is left out: without a registry there is no image of it, and its dashboard has a test of its own.
check_stack() {
    local tree=$ENGINE/tree-stack port
    for port in "${PORTS[@]}"; do
        port_is_free "$port" || fail "port $port of this machine is in use"
    done
    clean_tree "$tree"
    base_images
    find_compose --build || fail "there is no Docker Compose"
    provide "$(image_of jaeger)" stand_in_jaeger
    provide "$(image_of collector)" stand_in_collector
    provide "$(image_of prometheus)" stand_in_prometheus
    trap 'compose down --volumes --timeout 5 >/dev/null 2>&1' EXIT
    compose up --build --detach jaeger collector prometheus demo >"$ROOT/build/log/containers-stack.log" 2>&1 ||
        { tail -n 30 "$ROOT/build/log/containers-stack.log"; fail "the stack does not start"; }
    [ "$(docker wait "$(compose ps --all --quiet demo)")" = 0 ] || { compose logs demo; fail "the demo failed"; }
    compose logs --no-log-prefix --no-color demo >"$ENGINE/demo.log"
    python3 tests/containers/stack.py "$ENGINE/demo.log" || { compose logs --tail 20; return 1; }
    compose down --volumes --timeout 5
    [ -z "$(docker ps --all --quiet)" ] || fail "containers are left: $(docker ps --all)"
}

image_of() { sed -n "/^  $1:\$/,/image:/s/^ *image: //p" docker/compose.yaml; }

# ---- tests/run.sh ----------------------------------------------------------------------------------------------------

check_suite() {
    local suite=$1 tree=$ENGINE/tree-$1
    bare_image "$suite"
    clean_tree "$tree"
    # Docker's default filter of system calls forbids process_vm_readv, which reads the contexts that SDKs publish.
    BARE_OPTIONS=(--security-opt seccomp=unconfined)
    CI=true in_bare "$suite" "$tree" tests/run.sh quick ||
        { cp -r "$tree/build/log" "build/log/suite-$suite"; fail "tests/run.sh quick failed on Debian $suite"; }
}

# ---- Running them ----------------------------------------------------------------------------------------------------

# check NAME COMMAND...: each in a subshell, so that `fail` ends one check only.
check() {
    local name=$1 began=$SECONDS status=0
    shift
    set +e
    (set -e; "$@")
    status=$?
    set -e
    if [ "$status" = 0 ]; then
        PASSED=$((PASSED + 1))
        echo "passed  $name in $((SECONDS - began)) s"
    else
        FAILED=$((FAILED + 1))
        echo "failed  $name after $((SECONDS - began)) s"
    fi
}

run_check() {
    case $1 in
    demo-*) check "$1" check_demo "${1#demo-}" ;;
    image) check image check_image ;;
    stack) check stack check_stack ;;
    suite-*) check "$1" check_suite "${1#suite-}" ;;
    *) fail "unknown check $1; there are ${CHECKS[*]} and suite" ;;
    esac
}

main() {
    local obstacle name
    if obstacle=$(engine_obstacle); then
        echo "skipped: $obstacle"
        return 77
    fi
    jaeger_binary || fail "there is no Jaeger"
    [ $# -gt 0 ] || set -- "${CHECKS[@]}"
    [ "$1" != suite ] || set -- "${SUITES[@]/#/suite-}"
    trap engine_stop EXIT
    trap 'exit 130' INT TERM
    engine_start
    choose_builder
    for name in "$@"; do
        run_check "$name"
    done
    echo "$PASSED passed, $FAILED failed, 0 skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
