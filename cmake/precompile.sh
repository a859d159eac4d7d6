# SPDX-License-Identifier: Apache-2.0
# Launcher of the compiler for precompiled headers: removes the old one, then runs the command. When
# there is one, g++ -E -fpch-preprocess names it instead of reading the headers. ccache would then
# find the result of another edit, and sources would be compiled with older headers. Afterwards writes
# the checksum that ccache reads instead of the 150 MB of the header (CCACHE_PCH_EXTSUM).
next= header=
for word in "$@"; do
  case $next$word in
    -o*.gch) header=$word; rm -f "$word" "$word.sum" ;;
  esac
  next=
  [ "$word" = -o ] && next=-o
done
"$@" || exit
[ -z "$header" ] || sha256sum <"$header" >"$header.sum"
