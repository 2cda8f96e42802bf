#!/bin/bash
# tools/fetch-sources.sh with an apt-get and a mirror of our own. Nothing is downloaded.
set -euo pipefail

root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=$((failed + 1)); }

# Stand-ins. $work/there lists the versions of libisal whose files the mirror has. A version is a makefile and two files.
mkdir "$work/bin"
cat >"$work/bin/apt-get" <<'APT'
#!/bin/bash
work=$(cd "$(dirname "$0")/.." && pwd)
case " $* " in
*" update "* | *" --tar-only "*) [[ " $* " == *" update "* ]]; exit ;;
*" source libisal "*) version=2.0-1+new ;;
*" source libisal="*) version=${*: -1} version=${version#*=} ;;
*) exit 100 ;;
esac
grep -qxF "$version" "$work/there" || { echo "E: Failed to fetch libisal_$version.dsc  404  Not Found"; exit 100; }
folder=libisal-${version%%-*}
mkdir -p "$folder/include" "$folder/bin"
echo "$version" >"$folder/LICENSE"
touch "$folder/include/igzip_lib.h"
printf 'lib:\n\techo "int x;" | $(CC) -x c -c - -o bin/a_multibinary.o\n\ttouch bin/libisal.a\n' >"$folder/Makefile.unx"
APT
cat >"$work/bin/apt-cache" <<'APT'
#!/bin/bash
printf 'Package: libisal\nVersion: %s\n\n' 1.8-2 2.0-1+new 1.9-1 1.10-1 # in any order
APT
for tool in dpkg-source nasm; do
    printf '#!/bin/sh\n' >"$work/bin/$tool"
done
chmod +x "$work"/bin/*

# fetch: fetches into an empty cache, with its output in $out.
fetch() {
    rm -rf "$work/cache"
    printf '%s\n' "$@" >"$work/there"
    out=$(PATH=$work/bin:$PATH CUSPAN_CACHE=$work/cache "$root/tools/fetch-sources.sh" isal 2>&1)
}
fetched() { cat "$work"/cache/isal-*/licenses/libisal; }

if fetch 1.8-2 1.9-1 2.0-1+new; then
    [ "$(fetched)" = 2.0-1+new ] || fail "the newest version is there, and $(fetched) was taken"
    [[ $out != *"not on the mirror"* ]] || fail "the newest version is there: $out"
else
    fail "the newest version is there: $out"
fi
if fetch 1.8-2 1.9-1 1.10-1; then
    [ "$(fetched)" = 1.10-1 ] || fail "without the newest version's files, $(fetched) was taken"
    [[ $out == *"the newest version of libisal is not on the mirror yet: using 1.10-1"* ]] || fail "an older version is not reported: $out"
else
    fail "only the newest version's files are missing: $out"
fi
if fetch none; then
    fail "no version has files, and it did not fail: $out"
else
    [[ $out == *"404  Not Found"*"apt-get source libisal failed"* ]] || fail "no version has files: $out"
fi

[ "$failed" = 0 ] && echo "fetch_sources: all passed"
