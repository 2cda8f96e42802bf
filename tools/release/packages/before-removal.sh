#!/bin/sh
# Before the package is removed (deb: "remove", rpm: 0), but not before an upgrade: removes the CDI files through which
# containers get this agent. With a file that names a removed agent, containers with the device would not start.
set -e
case $1 in
remove | 0) ;;
*) exit 0 ;;
esac
for directory in /etc/cdi /var/run/cdi; do
    if grep -qs '"/usr/lib/cuspan"' "$directory/cuspan.json"; then
        cuspan cdi remove --directory "$directory" || true
    fi
done
