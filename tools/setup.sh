#!/bin/bash
# Installs what a build needs from Debian, and says what it cannot install. Sourced by demo.sh and test.sh; run on its own it only sets up.
#
# After it: TP_HAVE_CUDA is 1 if the CUDA toolkit (headers and nvcc) is there, else 0.

tp_packages=(
  bazel-bootstrap binutils clang-format dpkg-dev g++ git lld python3 pkg-config
  protobuf-compiler libprotobuf-dev libprotozero-dev libabsl-dev libspdlog-dev libfmt-dev
  libcli11-dev nlohmann-json3-dev zlib1g-dev libzstd-dev libsqlite3-dev libncurses-dev libsystemd-dev help2man
  libgtest-dev libgmock-dev libbenchmark-dev tmux
)

tp_say() { printf '%s\n' "$*" >&2; }

tp_install_packages() {
  local missing=() package
  for package in "${tp_packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    tp_say "setup: these Debian 12 packages are needed, and there is no apt-get to install them: ${missing[*]}"
    return 1
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      tp_say "setup: as root, run: apt-get install ${missing[*]}"
      return 1
    fi
    as_root=(sudo)
  fi
  tp_say "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq </dev/null >&2 || tp_say "setup: apt-get update failed; trying with the lists that are there"
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >&2 || {
    tp_say "setup: apt-get install failed: see above"
    return 1
  }
}

tp_find_cuda() {
  local home=${CUDA_HOME:-/usr/local/cuda}
  if [ -x "$home/bin/nvcc" ] && [ -e "$home/include/cupti.h" ]; then
    TP_HAVE_CUDA=1
  else
    TP_HAVE_CUDA=0
    tp_say "setup: no CUDA toolkit with nvcc and CUPTI headers in $home. It cannot be installed from Debian: install NVIDIA's cuda-toolkit"
    tp_say "setup: (12 or later) and set CUDA_HOME to it. Without it the collector and the end-to-end tests are not built."
  fi
  export TP_HAVE_CUDA
}

# A GPU whose driver works.
tp_have_gpu() { [ -e /dev/nvidiactl ] && ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; }

tp_install_packages || exit 1
tp_find_cuda
