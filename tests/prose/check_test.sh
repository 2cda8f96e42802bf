#!/bin/bash
# Plants bad sentences in each kind of file and expects tools/check-prose.sh to find exactly those.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/page.md" <<'EOF'
# What it costs

Use it in place
of the other one, in `code in place of` it. What is a queue? A list.

```
in place of code
```

| setting | |
|---|---|
| `a` | Who needs it sets it. The behaviour changes. |

- Does the agent sleep, it wakes at
  the begin of a request. The sampler [links](in/place/of) nothing by itself.
EOF
cat >"$folder/source.c" <<'EOF'
#include "in/place/of.h"
/* The host's memory is given
 * back here. */
static int in_place = 1; // What a thread has seen.
static const char *text = "the agent comes "
                          "to nothing", *data = "what mends";
/* Returns the number of spans. */
EOF
cat >"$folder/script.sh" <<'EOF'
#!/bin/bash
# Mends the
# begin of it.
say "the spool is left away here"
grep 'in place of' "$1" # fine
EOF
cat >"$folder/module.py" <<'EOF'
"""Whoever calls it, initialises it."""
x = "in_place"  # From here to there.
raise ValueError("cannot send spans in place of metrics")
EOF
cat >"$folder/file.yaml" <<'EOF'
key: in place of  # Nobody asks for it.
EOF

expected="file.yaml:1 Phrases
module.py:1 Clauses
module.py:1 Spelling
module.py:1 Terms
module.py:2 Phrases
module.py:3 Terms
page.md:1 Clauses
page.md:12 Clauses
page.md:12 Spelling
page.md:14 Clauses
page.md:15 Begin
page.md:15 Phrases
page.md:3 Terms
script.sh:2 Begin
script.sh:2 Terms
script.sh:4 Phrases
source.c:2 Phrases
source.c:4 Clauses
source.c:5 Phrases"
found=$(tools/check-prose.sh "$folder"/* | sed -E "s|^$folder/||; s|^${folder#/}/||; s/^([^:]*:[0-9]+):[0-9]+:Cuspan\.([A-Za-z]*):.*/\1 \2/" |
    LC_ALL=C sort -u) || true
if [ "$found" != "$expected" ]; then
    diff <(echo "$expected") <(echo "$found") || true
    echo "FAIL: the planted sentences (<) and the findings (>) differ"
    exit 1
fi
printf 'The agent sends spans.\n' >"$folder/page.md"
tools/check-prose.sh "$folder/page.md" || { echo "FAIL: clean text has findings"; exit 1; }
