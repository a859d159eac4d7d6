# SPDX-License-Identifier: Apache-2.0
# Launcher of the compiler for precompiled headers: removes the old one, then runs the command. When
# there is one, g++ -E -fpch-preprocess names it instead of reading the headers. ccache would then
# find the result of another edit, and sources would be compiled with older headers.
next=
for word in "$@"; do
  case $next$word in
    -o*.gch) rm -f "$word" ;;
  esac
  next=
  [ "$word" = -o ] && next=-o
done
exec "$@"
