# SPDX-License-Identifier: Apache-2.0
# Prints a header as Doxygen should read it; lines keep their numbers.
#
# Fields of one declaration share its comment: `int low, high;  ///< ...` becomes two declarations
# with the comment each. Members that the compiler writes (`= default`, `= delete`) are left out,
# because they need no comment.

# Returns the line with one declaration per field. `above` is the comment before it.
function split_fields(line, above,   kind, indent, comment, names, name, n, k, out) {
  comment = above
  if (match(line, / *\/\/\/< /)) {
    comment = substr(line, RSTART + RLENGTH)
    line = substr(line, 1, RSTART - 1)
  }
  match(line, /^ */)
  indent = substr(line, 1, RLENGTH)
  line = substr(line, RLENGTH + 1, length(line) - RLENGTH - 1)  # without the semicolon
  match(line, kind_of_field)
  kind = substr(line, 1, RLENGTH)
  n = split(substr(line, RLENGTH + 1), name, /, /)
  for (k = 1; k <= n; ++k) {
    out = out (k > 1 ? " " : indent) kind name[k] ";"
    if (comment != "" && (k > 1 || comment != above)) out = out " /**< " comment " */"
  }
  return out
}

BEGIN {
  kind_of_field = "^(const )?[A-Za-z_0-9:]+(<[^()]*>)?[ *&]+"
  field = "[A-Za-z_0-9]+( = ([^,;(]|\\(\\))+)?"
  fields = "^ +" substr(kind_of_field, 2) field "(, " field ")+;( *///< .*)?$"
}
{
  line = $0
  if (line ~ /^[^\/]*= (default|delete);/) line = ""
  print line ~ fields ? split_fields(line, above) : line
  if (line ~ /^ *\/\/\/($|[^<])/) {
    sub(/^ *\/\/\/ ?/, "", line)
    above = above == "" ? line : above " " line
  } else {
    above = ""
  }
}
