#!/bin/bash
# The library that goes into other people's processes exports its entry points alone and needs the C library alone.
set -euo pipefail
library=collector/libtpcollect.so

exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort | tr '\n' ' ')
expected="InitializeInjection InitializeInjectionNvtx2 InitializeInjectionNvtxExtension tpcollect_get_functions "
if [ "$exported" != "$expected" ]; then
  echo "exports: $exported"
  exit 1
fi

# ld-linux is what loads every program; libm, of the same package, is wanted by code that was not optimized.
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux-.*|libm\.so\.6)$' || true)
if [ -n "$needed" ]; then
  echo "needs: $needed"
  exit 1
fi

if readelf -d "$library" | grep -q TEXTREL; then
  echo "has text relocations"
  exit 1
fi

if ! readelf -d "$library" | grep -q NODELETE; then
  echo "dlclose would take it away from under its thread"
  exit 1
fi
