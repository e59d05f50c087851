#!/bin/sh
# run_and_compare.sh PROGRAM EXPECTED [NAME=VALUE ...] -- [ARGUMENT ...]
#
# Runs a program on the simulated CUDA. Its standard output has to be what is in EXPECTED, its standard error empty (the loader
# complains there about symbol versions that do not fit), its exit status 0.
program=$1
expected=$2
shift 2
while [ "$1" != -- ]; do
  export "$1"
  shift
done
shift
directory=$(mktemp -d /tmp/simcuda.XXXXXX)
trap 'rm -rf "$directory"' EXIT
LD_LIBRARY_PATH=tests/simcuda "./$program" "$@" >"$directory/out" 2>"$directory/err"
status=$?
if [ -s "$directory/err" ]; then
  echo "on stderr:"
  cat "$directory/err"
  exit 1
fi
diff "$expected" "$directory/out" || exit 1
[ "$status" -eq 0 ] || { echo "exit status $status"; exit 1; }
