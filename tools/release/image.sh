#!/bin/bash
# Makes the agent's image from a staged installation: tools/release/image.sh STAGE ARCH DIST
#
# Leaves build/release/image-amd64/ or image-arm64/, which docker/Dockerfile copies, and the image as
# DIST/cuspan-VERSION-image-ARCH.tar, for `docker load` and `podman load`. Buildah makes it, without an engine.
set -euo pipefail
# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=toolchain.sh
. "$ROOT/tools/release/toolchain.sh"
stage=$1 arch=$2 dist=$3
name=$(if [ "$arch" = x86_64 ]; then echo amd64; else echo arm64; fi)
version=$("$ROOT/tools/release.sh" --version)
context=$ROOT/build/release/image-$name

# The files that an image for programs needs: no manual, no completions, no development files but the header.
fill_context() {
    rm -rf "$context"
    mkdir -p "$context/opt/cuspan"
    cp -r "$stage"/{bin,lib,include,share} "$context/opt/cuspan/"
    [ -f "$context/opt/cuspan/lib/cuspan/python.zip" ] || fail "$stage has no python.zip: build it where python3 is found"
    rm -rf "$context"/opt/cuspan/{lib/{cmake,pkgconfig},share/cuspan/slurm}
    find "$context/opt/cuspan/share" -mindepth 1 -maxdepth 1 ! -name cuspan -exec rm -r {} +
    toolchain "$arch"
    cp "$(dirname "$ZIG")/lib/libc/musl/COPYRIGHT" "$context/opt/cuspan/share/cuspan/licenses/musl" # in /copy
    "$ZIG" cc -target "$arch-linux-musl" -static -Os -s -Wall -Wextra -D_GNU_SOURCE -o "$context/copy" "$ROOT/docker/copy.c"
    find "$context" -type d -exec chmod 755 {} +
    find "$context" -type f -exec chmod a+rX,go-w {} +
    find "$context" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

build_image() {
    local work file=$dist/cuspan-$version-image-$arch.tar
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # the value of now. The top folder of an image is read-only, also for a user who made it.
    trap "chmod -R u+w '$work'; rm -rf '$work'" EXIT
    local buildah=(buildah --root "$work/root" --runroot "$work/run" --storage-driver vfs)
    "${buildah[@]}" build --isolation chroot --format oci --timestamp "$SOURCE_DATE_EPOCH" --platform "linux/$name" \
        --build-arg TARGETARCH="$name" --label org.opencontainers.image.version="$version" \
        --label org.opencontainers.image.licenses=Apache-2.0 --label org.opencontainers.image.title=cuspan \
        -f "$ROOT/docker/Dockerfile" --iidfile "$work/id" "$ROOT"
    rm -f "$file"
    "${buildah[@]}" push "$(cat "$work/id")" "docker-archive:$file:cuspan:$version"
}

: "${SOURCE_DATE_EPOCH:?the time of the commit, set by tools/release.sh}"
fill_context
build_image
