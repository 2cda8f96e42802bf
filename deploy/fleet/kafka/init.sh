#!/bin/bash
# Creates the topic of spans, and allows each user what it needs. Run it again after a change; it keeps what is there.
# In the image apache/kafka, or with `KAFKA_JARS=FOLDER` from jars.
#   FLEET_PARTITIONS     partitions of the topic (12): at most this many ingesters and samplers share the work
#   FLEET_RETENTION_H    hours that Kafka keeps spans, read or not (72): the longest outage of the store
#   FLEET_RETENTION_BYTES    bytes of a partition at which Kafka deletes the oldest spans earlier (-1: no limit)
set -eu

TOPIC=${FLEET_TOPIC:-cuspan-spans}
SERVER=${FLEET_HOST_INTERNAL:-kafka}:${FLEET_PORT_INTERNAL:-9092}
SECRETS=${FLEET_SECRETS:-/run/secrets}

admin=$(mktemp "${TMPDIR:-/tmp}/admin.XXXXXX")
trap 'rm -f "$admin"' EXIT
cat >"$admin" <<END
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="$(cat "$SECRETS/kafka-admin.password")";
ssl.truststore.type=PEM
ssl.truststore.location=$SECRETS/ca.crt
END

topics() {
    if [ -n "${KAFKA_JARS:-}" ]; then
        java -cp "$KAFKA_JARS/*" org.apache.kafka.tools.TopicCommand "$@"
    else
        /opt/kafka/bin/kafka-topics.sh "$@"
    fi
}
acls() {
    if [ -n "${KAFKA_JARS:-}" ]; then
        java -cp "$KAFKA_JARS/*" org.apache.kafka.tools.AclCommand "$@"
    else
        /opt/kafka/bin/kafka-acls.sh "$@"
    fi
}
allow() { acls --bootstrap-server "$SERVER" --command-config "$admin" --add --topic "$TOPIC" "$@" >/dev/null; }

# A message is lost only if all replicas are.
topics --bootstrap-server "$SERVER" --command-config "$admin" --create --if-not-exists --topic "$TOPIC" \
    --partitions "${FLEET_PARTITIONS:-12}" --config "retention.ms=$((${FLEET_RETENTION_H:-72} * 3600000))" \
    --config "retention.bytes=${FLEET_RETENTION_BYTES:--1}" --config max.message.bytes=20971520
allow --allow-principal User:node --operation Write --operation Describe
allow --allow-principal User:ingester --operation Read --operation Describe --group cuspan-ingester
allow --allow-principal User:sampler --operation Read --operation Describe --group cuspan-sampler
