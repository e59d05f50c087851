#!/bin/bash
# Installs the built files under a prefix and as a package, as their scripts do, and uses what is there.
set -uo pipefail
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

work=$(mktemp -d /tmp/tp-install-test-XXXXXX)
export TP_SOCKET=$work/run/tpd.sock
trap '"$prefix/bin/tpctl" daemon stop >/dev/null 2>&1; rm -rf "$work"' EXIT
prefix=$work/prefix

tools/install.sh "$prefix" --built "$PWD" >"$work/said" 2>&1 || { cat "$work/said"; fail "install.sh ended with $?"; }
grep -q "$prefix/bin/tpctl daemon start" "$work/said" || fail "does not say how to begin: $(cat "$work/said")"
for file in bin/tpd bin/tpctl lib/libtpcollect.so lib/libtpcollect_cublas.so include/tpcollect.h share/man/man1/tpd.1 share/man/man1/tpctl.1 \
  share/man/man1/tpctl-table.1 share/bash-completion/completions/tpctl lib/systemd/system/tpd.socket lib/systemd/user/tpd.service; do
  [ -s "$prefix/$file" ] || fail "there is no $file"
done
grep -q '^ExecStart='"$prefix/bin/tpd " "$prefix/lib/systemd/system/tpd.service" || fail "the unit starts another tpd"
head -1 "$prefix/share/zsh/site-functions/_tpctl" | grep -q '^#compdef tpctl' || fail "zsh would not load its completion"
for command in $("$prefix/bin/tpctl" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  [ -s "$prefix/share/man/man1/tpctl-$command.1" ] || fail "tpctl $command has no page"
done
grep -q 'sort\\-by' "$prefix/share/man/man1/tpctl-table.1" || fail "the page of tpctl table has no options"
if command -v systemd-analyze >/dev/null; then
  for kind in system user; do
    complaints=$(systemd-analyze verify --man=no --$kind "$prefix/lib/systemd/$kind/"tpd.{socket,service} 2>&1 | grep 'tpd\.')
    [ -z "$complaints" ] || fail "systemd: $complaints"
  done
else
  echo "no systemd-analyze here: the units are not checked"
fi

# What is installed finds itself: the daemon beside tpctl, the collector in ../lib.
"$prefix/bin/tpctl" run -- /bin/sh -c 'echo "$LD_PRELOAD"' >"$work/out" 2>"$work/err" || fail "tpctl run: $(cat "$work/err")"
[ "$(head -1 "$work/out")" = "$prefix/lib/libtpcollect.so" ] || fail "preloaded is $(head -1 "$work/out")"
daemon=$("$prefix/bin/tpctl" daemon status --format json | sed 's/.*"pid":\([0-9]*\).*/\1/')
[ "$(readlink "/proc/$daemon/exe")" = "$prefix/bin/tpd" ] || fail "the daemon is $(readlink "/proc/$daemon/exe")"

# Bad arguments: one line, nothing installed.
for arguments in "" "relative/prefix" "--nonsense" "$work/p --built"; do
  tools/install.sh $arguments >"$work/out" 2>&1
  [ $? -eq 2 ] || fail "install.sh $arguments did not end with 2"
done
tools/install.sh "$work/p" --built /nonexistent >"$work/out" 2>&1 && fail "installed from nowhere"
[ ! -e "$work/p" ] || fail "something is in $work/p"

package=$(tools/package.sh "$work/deb" --built "$PWD" 2>"$work/err") || { cat "$work/err"; fail "package.sh"; }
dpkg-deb -f "$package" Depends | grep -q libprotobuf || fail "the package does not depend on what it needs: $(dpkg-deb -f "$package")"
dpkg-deb -x "$package" "$work/unpacked" || fail "cannot unpack $package"
"$work/unpacked/usr/bin/tpctl" --version >"$work/out" || fail "the packaged tpctl does not run"
grep -q '^ExecStart=/usr/bin/tpd ' "$work/unpacked/usr/lib/systemd/system/tpd.service" || fail "the packaged unit starts another tpd"
# Stripped, the collector still has its entry points.
LD_PRELOAD=$work/unpacked/usr/lib/libtpcollect.so /bin/true 2>"$work/err" || fail "the packaged collector"
[ ! -s "$work/err" ] || fail "the packaged collector: $(cat "$work/err")"

[ $failures -eq 0 ] && echo "all is installed as it should be"
exit $failures
