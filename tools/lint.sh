#!/bin/bash
# Checks format (clang-format) and code (clang-tidy) of the project's own C++. Needs a build and some minutes.
#
#   tools/lint.sh [FILE ...]       all files by default
set -euo pipefail
cd "$(dirname "$0")/.."
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files '*.cc' '*.h')
clang-format --dry-run -Werror "${files[@]}"
bazel aquery -c opt 'mnemonic("CppCompile", //...)' --output=jsonproto 2>/dev/null | tools/compile_commands.py >compile_commands.json
printf '%s\n' "${files[@]}" | grep '\.cc$' | xargs -P "$(nproc)" -n 4 clang-tidy -p . --quiet
