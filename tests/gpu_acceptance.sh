#!/bin/bash
# What no simulation can show, on a machine with a GPU: builds what it needs, runs the end-to-end tests against the real libraries, compares
# our kernel table with PyTorch's profiler, measures what tracing costs, and prints one table. Takes a few minutes; exit status 0 if all that
# could be checked is right.
#
#   tests/gpu_acceptance.sh                 sets up, builds, runs
#   tests/gpu_acceptance.sh --pack FOLDER   sets up and builds into FOLDER only, with the libraries that the programs need
#   FOLDER/gpu_acceptance.sh                runs what was packed, on a machine that has nothing to build with
#   tests/gpu_acceptance.sh --simulated     tries the script itself on the simulated CUDA: no figure of it is a GPU's
#
# PyTorch is looked for in $TP_TEST_TORCH_PYTHON, else in python3. Without it, or without a GPU build of it, its part is left out, and the
# table says so.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pack=
simulated=0
while [ $# -gt 0 ]; do
  case $1 in
    --pack) pack=${2:?"--pack wants a folder"}; shift 2 ;;
    --simulated) simulated=1; shift ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
  esac
done

# The tests, and what they run; the tests of the simulation's own faults and versions are of no use here.
tests=(activities_test control_test endings_test known_work_test manners_test other_profiler_test programs_test pytorch_test
  steady_state_test surroundings_test)
targets=(//collector:libtpcollect.so //tools:tpd //tools:tpctl //tests/programs:all //tests/bench:launch_cost //tests/simcuda:all)

# Everything as a test sees it in its runfiles, in one folder that can be moved.
stage() {
  local to=$1 bin file
  bazel build -c opt "${targets[@]}" "${tests[@]/#///tests/end_to_end:}"
  bin=$(bazel info -c opt bazel-bin 2>/dev/null)
  mkdir -p "$to"
  for name in "${tests[@]}"; do
    cp -rLf "$bin/tests/end_to_end/$name.runfiles/tensorprof/." "$to"
  done
  cp -Lf "$bin/tests/bench/launch_cost" "$to/tests/"
  cp -Lf tests/gpu_acceptance.sh tests/gpu/acceptance.py tests/gpu/training.py "$to/"
  # Debian's libraries that the daemon and the tool are linked with; the C and C++ runtimes are everywhere.
  mkdir -p "$to/libraries"
  ldd "$to/tools/tpd" "$to/tools/tpctl" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -v -E '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so' | while read -r file; do
    cp -Lf "$file" "$to/libraries/"
  done
  chmod -R u+w "$to"
}

# By asking the driver, and not tools/setup.sh, which is not there where this was packed.
have_gpu() { python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL("libcuda.so.1").cuInit(0) != 0)' 2>/dev/null; }

if [ -z "$pack" ] && [ "$simulated" -eq 0 ] && ! have_gpu; then
  echo "gpu_acceptance: there is no GPU here that the CUDA driver can use: nothing was checked" >&2
  exit 2
fi

if [ -e "$here/tools/tpd" ]; then
  staged=$here
else
  cd "$here/.."
  source tools/setup.sh
  if [ "$TP_HAVE_CUDA" -ne 1 ]; then
    tp_say "gpu_acceptance: cannot build without the CUDA toolkit"
    exit 2
  fi
  if [ -n "$pack" ]; then
    stage "$pack"
    echo "packed into $pack: run $pack/gpu_acceptance.sh there"
    exit 0
  fi
  # Not in /tmp: a test tries a full one.
  mkdir -p "$HOME/.cache/tensorprof"
  staged=$(mktemp -d "$HOME/.cache/tensorprof/acceptance-XXXXXX")
  trap 'rm -rf "$staged"' EXIT
  stage "$staged"
fi

arguments=()
[ "$simulated" -eq 1 ] && arguments=(--simulated)
python3 "$staged/acceptance.py" "${arguments[@]}" --built "$staged"
