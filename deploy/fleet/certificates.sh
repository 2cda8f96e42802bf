#!/bin/bash
# Creates the certificates and passwords of deploy/fleet: a certificate authority, a certificate for each service, and random
# passwords. Run it again at any time: it keeps what is valid, and replaces certificates that expire within 30 days, that
# lack a name, or that another authority has signed.
#   deploy/fleet/certificates.sh [--days N] [--check] FOLDER [SERVICE=NAME[,NAME]...]...
#     --days N      certificates are valid for N days (365); the authority for ten years
#     --check       creates nothing: prints what is missing or expires, and fails then
#     SERVICE=...   more DNS names or IP addresses of a service, besides its own name and localhost
# FOLDER gets ca.crt, SERVICE.crt, SERVICE.key, SERVICE.pem (both, for Kafka) and NAME.password. Keep ca.key away from the
# machines that run the services.
set -eu

SERVICES=(kafka clickhouse jaeger grafana node ingester sampler)
# The user of a service, as SERVICE-USER.
PASSWORDS=(kafka-admin kafka-node kafka-ingester kafka-sampler clickhouse-admin clickhouse-collector clickhouse-reader grafana-admin)
DAYS=365 DAYS_CA=3650 DAYS_LEFT_MIN=30
FOUND=()

note() { echo "$*" >&2; }
fail() {
    note "$*"
    exit 1
}

# names_of SERVICE [SERVICE=NAME...]...: the subject's alternative names, as openssl's extension.
names_of() {
    local service=$1 names="DNS:$1,DNS:localhost,IP:127.0.0.1,IP:::1" argument name
    shift
    for argument; do
        [ "${argument%%=*}" = "$service" ] || continue
        for name in $(tr ',' ' ' <<<"${argument#*=}"); do
            case $name in
            *[!A-Za-z0-9.:*_-]*) fail "not a DNS name or IP address: $name" ;;
            *:* | *[0-9].[0-9]*.[0-9]*.[0-9]*) names+=",IP:$name" ;;
            *) names+=",DNS:$name" ;;
            esac
        done
    done
    echo "$names"
}

new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null; }

make_authority() {
    new_key ca.key
    openssl req -x509 -new -key ca.key -sha256 -days "$DAYS_CA" -subj "/O=cuspan/CN=cuspan fleet CA" -out ca.crt \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
    chmod 600 ca.key
}

# is_valid SERVICE NAMES: signed by this authority, for these names, and not about to expire.
is_valid() {
    [ -f "$1.crt" ] && [ -f "$1.key" ] && [ -f "$1.pem" ] && [ "$(cat "$1.names" 2>/dev/null)" = "$2" ] &&
        openssl x509 -in "$1.crt" -noout -checkend $((DAYS_LEFT_MIN * 86400)) >/dev/null &&
        openssl verify -CAfile ca.crt "$1.crt" >/dev/null 2>&1 &&
        [ "$(openssl x509 -in "$1.crt" -noout -pubkey)" = "$(openssl pkey -in "$1.key" -pubout)" ]
}

# make_certificate SERVICE NAMES: for servers and clients, because each service is both to some other.
make_certificate() {
    local work=new-$1
    new_key "$work.key"
    openssl req -new -key "$work.key" -subj "/O=cuspan/CN=$1" -out "$work.csr"
    openssl x509 -req -in "$work.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -sha256 -days "$DAYS" -out "$work.crt" \
        -extfile <(printf '%s\n' "subjectAltName=$2" "basicConstraints=critical,CA:FALSE" \
            "keyUsage=critical,digitalSignature" "extendedKeyUsage=serverAuth,clientAuth") 2>/dev/null
    cat "$work.key" "$work.crt" ca.crt >"$work.pem"
    echo "$2" >"$work.names"
    # Files that only the folder's owner reaches. Containers get single files, and read them as users of their own.
    chmod 644 "$work".*
    rm "$work.csr"
    local part
    for part in key crt pem names; do mv "$work.$part" "$1.$part"; done
}

main() {
    local check='' folder service names password
    while [ $# -gt 0 ]; do
        case $1 in
        --days) DAYS=$2 && shift ;;
        --check) check=1 ;;
        -*) fail "unknown option $1; see the head of $0" ;;
        *) break ;;
        esac
        shift
    done
    [ $# -gt 0 ] || fail "usage: $0 [--days N] [--check] FOLDER [SERVICE=NAME[,NAME]...]..."
    folder=$1
    shift
    for service; do
        [[ " ${SERVICES[*]} " == *" ${service%%=*} "* && $service == *=* ]] ||
            fail "not SERVICE=NAME: $service; services are ${SERVICES[*]}"
    done
    command -v openssl >/dev/null || fail "openssl is missing: install the package openssl"
    umask 077
    [ -n "$check" ] || mkdir -p "$folder"
    cd "$folder" || exit
    [ -n "$check" ] || chmod 700 .
    if [ ! -f ca.crt ] || [ ! -f ca.key ] || ! openssl x509 -in ca.crt -noout -checkend $((DAYS * 86400)) >/dev/null; then
        FOUND+=("ca.crt")
        [ -n "$check" ] || { rm -f ca.srl && make_authority; }
    fi
    for service in "${SERVICES[@]}"; do
        names=$(names_of "$service" "$@")
        ! is_valid "$service" "$names" || continue
        FOUND+=("$service.crt")
        [ -n "$check" ] || make_certificate "$service" "$names"
    done
    for password in "${PASSWORDS[@]}"; do
        [ ! -s "$password.password" ] || continue
        FOUND+=("$password.password")
        # It starts with a letter, so that no program takes it for a number. No newline, which some would send.
        [ -n "$check" ] || printf 'p%s' "$(openssl rand -hex 24)" >"$password.password"
    done
    [ -n "$check" ] || chmod 644 ca.crt ./*.password
    [ -n "$check" ] || note "$folder: ${#FOUND[@]} new: ${FOUND[*]-}"
    [ -z "$check" ] || [ ${#FOUND[@]} -eq 0 ] || fail "missing, invalid or about to expire in $folder: ${FOUND[*]}; run $0 $folder"
}

main "$@"
