#!/bin/bash
# Fetches the tools of others that read what `tpctl export` and `tpctl merge` write, for the test that compares their numbers with ours:
# HolisticTraceAnalysis and TensorBoard's PyTorch plugin for traces, inferno for folded stacks. They come from the Python package index
# (250 MB with what they need), and stay out of the project.
#
#   tests/compare/fetch_readers.sh
#
# They lie in $TP_TRACE_READERS (default: ~/.cache/tensorprof/trace_readers), a virtual environment; what is there is not fetched again.
# Exits with 0 when all are there.
set -uo pipefail

folder=${TP_TRACE_READERS:-$HOME/.cache/tensorprof/trace_readers}
# Without what only draws (jupyterlab, tensorboard itself).
tools=(HolisticTraceAnalysis==0.5.0 torch-tb-profiler==0.4.3 pyinferno==0.2.6)
needs=(networkx==3.6.1 numpy==2.4.6 pandas==3.1.1 plotly==7.1.0 psutil==7.2.2 pydot==4.0.1 pyinstrument==5.1.3 PyYAML==6.0.4)

[ -e "$folder/complete" ] && exit 0
mkdir -p "$(dirname "$folder")"
# At its place from the start: an environment cannot be moved. What an earlier try left is taken further.
pip=("$folder/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: --timeout 10 --retries 1)
if { [ -x "$folder/bin/pip" ] || python3 -m venv "$folder"; } &&
  "${pip[@]}" "${needs[@]}" && "${pip[@]}" --no-deps "${tools[@]}"; then
  touch "$folder/complete"
else
  echo "the readers of traces cannot be fetched: ${tools[*]}" >&2
  exit 1
fi
