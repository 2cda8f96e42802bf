#!/bin/bash
# Starts a broker with server.properties: in the image apache/kafka, and with `KAFKA_JARS=FOLDER` from jars. Formats its folder
# the first time. The defaults are those of compose.yaml.
set -eu

export FLEET_NODE_ID=${FLEET_NODE_ID:-1}
export FLEET_LISTEN=${FLEET_LISTEN:-}           # empty: all addresses of the container
export FLEET_PORT_INTERNAL=${FLEET_PORT_INTERNAL:-9092} FLEET_PORT_NODES=${FLEET_PORT_NODES:-9093}
export FLEET_PORT_CONTROLLER=${FLEET_PORT_CONTROLLER:-9094}
export FLEET_HOST_INTERNAL=${FLEET_HOST_INTERNAL:-kafka} # as the ingesters and the other brokers reach it
export FLEET_HOST_NODES=${FLEET_HOST_NODES:-localhost}   # as the nodes reach it
export FLEET_VOTERS=${FLEET_VOTERS:-$FLEET_NODE_ID@$FLEET_HOST_INTERNAL:$FLEET_PORT_CONTROLLER}
export FLEET_REPLICAS=${FLEET_REPLICAS:-1} FLEET_REPLICAS_MIN=${FLEET_REPLICAS_MIN:-1}
export FLEET_DATA=${FLEET_DATA:-/var/lib/kafka/data} FLEET_SECRETS=${FLEET_SECRETS:-/run/secrets}
CLUSTER=${FLEET_CLUSTER:-4L6g3nShT-eMCtK--X86sw} # the same for all brokers of a cluster

HERE=$(cd "$(dirname "$0")" && pwd)
CONFIG=${FLEET_CONFIG:-/tmp/server.properties}
# Kafka replaces the variables itself, except within others. The passwords stay in their files.
sed "s|\${env:FLEET_SECRETS}|$FLEET_SECRETS|g" "$HERE/server.properties" >"$CONFIG"

if [ -n "${KAFKA_JARS:-}" ]; then
    java -cp "$KAFKA_JARS/*" kafka.tools.StorageTool format --ignore-formatted -t "$CLUSTER" -c "$CONFIG"
    # shellcheck disable=SC2086 # several options
    exec java ${KAFKA_HEAP_OPTS:--Xmx512m} -cp "$KAFKA_JARS/*" kafka.Kafka "$CONFIG"
fi
/opt/kafka/bin/kafka-storage.sh format --ignore-formatted -t "$CLUSTER" -c "$CONFIG"
exec /opt/kafka/bin/kafka-server-start.sh "$CONFIG"
