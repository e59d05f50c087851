#!/bin/bash
# Makes the man pages, of tpd, of tpctl and of each of its commands, from what their --help says, so that they cannot differ from it.
#
#   tools/man_pages.sh BUILT FOLDER       BUILT: a folder with the built files
set -euo pipefail
built=$1 folder=$2
command -v help2man >/dev/null || { echo "man_pages: install help2man" >&2; exit 1; }
mkdir -p "$folder"
work=$(mktemp -d /tmp/tp-man-XXXXXX)
trap 'rm -rf "$work"' EXIT
version=$("$built/tools/tpctl" --version)

# help2man asks a program for its help: one that is called as the page is.
page() {
  local name=$1 see=$2
  shift 2
  {
    echo '#!/bin/sh'
    printf 'exec'
    printf ' %q' "$@"
    echo ' --help'
  } >"$work/$name"
  chmod +x "$work/$name"
  printf '[SEE ALSO]\n%s\n' "$see" >"$work/see"
  help2man --no-info --section=1 --manual='GPU profiler' --source="TensorProf ${version#tpctl }" --version-string="${version#tpctl }" \
    --name="$("$@" --help | head -1)" --include="$work/see" "$work/$name" >"$folder/$name.1"
}

commands=$("$built/tools/tpctl" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
all='.BR tpd (1)'
for command in $commands; do all+=", .BR tpctl-$command (1)"; done
see() { printf '%s\n' "$1" | sed 's/, /,\n/g'; }

page tpd "$(see '.BR tpctl (1)')" "$built/tools/tpd"
page tpctl "$(see "$all")" "$built/tools/tpctl"
for command in $commands; do
  page "tpctl-$command" "$(see '.BR tpctl (1), .BR tpd (1)')" "$built/tools/tpctl" "$command"
done
