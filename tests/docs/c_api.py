#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/c-api.md has the declarations of include/byoc/c and their comments; --write renews them.

    c_api.py SOURCE [--write]
"""
import re
import sys
import textwrap
from pathlib import Path

MARK = "## Reference\n"
SECTION = re.compile(r"/\* -+ (.*?) -+ \*/")


def entries(text):
    """Yields ("section", title) and ("entry", comment, code) of a header, in order."""
    lines = text[text.index('extern "C" {'):].splitlines()
    comment, code, open_braces = [], [], 0

    def entry():
        joined = "\n".join(code)
        code.clear()
        return "entry", list(comment), joined

    for line in lines[2:]:
        section = SECTION.match(line.strip())
        if section:
            comment.clear()
            yield "section", section.group(1), ""
        elif line.startswith("///"):
            if code:
                yield entry()
                comment.clear()
            comment.append(line[3:].removeprefix(" "))
        elif line.startswith("#ifdef") or line.startswith("}") and not open_braces and not code:
            break
        elif not line.strip():
            if code and not open_braces:
                yield entry()
            comment.clear()
        else:
            code.append(line)
            open_braces += line.count("{") - line.count("}")
            if not open_braces and line.rstrip().endswith(";") and not comment:
                yield entry()
    if code:
        yield entry()


def tidy(code):
    """Returns declarations without the macro that marks them, each on lines of at most 100 columns."""
    out = []
    for declaration in re.split(r"(?<=;)\n(?=BYOC_)", code):
        plain = re.sub(r"^BYOC_(?:RUNTIME_)?API ", "", declaration)
        if plain != declaration:                           # a function, whose arguments were aligned to its bracket
            plain = textwrap.fill(" ".join(plain.split()), 100, subsequent_indent="    ", break_on_hyphens=False)
        out.append(plain)
    return "\n".join(out)


def reference(source):
    out = [MARK]
    for name, library in (("byoc.h", "both libraries"), ("devices.h", "both libraries"),
                          ("states.h", "both libraries"), ("tools.h", "libbyoc.so")):
        out.append(f"\nFunctions of `byoc/c/{name}` are in {library}.\n")
        for kind, first, code in entries((source / "include/byoc/c" / name).read_text()):
            if kind == "section":
                out.append(f"\n### {first[0].upper()}{first[1:]}\n")
            elif code:
                out.append(f"\n```c\n{tidy(code)}\n```\n")
                if first:
                    out.append("\n" + "\n".join(first) + "\n")
    return "".join(out)


def main():
    source = Path(sys.argv[1])
    page = source / "docs/c-api.md"
    text = page.read_text()
    head = text[:text.index(MARK)]
    wanted = head + reference(source)
    if "--write" in sys.argv:
        page.write_text(wanted)
    elif wanted != text:
        sys.exit(f"{page} is not what the headers have: run tests/docs/c_api.py . --write")


main()
