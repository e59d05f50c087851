#!/bin/bash
# The cost of nvtxRangePush + nvtxRangePop on an application's thread: with nothing listening, with an NVTX tool that does nothing, and
# with the collector (capturing on the simulated CUDA, a daemon reading), without and with the innermost eight frames of each range's stack;
# and of tpcollect.h's ranges, without the collector and with it. In turn, so that the machine's mood is the same for all.
#
#   bazel run -c opt //tests/bench:range_benchmark
set -euo pipefail

here=$PWD
program=$here/tests/bench/range_cost
empty_tool=$here/tests/bench/empty_nvtx_tool.so
collector=$here/collector/libtpcollect.so
simulated=$here/tests/simcuda
folder=$(mktemp -d /tmp/tp-range-XXXXXX)
export TP_SOCKET=$folder/tpd.sock
"$here/tools/tpd" --foreground >"$folder/log" 2>&1 &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 100); do [ -S "$TP_SOCKET" ] && break; sleep 0.05; done

for round in 1 2 3 4 5; do
  echo "nothing $(env -u LD_PRELOAD "$program")"
  echo "empty $(NVTX_INJECTION64_PATH=$empty_tool LD_LIBRARY_PATH=$simulated "$program")"
  echo "collector $(LD_PRELOAD=$collector LD_LIBRARY_PATH=$simulated "$program" nvtx 8)"
  echo "stacks $(TP_STACKS=8 LD_PRELOAD=$collector LD_LIBRARY_PATH=$simulated "$program" nvtx 8)"
  echo "header-without-collector $(env -u LD_PRELOAD "$program" header)"
  echo "header $(LD_PRELOAD=$collector LD_LIBRARY_PATH=$simulated "$program" header)"
  echo "header-operation $(LD_PRELOAD=$collector LD_LIBRARY_PATH=$simulated "$program" operation)"
done | awk '
  { n[$1]++; median[$1, n[$1]] = $2; if (!($1 in least) || $3 < least[$1]) least[$1] = $3 }
  function middle(name,   i, j, t) {
    for (i = 1; i <= n[name]; i++) for (j = i + 1; j <= n[name]; j++)
      if (median[name, j] < median[name, i]) { t = median[name, i]; median[name, i] = median[name, j]; median[name, j] = t }
    return median[name, int((n[name] + 1) / 2)]
  }
  END {
    printf "%-28s %12s %12s\n", "range push + pop, one thread", "median ns", "least ns"
    split("nothing empty collector stacks header-without-collector header header-operation", names)
    for (i = 1; i <= 7; i++) printf "%-28s %12.1f %12.1f\n", names[i], m[names[i]] = middle(names[i]), least[names[i]]
    printf "the collector costs %.1f ns more than an empty tool\n", m["collector"] - m["empty"]
    printf "TP_STACKS=8 costs %.1f ns more than none\n", m["stacks"] - m["collector"]
  }'
