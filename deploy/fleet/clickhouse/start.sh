#!/bin/bash
# Starts the image's server with the users of users.d/cuspan.xml, whose passwords are files in SECRETS (/run/secrets). The server
# gets the hashes of the passwords only.
set -euo pipefail

SECRETS=${SECRETS:-/run/secrets}

hash_of() {
    [ -s "$SECRETS/$1" ] || {
        echo "$SECRETS/$1 is missing or empty; create it with deploy/fleet/certificates.sh" >&2
        exit 1
    }
    tr -d '\n' <"$SECRETS/$1" | sha256sum | cut -d' ' -f1
}

CLICKHOUSE_ADMIN_SHA256=$(hash_of clickhouse-admin.password)
CLICKHOUSE_COLLECTOR_SHA256=$(hash_of clickhouse-collector.password)
CLICKHOUSE_READER_SHA256=$(hash_of clickhouse-reader.password)
export SECRETS CLICKHOUSE_ADMIN_SHA256 CLICKHOUSE_COLLECTOR_SHA256 CLICKHOUSE_READER_SHA256
export CLICKHOUSE_CERTIFICATE=$SECRETS/clickhouse.crt CLICKHOUSE_KEY=$SECRETS/clickhouse.key
exec "${ENTRYPOINT:-/entrypoint.sh}" "$@"
