#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the pages that `cmake --install` writes: those for users are there, links between pages hold, and README.md
has each tutorial.

    installed.py PREFIX

Links to sources, which are not installed, are not checked. Prints one line per fault and exits with 1 when there is
any.
"""
import os
import re
import sys

DUE = ("README.md", "SECURITY.md", "docs/README.md", "docs/from-pytorch.md", "docs/containers.md", "docs/plugin-abi.md")
LINK = re.compile(r"\]\(([^)#:]+\.(?:md|svg|ipynb))(?:#[^)]*)?\)")
INSTALLED = ("docs/", "tests/tutorials/", "README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md")


def pages(root):
    for folder, _, files in os.walk(root):
        for name in files:
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), root)


def faults_of(root):
    faults = [f"{page} is not installed" for page in DUE if not os.path.exists(os.path.join(root, page))]
    for page in pages(root):
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        for link in LINK.findall(text):
            to = os.path.normpath(os.path.join(os.path.dirname(page), link))
            if to.startswith(INSTALLED) and not os.path.exists(os.path.join(root, to)):
                faults.append(f"{page}: {link} is not installed")
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        named = set(LINK.findall(file.read()))
    tutorials = os.listdir(os.path.join(root, "tests/tutorials"))
    return faults + [f"README.md does not name the tutorial {name}" for name in sorted(tutorials)
                     if name != "README.md" and f"tests/tutorials/{name}" not in named]


if __name__ == "__main__":
    found = faults_of(os.path.join(sys.argv[1], "share/doc/byoc"))
    print("\n".join(found) if found else "installed pages: links between them hold")
    sys.exit(bool(found))
