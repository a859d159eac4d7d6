#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the names that include/byoc/plugin/abi.h declares with those that docs/plugin-abi.md describes, both ways,
and checks that each has a comment in the header, and that both have the same minor for what a later minor added.

Names are macros, enumerators with their values, types, functions, and the fields of each struct. A field is described
in a table of its struct's section, in a sentence "A `byoc_x` has the fields `a` and `b`", or, for a slot, in a
paragraph of its own. Prints one line per fault and exits with 1 when there is any.
"""
import re
import sys
from collections import defaultdict

import tree

HEADER, PAGE = "include/byoc/plugin/abi.h", "docs/plugin-abi.md"
ELSEWHERE = {  # names of the page that other files define
    "BYOC_PLUGIN": "include/byoc/plugin/sdk/entry.h",
    "BYOC_MANIFEST": "include/byoc/plugin/manifest.h",
    "BYOC_MANIFEST_PRIORITY": "include/byoc/plugin/manifest.h",
    "BYOC_MANIFEST_WITH": "include/byoc/plugin/manifest.h",
    "BYOC_KEEP_COMPILES": "runtime/base/env.cc",
    "BYOC_PLUGIN_PATH": "runtime/base/env.cc",
    "BYOC_LOG": "runtime/base/env.cc",
    "byoc_add_plugin": "cmake/byoc_plugin.cmake",
}


def declared(header):
    """(names -> value or None, struct -> its fields in order) of the header's text."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.S).replace("\\\n", " ")
    names = dict.fromkeys(re.findall(r"^\s*#\s*define (BYOC_\w+)", code, re.M))
    names.update(dict.fromkeys(re.findall(r'#\s*define BYOC_\w+ "(byoc_\w+)"', code)))
    del names["BYOC_PLUGIN_ABI_H"]
    for match in re.finditer(r"#\s*define (BYOC_ABI_M\w+) (\d+)", code):
        names[match[1]] = int(match[2])
    code = re.sub(r"^\s*#.*$", "", code, flags=re.M)
    for name, body in re.findall(r"\benum (byoc_\w+) \{(.*?)\}", code, re.S):
        names[name], value = None, -1
        for item in filter(None, (item.strip() for item in body.split(","))):
            constant, _, given = (part.strip() for part in item.partition("="))
            names[constant] = value = int(given, 0) if given else value + 1
    names.update(dict.fromkeys(re.findall(r"\btypedef struct (byoc_\w+)", code)))
    names.update(dict.fromkeys(re.findall(r"\btypedef [^;{]*\(\*(byoc_\w+)\)\(", code)))
    names.update(dict.fromkeys(re.findall(r"\* (byoc_\w+)\(", code)))
    structs = {}
    for name, body in re.findall(r"\btypedef struct (byoc_\w+) \{(.*?)\n\}", code, re.S):
        fields = [field.strip() for field in body.split(";") if field.strip()]
        found = [re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\d+\])?$", field) for field in fields]
        structs[name] = [match[1] or match[2] for match in found]
    return names, structs


def code_names(text):
    return re.findall(r"`(\w+)[^`]*`", text)


def described_fields(page):
    """Struct -> the fields that the page describes, with the number of the line."""
    fields, struct, table = defaultdict(dict), None, None
    for number, line in tree.outside_of_blocks(page):
        if line.startswith("#"):
            named = [name for name in code_names(line) if name.startswith("byoc_")]
            struct = named[0] if named else struct if line.startswith("###") else None
            table = None
        elif line.startswith("| field"):
            table = (code_names(line) or [struct])[0]
        elif not line.startswith("|"):
            table = None
        elif table:
            fields[table].update(dict.fromkeys(code_names(line.split("|")[1]), number))
        if match := re.match(r"\*\*`(\w+)\(.*?\)`\*\*", line):
            fields[struct][match[1]] = number
    text = re.sub(r"\s+", " ", page)
    sentence = r"\bAn? ((?:`byoc_\w+`(?: and a )?)+) ha(?:s|ve) the fields ((?:[^.`]|`[^`]*`)*)\."
    for owners, names in re.findall(sentence, text):
        for owner in code_names(owners):
            fields[owner].update(dict.fromkeys(code_names(names), 0))
    return fields


def name_faults(root, page, names, structs):
    found = set(re.findall(r"\b(?:BYOC|byoc)_\w+", " ".join(re.findall(r"`[^`\n]+`", page))))
    for name in sorted(set(names) - found):
        yield f"{HEADER}: declares {name}, and {PAGE} does not describe it"
    for name in sorted(found - set(names)):
        place = ELSEWHERE.get(name)
        if place is None or name not in tree.read(root, place):
            yield f"{PAGE}: describes {name}, and {HEADER} does not declare it"
    for name, value in re.findall(r"^\| `(BYOC_\w+)` \| (\d+) \|", page, re.M):
        if names.get(name) != int(value):
            yield f"{PAGE}: has the value {value} for {name}, and {HEADER} {names.get(name)}"
    yield from version_faults(PAGE, page.split("\n\n")[1], names)


def version_faults(place, text, names):
    for word, value in re.findall(r"\b(major|minor) (\d+)", text):
        if names[f"BYOC_ABI_{word.upper()}"] != int(value):
            yield f"{place}: is about {word} {value}, and {HEADER} has {names[f'BYOC_ABI_{word.upper()}']}"


def field_faults(page, structs):
    described = described_fields(page)
    for struct, fields in structs.items():
        for field in fields:
            if field != "h" and field not in described[struct]:
                yield f"{HEADER}: {struct} has the field {field}, and {PAGE} does not describe it"
    for struct in sorted(set(described) - {None}):
        for field, line in described[struct].items():
            if field not in structs.get(struct, ()):
                yield f"{PAGE}:{line or ''} describes the field {field} of {struct}, and {HEADER} does not declare it"


def minors_of_header(header):
    """Name -> the minor that its comment has for it ("since minor N"); a field is struct.field."""
    found, struct, above = {}, None, ""
    for line in header.split("\n"):
        if match := re.match(r"typedef struct (byoc_\w+) \{", line):
            struct = match[1]
        elif line.startswith("}"):
            struct = None
        if line.lstrip().startswith("///"):
            above += " " + line.strip()[3:]
            continue
        text = above + (line.partition("///<")[2] if "///<" in line else "")
        name = re.search(r"\(\*(\w+)\)\(|(BYOC_\w+) = |(?:^|[ *])(\w+)(?:\[\d+\])?;|\btypedef struct (\w+)", line)
        if name and (since := re.search(r"\b[Ss]ince minor (\d+)", text)):
            word = next(filter(None, name.groups()))
            found[f"{struct}.{word}" if struct and not word.startswith("BYOC") else word] = int(since[1])
        above = ""
    return found


def minor_faults(header, page, names):
    """Minors in comments of the header, in the page's text, and in its table "minor | added"."""
    table = {int(number): code_names(row) + re.findall(r"`(byoc_\w+\.\w+)`", row)
             for number, row in re.findall(r"^\| (\d+) \| (.*) \|$", page.partition("\n| minor | added |\n")[2], re.M)}
    for number in range(names["BYOC_ABI_MINOR"] + 1):
        if number not in table:
            yield f"{PAGE}: the table of minors has no row {number}"
    for name, minor in minors_of_header(header).items():
        slot = name.removeprefix("byoc_plugin.")
        if name not in table.get(minor, ()) and slot not in table.get(minor, ()):
            yield f"{HEADER}: {name} is of minor {minor}, and the row {minor} of {PAGE} does not name it"
    rows = re.findall(r"^\| `(BYOC_\w+)` \|[^|]*?\b[Ss]ince minor (\d+)", page, re.M)
    for name, minor in rows:
        if name not in table.get(int(minor), ()):
            yield f"{PAGE}: describes {name} as of minor {minor}, and its table of minors does not"


def comment_faults(header):
    """Fields, enumerators and other declarations of the header without a comment on their line or above them."""
    above = ""
    for number, line in enumerate(header.split("\n"), 1):
        is_name = re.match(r"  (?!BYOC_STATIC_ASSERT)\w|(?:typedef|enum|#define) (?!BYOC_PLUGIN_ABI_H)\w", line)
        if is_name and "///<" not in line and not above.lstrip().startswith("///"):
            yield f"{HEADER}:{number}: has no comment: {line.strip()}"
        above = line


def check(root):
    names, structs = declared(tree.read(root, HEADER))
    page = tree.read(root, PAGE)
    row = re.search(r"^\| plugin ABI \|[^|]*\|", tree.read(root, "README.md"), re.M)
    return [*name_faults(root, page, names, structs), *version_faults("README.md", row[0] if row else "", names),
            *field_faults(page, structs), *minor_faults(tree.read(root, HEADER), page, names),
            *comment_faults(tree.read(root, HEADER))]


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) if found else f"abi: {PAGE} describes what {HEADER} declares, and nothing else")
    sys.exit(bool(found))
