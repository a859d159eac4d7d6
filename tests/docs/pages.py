#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what pages and comments below ROOT refer to, that each folder of sources has a README.md, and licence lines.

Prints one line per fault and exits with 1 when there is any.
"""
import os
import re
import sys

import tree

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)|<(?:img|a)[^>]* (?:src|href)=\"([^\"]+)\"")
CITED = re.compile(r"(?<![\w/.*-])((?:[\w.-]+/)*[\w-]+\.md)\b(?:[,:]? \(?\"([^\"]+)\")?")
NUMBERED = re.compile(r"(\b[\w-]+)(?:\.md)?[,:]?(?:'s)? [Ss]ections? \d")
UNNAMED = re.compile(r"\b(ARCHITECTURE|STYLE|CONTRIBUTING|SECURITY)\b(?!\.md)")
PATH = re.compile(r"(?<![\w/.*<}-])((?:core|runtime|include|plugins|tests|bench|cmake|docs)/(?:[\w./-]*\w)?)/?"
                  r"(?![\w*<{/-]|\.\w)")
LICENCE = "SPDX-License-Identifier: Apache-2.0"
MADE = ("core/op/elementwise/cube.cc", "core/simplify/remove_identities.cc")  # tests/additions adds them in a copy


def link_faults(root, path, page):
    faults, folder = [], os.path.dirname(path)
    for number, line in tree.outside_of_blocks(re.sub(r"`[^`\n]*`", "``", page)):
        for match in LINK.finditer(line):
            link = match[1] or match[2]
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            file = os.path.normpath(os.path.join(folder, target)) if target else path
            if not os.path.exists(os.path.join(root, file)):
                faults.append(f"{path}:{number}: the link {link} leads to no file: {file}")
            elif anchor and anchor not in tree.headings(tree.read(root, file)).values():
                faults.append(f"{path}:{number}: the link {link} leads to no heading of {file}")
    return faults


def page_named(root, name, folder):
    """The page that a comment in `folder` means, as a path from `root`; None when there is none."""
    places = (name, os.path.join(folder, name), os.path.join("docs", name))
    return next((place for place in places if os.path.isfile(os.path.join(root, place))), None)


def citation_faults(root, path, text, stems):
    """Faults of the pages and sections that one comment names."""
    faults, words = [], " ".join(line.strip() for line in text.lines)
    place = f"{path}:{text.first}"
    for match in CITED.finditer(words):
        page = page_named(root, match[1], os.path.dirname(path))
        if page is None:
            faults.append(f"{place}: cites {match[1]}, which is no page of this tree")
        elif match[2] and match[2].replace("`", "") not in tree.headings(tree.read(root, page)):
            faults.append(f'{place}: cites "{match[2]}" of {page}, which has no such heading')
    for match in NUMBERED.finditer(words):
        if match[1].lower() in stems:
            faults.append(f'{place}: "{match[0]}": sections have no numbers; cite the heading as in x.md, "Heading"')
    for match in UNNAMED.finditer(words):
        faults.append(f"{place}: cites {match[1]} without its folder and ending")
    return faults


def path_faults(root, path, number, text):
    """Faults of the files of this tree that a text names."""
    return [f"{path}:{number}: names {match[1]}, which is not in this tree" for match in PATH.finditer(text)
            if match[1] not in MADE and not re.search(r"[A-Z]{2}|\.\.", match[1])
            and not os.path.exists(os.path.join(root, match[1]))]


def readme_faults(root, sources):
    folders = sorted({os.path.dirname(path) for path in sources if path.endswith(tree.SOURCES)} - {""})
    return [f"{folder}: has sources and no README.md" for folder in folders
            if not os.path.isfile(os.path.join(root, folder, "README.md"))]


def licence_faults(root, sources):
    faults = []
    for path in sources:
        head = tree.read(root, path).split("\n")[:2]
        if LICENCE not in head[0] and not (head[0].startswith("#!") and LICENCE in head[-1]):
            faults.append(f'{path}: its first line, or the second after #!, has no "{LICENCE}"')
    return faults


def check(root):
    sources = [path for path in tree.files(root, *tree.SOURCES, *tree.SCRIPTS, ".in", ".dox")
               if tree.is_source(path) or path.endswith((".in", ".dox"))]
    pages = tree.files(root, ".md")
    stems = {os.path.basename(page)[:-3].lower() for page in pages} | {"design"}
    faults = readme_faults(root, sources) + licence_faults(root, sources)
    for path in pages:
        page = tree.read(root, path)
        faults += link_faults(root, path, page)
        for number, line in tree.outside_of_blocks(page):
            for code in re.findall(r"`([^`]+)`", line):
                faults += path_faults(root, path, number, code)
    for path in sources:
        for text in tree.texts_of(path, tree.read(root, path)):
            if text.kind == "comment":
                faults += citation_faults(root, path, text, stems)
                faults += path_faults(root, path, text.first, " ".join(text.lines))
    return faults


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) if found else "pages: every link, citation, README.md and licence line is there")
    sys.exit(bool(found))
