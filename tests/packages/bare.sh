# shellcheck shell=bash
# shellcheck disable=SC2034 # run.sh uses the names
# Bare Debian systems without a container engine: a root folder of debootstrap with a layer of its own on top, entered with
# chroot in namespaces of mounts and processes. Source it after tools/lib.sh and tests/containers/engine.sh.

BARE=$ROOT/build/packages
PACKAGES_BARE="
cmd:debootstrap debootstrap
cmd:unshare util-linux
"

# bare_obstacle: prints why no bare system can be made here; fails if there is no obstacle.
bare_obstacle() {
    if [ "$(id -u)" != 0 ]; then
        echo "only root can enter a bare system"
    elif ! have apt-get; then
        echo "debootstrap comes from Debian's packages, and this system has no apt-get"
    elif ! unshare --mount --pid --fork true 2>/dev/null; then
        echo "this system does not permit new namespaces"
    else
        return 1
    fi
}

# bare_base SUITE: unpacks the archive of debootstrap, once.
bare_base() {
    local base=$BARE/base-$1 archive=$ENGINE_CACHE/$1.tar.gz
    fetch_bases "$1" || fail "there is no Debian $1"
    [ "$base/complete" -nt "$archive" ] && return
    rm -rf --one-file-system "$base" && mkdir -p "$base/root"
    tar -C "$base/root" --numeric-owner -xzf "$archive"
    bare_network "$base/root" "$1"
    touch "$base/complete"
}

# Sources and proxies, so that apt reaches Debian's mirror from there.
bare_network() {
    local mirror security
    mirror=$(debian_mirror) security=$(debian_mirror -security)
    printf 'deb %s %s main\n' "${mirror:-http://deb.debian.org/debian}" "$2-updates" \
        "${security:-http://deb.debian.org/debian-security}" "$2-security" >>"$1/etc/apt/sources.list"
    apt-config dump | grep -iE '^Acquire::[a-z]+::(proxy|no_proxy)' >"$1/etc/apt/apt.conf.d/90network" || true
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
}

# bare_run MACHINE SUITE SHARED COMMAND...: runs the command in the system, which keeps its files between calls. It sees the
# folder SHARED as /shared. BARE_READ_ONLY=1: its files cannot be written, except in /tmp and /shared.
bare_run() {
    local machine=$BARE/machine-$1 suite=$2 shared=$3
    shift 3
    mkdir -p "$machine"/{upper,work,root} "$ENGINE_CACHE/packages-$suite/partial"
    # shellcheck disable=SC2016 # the inner shell's
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        READ_ONLY="${BARE_READ_ONLY:-}" unshare --mount --pid --fork --kill-child bash -c '
        set -e
        machine=$1 base=$2 shared=$3 archives=$4
        shift 4
        mount -t overlay overlay -o "lowerdir=$base,upperdir=$machine/upper,workdir=$machine/work" "$machine/root"
        mkdir -p "$machine/root/shared"
        mount --bind "$shared" "$machine/root/shared"
        mount --bind "$archives" "$machine/root/var/cache/apt/archives"
        mount -t proc proc "$machine/root/proc"
        mount --rbind /dev "$machine/root/dev"
        if [ -n "$READ_ONLY" ]; then
            mount -o remount,ro "$machine/root"
            mount -t tmpfs tmpfs "$machine/root/tmp"
        fi
        exec chroot "$machine/root" "$@"' - "$machine" "$BARE/base-$suite/root" "$shared" "$ENGINE_CACHE/packages-$suite" "$@"
}

bare_delete() { rm -rf --one-file-system "$BARE/machine-$1"; }
