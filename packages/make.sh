#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages/make.sh [BUILD] [--output DIR] [--deb | --tar] [--quick]
# Makes the Debian packages and the tarball of byoc.
#   BUILD          a folder that cmake has configured (default: build); what is missing in it is built
#   --output DIR   the folder of the packages (default: BUILD/packages/out)
#   --deb, --tar   only the Debian packages, or only the tarball
#   --quick        compress by gzip, not xz: larger files in less time, for tests
# It needs Debian's cmake, dpkg-dev, file and patchelf. docs/packages.md has what is in which package.
set -euo pipefail
usage() { sed -n '3,9s/^# //p' "$0"; }

build=build output= debian=DEB tar=TXZ options=()
while [ $# -gt 0 ]; do
  case $1 in
    -h|--help) usage; exit 0 ;;
    --output) output=${2:?"--output needs a folder"}; shift ;;
    --deb) tar= ;;
    --tar) debian= ;;
    --quick) tar=${tar:+TGZ} options=(-D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) ;;
    -*) echo "error: unknown option $1" >&2; usage >&2; exit 2 ;;
    *) build=$1 ;;
  esac
  shift
done
if [ ! -e "$build/packages/config.cmake" ]; then
  echo "error: $build has no packages/config.cmake" >&2
  echo "  help: cmake -S . -B $build -G Ninja; a sanitizer build makes no packages" >&2
  exit 1
fi
for tool in cpack dpkg-shlibdeps file patchelf; do
  command -v "$tool" >/dev/null && continue
  echo "error: the program $tool is missing" >&2
  echo "  help: apt-get install cmake dpkg-dev file patchelf" >&2
  exit 1
done
build=$(realpath "$build")
output=$(realpath -m "${output:-$build/packages/out}")
cmake --build "$build" --target byoc_packages >&2
umask 022                                                   # the rights of files in packages
for kind in $debian $tar; do
  made=$build/packages/$kind
  rm -rf "$made"
  if ! cpack --config "$build/packages/config.cmake" -G "$kind" -B "$made" "${options[@]}" >"$made.log" 2>&1; then
    cat "$made.log" >&2
    exit 1
  fi
  mkdir -p "$output"
  for file in "$made"/*.deb "$made"/*.tar.[gx]z; do
    [ -e "$file" ] || continue
    mv "$file" "$output/"
    du -h --apparent-size "$output/${file##*/}"
  done
  rm -rf "$made"
done
