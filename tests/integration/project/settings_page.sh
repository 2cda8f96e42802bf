#!/bin/bash
# docs/settings.md must equal the output of `cuspan help settings`.
#   settings_page.sh CUSPAN            fails with the difference if it does not
#   settings_page.sh CUSPAN --write    writes the page
set -eu
PAGE=$(dirname "$0")/../../../docs/settings.md

page() {
    cat <<'MARKDOWN'
# Settings

This page has the output of `cuspan help settings`, in the order of [config/cuspan.yaml](../config/cuspan.yaml). A dot is a level
of the file; `[]` is a list. Variables apply if there is no configuration file. `tests/integration/project/settings_page.sh` generates
this page: do not edit it.

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
