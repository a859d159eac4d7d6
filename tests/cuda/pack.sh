#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies what on_gpu.sh needs to a folder that can be carried to a machine with a device: the program, its plugins, the
# libraries that they need besides those of glibc and of NVIDIA, and the scripts.
#
# usage: pack.sh BUILD FOLDER
set -eu
build=${1:?usage: pack.sh BUILD FOLDER}
out=${2:?usage: pack.sh BUILD FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out/bin" "$out/lib/byoc/plugins" "$out/needed" "$out/tests"
cp "$build/bin/byoc" "$out/bin/"
cp -P "$build"/lib/libbyoc*.so* "$out/lib/"
for plugin in cuda llvm json; do cp "$build/lib/byoc/plugins/libbyoc_$plugin.so" "$out/lib/byoc/plugins/"; done
cp "$here"/*.py "$here/on_gpu.sh" "$out/tests/"
for file in "$out/bin/byoc" "$out"/lib/libbyoc*.so* "$out"/lib/byoc/plugins/*.so; do
  ldd "$file" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
done | sort -u | while read -r library; do
  case $(basename "$library") in
    libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | libbyoc*) ;;
    *) cp -L "$library" "$out/needed/" ;;
  esac
done
echo "$(du -sm "$out" | cut -f1) MB in $out: run $out/tests/on_gpu.sh $out"
