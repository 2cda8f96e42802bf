#!/bin/bash
# docs/settings.md must equal the output of `cuspan help settings`.
#   settings_page.sh CUSPAN            fails with the difference if it does not
#   settings_page.sh CUSPAN --write    writes the page
set -eu
PAGE=$(dirname "$0")/../../../docs/settings.md

page() {
    cat <<'MARKDOWN'
# Settings

Every setting with its accepted values, default and environment variable, as `cuspan help settings` prints them. The
order is that of [config/cuspan.yaml](../config/cuspan.yaml). A dot separates the levels of that file, and `[]` marks a
list. `OTEL_*` variables apply only without a configuration file, or if the file refers to them.
`tests/integration/project/settings_page.sh` generates this page: do not edit it.

```
MARKDOWN
    "$1" help settings
    echo '```'
}

if [ "${2:-}" = --write ]; then
    page "$1" >"$PAGE"
else
    diff -u "$PAGE" <(page "$1") && echo "docs/settings.md is up to date"
fi
