#!/bin/bash
# `cuspan cdi` with real container engines: containers get the agent by --device, and nothing else changes. The release's
# image fills a volume, and is one. The engines are those of Debian 12 and 13, in trees of their own: Podman 4.3 and 5.4,
# and Docker 26.
# Needs root and Debian's packages. It uses neither a Docker engine nor a Podman of this machine.
#
#   tests/containers/podman.sh                          with an installation of build/
#   tests/containers/podman.sh --stage PREFIX           with one that is there: PREFIX/bin/cuspan, PREFIX/lib/cuspan
#   tests/containers/podman.sh [--stage PREFIX] ENGINE...   only some of: podman-bookworm podman-trixie docker-trixie
#   tests/containers/podman.sh --fetch                  only downloads what is kept
#
# An engine runs as root of its tree, in namespaces of its own and without a network. So the machine's firewall, CDI files
# and containers do not change, and no process or mount remains.
# shellcheck disable=SC2016 # variables of containers
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=engine.sh
. "$ROOT/tests/containers/engine.sh"
cd "$ROOT"

# An engine's name ends with the Debian that it comes from.
ENGINES=(podman-bookworm podman-trixie docker-trixie)
declare -A IMAGES=([podman-bookworm]="bookworm trixie" [podman-trixie]="trixie" [docker-trixie]="bookworm")
declare -A PACKAGES=([bookworm]="podman crun" [trixie]="podman crun docker.io docker-cli")
PACKAGES_TREES="
cmd:debootstrap debootstrap
"
WORK=$ROOT/build/engines
TREE=$WORK/tree # the root folder of the engine that runs
LOG=$ROOT/build/log/cdi
CGROUP=cuspan-cdi-test
RECORDING=vector_add.cuspanrec
AGENT=/opt/cuspan/lib/cuspan/libcuspan.so
PASSED=0 FAILED=0 SKIPPED=0

# ---- Trees -----------------------------------------------------------------------------------------------------------

archive_of() { echo "$ENGINE_CACHE/engines-$1-$(sha256sum <<<"${PACKAGES[$1]}" | cut -c1-12).tar.gz"; }

# fetch_tree SUITE: an archive of Debian with the engines in $ENGINE_CACHE, if there is none or it is old.
fetch_tree() {
    local archive tree=$ENGINE_CACHE/engines-$1 log=$LOG-tree-$1.log packages
    archive=$(archive_of "$1")
    [ -z "$(find "$archive" -mtime "-$ENGINE_CACHE_DAYS" 2>/dev/null)" ] || return 0
    say "installing ${PACKAGES[$1]} on Debian $1 into $archive"
    rm -rf --one-file-system "$tree" && mkdir -p "$tree" # of a run that was killed
    tar -C "$tree" -xzf "$ENGINE_CACHE/$1.tar.gz"
    apt-config dump | grep -iE '^Acquire::[a-z]+::(proxy|no_proxy)' >"$tree/etc/apt/apt.conf.d/90network" || true
    cp -L /etc/resolv.conf /etc/hosts "$tree/etc/"
    printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d" # packages must not start services
    chmod +x "$tree/usr/sbin/policy-rc.d"
    read -ra packages <<<"${PACKAGES[$1]}"
    DEBIAN_FRONTEND=noninteractive unshare --mount --propagation private sh -eu -c 'mount --bind "$0" "$0"; cd "$0"
        mount -t proc proc proc; mount --rbind /dev dev; chroot . apt-get update
        chroot . apt-get install -y --no-install-recommends "$@"; chroot . apt-get clean' "$tree" "${packages[@]}" >"$log" 2>&1 ||
        { tail -n 5 "$log"; fail "cannot install ${PACKAGES[$1]} on Debian $1; log: $log"; }
    tar -C "$tree" --numeric-owner -I 'gzip -1' -cf "$archive.new" . || fail "cannot write $archive.new"
    rm -rf --one-file-system "$tree"
    mv "$archive.new" "$archive"
}

fetch_trees() {
    local suite
    packages_install "$PACKAGES_TREES"
    fetch_bases "${!PACKAGES[@]}" || fail "there is no Debian to start from"
    exec 7>"$ENGINE_CACHE/engines.lock" # a second run waits here and then finds the archives
    flock 7
    for suite in "${!PACKAGES[@]}"; do fetch_tree "$suite"; done
    exec 7>&-
}

# mount_tree ENGINE STAGE: in a namespace, whose end unmounts everything. The agent is where a tarball would be unpacked.
mount_tree() {
    mkdir -p "$TREE"/{cuspan,images,srv/cuspan}
    mount --bind "$TREE" "$TREE" # pivot_root(2) needs a mount point
    mount -t proc proc "$TREE/proc"
    mount --rbind /dev "$TREE/dev"
    mount --rbind /sys "$TREE/sys"
    mount -t tmpfs tmpfs "$TREE/run"
    mount --bind "$ROOT" "$TREE/cuspan"
    mount --bind "$ENGINE_CACHE" "$TREE/images"
    mount --bind "$2" "$TREE/srv/cuspan"
    # crun refuses a machine that has both versions of cgroups.
    if [ "${1%-*}" = podman ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
        umount -R "$TREE/sys/fs/cgroup"
        mount -t cgroup2 cgroup2 "$TREE/sys/fs/cgroup"
    fi
}

# ---- Engines ---------------------------------------------------------------------------------------------------------
# These functions run in the tree. They leave the command in CLIENT, and options of containers in LIMITS.

start_podman() {
    local driver
    for driver in overlay vfs; do # overlay does not work on every file system
        CLIENT=(podman --storage-driver "$driver" --runtime crun --cgroup-manager cgroupfs --events-backend none)
        ! "${CLIENT[@]}" info >"$LOG-info.log" 2>&1 || break
    done
    # The limits of the machine's user may be lower than Podman's defaults.
    LIMITS=(--cgroups=disabled --ulimit nofile=1024:1024 --ulimit nproc=1024:1024)
    say "$(podman --version) with $(crun --version | head -n 1) and $driver"
}

start_docker() {
    CLIENT=(docker) LIMITS=(--cgroup-parent "/$CGROUP")
    mkdir -p /etc/docker
    echo '{"features": {"cdi": true}}' >/etc/docker/daemon.json # the default from 28.2 on
    dockerd --bridge=none --iptables=false --ip6tables=false >"$LOG-dockerd.log" 2>&1 &
    wait_until 60 docker version >/dev/null 2>&1 || { tail -n 20 "$LOG-dockerd.log"; fail "dockerd does not start"; }
    say "Docker $(docker version --format '{{.Server.Version}}') with $(docker info --format '{{.Driver}}')"
}

# in_container [OPTION...] COMMAND: a shell command in Debian $SUITE, with these options of `docker run`.
in_container() {
    "${CLIENT[@]}" run --rm "${LIMITS[@]}" --network=none -v /cuspan/examples/recordings:/recordings:ro "${@:1:$#-1}" \
        "${IMAGE:-bare:$SUITE}" sh -c "${*: -1}"
}

# equals WHAT GOT EXPECTED
equals() {
    [ "$2" = "$3" ] || fail "$1: got \"$2\" instead of \"$3\""
}
# refuses PATTERN COMMAND...: it fails, with this in its output.
refuses() {
    local output
    ! output=$("${@:2}" 2>&1) || fail "this should have failed: ${*:2}"
    grep -qE -- "$1" <<<"$output" || fail "expected \"$1\" in: $output"
}

# ---- Checks ----------------------------------------------------------------------------------------------------------
# Each writes its own CDI files; the folders are empty before.

check_commands() {
    cuspan cdi write
    [ -f /etc/cdi/cuspan.json ] || fail "the default folder is not /etc/cdi"
    in_container --device cuspan.io/agent=on true
    cuspan cdi remove
    cuspan cdi remove
    equals "files that remain" "$(ls -A /etc/cdi)" ""
    refuses "unresolvable" in_container --device cuspan.io/agent=on true
}

check_environment() {
    cuspan cdi write
    equals "variables" "$(in_container --device cuspan.io/agent=on 'env | grep -E "INJECTION|CUSPAN|OTEL|NCCL" | sort')" \
        "CUDA_INJECTION64_PATH=$AGENT"$'\n'"NCCL_PROFILER_PLUGIN=$AGENT"$'\n'"NVTX_INJECTION64_PATH=$AGENT"
    equals "variables of =files" "$(in_container --device cuspan.io/agent=files 'env | grep -E "INJECTION|CUSPAN|OTEL|NCCL"')" ""
    in_container --device cuspan.io/agent=files "test -r $AGENT"
}

check_mount() {
    local points
    cuspan cdi write
    points=$(in_container --device cuspan.io/agent=on 'grep " /opt/cuspan/" /proc/mounts')
    equals "read-only mounts" "$(grep -cE '^[^ ]+ /opt/cuspan/(lib/cuspan|bin/cuspan) [^ ]+ ro,nosuid,nodev' <<<"$points")" 2
    refuses "Read-only file system" in_container --device cuspan.io/agent=on 'touch /opt/cuspan/lib/cuspan/new'
    refuses "Read-only file system" in_container --device cuspan.io/agent=on "echo >>$AGENT"
    refuses "busy|Read-only" in_container --device cuspan.io/agent=on 'rm /opt/cuspan/bin/cuspan'
    [ ! -e /srv/cuspan/lib/cuspan/new ] || fail "a container wrote to the machine"
}

# The complete agent and its export module in the container: the spans of a recording, as many as on this machine.
replays() {
    local spans expected
    spans=$(in_container "$@" "/opt/cuspan/bin/cuspan replay -q --file /tmp/trace.jsonl /recordings/$RECORDING >&2 &&
        cat /tmp/trace.jsonl" | grep -o '"spanId"' | wc -l)
    expected=$(cuspan replay -q --file - "examples/recordings/$RECORDING" | grep -o '"spanId"' | wc -l)
    [ "$expected" -gt 0 ] || fail "the recording has no spans on this machine"
    equals "spans" "$spans" "$expected"
}
check_replay() {
    cuspan cdi write
    replays --device cuspan.io/agent=on
    replays --device cuspan.io/agent=files
}

# A container that cannot write to its root, and whose user this machine does not know.
check_read_only_root() {
    cuspan cdi write
    replays --read-only --tmpfs /tmp --user 4711:4712 --cap-drop all --security-opt no-new-privileges --device cuspan.io/agent=on
    equals "user" "$(in_container --read-only --user 4711:4712 --device cuspan.io/agent=on 'id -u; echo $CUDA_INJECTION64_PATH')" \
        "4711"$'\n'"$AGENT"
}

check_without_device() {
    local before
    before=$(in_container 'env | grep -v ^HOSTNAME= | sort; ls -A /opt')
    cuspan cdi write
    equals "a container without --device" "$(in_container 'env | grep -v ^HOSTNAME= | sort; ls -A /opt')" "$before"
}

# CDI replaces variables. docs/containers.md warns of it, and recommends =files.
check_own_injection() {
    local show='echo $CUDA_INJECTION64_PATH' own=/opt/tool/libtool.so container
    cuspan cdi write
    equals "-e with =on" "$(in_container -e CUDA_INJECTION64_PATH="$own" --device cuspan.io/agent=on "$show")" "$AGENT"
    equals "-e with =files" "$(in_container -e CUDA_INJECTION64_PATH="$own" --device cuspan.io/agent=files "$show")" "$own"
    container=$("${CLIENT[@]}" create "${LIMITS[@]}" "bare:$SUITE" true)
    "${CLIENT[@]}" commit -c "ENV CUDA_INJECTION64_PATH=$own" "$container" "tool:$SUITE" >/dev/null
    "${CLIENT[@]}" rm "$container" >/dev/null
    equals "image with =on" "$(IMAGE=tool:$SUITE in_container --device cuspan.io/agent=on "$show")" "$AGENT"
    equals "image with =files" "$(IMAGE=tool:$SUITE in_container --device cuspan.io/agent=files "$show")" "$own"
    equals "image without" "$(IMAGE=tool:$SUITE in_container "$show")" "$own"
}

# The container's OTEL_* variables stay, for its own SDK; cuspan's settings override them for the agent only.
check_settings() {
    local name='a "b" $(id) '\''c'\'' \ ü' said
    cuspan cdi write --service-name "$name" --endpoint http://collector.example:4318
    said=$(in_container -e OTEL_EXPORTER_OTLP_ENDPOINT=http://sdk.example:4318 -e OTEL_SERVICE_NAME=sdk --device cuspan.io/agent=on \
        'env | grep -E "^OTEL_|^CUSPAN_" | sort; LC_ALL=C.UTF-8 /opt/cuspan/bin/cuspan check')
    grep -qxF "CUSPAN_SET=service_name=$name;endpoint=http://collector.example:4318" <<<"$said" || fail "CUSPAN_SET changed: $said"
    grep -qxF "OTEL_EXPORTER_OTLP_ENDPOINT=http://sdk.example:4318" <<<"$said" || fail "OTEL_* changed: $said"
    grep -qF "service.name: $name" <<<"$said" || fail "the service name did not arrive: $said"
    grep -qF "http://collector.example:4318/v1/traces" <<<"$said" || fail "the endpoint did not arrive: $said"
}

# The agent in the container reads the file, and obeys it.
check_configuration() {
    local config=/etc/cuspan.yaml
    printf '%s\n' 'file_format: "1.1"' 'resource: {attributes: [{name: service.name, value: from-the-file}]}' 'tracer_provider:' \
        '  processors: [{batch: {exporter: {otlp_file/development: {output_stream: "file:///tmp/trace.jsonl"}}}}]' >"$config"
    cuspan cdi write --config "$config"
    in_container --read-only --tmpfs /tmp --user 4711 --device cuspan.io/agent=on "/opt/cuspan/bin/cuspan replay /recordings/$RECORDING &&
        grep -q from-the-file /tmp/trace.jsonl && grep -q spanId /tmp/trace.jsonl"
    refuses "Read-only file system" in_container --device cuspan.io/agent=on 'echo >>/opt/cuspan/config.yaml'
}

# Another tool's device in the same container, another file of our kind, and a file in the transient folder.
check_other_files() {
    local edits='"containerEdits":{"env":["CUDA_INJECTION64_PATH=/opt/tool.so"]}'
    local show='echo $CUDA_INJECTION64_PATH'
    echo '{"cdiVersion":"0.3.0","kind":"tool.example/tool","devices":[{"name":"on",'"$edits"'}]}' >/etc/cdi/tool.json
    cuspan cdi write | grep "tool.json sets CUDA_INJECTION64_PATH, too"
    equals "the last device wins" "$(in_container --device cuspan.io/agent=on --device tool.example/tool=on "$show")" /opt/tool.so
    equals "the last device wins" "$(in_container --device tool.example/tool=on --device cuspan.io/agent=on "$show")" "$AGENT"
    sed -i "s|tool.example/tool|cuspan.io/agent|" /etc/cdi/tool.json
    refuses "already|conflict|unresolvable" in_container --device cuspan.io/agent=on true
    refuses "tool.json already defines devices of cuspan.io/agent" cuspan cdi write
    rm /etc/cdi/tool.json
    cuspan cdi write --directory /var/run/cdi --service-name transient | grep "note .*/etc/cdi/cuspan.json is another file of cuspan"
    equals "precedence of /var/run/cdi" "$(in_container --device cuspan.io/agent=on 'echo $CUSPAN_SET')" service_name=transient
}

# The agent was removed, its CDI file was not.
check_removed_agent() {
    cp -a /srv/cuspan /srv/old
    /srv/old/bin/cuspan cdi write
    mv /srv/old /srv/older
    refuses "/srv/old/.*[Nn]o such file" in_container --device cuspan.io/agent=on true
    cuspan cdi write
    in_container --device cuspan.io/agent=on "test -r $AGENT"
    rm -rf /srv/older
}

# ---- The agent's image -----------------------------------------------------------------------------------------------

# As a volume of another container, without a copy.
check_image_volume() {
    local mount=(--mount "type=image,source=localhost/cuspan:agent,destination=/cuspan") spans expected
    spans=$(in_container "${mount[@]}" --user 4711 --read-only --tmpfs /tmp \
        "/cuspan/opt/cuspan/bin/cuspan replay -q --file /tmp/trace.jsonl /recordings/$RECORDING >&2 && cat /tmp/trace.jsonl" |
        grep -o '"spanId"' | wc -l)
    expected=$(cuspan replay -q --file - "examples/recordings/$RECORDING" | grep -o '"spanId"' | wc -l)
    [ "$expected" -gt 0 ] || fail "the recording has no spans on this machine"
    equals "spans" "$spans" "$expected"
    refuses "Read-only file system" in_container "${mount[@]}" 'touch /cuspan/opt/cuspan/new'
}

# As an init container: its command fills a volume, as any user. The second run replaces the first one's files.
check_image_copies() {
    local volume=/tmp/volume run=("${CLIENT[@]}" run --rm "${LIMITS[@]}" --network=none --user 4711 --read-only --cap-drop all)
    rm -rf "$volume" && mkdir "$volume" && chmod 777 "$volume"
    "${run[@]}" -v "$volume:/cuspan" localhost/cuspan:agent
    "${run[@]}" -v "$volume:/cuspan" localhost/cuspan:agent
    cmp "$volume/lib/cuspan/libcuspan.so" /srv/cuspan/lib/cuspan/libcuspan.so
    "$volume/bin/cuspan" version
}

# load_image: that of the release, if there is one. Engines name it differently.
load_image() {
    local file id
    for file in dist/cuspan-*-image-"$(uname -m)".tar; do
        [ -f "$file" ] || return 1
        "${CLIENT[@]}" load -i "$file" >"$LOG-load.log" 2>&1 || { cat "$LOG-load.log"; return 1; }
        id=$("${CLIENT[@]}" images --quiet --filter "reference=cuspan" | head -n 1)
        "${CLIENT[@]}" tag "$id" localhost/cuspan:agent
    done
}

# ---- Run -------------------------------------------------------------------------------------------------------------

# try NAME: a check in a shell of its own.
try() {
    local log=$LOG-$ENGINE_NAME-$SUITE-$1.log status
    rm -rf /etc/cdi /run/cdi
    set +e
    (set -e; "check_$1") >"$log" 2>&1
    status=$?
    set -e
    if [ "$status" = 0 ]; then
        PASSED=$((PASSED + 1))
        echo "passed  $ENGINE_NAME: $SUITE $1"
    else
        FAILED=$((FAILED + 1))
        tail -n 20 "$log"
        echo "failed  $ENGINE_NAME: $SUITE $1 (log: $(basename "$log"))"
    fi
}

# In the tree: all checks with one engine. Leaves the numbers in a file.
run_checks() {
    local name
    ENGINE_NAME=$1
    PATH=/srv/cuspan/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    "start_${1%-*}"
    for SUITE in ${IMAGES[$1]}; do
        "${CLIENT[@]}" import "/images/$SUITE.tar.gz" "bare:$SUITE" >"$LOG-import.log" 2>&1 ||
            { cat "$LOG-import.log"; fail "$1 cannot import Debian $SUITE"; }
        for name in commands environment mount replay read_only_root without_device own_injection settings configuration other_files \
            removed_agent; do
            try "$name"
        done
    done
    if ! load_image; then
        echo "skipped: $ENGINE_NAME: the agent's image, because dist/ has none; run tools/release.sh image"
        SKIPPED=2
    else
        try image_copies
        # Debian 13's Docker is too old for volumes of images.
        [ "${ENGINE_NAME%-*}" = docker ] || try image_volume
    fi
    echo "$PASSED $FAILED $SKIPPED" >/result
}

# with_engine ENGINE STAGE
with_engine() {
    local passed failed skipped
    remove_tree # of the engine before
    mkdir -p "$TREE"
    tar -C "$TREE" -xzf "$(archive_of "${1##*-}")"
    unshare --mount --propagation private --pid --fork --kill-child "$0" --mount "$1" "$2" || true
    if ! read -r passed failed skipped 2>/dev/null <"$TREE/result"; then
        echo "failed  $1"
        passed=0 failed=1 skipped=0
    fi
    PASSED=$((PASSED + passed)) FAILED=$((FAILED + failed)) SKIPPED=$((SKIPPED + skipped))
}

# The kernel may still be removing the namespace, its processes and mounts.
remove_tree() { wait_until 60 remove_quietly || fail "cannot remove $TREE"; }
remove_quietly() {
    find /sys/fs/cgroup -depth -type d -path "*/$CGROUP*" -exec rmdir {} + 2>/dev/null
    rm -rf --one-file-system "$TREE" 2>/dev/null
}
clean_up() {
    remove_tree
    rm -rf "$WORK"
}

obstacle() {
    if [ "$(id -u)" != 0 ]; then
        echo "only root can start container engines in a tree of their own"
    elif ! have apt-get; then
        echo "the engines come from Debian's packages, and this system has no apt-get"
    elif ! unshare --mount --propagation private --pid --fork mount -t tmpfs tmpfs /mnt 2>/dev/null; then
        echo "this system does not permit mounts (a container without privileges)"
    else
        return 1
    fi
}

# Things that an engine or cuspan could leave behind on the machine.
traces() {
    ls -Ad /etc/cdi/* /run/cdi/* /run/crun/* /run/docker* /var/lib/containers/* /var/lib/docker/* /sys/class/net/* 2>/dev/null || true
    grep "$WORK" /proc/mounts || true
    find /sys/fs/cgroup -name "$CGROUP*"
}

main() {
    local why before name stage=
    if why=$(obstacle); then
        echo "skipped: $why"
        return 77
    fi
    mkdir -p "$(dirname "$LOG")"
    fetch_trees
    [ "${1:-}" != --fetch ] || return 0
    if [ "${1:-}" = --stage ]; then
        stage=$(cd "$2" && pwd)
        shift 2
    fi
    [ $# -gt 0 ] || set -- "${ENGINES[@]}"
    for name in "$@"; do
        [ -n "${IMAGES[$name]:-}" ] || fail "unknown engine $name; there are: ${ENGINES[*]}"
    done
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    if [ -z "$stage" ]; then
        stage=$WORK/stage
        build_cuspan
        cmake --install build --prefix "$stage" >"$LOG-install.log"
    fi
    before=$(traces)
    for name in "$@"; do with_engine "$name" "$stage"; done
    remove_tree
    [ "$(traces)" = "$before" ] || fail "this has changed on the machine: $(diff <(echo "$before") <(traces))"
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}

case ${1:-} in
--mount)
    mount_tree "$2" "$3"
    exec chroot "$TREE" /cuspan/tests/containers/podman.sh --checks "$2"
    ;;
--checks) run_checks "$2"; exit ;;
esac
{ main "$@"; exit; } # bash reads the whole script before it runs it, so edits during a run are safe
