#!/bin/bash
# docs/settings.md must equal the output of `cuspan help settings`.
#   settings_page.sh CUSPAN            fails with the difference if it does not
#   settings_page.sh CUSPAN --write    writes the page
set -eu
PAGE=$(dirname "$0")/../../../docs/settings.md

page() {
    cat <<'MARKDOWN'
# Settings

What `cuspan help settings` says, in the order of [config/cuspan.yaml](../config/cuspan.yaml). A dot is a level of the file;
`[]` is a list. A variable counts where there is no configuration file. Made by `tests/integration/project/settings_page.sh`: don't edit.

```
MARKDOWN
    "$1" help settings
    echo '```'
}

if [ "${2:-}" = --write ]; then
    page "$1" >"$PAGE"
else
    diff -u "$PAGE" <(page "$1") && echo "docs/settings.md is what cuspan help settings says"
fi
