# shellcheck shell=bash
# A Docker engine for tests, and bare Debian images in it. Source it after tools/lib.sh.
#
# The engine has its own data below $ENGINE, and its sockets and process ID file in a folder of /tmp, because the paths of
# sockets have at most 107 characters. It shares the machine's firewall and the interface docker0, so engine_start refuses to
# run beside another engine, and engine_stop restores both.

# shellcheck disable=SC2153 # ROOT is of tools/lib.sh
ENGINE=$ROOT/build/containers
ENGINE_LOG=$ROOT/build/log/dockerd.log
# Debian images and packages are downloaded once per user, and again after a month.
ENGINE_CACHE=$CACHE/containers
ENGINE_CACHE_DAYS=30
PACKAGES_ENGINE="
cmd:dockerd docker.io
cmd:docker docker.io
cmd:iptables iptables
cmd:ip iproute2
cmd:debootstrap debootstrap
"
BARE_OPTIONS=()
FIREWALL_TABLES=(filter nat mangle raw)

# ---- The engine ------------------------------------------------------------------------------------------------------

# engine_obstacle: prints why no engine can run here; fails if there is no obstacle.
engine_obstacle() {
    if [ "$(id -u)" != 0 ]; then
        echo "only root can start a Docker engine"
    elif ! have apt-get; then
        echo "docker.io and debootstrap come from Debian's packages, and this system has no apt-get"
    elif [ -e /sys/class/net/docker0 ]; then
        echo "another Docker engine uses the interface docker0"
    else
        return 1
    fi
}

engine_start() {
    packages_install "$PACKAGES_ENGINE"
    # Where systemd runs, installing docker.io starts the system's engine.
    [ ! -e /sys/class/net/docker0 ] ||
        fail "another Docker engine runs here; stop it, delete docker0 (ip link delete docker0) and run this again"
    rm -rf "$ENGINE" && mkdir -p "$ENGINE" "$(dirname "$ENGINE_LOG")"
    ENGINE_COMMIT=$(git -C "$ROOT" stash create)
    ENGINE_COMMIT=${ENGINE_COMMIT:-$(git -C "$ROOT" rev-parse HEAD)}
    firewall_save
    ENGINE_RUN=$(mktemp -d /tmp/cuspan-engine.XXXXXX)
    export DOCKER_HOST=unix://$ENGINE_RUN/docker.sock DOCKER_CONFIG=$ENGINE/client
    # A session of its own: Ctrl-C must not end it before the containers are removed.
    setsid dockerd --data-root "$ENGINE/data" --exec-root "$ENGINE_RUN/exec" --host "$DOCKER_HOST" --pidfile "$ENGINE_RUN/pid" \
        >"$ENGINE_LOG" 2>&1 </dev/null &
    ENGINE_PID=$!
    wait_until 60 engine_answers || { tail -n 20 "$ENGINE_LOG"; fail "dockerd does not start; its log is $ENGINE_LOG"; }
    say "Docker engine $(docker version --format '{{.Server.Version}}') with $(docker info --format '{{.Driver}}')"
}

# True once it answers, and when it has ended: the next command then fails with its reason.
engine_answers() { docker version >/dev/null 2>&1 || ! kill -0 "$ENGINE_PID" 2>/dev/null; }

engine_stop() {
    [ -n "${ENGINE_PID:-}" ] || return 0
    docker ps --quiet | xargs --no-run-if-empty docker kill >/dev/null 2>&1 # some may have ended by now
    docker container prune --force >/dev/null
    docker network prune --force >/dev/null
    kill "$ENGINE_PID" && wait "$ENGINE_PID"
    ENGINE_PID=''
    ip link delete docker0
    firewall_restore
    rm -rf "$ENGINE" "$ENGINE_RUN"
}

# The engine leaves its chains behind when it ends, and the forwarding of packets with the policy that it has set.
firewall_save() {
    iptables-save >"$ENGINE/firewall"
    cat /proc/sys/net/ipv4/ip_forward >"$ENGINE/ip_forward"
}

firewall_restore() {
    local table chain
    iptables-restore <"$ENGINE/firewall"
    for table in "${FIREWALL_TABLES[@]}"; do
        # iptables-restore leaves the tables alone that did not exist before.
        grep -q "^\*$table" "$ENGINE/firewall" && continue
        iptables -t "$table" -F && iptables -t "$table" -X
        for chain in $(iptables -t "$table" -S | sed -n 's/^-P \(\S*\) DROP$/\1/p'); do
            iptables -t "$table" -P "$chain" ACCEPT
        done
    done
    cat "$ENGINE/ip_forward" >/proc/sys/net/ipv4/ip_forward
}

# ---- Images ----------------------------------------------------------------------------------------------------------

# Containers need what this machine's network forces: proxies and the certificates of its own authorities. Writes
# files for an image to $1, and a Dockerfile that adds them to the image $2.
network_context() {
    local folder=$1 base=$2 name
    mkdir -p "$folder/etc/apt/apt.conf.d" "$folder/usr/local/share/ca-certificates"
    apt-config dump | grep -iE '^Acquire::[a-z]+::(proxy|no_proxy)' >"$folder/etc/apt/apt.conf.d/90network" || true
    cp -rL /usr/local/share/ca-certificates/. "$folder/usr/local/share/ca-certificates/"
    {
        echo "FROM $base"
        for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
            [ -z "${!name:-}" ] || echo "ENV $name=\"${!name}\""
        done
        echo "COPY etc /etc"
        echo "COPY usr /usr"
    } >"$folder/Dockerfile"
}

# add_network BASE IMAGE: IMAGE is BASE with what the network forces.
add_network() {
    local folder=$ENGINE/network-${2//[:\/]/-}
    rm -rf "$folder" && mkdir -p "$folder"
    network_context "$folder" "$1"
    build_image "$2" "$folder"
}

build_image() { # build_image IMAGE CONTEXT [OPTION...]
    local log=$ROOT/build/log/image-${1//[:\/]/-}.log
    docker build --tag "$1" "${@:3}" "$2" >"$log" 2>&1 || { tail -n 30 "$log"; fail "cannot build the image $1; log: $log"; }
}

# debian_mirror [-security]: the mirror that this machine's apt uses; empty if it uses none.
debian_mirror() {
    # shellcheck disable=SC2016 # apt's variable
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
        grep -E -- "/debian${1:-}/?\$" | head -n 1
}

fetch_base() { # fetch_base SUITE ARCHIVE
    local root=$ENGINE_CACHE/debootstrap-$1 log=$ROOT/build/log/debootstrap-$1.log mirror
    mirror=$(debian_mirror)
    say "installing Debian $1 into $2"
    rm -rf --one-file-system "$root" # of a run that was killed
    debootstrap --variant=minbase "$1" "$root" ${mirror:+"$mirror"} >"$log" 2>&1 ||
        { tail -n 5 "$log"; fail "debootstrap $1 failed"; }
    tar -C "$root" --numeric-owner -I 'gzip -1' -cf "$2.new" . || fail "cannot write $2.new"
    rm -rf --one-file-system "$root" "$ENGINE_CACHE/packages-$1"
    mv "$2.new" "$2"
}

# fetch_bases SUITE...: the archives that are missing or old, all at once. Needs no engine.
fetch_bases() {
    local suite pid pids=() status=0
    mkdir -p "$ENGINE_CACHE" "$ROOT/build/log"
    # A second run waits here and then finds the archives.
    exec 8>"$ENGINE_CACHE/lock"
    flock 8
    for suite in "$@"; do
        [ -z "$(find "$ENGINE_CACHE" -name "$suite.tar.gz" -mtime "-$ENGINE_CACHE_DAYS")" ] || continue
        fetch_base "$suite" "$ENGINE_CACHE/$suite.tar.gz" 8>&- &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=1; done
    exec 8>&-
    return "$status"
}

# add_updates BASE IMAGE SUITE: IMAGE is BASE with the sources of updates, which Debian's installer enables and debootstrap
# does not.
add_updates() {
    local folder=$ENGINE/updates-$3 mirror security
    mirror=$(debian_mirror) security=$(debian_mirror -security)
    rm -rf "$folder" && mkdir -p "$folder"
    printf 'deb %s %s main\n' "${mirror:-http://deb.debian.org/debian}" "$3-updates" \
        "${security:-http://deb.debian.org/debian-security}" "$3-security" >"$folder/updates.list"
    printf 'FROM %s\nCOPY updates.list /tmp/\nRUN cat /tmp/updates.list >>/etc/apt/sources.list && rm /tmp/updates.list\n' "$1" >"$folder/Dockerfile"
    build_image "$2" "$folder"
}

# bare_image SUITE: leaves the image bare:SUITE, Debian as its installer leaves it, with as few packages as possible.
bare_image() {
    ! docker image inspect "bare:$1" >/dev/null 2>&1 || return 0
    fetch_bases "$1" || fail "there is no Debian $1"
    mkdir -p "$ENGINE_CACHE/packages-$1/partial"
    docker import "$ENGINE_CACHE/$1.tar.gz" "debootstrap:$1" >/dev/null
    add_updates "debootstrap:$1" "base:$1" "$1"
    add_network "base:$1" "bare:$1"
}

# in_bare SUITE TREE COMMAND...: runs the command in a new container, in /cuspan, which is TREE. BARE_OPTIONS are options of
# `docker run`. Downloads are kept for the next container: Debian's packages, and what cuspan's scripts put into the user's
# cache. The machine's Jaeger is visible, since building one takes minutes.
in_bare() {
    local suite=$1 tree=$2 options=()
    shift 2
    mkdir -p "$ENGINE_CACHE/home-$suite"
    rm -rf "$ENGINE_CACHE/home-$suite/demo"
    [ -z "${JAEGER:-}" ] || options+=(-v "$(dirname "$JAEGER"):/root/.cache/cuspan/$(basename "$(dirname "$JAEGER")"):ro")
    docker run --rm --init -v "$tree:/cuspan" -w /cuspan -v "$ENGINE_CACHE/packages-$suite:/var/cache/apt/archives" \
        -v "$ENGINE_CACHE/home-$suite:/root/.cache/cuspan" "${options[@]}" "${BARE_OPTIONS[@]}" -e CI "bare:$suite" "$@"
}

# clean_tree FOLDER: the files that git knows, with the changes of the working tree that engine_start found.
clean_tree() {
    mkdir -p "$1"
    git -C "$ROOT" archive "$ENGINE_COMMIT" | tar -x -C "$1"
}

# ---- Compose ---------------------------------------------------------------------------------------------------------

# find_compose --build|--present: leaves the command in COMPOSE. --present: fails rather than building one.
find_compose() {
    COMPOSE=(docker compose)
    docker compose version >/dev/null 2>&1 && return
    COMPOSE=(docker-compose) # the first version, in Python, does not know today's compose files
    docker-compose version --short 2>/dev/null | grep -qE '^v?[2-9]' && return
    COMPOSE=("$("$ROOT/tools/get-compose.sh" "$1")")
    [ -n "${COMPOSE[0]}" ]
}
