#!/bin/bash
# Runs in a bare system, from tests/packages/run.sh: installs the packages in /shared, tries, upgrades and removes them.
#
#   inside.sh OLD NEW SPANS ENDPOINT [full]
#
# OLD and NEW are versions, SPANS the number of spans in /shared/recording, ENDPOINT a collector that writes the number of
# spans that it has received to /shared/received. full: with packages from Debian's mirror. The last line is "PASSED FAILED".
set -u
OLD=$1 NEW=$2 SPANS=$3 ENDPOINT=$4 FULL=${5:-}
# shellcheck source=checks.sh
. /shared/checks.sh
ARCH=$(dpkg --print-architecture)
OLD_DEB=/shared/cuspan_$OLD-1_$ARCH.deb NEW_DEB=/shared/cuspan_$NEW-1_$ARCH.deb
CONFIG=/etc/opentelemetry/cuspan/otel-config.yaml
INSTALL=(apt-get install -y -qq -o Dpkg::Options::=--force-confold)
[ -n "$FULL" ] || INSTALL+=(--no-install-recommends)

# All files of the system, without those that every run of apt changes.
all_files() { find / -xdev \( -path /tmp -o -path /shared -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /run -o -path /var/cache -o -path /var/log -o -path /proc -o -path /dev -o -path /sys \) -prune -o -print | sort; }

received() { cat /shared/received; }
# grows COUNT: waits until the collector has more spans than that, as long as the program runs.
grows() {
    while [ "$(received)" -le "$1" ]; do
        kill -0 "$RUNNING" || return
        sleep 0.1
    done
}

version_is() { has "$(cuspan version)" "cuspan $PROGRAM_VERSION"; is "$(dpkg-query -W -f '${Version}' cuspan)" "$1-1"; }

install_old() { "${INSTALL[@]}" "$OLD_DEB"; version_is "$OLD"; }
files_are_intact() { is "$(dpkg --verify cuspan)" ""; }
replay_to_file() {
    rm -f /tmp/trace.jsonl
    cuspan replay --file /tmp/trace.jsonl /shared/recording
    is "$(spans_in /tmp/trace.jsonl)" "$SPANS"
}
replay_to_collector() {
    local before
    before=$(received)
    cuspan replay --endpoint "$ENDPOINT" /shared/recording
    is "$(($(received) - before))" "$SPANS"
}
config_is_accepted() {
    has "$(OTEL_SERVICE_NAME=a OTEL_EXPORTER_OTLP_ENDPOINT=http://h:1 cuspan check "$CONFIG")" "http://h:1/v1/traces"
    has "$(cuspan check "$CONFIG")" "http://localhost:4318/v1/traces"
}
# Without a variable that names it, no program reads it.
config_is_not_loaded() { has "$(cuspan check)" environment; }
agents_paths() {
    has "$(cuspan run env)" "CUDA_INJECTION64_PATH=/usr/lib/cuspan/libcuspan.so"
    cmp /usr/lib/opentelemetry/cuda/libcuspan.so /usr/lib/cuspan/libcuspan.so
}
drop_in_names_files() {
    local path paths
    paths=$(sed -n 's/^Environment=[A-Z0-9_]*=\(\/.*\)/\1/p' /usr/share/cuspan/systemd/50-cuspan.conf)
    is "$(wc -l <<<"$paths")" 3
    for path in $paths; do [ -f "$path" ]; done
}

# ---- Upgrades --------------------------------------------------------------------------------------------------------

start_running() {
    rm -f /tmp/running
    (
        setsid cuspan replay --quiet --repeat 1000000 --paced --endpoint "$ENDPOINT" /shared/recording </dev/null >/tmp/running.log 2>&1 &
        echo $! >/tmp/running
        wait $!
        echo $? >/tmp/ended
    ) &
    while [ ! -s /tmp/running ]; do sleep 0.1; done
    local launcher
    launcher=$(cat /tmp/running)
    # The agent is in its child.
    until RUNNING=$(tr -d ' ' <"/proc/$launcher/task/$launcher/children") && [ -n "$RUNNING" ]; do sleep 0.1; done
}
maps_has() { grep -F "$1" "/proc/$RUNNING/maps" >/dev/null || { echo "no $1 in:"; grep -F cuspan "/proc/$RUNNING/maps"; return 1; }; }
upgrade_while_running() {
    grows "$(received)"
    maps_has /usr/lib/cuspan/libcuspan-export.so
    "${INSTALL[@]}" "$NEW_DEB"
    version_is "$NEW"
}
running_keeps_its_library() {
    maps_has "/usr/lib/cuspan/libcuspan.so (deleted)"
    grows "$(received)"
}
new_program_sees_old_agent() { has "$(cuspan ps)" "$RUNNING"; }
running_ends() {
    kill -TERM "$RUNNING"
    while [ ! -s /tmp/ended ]; do sleep 0.1; done
    # At the signal, calls were in progress.
    is "$(grep -v lost_in_flight /tmp/running.log)" ""
}
upgrade_brings_config() { has "$(cat "$CONFIG")" "# $NEW"; }
downgrade_keeps_edited_config() {
    echo "# edited" >>"$CONFIG"
    "${INSTALL[@]}" --allow-downgrades "$OLD_DEB"
    version_is "$OLD"
    has "$(cat "$CONFIG")" "# edited"
    [ -f "$CONFIG.dpkg-dist" ]
    files_but_config_are_intact
}
files_but_config_are_intact() { has "$(dpkg --verify cuspan)" "$CONFIG"; is "$(dpkg --verify cuspan | wc -l)" 1; }

# ---- Refused packages ------------------------------------------------------------------------------------------------

other_architecture() { # the same package with another architecture in its control file
    local other=arm64
    [ "$ARCH" != arm64 ] || other=amd64
    dpkg-deb --raw-extract "$OLD_DEB" /tmp/other
    sed -i "s/^Architecture: .*/Architecture: $other/" /tmp/other/DEBIAN/control
    dpkg-deb --build -Znone /tmp/other /tmp/other.deb >/dev/null
    rm -r /tmp/other
    has "$(refused dpkg --install /tmp/other.deb)" "($other) does not match system ($ARCH)"
    is "$(dpkg-query -W -f '${Status}' cuspan 2>/dev/null)" ""
}
# On a system whose C library is one version older than the oldest that the files can use.
old_libc() {
    local floor older
    floor=$(dpkg-deb --field "$OLD_DEB" Depends | sed 's/.*libc6 (>= \([0-9.]*\)).*/\1/')
    older=${floor%.*}.$((${floor#*.} - 1))
    mkdir -p /tmp/apt/lists
    printf '%s\n' 'Package: libc6' 'Status: install ok installed' "Architecture: $ARCH" "Version: $older-1" >/tmp/apt/status
    refused apt-get install --simulate -o Dir::State::status=/tmp/apt/status -o Dir::State::Lists=/tmp/apt/lists \
        -o Dir::Cache=/tmp/apt "$OLD_DEB" >/tmp/refused
    has "$(cat /tmp/refused)" "cuspan : Depends: libc6 (>= $floor) but $older-1 is"
}

# ---- With packages from the mirror -----------------------------------------------------------------------------------

install_tools() {
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends man-db pkgconf cmake make gcc g++ libc6-dev ca-certificates systemd
}
man_pages_open() {
    has "$(man cuspan)" "cuspan-doctor(1)"
    has "$(man cuspan-run)" "--endpoint"
    has "$(apropos --exact cuspan-run; whatis cuspan-stat)" "cuspan-stat (1)"
}
development_files() { /shared/development/try.sh /usr "$PROGRAM_VERSION"; }
systemd_accepts_drop_in() {
    mkdir -p /tmp/units/try.service.d
    printf '[Service]\nExecStart=/bin/true\n' >/tmp/units/try.service
    cp /usr/share/cuspan/systemd/50-cuspan.conf /tmp/units/try.service.d/
    is "$(systemd-analyze verify --man=no /tmp/units/try.service 2>&1 | grep -v '^Unit .*could not be found')" ""
}

# ---- The tarball -----------------------------------------------------------------------------------------------------

tarball_beside_package() {
    tar -C /opt -xzf "/shared/cuspan-$OLD-linux-$(uname -m).tar.gz"
    has "$("/opt/cuspan-$OLD/bin/cuspan" run env)" "CUDA_INJECTION64_PATH=/opt/cuspan-$OLD/lib/cuspan/libcuspan.so"
    has "$(cuspan run env)" "CUDA_INJECTION64_PATH=/usr/lib/cuspan/libcuspan.so"
    rm -f /tmp/trace.jsonl
    "/opt/cuspan-$OLD/bin/cuspan" replay --file /tmp/trace.jsonl /shared/recording
    is "$(spans_in /tmp/trace.jsonl)" "$SPANS"
}
tarball_anywhere() {
    mv "/opt/cuspan-$OLD" "/tmp/a folder"
    rm -f /tmp/trace.jsonl
    "/tmp/a folder/bin/cuspan" replay --file /tmp/trace.jsonl /shared/recording
    is "$(spans_in /tmp/trace.jsonl)" "$SPANS"
    rm -r "/tmp/a folder"
}

# ---- Removal ---------------------------------------------------------------------------------------------------------

# Containers whose CDI file names a removed agent would not start. Files of other tools and installations stay.
remove_takes_cdi_files() {
    local other='{"hostPath": "/srv/lib/cuspan"}'
    cuspan cdi write
    mkdir -p /var/run/cdi
    echo "$other" >/var/run/cdi/cuspan.json
    apt-get remove -y -qq cuspan
    [ ! -e /etc/cdi/cuspan.json ]
    is "$(cat /var/run/cdi/cuspan.json)" "$other"
    rm -r /var/run/cdi
    rmdir /etc/cdi
}
upgrade_keeps_cdi_files() {
    cuspan cdi write
    "${INSTALL[@]}" --reinstall "$OLD_DEB"
    [ -f /etc/cdi/cuspan.json ]
}
remove_keeps_config() {
    [ -f "$CONFIG" ]
    is "$(all_files | grep cuspan | grep -v "^${CONFIG%/*}")" ""
}
purge_leaves_nothing() {
    apt-get purge -y -qq cuspan
    all_files >/tmp/after
    is "$(diff /tmp/before /tmp/after)" ""
}

main() {
    PROGRAM_VERSION=$(cat /shared/program-version)
    if [ -n "$FULL" ]; then check "packages from the mirror" install_tools; fi
    all_files >/tmp/before
    check "refused on another architecture" other_architecture
    check "refused on an older C library" old_libc
    check install install_old
    check "files are intact" files_are_intact
    check "replay to a file" replay_to_file
    check "replay to a collector" replay_to_collector
    check "configuration is accepted" config_is_accepted
    check "configuration is not loaded unasked" config_is_not_loaded
    check "paths of the agent" agents_paths
    check "drop-in names existing files" drop_in_names_files
    if [ -n "$FULL" ]; then
        check "man pages open" man_pages_open
        check "pkg-config and find_package" development_files
        check "systemd accepts the drop-in" systemd_accepts_drop_in
    fi
    start_running
    check "upgrade while a program runs" upgrade_while_running
    check "the program keeps its library and sends spans" running_keeps_its_library
    check "the new version lists the old agent" new_program_sees_old_agent
    check "the program ends" running_ends
    check "upgrade replaces an unedited configuration" upgrade_brings_config
    check "replay after the upgrade" replay_to_collector
    check "tarball beside a newer package" tarball_beside_package
    check "tarball in any folder" tarball_anywhere
    check "downgrade keeps an edited configuration" downgrade_keeps_edited_config
    check "an upgrade keeps CDI files" upgrade_keeps_cdi_files
    check "remove takes the package's CDI files" remove_takes_cdi_files
    check "remove keeps the configuration" remove_keeps_config
    check "purge leaves nothing" purge_leaves_nothing
    echo "$PASSED $FAILED"
}
main
