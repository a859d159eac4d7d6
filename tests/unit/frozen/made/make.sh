#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the frozen plugins of this folder from sources of the history, in a clone with all of it, on x86-64:
#   tests/unit/frozen/made/make.sh
# They are kept as they are; the script shows what they are.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build NAME COMMIT SOURCE MINOR: compiles the example plugin of a commit as the plugin NAME, which needs a host of MINOR.
build() {
  folder="$work/$1"
  mkdir -p "$folder/byoc/plugin"
  git -C "$here" show "$2:include/byoc/plugin/abi.h" > "$folder/byoc/plugin/abi.h"
  git -C "$here" show "$2:include/byoc/plugin/manifest.h" |
    sed "s/\(min_host_minor[^0]*\)0/\1$4/" > "$folder/byoc/plugin/manifest.h"
  git -C "$here" show "$2:plugins/example/c/plugin.c" | sed "s/example_c/$1/g" > "$folder/plugin.c"
  if [ "$3" != plugin.c ]; then
    cp "$here/$3" "$folder/"
    sed -i '/^byoc_status\* byoc_plugin_entry_v1/,$d' "$folder/plugin.c" # the device has its own
  fi
  gcc -std=c11 -Os -s -shared -fPIC -I "$folder" -fmacro-prefix-map="$folder/"= -Wl,--build-id=none \
    -Wl,-z,noseparate-code "$folder/$3" -o "$here/$1.so"
}

build minor6 1948497a^ plugin.c 0
build minor10 e0a4a58f device.c 10
build newer e0a4a58f plugin.c 4000
