#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a header as Doxygen should read it; lines keep their numbers.

Fields of one declaration share its comment: `int low, high;  ///< ...` becomes two declarations with the comment each.
Members that the compiler writes (`= default`, `= delete`) are left out, because they need no comment.
"""
import re
import sys

FIELDS = re.compile(r"^(\s+)((?:const )?[\w:]+(?:<[^()]*>)?[ *&]+)(\w+(?: = (?:[^,;(]|\(\))+)?(?:, \w+(?: = (?:[^,;(]|\(\))+)?)+);"
                    r"(?:\s*///< (.*))?$")


def split_fields(line, above):
    """The declaration with one field each, and the comment that follows or precedes it."""
    match = FIELDS.match(line)
    if not match:
        return line
    indent, kind, names, comment = match.groups()
    first, *rest = [f"{kind}{name};" for name in names.split(", ")]
    each = f" /**< {comment or above} */" if comment or above else ""
    return indent + first + (each if comment else "") + "".join(f" {field}{each}" for field in rest)


def main(path):
    above = ""
    for line in open(path, encoding="utf-8").read().splitlines():
        if re.match(r"^[^/]*= (default|delete);", line):
            line = ""
        print(split_fields(line, above))
        text = re.match(r"\s*///(?!<) ?(.*)", line)
        above = f"{above} {text[1]}".strip() if text else ""


if __name__ == "__main__":
    main(sys.argv[1])
