#!/bin/bash
# Tests on fresh machines: bare Debian containers, docker/Dockerfile and docker/compose.yaml, in a Docker engine that this
# script starts and stops. Needs root and Debian's packages. While it runs, the engine changes the machine's firewall.
#
#   tests/containers/run.sh              examples/demo.sh on Debian 12 and 13, the image, cuspan attach, the stack
#   tests/containers/run.sh CHECK...     only some of: demo-bookworm demo-trixie image attach stack
#   tests/containers/run.sh suite        tests/run.sh quick on Debian 12 and 13; docker/demo-gpu.Dockerfile
#   tests/containers/run.sh --fetch      only downloads what is kept: Debian, Docker Compose. Starts no engine
#
# The agent's image is made from build/release, which tools/release.sh makes first. Images that cannot be pulled are replaced by
# images built here. Without a registry, Debian 12 stands in for Ubuntu.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=engine.sh
. "$ROOT/tests/containers/engine.sh"
cd "$ROOT"

CHECKS=(demo-bookworm demo-trixie image attach stack)
LONG_CHECKS=(suite-bookworm suite-trixie image-gpu)
DEBIANS=(bookworm trixie) # 12 and 13
PORTS=(16686 9090 4317 4318)
IMAGE_BYTES_MAX=10150000
PASSED=0 FAILED=0 STARTED=()

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

# needs_only PATTERN FILE...: the static libraries must leave no dependency behind.
needs_only() {
    local file needed
    for file in "${@:2}"; do
        needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE "^($1|ld-linux[^.]*)\\.so" || true)
        [ -z "$needed" ] || fail "$(basename "$file") needs more than libc: $needed"
    done
}
needs_libc_only() { needs_only libc "$@"; }
# Before glibc 2.34, its parts have names of their own, which the release needs.
needs_old_libc_only() { needs_only 'lib(c|m|dl|pthread|rt)' "$@"; }

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

stand_in_debian() { bare_image bookworm && docker tag bare:bookworm "$1"; }

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

# provide_base IMAGE FUNCTION: an image to build on. A pulled one needs what the network forces, too.
provide_base() {
    ! docker image inspect "$1" >/dev/null 2>&1 || return 0
    provide "$1" "$2"
    add_network "$1" "$1"
}

# ---- docker/Dockerfile -----------------------------------------------------------------------------------------------

# release_tree FOLDER: the files that git knows, and the agent of the release.
release_tree() {
    clean_tree "$1"
    mkdir -p "$1/build/release"
    cp -r build/release/image-amd64 "$1/build/release/"
}

# The agent's image by the command in its first lines: as an init container, any user fills a volume from it, with a
# read-only root. Another image copies from it.
check_image() {
    local tree=$ENGINE/tree-image volume=$ENGINE/volume bytes
    release_tree "$tree"
    build_image cuspan "$tree" -f "$tree/docker/Dockerfile"
    bytes=$(docker image inspect --format '{{.Size}}' cuspan)
    [ "$bytes" -le "$IMAGE_BYTES_MAX" ] || fail "the agent's image has $bytes bytes, more than $IMAGE_BYTES_MAX"
    mkdir "$volume" && chown 12345:12345 "$volume"
    docker run --rm --read-only --cap-drop ALL --network none --user 12345:12345 -v "$volume:/cuspan" cuspan
    diff -r build/release/image-amd64/opt/cuspan "$volume" || fail "the image's container did not copy the agent"
    needs_old_libc_only "$volume/lib/cuspan/libcuspan.so" "$volume/lib/cuspan/libcuspan-export.so"
    image_refuses_read_only_volume "$volume"
    image_is_copied_from
    image_loads
    say "the image has $((bytes / 1000)) kB, /opt/cuspan $(du -shx "$volume" | cut -f1)"
}

image_refuses_read_only_volume() {
    ! docker run --rm --user 12345:12345 -v "$1:/cuspan:ro" cuspan 2>"$ENGINE/refused" || fail "it copied into a read-only volume"
    grep -q 'mount a volume there' "$ENGINE/refused" || fail "the message does not help: $(cat "$ENGINE/refused")"
}

# An image that takes the agent by COPY replays a recording as another user, with a read-only root.
image_is_copied_from() {
    local folder=$ENGINE/copied
    mkdir -p "$folder"
    cp examples/recordings/vector_add.cuspanrec "$folder/"
    printf '%s\n' 'FROM bare:bookworm' 'COPY --from=cuspan /opt/cuspan /opt/cuspan' 'COPY vector_add.cuspanrec /' >"$folder/Dockerfile"
    build_image copied "$folder"
    docker run --rm --read-only --tmpfs /tmp --user 12345 copied \
        /opt/cuspan/bin/cuspan replay --file /tmp/trace.jsonl /vector_add.cuspanrec >"$ENGINE/replayed" 2>&1 || true
    grep -q '[1-9][0-9]* spans delivered' "$ENGINE/replayed" ||
        fail "cuspan does not run in an image that copied it: $(cat "$ENGINE/replayed")"
}

# The file of the release is the same image.
image_loads() {
    local file
    file=dist/cuspan-$(tools/release.sh --version)-image-x86_64.tar
    docker load --quiet --input "$file" >"$ENGINE/loaded"
    docker create --name loaded "$(sed 's/^Loaded image: //' "$ENGINE/loaded")" >/dev/null
    docker export loaded | tar -x -C "$ENGINE" opt
    docker rm loaded >/dev/null
    diff -r build/release/image-amd64/opt "$ENGINE/opt" || fail "$file has other files than the image that Docker builds"
}

# Vector add, compiled with nvcc. No GPU here, so it is not run.
check_image_gpu() {
    local tree=$ENGINE/tree-image-gpu
    clean_tree "$tree"
    provide_base ubuntu:22.04 stand_in_debian
    build_image cuspan-demo-gpu "$tree" -f "$tree/docker/demo-gpu.Dockerfile"
    docker run --rm --entrypoint bash cuspan-demo-gpu -c 'ldd "$(command -v vector_add)"' >"$ENGINE/ldd"
    ! grep 'not found' "$ENGINE/ldd" || fail "vector_add lacks libraries in its image"
}

# ---- cuspan attach ---------------------------------------------------------------------------------------------------

# From the host, by Docker's name, and from a container that shares the program's PIDs, by the ID, as docs/attach.md has it
# for Kubernetes. The program's calls come from a recording; the replay library has the driver's name, so it uses a GPU.
check_attach() {
    local agent=$ROOT/build/release/image-amd64/opt/cuspan id
    bare_image trixie
    attach_target by-name
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount bash -eu -c 'mkdir -p /var/lib/docker; mount --bind "$1" /var/lib/docker
        "$2/bin/cuspan" attach --container by-name --file /srv/spans.jsonl' - "$ENGINE/data" "$agent"
    attach_finish by-name
    attach_target by-id
    id=$(docker inspect --format '{{.Id}}' by-id)
    docker run --rm --pid container:by-id --cap-add SYS_PTRACE --cap-add SYS_ADMIN --security-opt seccomp=unconfined \
        -v "$agent:/opt/cuspan:ro" bare:trixie /opt/cuspan/bin/cuspan attach --container "$id" --file /srv/spans.jsonl
    attach_finish by-id
}

attach_target() { # attach_target NAME
    local folder=$ENGINE/$1
    mkdir "$folder" && mkfifo "$folder/input"
    cp build/control_host examples/recordings/vector_add.cuspanrec "$folder/"
    cp build/libcuspan-replay.so "$folder/libcuda.so.1"
    docker run --detach --name "$1" -v "$folder:/srv" -e 'CUSPAN_SET=cupti.library=/srv/libcuda.so.1;exit_deadline_ms=60000' \
        bare:trixie sh -c 'exec /srv/control_host /srv/libcuda.so.1 /srv/vector_add.cuspanrec - line play-waiting <>/srv/input' >/dev/null
}

# The program goes on and ends. Its spans must be there, and the agent's files in the folder that docs/attach.md names.
attach_finish() { # attach_finish NAME
    local found
    found=$(docker exec "$1" ls -A / | grep cuspan)
    echo >"$ENGINE/$1/input"
    [ "$(docker wait "$1")" = 0 ] || { docker logs "$1"; fail "the program of $1 failed"; }
    build/cuspan stat --table kernels "$ENGINE/$1/spans.jsonl" >"$ENGINE/$1/kernels"
    grep -q "^add " "$ENGINE/$1/kernels" || { cat "$ENGINE/$1/kernels"; fail "the kernels of $1 are not there"; }
    [ "$found" = ".cuspan-$(tools/release.sh --version)" ] || fail "the agent is in $found"
    docker rm "$1" >/dev/null
}

# ---- docker/compose.yaml ---------------------------------------------------------------------------------------------

compose() { "${COMPOSE[@]}" -f "$ENGINE/tree-stack/docker/compose.yaml" "$@"; }

# Grafana is left out: without a registry there is no image of it, and its dashboard has a test of its own.
check_stack() {
    local tree=$ENGINE/tree-stack port
    for port in "${PORTS[@]}"; do
        port_is_free "$port" || fail "port $port of this machine is in use"
    done
    release_tree "$tree"
    provide_base debian:12-slim stand_in_debian
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
    CI=true in_bare "$suite" "$tree" tests/run.sh quick ||
        { cp -r "$tree/build/log" "build/log/suite-$suite"; fail "tests/run.sh quick failed on Debian $suite"; }
}

# ---- Running them ----------------------------------------------------------------------------------------------------

check_function() {
    case $1 in
    demo-* | suite-*) "check_${1%%-*}" "${1#*-}" ;;
    image) check_image ;;
    attach) check_attach ;;
    image-gpu) check_image_gpu ;;
    stack) check_stack ;;
    esac
}

# start_check NAME: in the background, each line of its output with the name in front. `fail` ends this check only.
start_check() {
    {
        SECONDS=0
        set +e
        (set -e; check_function "$1") 2>&1
        echo $? >"$ENGINE/status-$1"
        echo "$SECONDS s"
    } | sed -u "s/^/$1: /" &
    STARTED+=("$1:$!")
}

# finish_checks: waits for all that have started.
finish_checks() {
    local entry name
    for entry in "${STARTED[@]}"; do
        name=${entry%:*}
        wait "${entry#*:}"
        if [ "$(cat "$ENGINE/status-$name")" = 0 ]; then
            PASSED=$((PASSED + 1))
            echo "passed  $name"
        else
            FAILED=$((FAILED + 1))
            echo "failed  $name"
        fi
    done
    STARTED=()
}

# run_checks NAME...: downloads of one overlap with the compilation of another. The stack uses the layers of the image. A
# suite runs alone, as it does on a user's machine.
run_checks() {
    local name
    for name in "$@"; do
        case $name in
        suite-* | stack) finish_checks && start_check "$name" && finish_checks ;;
        *) start_check "$name" ;;
        esac
    done
    finish_checks
}

# Both at once, before checks that need them run at the same time.
import_debians() {
    local debian pid pids=()
    fetch_bases "${DEBIANS[@]}" || fail "there is no Debian to start from"
    for debian in "${DEBIANS[@]}"; do
        bare_image "$debian" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
}

main() {
    local obstacle name
    if obstacle=$(engine_obstacle); then
        echo "skipped: $obstacle"
        return 77
    fi
    if [ "${1:-}" = --fetch ]; then
        packages_install "cmd:debootstrap debootstrap"
        fetch_bases "${DEBIANS[@]}"
        find_compose --build
        return
    fi
    case ${1:-} in
    '') set -- "${CHECKS[@]}" ;;
    suite) set -- "${LONG_CHECKS[@]}" ;;
    esac
    for name in "$@"; do
        [[ " ${CHECKS[*]} ${LONG_CHECKS[*]} " == *" $name "* ]] ||
            fail "unknown check $name; there are: ${CHECKS[*]} ${LONG_CHECKS[*]}"
    done
    jaeger_binary || fail "there is no Jaeger"
    case " $* " in
    *' image '* | *' attach '* | *' stack '*) tools/release.sh --arch x86_64 image >build/log/containers-release.log ||
        { tail -n 30 build/log/containers-release.log; fail "tools/release.sh failed"; } ;;
    esac
    trap engine_stop EXIT
    trap 'exit 130' INT TERM
    engine_start
    choose_builder
    import_debians
    run_checks "$@"
    echo "$PASSED passed, $FAILED failed, 0 skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
