#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the prose below ROOT: comments and string literals of all sources, and all pages.

The words to avoid are the words in backticks of the line "Words to avoid" in ROOT/docs/STYLE.md. Words in backticks are
names of code and pass everywhere, as does the table of examples in that page. A comment also must not begin with one of
the words of the line "First words to avoid", and must not end in a line of one short word after a full line. The words of
the line "Words to use rarely" have a limit per file, in comments and in pages without their blocks.

Prints one line per fault and exits with 1 when there is any.
"""
import re
import sys

import tree

STYLE = "docs/STYLE.md"
FULL_LINE = 88     # columns; a line of code has at most 100
SHORT_WORD = 10    # characters
MOST_RARE = (3, 15)  # in a file, or in 1,000 words of it if that is more
SOURCES = tree.SOURCES + tree.SCRIPTS + (".in", ".dox", ".ir", ".supp")


def words_to_avoid(root, begin):
    """The words that the line of the page that begins with `begin` has in backticks, up to the end of its paragraph."""
    match = re.search(rf"^- {begin}:(.*?)(?=^- |^$)", tree.read(root, STYLE), re.M | re.S)
    found = re.findall(r"`([^`]+)`", match[1]) if match else []
    if not found:
        raise SystemExit(f'{STYLE}: has no line "- {begin}:" with words in backticks')
    return found


def plain(text):
    """The text without names of code and variables, and without links' targets."""
    return re.sub(r"`[^`\n]*`|\$\{[^}]*\}|\]\([^)\s]*\)|https?://\S+", "``", text)


def word_faults(path, first, lines, avoid):
    """Faults of the words of some lines, and of two words that a line break parts."""
    faults, last = [], ""
    for number, line in enumerate(map(plain, lines), first):
        found = [match[0] for match in avoid.finditer(line)]
        broken = " ".join((last.split() or [""])[-1:] + line.split()[:1])
        found += [match[0] for match in avoid.finditer(broken) if " " in match[0]]
        faults += [f'{path}:{number}: "{word}" is a word to avoid, see {STYLE}' for word in found]
        last = line
    return faults


def page_faults(root, path, avoid):
    lines = tree.read(root, path).split("\n")
    if path == STYLE:
        lines = ["" if line.startswith("|") else line for line in lines]
    return word_faults(path, 1, lines, avoid)


def comment_faults(path, text, first_words):
    """Faults of one comment besides its words."""
    faults, head, last = [], text.lines[0].split(" ")[0], text.lines[-1].strip()
    if head in first_words:
        faults.append(f'{path}:{text.first}: a comment begins with "{head}", see {STYLE}')
    if text.width >= FULL_LINE and last and " " not in last and len(last) <= SHORT_WORD and text.lines[-2].strip():
        number = text.first + len(text.lines) - 1
        faults.append(f'{path}:{number}: the last line of a comment is the one word "{last}": rewrap it')
    return faults


def density_faults(path, texts, rare):
    """A fault when the texts of a file have too many of the words to use rarely."""
    words, places = 0, []
    for first, lines in texts:
        whole = "\n".join(map(plain, lines))
        words += len(whole.split())
        places += [(first + whole.count("\n", 0, match.start()), match[0]) for match in rare.finditer(whole)]
    most = max(MOST_RARE[0], words * MOST_RARE[1] // 1000)
    if len(places) <= most:
        return []
    where = ", ".join(f'{number} "{" ".join(word.split())}"' for number, word in places)
    return [f"{path}: {len(places)} of the words to use rarely in {words} words, at most {most}, see {STYLE}: {where}"]


def check(root):
    avoid = re.compile(rf"(?<![\w-])(?:{'|'.join(words_to_avoid(root, 'Words to avoid'))})(?![\w-])", re.I)
    first_words = words_to_avoid(root, "First words to avoid")
    rare = re.compile("|".join(rf"\b{word}\b".replace(" ", r"\s+") for word in words_to_avoid(root, "Words to use rarely")))
    faults = []
    for path in tree.files(root, ".md"):
        faults += page_faults(root, path, avoid)
        lines = [(number, [line]) for number, line in tree.outside_of_blocks(tree.read(root, path))]
        faults += density_faults(path, lines, rare)
    for path in tree.files(root, *SOURCES):
        texts = tree.texts_of(path, tree.read(root, path))
        faults += density_faults(path, [(text.first, text.lines) for text in texts if text.kind == "comment"], rare)
        for text in texts:
            if path.endswith(".ir") and text.kind == "text":
                continue
            faults += word_faults(path, text.first, text.lines, avoid)
            if text.kind == "comment":
                faults += comment_faults(path, text, first_words)
    return faults


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) if found else "prose: no word to avoid in comments, messages and pages")
    sys.exit(bool(found))
