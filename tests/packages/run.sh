#!/bin/bash
# Installs, upgrades and removes the deb, the rpm and the tarball on bare systems, and tries what they contain. Needs root.
#
#   tests/packages/run.sh                Debian 12 and 13, rpm, lintian, rpmlint
#   tests/packages/run.sh --quick        Debian 12 and rpm, without packages from the mirror, and without lintian and rpmlint
#   tests/packages/run.sh CHECK...       only some of: files rpm bookworm trixie
#     --stage DIR                        make the packages from this stage (default: the release's, else one of build/)
#     --dist DIR                         test the files in this folder instead of new ones from the stage
#
# Debian's rpm stands in for an rpm distribution. Nothing outside build/packages and the user's cache is changed.
set -eu
# shellcheck source=../../tools/lib.sh
. "$(dirname "$0")/../../tools/lib.sh"
# shellcheck source=../containers/engine.sh
. "$ROOT/tests/containers/engine.sh"
# shellcheck source=bare.sh
. "$ROOT/tests/packages/bare.sh"
# shellcheck source=../../tools/release/packages/nfpm.sh
. "$ROOT/tools/release/packages/nfpm.sh"
# shellcheck source=checks.sh
. "$ROOT/tests/packages/checks.sh"
cd "$ROOT"

PACKAGES_NEEDED="$PACKAGES_BARE
cmd:rpm rpm
cmd:pkg-config pkg-config
cmd:zsh zsh
cmd:fish fish
file:/usr/share/doc/busybox-static busybox-static
"
PACKAGES_LINT="
cmd:lintian lintian
cmd:rpmlint rpmlint
"
MACHINE=$(uname -m) NEW=999.0.0 RECORDING=examples/recordings/vector_add.cuspanrec SPANS=33
case $MACHINE in x86_64) DEB=amd64 ;; *) DEB=arm64 ;; esac
SHARED=$BARE/shared SKIPPED=0 JAEGER=${JAEGER:-} OLD='' STAGE='' DIST='' QUICK=''

# ---- Files under test --------------------------------------------------------------------------------------------------

prepare_stage() {
    [ -n "$STAGE" ] || STAGE=$ROOT/build/release/stage-$MACHINE
    [ ! -d "$STAGE" ] || return 0
    STAGE=$BARE/stage
    [ -x build/cuspan ] || build_cuspan
    rm -rf "$STAGE"
    cmake --install build --strip --prefix "$STAGE" >"$ROOT/build/log/packages-stage.log"
}

make_packages() { "$ROOT/tools/release/packages/make.sh" "$@"; }

# The packages under test, and the same with a higher version and another configuration.
prepare_packages() {
    local next=$BARE/stage-$NEW
    OLD=$(sed -n 's/^project(cuspan VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
    rm -rf "$SHARED" "$next" && mkdir -p "$SHARED"
    if [ -n "$DIST" ]; then
        cp "$DIST/cuspan_$OLD-1_$DEB.deb" "$DIST/cuspan-$OLD-1.$MACHINE.rpm" "$DIST/cuspan-$OLD-linux-$MACHINE.tar.gz" "$SHARED/"
    else
        make_packages "$STAGE" "$MACHINE" "$SHARED"
    fi
    cp -r "$STAGE" "$next"
    echo "# $NEW" >>"$next/share/cuspan/otel-config.yaml"
    CUSPAN_PACKAGE_VERSION=$NEW CUSPAN_PACKAGE_COMPRESSION=gzip make_packages "$next" "$MACHINE" "$SHARED" deb rpm
    cp -r tests/packages/{checks.sh,inside.sh,development} "$SHARED/"
    cp "$RECORDING" "$SHARED/recording"
    echo "$OLD" >"$SHARED/program-version"
    mkdir "$SHARED/deb" "$SHARED/tarball"
    dpkg-deb --extract "$SHARED/cuspan_$OLD-1_$DEB.deb" "$SHARED/deb"
    tar -C "$SHARED/tarball" -xzf "$SHARED/cuspan-$OLD-linux-$MACHINE.tar.gz"
}

start_collector() {
    coproc COLLECTOR { exec tests/packages/collector.py "$SHARED/received"; }
    # shellcheck disable=SC2153 # of coproc
    COLLECTOR_ID=$COLLECTOR_PID
    read -r ENDPOINT <&"${COLLECTOR[0]}"
}
stop_collector() { kill "$COLLECTOR_ID" 2>/dev/null || true; }

# ---- On this machine -------------------------------------------------------------------------------------------------

# same_bytes_again KIND...: from a copy in another folder, with other times and modes, with a temporary folder of another
# name, called in a folder named as one that a link of the packages leads to.
same_bytes_again() {
    local again=$BARE/again copy="$BARE/a cöpy" tmp="$BARE/tämp & \"|$" file
    rm -rf "$again" "$copy" "$tmp"
    mkdir -p "$BARE/cuspan" "$tmp"
    cp -r --no-preserve=mode,timestamps "$STAGE" "$copy"
    chmod 700 "$copy/bin/cuspan" "$copy/share/cuspan/slurm/cuspan-slurm.sh"
    (umask 077; cd "$BARE/cuspan" && TMPDIR=$tmp make_packages "$copy" "$MACHINE" "$again" "$@")
    for file in "$again"/*; do cmp "$file" "$SHARED/${file##*/}"; done
}
refused_stages() {
    local copy=$BARE/refused
    rm -rf "$copy" && cp -r "$STAGE" "$copy"
    has "$(refused make_packages "$copy" "$([ "$MACHINE" = x86_64 ] && echo aarch64 || echo x86_64)" "$BARE/none")" "is for "
    touch "$copy/lib/cuspan/libcupti.so.13"
    has "$(refused make_packages "$copy" "$MACHINE" "$BARE/none")" "must not be distributed"
    rm "$copy/lib/cuspan/libcupti.so.13"
    cc -shared -x c /dev/null -o "$copy/lib/cuspan/libcuspan-x.so" -Wl,--no-as-needed -lz
    has "$(refused make_packages "$copy" "$MACHINE" "$BARE/none")" "needs libz.so.1"
    [ ! -e "$BARE/none" ] || is "$(ls "$BARE/none")" ""
}
debug_files() { # found by build ID
    local folder=$BARE/debugged file=lib/cuspan/libcuspan.so id place
    rm -rf "$folder" "$BARE/debug" && mkdir -p "$folder"
    cp -r "$STAGE" "$folder/stage"
    id=$(readelf -n "$STAGE/$file" | sed -n 's/.*Build ID: //p')
    place=.build-id/${id:0:2}
    mkdir -p "$folder/debug-$MACHINE/$place"
    objcopy --only-keep-debug "$STAGE/$file" "$folder/debug-$MACHINE/$place/${id:2}.debug"
    make_packages "$folder/stage" "$MACHINE" "$BARE/debug" tarball
    has "$(tar -tzf "$BARE/debug/cuspan-$OLD-debug-linux-$MACHINE.tar.gz")" "usr/lib/debug/$place/${id:2}.debug"
}
man_pages_of_all_commands() {
    local command pages=$SHARED/deb/usr/share/man/man1
    for command in $("$SHARED/deb/usr/bin/cuspan" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        has "$(zcat "$pages/cuspan-$command.1.gz")" ".SH NAME"
    done
    is "$(find "$pages" -type f | wc -l)" "$(("$("$SHARED/deb/usr/bin/cuspan" help | grep -c '^  [a-z]')" + 1))"
}
completion() { # completion SHELL SCRIPT
    [ -s "$SHARED/$2" ]
    tests/integration/cli/completion_test.py "$1" "$SHARED/deb/usr/bin/cuspan" "$SHARED/$2"
}
bash_completion() {
    # shellcheck disable=SC2016 # the inner shell's
    is "$(PATH=$SHARED/deb/usr/bin:$PATH bash -c '. "$1"; COMP_WORDS=(cuspan rec) COMP_CWORD=1; _cuspan; echo "${COMPREPLY[*]}"' - \
        "$SHARED/deb/usr/share/bash-completion/completions/cuspan")" record
}
lintian_is_content() { is "$(lintian --fail-on error,warning "$SHARED/cuspan_$OLD-1_$DEB.deb" 2>&1 | grep -v '^running with root')" ""; }
rpmlint_is_content() {
    has "$(rpmlint -c tools/release/packages/rpmlint.toml "$SHARED/cuspan-$OLD-1.$MACHINE.rpm")" "1 packages and 0 specfiles checked; 0 errors, 0 warnings"
}

# ---- rpm -------------------------------------------------------------------------------------------------------------
# With Debian's rpm and an empty database below a folder. A package of our own provides what a distribution's glibc does.

RPM_ROOT=$BARE/rpm
rpm_here() { rpm --root "$RPM_ROOT" "$@"; }
rpm_of() { echo "$SHARED/cuspan-$1-1.$MACHINE.rpm"; }
rpm_config() { echo "$RPM_ROOT/etc/opentelemetry/cuspan/otel-config.yaml"; }

# make_libc VERSION
make_libc() {
    local floor=$1 folder=$BARE/libc
    mkdir -p "$folder"
    printf 'name: fake-glibc\narch: %s\nversion: %s\nprovides: ["libc.so.6(GLIBC_%s)(64bit)"]\nrpm: {buildhost: localhost}\n' \
        "$DEB" "$floor" "$floor" >"$folder/nfpm.yaml"
    find_nfpm
    "$NFPM" package -f "$folder/nfpm.yaml" -p rpm -t "$folder/$floor.rpm"
    rpm_here -U "$folder/$floor.rpm"
}
rpm_floor() { rpm -qp --requires "$(rpm_of "$OLD")" | sed -n 's/^libc.so.6(GLIBC_\(.*\))(64bit)$/\1/p'; }
rpm_refused_on_old_libc() {
    local floor
    floor=$(rpm_floor)
    rm -rf --one-file-system "$RPM_ROOT" && mkdir -p "$RPM_ROOT"
    rpm_here --initdb
    make_libc "${floor%.*}.$((${floor#*.} - 1))"
    has "$(refused rpm_here -i "$(rpm_of "$OLD")")" "libc.so.6(GLIBC_$floor)(64bit) is needed by cuspan"
}
rpm_installs() {
    make_libc "$(rpm_floor)"
    (cd "$RPM_ROOT" && find . ! -type d) | sort >"$BARE/rpm-before"
    rpm_here -i "$(rpm_of "$OLD")"
    is "$(rpm_here -V cuspan)" ""
    is "$(rpm_here -q cuspan)" "cuspan-$OLD-1.$MACHINE"
    has "$(rpm_here -q --provides cuspan)" opentelemetry-cuda-autoinstrumentation1
}
rpm_is_what_the_deb_is() { # the same programs and libraries
    local file
    for file in bin/cuspan lib/cuspan/libcuspan.so lib/cuspan/libcuspan-export.so include/cuspan/cuspan.h; do
        cmp "$RPM_ROOT/usr/$file" "$SHARED/deb/usr/$file"
    done
    is "$(readlink "$RPM_ROOT/usr/lib/opentelemetry/cuda")" "$(readlink "$SHARED/deb/usr/lib/opentelemetry/cuda")"
    [ -f "$RPM_ROOT/usr/lib/opentelemetry/cuda/libcuspan.so" ]
    has "$("$RPM_ROOT/usr/bin/cuspan" version)" "cuspan $OLD"
    rm -f "$BARE/trace.jsonl"
    "$RPM_ROOT/usr/bin/cuspan" replay --file "$BARE/trace.jsonl" "$RECORDING"
    is "$(spans_in "$BARE/trace.jsonl" "$RPM_ROOT/usr/bin/cuspan")" "$SPANS"
}
rpm_upgrades() {
    mkdir -p "$RPM_ROOT/bin"
    cp "$(command -v busybox)" "$RPM_ROOT/bin/sh" # for the package's script
    cp "$(command -v busybox)" "$RPM_ROOT/bin/grep"
    echo "# edited" >>"$(rpm_config)"
    rpm_here -U "$(rpm_of "$NEW")"
    is "$(rpm_here -q cuspan)" "cuspan-$NEW-1.$MACHINE"
    has "$(cat "$(rpm_config)")" "# edited"
    has "$(cat "$(rpm_config).rpmnew")" "# $NEW"
    has "$(refused rpm_here -U "$(rpm_of "$OLD")")" "which is newer than cuspan-$OLD-1"
    rpm_here -U --oldpackage "$(rpm_of "$OLD")"
    is "$(rpm_here -q cuspan)" "cuspan-$OLD-1.$MACHINE"
}
# The package's script runs here, in a system without a C library, where cuspan cannot start: this must not stop a removal.
rpm_removes() {
    mkdir -p "$RPM_ROOT/etc/cdi"
    echo '{"hostPath": "/usr/lib/cuspan"}' >"$RPM_ROOT/etc/cdi/cuspan.json"
    rpm_here -e cuspan
    rm -r "${RPM_ROOT:?}/etc/cdi" "${RPM_ROOT:?}/bin"
    [ -f "$(rpm_config).rpmsave" ]
    rm "$(rpm_config)".*
    (cd "$RPM_ROOT" && find . ! -type d) | sort >"$BARE/rpm-after"
    is "$(diff "$BARE/rpm-before" "$BARE/rpm-after")" ""
    is "$(cd "$RPM_ROOT" && find usr etc -path '*cuspan*' ! -path 'etc/opentelemetry*')" ""
}
# ---- Bare systems ----------------------------------------------------------------------------------------------------

check_debian() { # check_debian SUITE
    local log=$ROOT/build/log/packages-$1.log mode=full passed failed
    [ -z "$QUICK" ] || mode=''
    bare_delete "$1"
    bare_run "$1" "$1" "$SHARED" bash /shared/inside.sh "$OLD" "$NEW" "$SPANS" "$ENDPOINT" "$mode" >"$log" 2>&1 || true
    sed '$d' "$log" | sed -E "s/^(passed|failed)  /&$1: /"
    read -r passed failed < <(tail -n 1 "$log")
    PASSED=$((PASSED + ${passed:-0})) FAILED=$((FAILED + ${failed:-1}))
    check "$1: read-only file system" read_only "$1"
    if [ -n "$JAEGER" ]; then
        check "$1: replay to a Collector, and read back from Jaeger" read_back "$1"
    elif [ -z "$QUICK" ]; then
        SKIPPED=$((SKIPPED + 1))
        echo "skipped: $1: there is no Jaeger; run tools/get-jaeger.sh"
    fi
    bare_delete "$1"
}
read_only() {
    # shellcheck disable=SC2016 # the inner shell's
    BARE_READ_ONLY=1 bare_run "$1-read-only" "$1" "$SHARED" bash -euc '
        . /shared/checks.sh
        has "$(refused touch /usr/x)" "Read-only file system"
        cd /shared/tarball/cuspan-*
        HOME=/nonexistent bin/cuspan replay --file /tmp/trace.jsonl /shared/recording
        is "$(spans_in /tmp/trace.jsonl bin/cuspan)" "$1"' - "$SPANS"
    bare_delete "$1-read-only"
}

# A Collector on this machine, whose network the bare systems share.
read_back() {
    local pipe=$BARE/pipe endpoint id found
    rm -rf "$pipe" && mkdir "$pipe" && mkfifo "$pipe/ids" "$pipe/answers"
    tests/packages/read_back.py "$JAEGER" "$SPANS" <"$pipe/ids" >"$pipe/answers" &
    exec 6>"$pipe/ids" 7<"$pipe/answers"
    read -r endpoint <&7
    # shellcheck disable=SC2016 # the inner shell's
    id=$(bare_run "$1-read-back" "$1" "$SHARED" bash -ec 'apt-get install -y -qq --no-install-recommends "$1" >&2
        cuspan replay --endpoint "$2" /shared/recording' - "/shared/cuspan_$OLD-1_$DEB.deb" "$endpoint" 2>&1 |
        sed -n 's/^cuspan: trace ID //p')
    echo "$id" >&6
    read -r found <&7
    exec 6>&- 7<&-
    wait
    bare_delete "$1-read-back"
    is "$found" "$SPANS"
}

# ---- Running them ----------------------------------------------------------------------------------------------------

check_files() {
    local kinds=(tarball deb rpm)
    [ -z "$QUICK" ] || kinds=(tarball deb)
    check "the same bytes again" same_bytes_again "${kinds[@]}"
    check "stages that are refused" refused_stages
    check "debug files" debug_files
    check "man pages of all commands" man_pages_of_all_commands
    check "bash completion" bash_completion
    check "zsh completion" completion zsh deb/usr/share/zsh/vendor-completions/_cuspan
    check "fish completion" completion fish deb/usr/share/fish/vendor_completions.d/cuspan.fish
    check "pkg-config and find_package in the tarball" tests/packages/development/try.sh "$SHARED/tarball/cuspan-$OLD" "$OLD"
    [ -z "$QUICK" ] || return 0
    check lintian lintian_is_content
    check rpmlint rpmlint_is_content
}
check_rpm() {
    check "rpm: refused on an older C library" rpm_refused_on_old_libc
    check "rpm: install" rpm_installs
    check "rpm: the files of the deb, and a replay" rpm_is_what_the_deb_is
    check "rpm: upgrade and downgrade" rpm_upgrades
    check "rpm: remove" rpm_removes
}

main() {
    local obstacle name checks=()
    while [ $# -gt 0 ]; do
        case $1 in
        --quick) QUICK=1 ;;
        --stage) STAGE=$(realpath "$2") && shift ;;
        --dist) DIST=$(realpath "$2") && shift ;;
        files | rpm | bookworm | trixie) checks+=("$1") ;;
        *) fail "unknown argument $1; known: --quick, --stage DIR, --dist DIR, files, rpm, bookworm, trixie" ;;
        esac
        shift
    done
    if obstacle=$(bare_obstacle); then
        echo "skipped: $obstacle"
        return 77
    fi
    packages_install "$PACKAGES_NEEDED$([ -n "$QUICK" ] || echo "$PACKAGES_LINT")"
    mkdir -p "$BARE" "$ROOT/build/log"
    [ -n "$QUICK$JAEGER" ] || JAEGER=$(tools/get-jaeger.sh --present) || JAEGER=''
    prepare_stage
    prepare_packages
    [ ${#checks[@]} -gt 0 ] || checks=(files rpm bookworm trixie)
    [ -z "$QUICK" ] || checks=("${checks[@]/trixie/}")
    trap stop_collector EXIT
    start_collector
    for name in "${checks[@]}"; do
        case $name in
        files | rpm) "check_$name" ;;
        ?*) bare_base "$name" && check_debian "$name" ;;
        esac
    done
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" = 0 ]
}

{ main "$@"; exit; }
