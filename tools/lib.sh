# shellcheck shell=bash
# Shared by examples/demo.sh, tests/run.sh and the tools: messages, installing what is missing, building, getting Jaeger
# and querying it. Source it; it changes no option of the shell and runs nothing when sourced.
# shellcheck disable=SC2034 # scripts that source it use many of these names

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Kept once per user, not per clone: Jaeger (85 MB), Python packages. Nothing else is written outside the clone.
CACHE=${CUSPAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cuspan}
JAEGER_VERSION=2.13.0 # the newest that exists both as a release and as a Go module

# ---- Talking -------------------------------------------------------------------------------------------------------

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    BOLD=$'\e[1m' DIM=$'\e[2m' RED=$'\e[31m' GREEN=$'\e[32m' PLAIN=$'\e[0m'
else
    BOLD='' DIM='' RED='' GREEN='' PLAIN=''
fi

say() { printf '    %s\n' "$*"; }
fail() {
    printf '%s%s%s\n' "$RED" "$*" "$PLAIN" >&2
    exit 1
}

# step TITLE: prints the number of the next of STEPS steps.
STEP=0
step() {
    STEP=$((STEP + 1))
    printf '\n%s[%s/%s] %s%s\n' "$BOLD" "$STEP" "${STEPS:-?}" "$*" "$PLAIN"
}

# waiting LOG COMMAND...: runs a command that takes a while, with its output in LOG, and shows progress: on a terminal
# one line with the seconds and the current step, elsewhere a line every half minute. Returns the command's exit status.
waiting() {
    local log=$1 began=$SECONDS shown=0 width line status=0
    shift
    width=$(tput cols 2>/dev/null || echo 80)
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null &
    local pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        if [ -t 1 ]; then
            line=$(tail -c 400 "$log" | tr '\r\t' '\n ' | sed '/^ *$/d' | tail -n 1 | tr -cd '[:print:]')
            line=$(printf '    %4ss  %s' $((SECONDS - began)) "$line")
            printf '\r\e[K%s%s%s' "$DIM" "${line:0:width-1}" "$PLAIN"
        elif [ $((SECONDS - began - shown)) -ge 30 ]; then
            shown=$((SECONDS - began))
            say "... $shown s"
        fi
        sleep 0.2
    done
    wait "$pid" || status=$?
    [ -t 1 ] && printf '\r\e[K'
    return "$status"
}

# ---- Clones --------------------------------------------------------------------------------------------------------

# clone_of FOLDER: makes a clone there, with what is not committed, too. It shares no file with this checkout, so its owner may
# change.
clone_of() {
    rm -rf "$1" && mkdir -p "$(dirname "$1")" && git clone -q --no-hardlinks "$ROOT" "$1" || return
    (cd "$ROOT" && git diff --binary HEAD | git -C "$1" apply --allow-empty &&
        git ls-files -z --others --exclude-standard | xargs -0r cp --parents -t "$1")
}

# ---- Packages ------------------------------------------------------------------------------------------------------

# Lines "PROBE PACKAGE" with Debian's names. cmd: a command, hdr: a C header, py: a Python module, file: a file, fuzz:
# clang's libFuzzer.
PACKAGES_BUILD="
cmd:cc gcc
cmd:c++ g++
cmd:cmake cmake
cmd:make make
cmd:ninja ninja-build
cmd:curl curl
file:/etc/ssl/certs/ca-certificates.crt ca-certificates
cmd:python3 python3
cmd:dpkg-source dpkg-dev
cmd:xz xz-utils
hdr:stdlib.h libc6-dev
hdr:openssl/ssl.h libssl-dev
hdr:yaml.h libyaml-dev
hdr:zlib.h zlib1g-dev
hdr:zstd.h libzstd-dev
hdr:cjson/cJSON.h libcjson-dev
hdr:sqlite3.h libsqlite3-dev
hdr:curses.h libncurses-dev
"
# The assembler for ISA-L.
[ "$(uname -m)" != x86_64 ] || PACKAGES_BUILD+="cmd:nasm nasm
"
# The system's libcurl: for builds with sanitizers, and if tools/fetch-sources.sh cannot build ours. libdeflate: if it
# cannot build ISA-L, and for the tests.
PACKAGES_CURL="
hdr:curl/curl.h libcurl4-openssl-dev
"
PACKAGES_JSON="
hdr:yyjson.h libyyjson-dev
"
PACKAGES_DEFLATE="
hdr:libdeflate.h libdeflate-dev
"
# For tests/run.sh quick.
PACKAGES_TEST="$PACKAGES_CURL$PACKAGES_DEFLATE
cmd:git git
hdr:cmocka.h libcmocka-dev
cmd:clang-format clang-format
cmd:zsh zsh
cmd:fish fish
py:ensurepip python3-venv
"
# For the other tests.
PACKAGES_TEST_ALL="
cmd:clang clang
cmd:clang-tidy clang-tidy
cmd:shellcheck shellcheck
cmd:valgrind valgrind
cmd:jq jq
cmd:python3-config python3-dev
cmd:prometheus prometheus
cmd:musl-gcc musl-tools
cmd:ccache ccache
"

have() { command -v "$1" >/dev/null 2>&1; }

# is_there PROBE
is_there() {
    case $1 in
    cmd:*) have "${1#cmd:}" ;;
    file:*) [ -e "${1#file:}" ] ;;
    hdr:*) # with the four headers that cmocka.h requires
        have cc && printf '#include <%s>\n' stdarg.h stddef.h stdint.h setjmp.h "${1#hdr:}" |
            cc -x c -fsyntax-only - 2>/dev/null ;;
    fuzz:*) echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null ;;
    py:*) have python3 && python3 -c "import ${1#py:}" 2>/dev/null ;;
    esac
}

# packages_missing TABLE: prints the packages whose probe fails, one per line.
packages_missing() {
    local probe package
    while read -r probe package; do
        [ -z "$probe" ] || is_there "$probe" || echo "$package"
    done <<<"$1" | sort -u
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    local install=(apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 "$@")
    # The package lists may be missing (a fresh container) or too old: then update them and try once more.
    as_root "${install[@]}" || { as_root apt-get update && as_root "${install[@]}"; }
}

# packages_install TABLE: installs what is missing, or prints what to install and exits.
packages_install() {
    local missing
    mapfile -t missing < <(packages_missing "$1")
    if [ ${#missing[@]} -eq 0 ]; then
        say "nothing is missing"
        return
    fi
    have apt-get || fail "missing (Debian's package names): ${missing[*]}
Install them with this system's package manager and run this again."
    if [ "$(id -u)" != 0 ] && ! have sudo; then
        # In a test, what needs other rights is not run.
        [ "${TESTS_WITHOUT_ROOT:-}" != skip ] || { echo "skipped: only root can run apt-get install ${missing[*]}"; exit 77; }
        fail "missing: ${missing[*]}
Neither root nor sudo is available: ask for 'apt-get install ${missing[*]}' and run this again."
    fi
    say "installing ${missing[*]}"
    if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then
        waiting "$ROOT/build/log/apt.log" apt_install "${missing[@]}"
    else
        apt_install "${missing[@]}" # sudo asks for the password
    fi || { tail -n 5 "$ROOT/build/log/apt.log" 2>/dev/null; fail "apt-get could not install: ${missing[*]}"; }
    mapfile -t missing < <(packages_missing "$1")
    [ ${#missing[@]} -eq 0 ] || fail "installed, but still not usable: ${missing[*]}"
}

# ---- Building ------------------------------------------------------------------------------------------------------

# build PRESET [-DOPTION...]: configures and builds; the log is build/log/build-PRESET.log.
build() {
    local preset=$1 log=$ROOT/build/log/build-$1.log
    shift
    waiting "$log" build_quietly "$preset" "$@" || {
        grep -nE 'error|Error' "$log" | head -n 20
        fail "the build failed; all of its output: $log"
    }
}

# build_cuspan: builds only the products, unless tests are already configured.
build_cuspan() {
    prepare_libraries
    if [ -f "$ROOT/build/CMakeCache.txt" ]; then
        build release "${LIBRARY_OPTIONS[@]}"
    else
        build release -DCUSPAN_BUILD_TESTS=OFF "${LIBRARY_OPTIONS[@]}"
    fi
}

# The libraries built from the distribution's sources, or their replacements if that fails.
# Leaves CMake's options for them in LIBRARY_OPTIONS.
prepare_libraries() {
    LIBRARY_OPTIONS=()
    if ! fetch_sources curl; then
        say "libcurl's sources are unavailable: linking the system's library"
        packages_install "$PACKAGES_CURL"
        LIBRARY_OPTIONS+=(-DCUSPAN_STATIC_CURL=OFF)
    fi
    if ! fetch_sources isal; then
        say "ISA-L's sources are unavailable: using libdeflate for gzip"
        packages_install "$PACKAGES_DEFLATE"
        LIBRARY_OPTIONS+=(-DCUSPAN_ISAL=OFF)
    fi
    if ! fetch_sources json; then
        say "yyjson's source is unavailable: linking the system's library"
        packages_install "$PACKAGES_JSON"
    fi
}

fetch_sources() { have apt-get && waiting "$ROOT/build/log/fetch-$1.log" "$ROOT/tools/fetch-sources.sh" "$1"; }

build_quietly() {
    local preset=$1
    shift
    cd "$ROOT" && cmake --preset "$preset" "$@" && cmake --build --preset "$preset"
}

# ---- Python --------------------------------------------------------------------------------------------------------

# For everything that reads or makes stores of spans. One set, because each one is an environment of its own.
PYTHON_FLEET=(duckdb==2.0.1 pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6 matplotlib==3.11.2 chdb==4.4.0 lz4==4.4.5
    clickhouse-cityhash==1.0.2.6 pyyaml==6.0.4 protobuf==7.36.2)

# python_with PACKAGE...: creates (once) an environment in the cache with these packages and nothing else; $PYTHON is then
# its interpreter. Each set of packages has its own environment, so that no test depends on what others have installed.
python_with() {
    local key venv
    key=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.base_prefix, *sys.argv[1:])' "$CACHE" "$@") || return
    venv=$CACHE/python-${key%% *}-$(sha256sum <<<"$key" | cut -c1-12)
    PYTHON=$venv/bin/python
    mkdir -p "$CACHE" && (
        flock 9 # a second run waits here and then finds the environment
        [ ! -e "$venv/complete" ] || [ ! -x "$PYTHON" ] || exit 0
        rm -rf "$venv" && python3 -m venv "$venv" &&
            { [ $# -eq 0 ] || "$PYTHON" -m pip install -q --disable-pip-version-check "$@"; } && touch "$venv/complete"
    ) 9>"$venv.lock"
}

# clang_tool NAME: the path of clang-format or clang-tidy of the version that the rules are for. Others format some code
# differently and have other checks. PyPI has this one, for systems with a newer clang.
CLANG_TOOLS=14.0.6
clang_tool() {
    if "$1" --version 2>/dev/null | grep -q " version ${CLANG_TOOLS%%.*}\."; then
        command -v "$1"
    else
        python_with "$1==$CLANG_TOOLS" || fail "cannot install $1 $CLANG_TOOLS from PyPI; check the network and run this again"
        echo "$(dirname "$PYTHON")/$1"
    fi
}

# ---- Other Debians -------------------------------------------------------------------------------------------------

# chroot_of FOLDER LOG SUITE PACKAGE...: a small Debian with these packages and no others, made once per month. For root, with
# debootstrap. apt resolves what debootstrap cannot. A mirror that is a snapshot has expired lists.
chroot_of() {
    local folder=$1 log=$2 suite=$3
    shift 3
    [ -z "$(find "$folder/complete" -mtime -30 2>/dev/null)" ] || [ "$(cat "$folder/complete")" != "$*" ] || return 0
    rm -rf --one-file-system "$folder" && mkdir -p "$folder" "$(dirname "$log")"
    {
        debootstrap --variant=minbase "$suite" "$folder" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" &&
            { apt-config dump | grep -iE '^Acquire::[a-z]+::(proxy|no_proxy)' >"$folder/etc/apt/apt.conf.d/90network" || true; } &&
            cp -L /etc/resolv.conf "$folder/etc/" &&
            chroot "$folder" apt-get -o Acquire::Check-Valid-Until=false update &&
            DEBIAN_FRONTEND=noninteractive chroot "$folder" apt-get install -y --no-install-recommends "$@"
    } >"$log" 2>&1 || return
    echo "$*" >"$folder/complete"
}

# in_chroot FOLDER SHARED COMMAND...: without network, with the folder SHARED at the same path. The mounts end with the
# namespace.
# shellcheck disable=SC2016 # expanded by the inner shell
in_chroot() {
    unshare --mount --net bash -c '
        set -e
        root=$1 shared=$2
        shift 2
        mount --rbind /proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mkdir -p "$root$shared"
        mount --bind "$shared" "$root$shared"
        exec chroot "$root" "$@"' - "$@"
}

# ---- CUDA ----------------------------------------------------------------------------------------------------------

# find_nvcc: prints the path of an installed nvcc; its own copy in build/cuda (tools/get-cuda.sh) is the last choice.
find_nvcc() {
    local candidate
    for candidate in "$(command -v nvcc)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" "$ROOT/build/cuda/bin/nvcc"; do
        if [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# ---- Jaeger --------------------------------------------------------------------------------------------------------

port_is_free() { ! (exec 3<>"/dev/tcp/localhost/$1") 2>/dev/null; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("localhost", 0)); print(s.getsockname()[1])'; }

# answers URL [CURL OPTION...]: whether an HTTP server responds there with success.
answers() { curl -fsS -o /dev/null --max-time 3 "${@:2}" "$1" 2>/dev/null; }

# jaeger_answers API OTLP: whether both ports respond. An empty request is valid for an OTLP receiver.
otlp_answers() { answers "$1/v1/traces" -X POST -H 'Content-Type: application/json' -d '{"resourceSpans":[]}'; }
jaeger_answers() { answers "$1/api/v3/services" && otlp_answers "$2"; }

# jaeger_has_page API: false for a Jaeger built from its Go module, which has only a placeholder.
jaeger_has_page() { ! curl -fsS --max-time 3 "$1/" 2>/dev/null | grep -q 'not the Jaeger UI'; }

# wait_until SECONDS COMMAND...
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.2
    done
}

# jaeger_binary: leaves the path of Jaeger in JAEGER and gets it first if there is none.
jaeger_binary() {
    JAEGER=$("$ROOT/tools/get-jaeger.sh" --present) || {
        waiting "$ROOT/build/log/get-jaeger.log" "$ROOT/tools/get-jaeger.sh" || {
            say "$(tail -n 1 "$ROOT/build/log/get-jaeger.log")"
            return 1
        }
        JAEGER=$("$ROOT/tools/get-jaeger.sh" --present)
    }
}

# jaeger_start BINARY DIR: starts it in the background, beyond the end of this script. DIR gets its log and process ID.
# The ports come from the environment (tools/jaeger.yaml); the defaults are the standard ones: 4317, 4318, 16686.
jaeger_start() {
    mkdir -p "$2"
    # In its own session, so that neither Ctrl-C in the script nor the terminal's end stops it.
    setsid "$1" --config "$ROOT/tools/jaeger.yaml" >"$2/jaeger.log" 2>&1 </dev/null &
    echo $! >"$2/jaeger.pid"
}

# ---- Go ------------------------------------------------------------------------------------------------------------
# For tools that print the path of what they fetch or build: messages go to standard error.

note() { echo "$*" >&2; }

GO_VERSION_USED=1.25.7 # downloaded if the machine's Go is too old
case $(uname -m) in # the names that Go and releases use
x86_64) ARCH=amd64 ;;
aarch64) ARCH=arm64 ;;
*) ARCH=$(uname -m) ;;
esac

# go_is_new GO VERSION
go_is_new() {
    local version
    version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$2" "${version#go}" | sort -V | head -n 1)" = "$2" ]
}

# find_go FOLDER VERSION: leaves a Go of at least this version in $GO, with an environment in which it reads the user's
# module cache but writes only below FOLDER. An older Go (Debian 12 has 1.19) downloads a newer one: toolchains are
# modules too, and their checksums are verified in the same way.
find_go() {
    local work=$1 toolchain=golang.org/toolchain@v0.0.1-go$GO_VERSION_USED.linux-$ARCH dir cache
    GO=$(command -v go || true)
    if [ -z "$GO" ]; then
        for GO in /usr/local/go/bin/go /usr/lib/go/bin/go; do
            [ ! -x "$GO" ] || break
        done
    fi
    if [ ! -x "$GO" ]; then
        have apt-get || { note "this build needs Go: install it (go.dev/dl)"; return 1; }
        note "installing golang-go"
        apt_install golang-go >&2 || return 1
        GO=$(command -v go)
    fi
    cache=$("$GO" env GOMODCACHE 2>/dev/null || echo "$HOME/go/pkg/mod")/cache/download
    export GOPATH=$work/path GOMODCACHE=$work/path/mod GOCACHE=$work/cache GOTMPDIR=$work
    export GOFLAGS=-modcacherw GOTOOLCHAIN=local GOWORK=off
    GOPROXY=$("$GO" env GOPROXY)
    [ ! -d "$cache" ] || GOPROXY=file://$cache,$GOPROXY
    export GOPROXY
    if ! go_is_new "$GO" "$2"; then
        note "downloading Go $GO_VERSION_USED ($("$GO" version | cut -d' ' -f3) is older than $2)"
        dir=$(cd "$work" && "$GO" mod download -json "$toolchain" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
        [ -n "$dir" ] || return 1
        # Files of modules are never executable.
        chmod -R u+x "$dir/bin" "$dir/pkg/tool"
        GO=$dir/bin/go
        unset GOROOT
    fi
}
