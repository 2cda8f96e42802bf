#!/bin/bash
# python_with of tools/lib.sh: an environment has the packages that a script names, whatever others have installed before,
# and nothing of theirs. With two packages of our own, without a network.
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/python with.XXXXXX")
trap 'rm -rf "$work"' EXIT

python3 - "$work" <<'END'
import sys, zipfile
for name in "first", "second":
    info = f"cuspan_{name}-1.dist-info"
    with zipfile.ZipFile(f"{sys.argv[1]}/cuspan_{name}-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"cuspan_{name}.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: cuspan-{name}\nVersion: 1\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
END
export PIP_NO_INDEX=1 PIP_FIND_LINKS="file://${work// /%20}" CUSPAN_CACHE=$work/cache
# shellcheck source=../../../tools/lib.sh
. "$root/tools/lib.sh"
imports() { "$PYTHON" -c "import $1" 2>/dev/null; }

python_with cuspan-first
imports cuspan_first || fail "the package is missing"
first=$PYTHON
python_with cuspan-first cuspan-second & # two runs at once
python_with cuspan-first cuspan-second
wait $!
imports cuspan_second || fail "the second package is missing, because the first one was there"
PYTHON=$first
! imports cuspan_second || fail "an environment got a package of another one"
