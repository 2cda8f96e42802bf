#!/bin/bash
# Prints the folder with the jars of Apache Kafka, for `java -cp "FOLDER/*" kafka.Kafka server.properties`. Gets them first
# if the user has none yet: from Maven Central, by Maven, which verifies their checksums. Installs Java 17 and Maven if they
# are missing. They are kept in ~/.cache/cuspan (or $CUSPAN_CACHE), once per user (54 MB).
#   tools/get-kafka.sh [--present]     --present: only if it is there already, else exit status 1
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

VERSION=4.1.0
LOG_VERSION=2.24.3 # of log4j, as Kafka's release has it
FOLDER=$CACHE/kafka-$VERSION
PACKAGES_JAVA="
cmd:java default-jre-headless
"
PACKAGES_MAVEN="
cmd:mvn maven
"

# fetch WORK: the jars of Kafka and of all that it needs, in $FOLDER/lib.
fetch() {
    cat >"$1/pom.xml" <<END
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cuspan.test</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$VERSION</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>$VERSION</version></dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>$LOG_VERSION</version>
    </dependency>
  </dependencies>
</project>
END
    # Strict: a wrong checksum is an error, not a warning.
    mvn --batch-mode --quiet --strict-checksums -f "$1/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
        "-DoutputDirectory=$1/lib" >&2 || fail "cannot get Kafka $VERSION from Maven Central; check the network and run this again"
    [ -f "$1/lib/kafka_2.13-$VERSION.jar" ] || fail "Maven ended without kafka_2.13-$VERSION.jar"
    rm -rf "${FOLDER:?}/lib"
    mv "$1/lib" "$FOLDER/lib"
}

main() {
    if [ "${1:-}" = --present ]; then
        have java && [ -d "$FOLDER/lib" ] && echo "$FOLDER/lib"
        return
    fi
    mkdir -p "$FOLDER"
    # A second run waits here and then finds the jars.
    exec 9>"$FOLDER/lock"
    flock 9
    packages_install "$PACKAGES_JAVA" >&2
    [ -d "$FOLDER/lib" ] || (
        packages_install "$PACKAGES_MAVEN" >&2
        work=$(mktemp -d "$FOLDER/work.XXXXXX")
        # shellcheck disable=SC2064 # the folder as it is now
        trap "rm -rf '$work'" EXIT
        note "getting Kafka $VERSION from Maven Central, once for this user"
        fetch "$work"
    )
    echo "$FOLDER/lib"
}

{ main "$@"; exit; } # bash reads a script while it runs: an edit must not change a run
