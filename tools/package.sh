#!/bin/bash
# Makes a Debian package of what tools/install.sh installs, in /usr, and prints its path.
#
#   tools/package.sh [FOLDER] [--built BUILT]       FOLDER: where it goes (default: here); BUILT: as of tools/install.sh
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

folder=$PWD built=()
while [ $# -gt 0 ]; do
  case $1 in
    --built) [ $# -ge 2 ] || { echo "usage: tools/package.sh [FOLDER] [--built BUILT]" >&2; exit 2; }; built=(--built "$2"); shift 2 ;;
    -*) echo "usage: tools/package.sh [FOLDER] [--built BUILT]" >&2; exit 2 ;;
    *) folder=$1; shift ;;
  esac
done
for tool in dpkg-deb dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "package: $tool is missing: install dpkg-dev" >&2; exit 1; }
done

work=$(mktemp -d /tmp/tp-package-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
DESTDIR=$work/root "$here/tools/install.sh" /usr "${built[@]}" >&2
root=$work/root
version=$("$root/usr/bin/tpctl" --version)
version=${version#tpctl }
architecture=$(dpkg --print-architecture)

# Debian's ways: compressed pages, a copyright file, users' units in their own folder.
gzip -9n "$root"/usr/share/man/man1/*.1
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/share/doc/tensorprof/LICENSE" "$root/usr/share/doc/tensorprof/copyright"
strip --strip-unneeded "$root"/usr/bin/* "$root"/usr/lib/*.so

mkdir -p "$work/debian" "$root/DEBIAN"
printf 'Source: tensorprof\n\nPackage: tensorprof\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -e"$root/usr/bin/tpd" -e"$root/usr/bin/tpctl" 2>/dev/null)
cat >"$root/DEBIAN/control" <<END
Package: tensorprof
Version: $version
Architecture: $architecture
Maintainer: TensorProf's authors <root@localhost>
Section: devel
Priority: optional
Depends: ${depends#shlibs:Depends=}
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Description: profiler of CUDA programs that run
 Where does the GPU's time go, and which operation asked for it? A library that is
 preloaded into a CUDA program tells a daemon what the device does; tpctl shows it live,
 in tables and in traces. No restart, no change of the program, no large files.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
mkdir -p "$folder"
package=$folder/tensorprof_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >&2
echo "$package"
