#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the slugs of errors in the sources of ROOT with the table of `byoc error`, both ways."""
import os
import re
import sys

TABLE = "core/driver/commands/slug_table.cc"
FOLDERS = ("core", "runtime", "include", "frontends", "plugins")
MADE = ("tensor-file",)  # cat(what, "-file")
CODES = "runtime/base/status.cc"  # errors without a slug are printed with the name of their code
USED = (r'with_slug\(\s*"([a-z0-9-]+)"', r'k\w*Slug = "([a-z0-9-]+)"', r'"error\[([a-z0-9-]+)\]')
# with_slug(kName), with_slug(... ? kName : ...), and kName = "slug" in the same file or a header
CONSTANT = r'\b(k[A-Z]\w+)(?: = |\{)"([a-z0-9-]+)"'


def sources(root):
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith((".cc", ".h")) and os.path.relpath(path, root) != TABLE:
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(path, root), file.read()


def slugs_of(root):
    """The slugs that errors of the sources have, each with a file that has it."""
    used, constants, names = {}, {}, {}
    for path, source in sources(root):
        for expression in USED:
            for slug in set(re.findall(expression, source)) - {"slug"}:  # the form, in a comment
                used.setdefault(slug, path)
        constants.update(re.findall(CONSTANT, source))
        for arguments in re.findall(r"with_slug\(([^;]*?)\)", source):
            for name in re.findall(r"\bk[A-Z]\w+", arguments):
                names.setdefault(name, path)
        if path == CODES:
            listed = re.search(r"kNames\[\] = \{(.*?)\}", source, re.S)[1]
            used.update({name: path for name in re.findall(r'"([a-z-]+)"', listed) if name not in ("ok", "unauthenticated")})
    used.update({constants[name]: path for name, path in names.items() if name in constants})
    return used


def check(root):
    with open(os.path.join(root, TABLE), encoding="utf-8") as file:
        rows = re.findall(r'^    \{"([a-z0-9-]+)",', file.read(), re.M)
    faults = [f"{TABLE}: the row {b} comes after {a}" for a, b in zip(rows, rows[1:]) if a >= b]
    used = slugs_of(root)
    faults += [f"{path}: the slug {slug} has no row in {TABLE}" for slug, path in sorted(used.items()) if slug not in rows]
    whole = "\n".join(source for _, source in sources(root))
    return faults + [f"{TABLE}: no source has the slug {slug}" for slug in rows
                     if slug not in used and f'"{slug}"' not in whole and slug not in MADE]


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) if found else "slugs: every error is explained")
    sys.exit(bool(found))
