#!/usr/bin/env bash
# Our ratio sampler and the one of OpenTelemetry's SDK for Python agree on 10,000 trace IDs at each of several ratios.
#
#   sampler_sdk_test.sh SAMPLER_DECISIONS
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../../tools/lib.sh
. "$here/../../../tools/lib.sh"

# The sampler is in a module of the SDK whose name may still change, so the version is fixed.
python_with opentelemetry-sdk==1.45.2
"$PYTHON" "$here/sampler_sdk.py" "$1"
