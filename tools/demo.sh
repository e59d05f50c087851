#!/bin/bash
# The main job, from nothing: installs what is missing, builds, starts a daemon of its own, runs an unchanged CUDA program with the collector
# preloaded, and shows what `tpctl top` has to say about it. Without a GPU the program runs on the simulated CUDA of tests/, and no figure of
# its device is a GPU's.
#
#   tools/demo.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/setup.sh
if [ "$TP_HAVE_CUDA" -ne 1 ]; then
  tp_say "demo: cannot run without the CUDA toolkit."
  exit 1
fi

bazel build -c opt //tools:tpd //tools:tpctl //collector:libtpcollect.so //tests/programs:sample //tests/simcuda:all
bin=$(bazel info -c opt bazel-bin 2>/dev/null)

folder=$(mktemp -d /tmp/tp-demo-XXXXXX)
export TP_SOCKET=$folder/tpd.sock
"$bin/tools/tpd" --foreground 2>"$folder/tpd.log" &
daemon=$!
app=
trap 'kill $app $daemon 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do [ -S "$TP_SOCKET" ] && break; sleep 0.05; done

echo
if tp_have_gpu; then
  echo "Running tests/programs/sample.cu on the GPU, with the collector preloaded:"
  libraries=${CUDA_HOME:-/usr/local/cuda}/lib64
else
  echo "NO GPU HERE: the program runs on the simulated CUDA of tests/simcuda. Its device times come from a model, not from a GPU."
  libraries=$bin/tests/simcuda
fi
echo '  $ tpd &'
echo '  $ LD_PRELOAD=libtpcollect.so ./sample'
echo '  $ tpctl top --once'
echo
LD_PRELOAD=$bin/collector/libtpcollect.so LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
  "$bin/tests/programs/sample" --seconds 4 >"$folder/sample.out" &
app=$!
sleep 2
"$bin/tools/tpctl" top --once
wait $app
app=
