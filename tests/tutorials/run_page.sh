#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_page.sh PAGE.md PREFIX FOLDER: follows the page, in FOLDER, with ~/byoc being a copy of the
# byoc installed at PREFIX and $BYOC_TREE this source tree. The page's code blocks are all its input; the
# words after ``` give the kind of each.
#   ```cpp main.cc     a language and a file name: the file is written
#   ```sh              the commands are run, and must succeed; "sh fails": and must fail
#   ```text            must be what the commands before it printed; a line "..." matches any lines,
#                      "..." in a line for any text
set -euo pipefail
BYOC_TREE=$(realpath "$(dirname "$0")/../..")
export BYOC_TREE
page=$(realpath "$1") prefix=$(realpath "$2") folder=$3
rm -rf "$folder"
mkdir -p "$folder/home" "$folder/work" "$folder/blocks"
folder=$(realpath "$folder")
cp -r "$prefix" "$folder/home/byoc"

# Writes one file per block: NUMBER-KIND with its text, and NUMBER-KIND.info with the word
# after the language.
awk -v out="$folder/blocks" '
  /^```/ && inside { inside = 0; close(file); next }
  /^```/ {
    inside = 1
    split(substr($0, 4), words, " ")
    file = sprintf("%s/%03d-%s", out, ++n, words[1])
    printf "%s", words[2] > (file ".info")
    close(file ".info")
    printf "" > file
    next
  }
  inside { print > file }
  END { if (inside) exit 1 }
' "$page"

# matches WANTED GOT: compares line by line; "..." matches as in the head comment.
matches() {
  awk -v wanted="$1" -v got="$2" '
    function fits(pattern, text,   parts, n, k, at) {   # "..." is any text
      n = split(pattern, parts, /\.\.\./)
      if (n <= 1) return pattern == text
      if (substr(text, 1, length(parts[1])) != parts[1]) return 0
      text = substr(text, length(parts[1]) + 1)
      for (k = 2; k < n; ++k) {
        at = index(text, parts[k])
        if (!at) return 0
        text = substr(text, at + length(parts[k]))
      }
      return length(text) >= length(parts[n]) && substr(text, length(text) - length(parts[n]) + 1) == parts[n]
    }
    BEGIN {
      while ((getline line < wanted) > 0) w[++nw] = line
      while ((getline line < got) > 0) g[++ng] = line
      for (i = j = 1; i <= nw; ++i) {
        if (w[i] == "...") {                              # as few lines as the next expected line allows
          if (i == nw) exit 0
          while (j <= ng && !fits(w[i + 1], g[j])) ++j
        } else if (j > ng || !fits(w[i], g[j++])) {
          exit 1
        }
      }
      exit j <= ng
    }'
}

cd "$folder/work"
export HOME="$folder/home"
unset BYOC_PLUGIN_PATH
checked=0 ran=0
for block in "$folder"/blocks/*; do
  case $block in *.info) continue ;; esac
  info=$(<"$block.info")
  case $block in
    *-sh)
      status=0
      bash -euo pipefail "$block" >"$folder/printed" 2>&1 || status=$?
      ran=$((ran + 1))
      if { [ "$info" = fails ] && [ $status -eq 0 ]; } || { [ "$info" != fails ] && [ $status -ne 0 ]; }; then
        echo "$page: exit code $status of:"; cat "$block"; echo "which printed:"; cat "$folder/printed"
        exit 1
      fi ;;
    *-text)
      if [ -n "$info" ]; then cp "$block" "$info"; continue; fi
      checked=$((checked + 1))
      if ! matches "$block" "$folder/printed"; then
        echo "$page: expected:"; cat "$block"; echo "printed was:"; cat "$folder/printed"
        exit 1
      fi ;;
    *)
      [ -n "$info" ] || { echo "$page: a block of code without a file name"; exit 1; }
      cp "$block" "$info" ;;
  esac
done
[ "$ran" -gt 0 ] && [ "$checked" -gt 0 ] || { echo "$page: nothing was run and compared"; exit 1; }
echo "$ran commands run, $checked outputs compared"
