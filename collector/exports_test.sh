#!/bin/bash
# The libraries that go into other people's processes export their entry points alone and need the C library alone.
set -euo pipefail

# check LIBRARY EXPORTS: the latter as a pattern that each exported name must match, and of which there must be one at least.
check() {
  local library=$1 pattern=$2 exported needed
  exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
  if [ -z "$exported" ] || grep -vqE "$pattern" <<<"$exported"; then
    echo "$library exports: $exported"
    exit 1
  fi

  # ld-linux is what loads every program; libm, of the same package, is wanted by code that was not optimized.
  needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux-.*|libm\.so\.6)$' || true)
  if [ -n "$needed" ]; then
    echo "$library needs: $needed"
    exit 1
  fi

  if readelf -d "$library" | grep -q TEXTREL; then
    echo "$library has text relocations"
    exit 1
  fi

  if ! readelf -d "$library" | grep -q NODELETE; then
    echo "dlclose would take $library away from under its thread"
    exit 1
  fi
}

check collector/libtpcollect.so '^(InitializeInjection|InitializeInjectionNvtx2|InitializeInjectionNvtxExtension|TensorProfAttach|tpcollect_get_functions)$'
# By its version alone: a program of another cuBLAS, or of none, does not come to it.
check collector/libtpcollect_cublas.so '^(cublas[A-Za-z0-9_]*[Gg]emm[A-Za-z0-9_]*@libcublas|cublasLtMatmul@libcublasLt)\.so\.1[123]$|^libcublas(Lt)?\.so\.1[123]$'
