#!/bin/bash
# Installs what is missing, builds everything and runs all tests. The last line is "N passed, N failed" (", N skipped").
#
#   tools/test.sh [bazel test options]
#
# Tests that use recordings which are not part of the project look for them in $TP_SHARED (default: ../shared), and say that they skipped
# where there is none. So do those that compare with NVIDIA's CUPTIs of other versions, which they look for in $TP_CUPTI_VERSIONS (default:
# ~/.cache/tensorprof/cupti); with TP_FETCH=1 these are fetched first (200 MB; tests/fetch_cupti.sh).
set -uo pipefail
cd "$(dirname "$0")/.."
source tools/setup.sh

export TP_SHARED=${TP_SHARED:-$(realpath -m ../shared)}
export TP_CUPTI_VERSIONS=${TP_CUPTI_VERSIONS:-$HOME/.cache/tensorprof/cupti}
if [ "${TP_FETCH:-0}" = 1 ]; then
  tests/fetch_cupti.sh || tp_say "test: tests run without the CUPTIs that could not be fetched"
fi
targets=(//...)
if [ "$TP_HAVE_CUDA" -ne 1 ]; then
  targets=(//proto/... //analyzer/... //tools/...)
fi

log=$(mktemp /tmp/tp-test-XXXXXX)
trap 'rm -f "$log"' EXIT
bazel test -c opt --keep_going --test_output=errors --noshow_progress --build_event_json_file="$log" "$@" "${targets[@]}" </dev/null
/usr/bin/python3 tools/count_tests.py "$log" $?
