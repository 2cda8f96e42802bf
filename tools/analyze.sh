#!/bin/bash
# Runs gcc's static analysis on all code that runs in a host process and on the command line: -Wall -Wextra -Wconversion
# -Wsign-conversion as errors, and -fanalyzer. Each of its reports is fixed, or justified in tools/analyze-argued.txt.
# tools/analyze.sh [BUILD-DIR] [PATH-PART...]     BUILD-DIR: configured (build); PATH-PART: only files with it in their
# path
# tools/check-tidy.py runs clang-tidy.
set -eu -o pipefail
cd "$(dirname "$0")/.."
BUILD=${1:-build}
shift $(($# > 0))
ARGUED=tools/analyze-argued.txt
if [ "$(cc -dumpversion | cut -d. -f1)" != 12 ]; then
    echo "skipped: $ARGUED is about the reports of gcc 12"
    exit 77
fi
OUT=$BUILD/analyze
mkdir -p "$OUT"

# One command per file, taken from the build, through the compiler cache, which keeps the reports of unchanged files.
commands() {
    python3 - "$BUILD/compile_commands.json" "$OUT" "$@" <<'END'
import json, re, shutil, sys
seen, cache = set(), "ccache " if shutil.which("ccache") else ""
for entry in json.load(open(sys.argv[1])):
    name = re.sub(r"^.*?/(src/[^.]+\.c)$", r"\1", entry["file"])
    if (not name.startswith("src/") or re.match(r"src/(agent/abi|model/cuda)/\w+_table\.c$", name) or name in seen
            or "CUSPAN_BREAKABLE" in entry["command"] or sys.argv[3:] and not any(part in name for part in sys.argv[3:])):
        continue
    seen.add(name)
    command = re.sub(r"^\S*ccache ", "", entry["command"])
    options = f" -O1 -fanalyzer -Wconversion -Wsign-conversion -o {sys.argv[2]}/{name.replace('/', '-')}.o -c "
    print(cache + re.sub(r" -o \S+ -c ", options, command))
END
}

commands "$@" >"$OUT/commands"
[ -s "$OUT/commands" ] || { echo "failed: $BUILD/compile_commands.json names none of our files"; exit 1; }
tr '\n' '\0' <"$OUT/commands" | xargs -0 -P "$(nproc)" -I{} sh -c '{} 2>&1' >"$OUT/reports.log" || true
# One per line: FILE:LINE:COLUMN: warning: ... [-WNAME]
found=$(grep -E '(warning|error): ' "$OUT/reports.log" | sed "s|$PWD/||" | sort -u || true)
warnings=$(grep -vF '[-Wanalyzer-' <<<"$found" || true)
reports=$(grep -F '[-Wanalyzer-' <<<"$found" || true)

# A report is justified by a line "FILE [-Wanalyzer-NAME] WHERE: why"; WHERE is the text that the report quotes.
unargued=$(while IFS= read -r line; do
    [ -n "$line" ] || continue
    file=${line%%:*}
    check=${line##*[}
    check=${check%]}
    grep -qF "$file [$check]" "$ARGUED" || printf '%s\n' "$line"
done <<<"$reports")
stale=$(sed -n 's/^\([^# ]*\) \[\([^]]*\)\].*/\1 \2/p' "$ARGUED" | while read -r file check; do
    [ $# -gt 0 ] || grep -qF "[$check]" <<<"$(grep "^$file:" <<<"$reports")" || echo "$file [$check]"
done)

[ -z "$warnings" ] || printf '%s\n' "$warnings"
[ -z "$unargued" ] || printf '%s\n' "$unargued"
[ -z "$stale" ] || echo "justified in $ARGUED, but not reported by this compiler: $(tr '\n' ';' <<<"$stale")"
echo "$(wc -l <"$OUT/commands") files; $(grep -c . <<<"$reports" || true) reports of -fanalyzer, $(grep -c . <<<"$unargued" || true) of them not argued"
[ -z "$warnings$unargued" ]
