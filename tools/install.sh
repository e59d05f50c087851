#!/bin/bash
# Builds and installs under a prefix: programs, the collector, its header, man pages, shell completion, systemd units.
#
#   tools/install.sh PREFIX [--built FOLDER]        PREFIX: /usr/local, $HOME/.local, ...
#
# --built names a folder with built files (what `bazel info -c opt bazel-bin` prints), and nothing is built then. DESTDIR is put before all
# paths, for packages. Nothing is enabled or started: what to do for that is said at the end.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

usage() {
  echo "usage: tools/install.sh PREFIX [--built FOLDER]" >&2
  exit 2
}

prefix= built=
while [ $# -gt 0 ]; do
  case $1 in
    --built) [ $# -ge 2 ] || usage; built=$2; shift 2 ;;
    -*) usage ;;
    *) [ -z "$prefix" ] || usage; prefix=$1; shift ;;
  esac
done
case $prefix in
  /*) ;;
  *) echo "install: the prefix has to be a whole path, like /usr/local" >&2; usage ;;
esac
prefix=$(realpath -m "$prefix")

cd "$here"
if [ -z "$built" ]; then
  source tools/setup.sh
  targets=(//tools:tpd //tools:tpctl)
  [ "$TP_HAVE_CUDA" -ne 1 ] || targets+=(//collector:libtpcollect.so //collector:libtpcollect_cublas.so)
  bazel build -c opt "${targets[@]}"
  built=$(bazel info -c opt bazel-bin 2>/dev/null)
fi
[ -x "$built/tools/tpctl" ] || { echo "install: there is no tools/tpctl in $built: has it been built?" >&2; exit 1; }

root=${DESTDIR:-}$prefix
put() { install -D -m "$1" "$2" "$root/$3"; }

put 755 "$built/tools/tpd" bin/tpd
put 755 "$built/tools/tpctl" bin/tpctl
for library in libtpcollect.so libtpcollect_cublas.so; do
  if [ -e "$built/collector/$library" ]; then
    put 644 "$built/collector/$library" "lib/$library"
  else
    echo "install: $library is not built (that needs the CUDA toolkit): tables of files and the daemon work without, tracing here does not" >&2
  fi
done
put 644 collector/tpcollect.h include/tpcollect.h
put 644 LICENSE share/doc/tensorprof/LICENSE
put 644 README.md share/doc/tensorprof/README.md
for page in docs/*.md; do put 644 "$page" "share/doc/tensorprof/docs/${page##*/}"; done

folder=$(mktemp -d /tmp/tp-install-XXXXXX)
trap 'rm -rf "$folder"' EXIT
"$built/tools/tpctl" completion bash >"$folder/bash"
# A file of functions has to say what it completes, and completes when it is loaded.
{ echo '#compdef tpctl'; "$built/tools/tpctl" completion zsh; echo '_bash_complete -o default -F _tpctl'; } >"$folder/zsh"
"$built/tools/tpctl" completion fish >"$folder/fish"
put 644 "$folder/bash" share/bash-completion/completions/tpctl
put 644 "$folder/zsh" share/zsh/site-functions/_tpctl
put 644 "$folder/fish" share/fish/vendor_completions.d/tpctl.fish
tools/man_pages.sh "$built" "$folder/man"
for page in "$folder"/man/*.1; do put 644 "$page" "share/man/man1/${page##*/}"; done
for unit in tools/systemd/*/tpd.*; do
  kind=$(basename "$(dirname "$unit")")
  sed "s|@PREFIX@|$prefix|g" "$unit" >"$folder/unit"
  put 644 "$folder/unit" "lib/systemd/$kind/${unit##*/}"
done

[ -n "${DESTDIR:-}" ] || cat <<END
Installed in $prefix.
  One daemon for the machine:  systemctl enable --now $prefix/lib/systemd/system/tpd.socket
  One of your own:             systemctl --user enable --now $prefix/lib/systemd/user/tpd.socket
  Or without systemd:          $prefix/bin/tpctl daemon start
END
