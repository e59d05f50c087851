#!/bin/bash
# The cost of a kernel's launch on an application's thread, and the process's peak memory: without a tool, with one that only lets CUPTI
# record, and with the collector (capturing, a daemon reading), on the simulated CUDA. In turn, so that the machine's mood is the same for
# all.
#
#   bazel run -c opt //tests/bench:launch_benchmark
set -euo pipefail

here=$PWD
program=$here/tests/bench/launch_cost
bare_tool=$here/tests/bench/bare_cupti_tool.so
collector=$here/collector/libtpcollect.so
export LD_LIBRARY_PATH=$here/tests/simcuda
folder=$(mktemp -d /tmp/tp-launch-XXXXXX)
export TP_SOCKET=$folder/tpd.sock
"$here/tools/tpd" --foreground >"$folder/log" 2>&1 &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 100); do [ -S "$TP_SOCKET" ] && break; sleep 0.05; done

for round in 1 2 3 4 5; do
  echo "nothing $(env -u LD_PRELOAD "$program")"
  echo "CUPTI $(CUDA_INJECTION64_PATH=$bare_tool "$program")"
  echo "collector $(LD_PRELOAD=$collector "$program")"
done | awk '
  { n[$1]++; median[$1, n[$1]] = $2; if (!($1 in least) || $3 < least[$1]) least[$1] = $3; if ($4 > peak[$1]) peak[$1] = $4 }
  function middle(name,   i, j, t) {
    for (i = 1; i <= n[name]; i++) for (j = i + 1; j <= n[name]; j++)
      if (median[name, j] < median[name, i]) { t = median[name, i]; median[name, i] = median[name, j]; median[name, j] = t }
    return median[name, int((n[name] + 1) / 2)]
  }
  END {
    printf "%-28s %12s %12s %12s\n", "kernel launch, one thread", "median ns", "least ns", "peak MiB"
    split("nothing CUPTI collector", names)
    for (i = 1; i <= 3; i++)
      printf "%-28s %12.1f %12.1f %12.1f\n", names[i], m[names[i]] = middle(names[i]), least[names[i]], peak[names[i]] / 1024
    printf "with the collector a launch takes %.2f times as long as with CUPTI alone, %.2f times as long as untraced\n",
      m["collector"] / m["CUPTI"], m["collector"] / m["nothing"]
    printf "the collector adds %.1f MiB of memory\n", (peak["collector"] - peak["nothing"]) / 1024
  }'
