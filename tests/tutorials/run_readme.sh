#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_readme.sh TREE BUILD FOLDER: runs the commands of README.md that begin with build/bin/, in FOLDER, where build/
# has links to the commands and plugins of BUILD. Each must succeed; after a line "$ build/bin/..." the README has the
# output.
set -euo pipefail
tree=$(realpath "$1") build=$(realpath "$2") folder=$3
rm -rf "$folder"
mkdir -p "$folder/build"
cd "$folder"
ln -s "$build/bin" "$build/lib" build/
ln -s "$tree/tests" "$tree/docs" .
unset BYOC_PLUGIN_PATH
ran=0 compared=0

# run COMMAND [EXPECTED]: runs it, and compares its output with the file EXPECTED.
run() {
  bash -euo pipefail -c "$1" >printed 2>errors </dev/null ||
    { echo "README.md: exit code $? of: $1"; cat printed errors; exit 1; }
  ran=$((ran + 1))
  [ $# -eq 2 ] || return 0
  diff "$2" printed || { echo "README.md: this is the output of: $1"; exit 1; }
  compared=$((compared + 1))
}

command=
finish() {
  [ -z "$command" ] || run "$command" expected
  command=
}
while IFS= read -r line; do
  case $line in
    '```'*) finish ;;
    '$ build/bin/'*) finish; command=${line#'$ '}; : >expected ;;
    '    build/bin/'*) run "${line#    }" ;;
    *) [ -z "$command" ] || printf '%s\n' "$line" >>expected ;;
  esac
done <"$tree/README.md"
echo "$ran commands run, $compared outputs compared"
[ "$ran" -ge 10 ] && [ "$compared" -ge 2 ]
