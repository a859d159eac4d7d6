#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of the source tree, and the comments, texts and headings in them. Used by the other scripts of this folder."""
import io
import os
import re
import tokenize
from collections import namedtuple

C_LIKE = (".cc", ".c", ".h", ".in", ".ir", ".dox")
SOURCES = (".cc", ".c", ".h", ".py", ".sh", ".awk", ".cmake")
SCRIPTS = ("CMakeLists.txt", "check", "demo", "Doxyfile")

# One comment block or string: `first` and `last` are line numbers, `lines` the text of each line without its marks, and
# `width` the number of columns of the next to last line in the file (0 for a block of one line).
Text = namedtuple("Text", "kind first lines width")

C_TOKEN = re.compile(
    r'R"(?P<mark>[^\s()\\]{0,16})\((?P<raw>.*?)\)(?P=mark)"|"(?P<string>(?:\\.|[^"\\\n])*)"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)", re.S)
HASH_TOKEN = re.compile(r'"(?P<string>(?:\\.|[^"\\])*)"|' r"'(?P<raw>[^']*)'|(?:(?<=\s)|^)(?P<line>#.*)")


def files(root, *suffixes):
    """All files below `root` that end in one of `suffixes`, as paths from `root`; no build or hidden folder."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "build", "__pycache__"))
                            and not os.path.islink(os.path.join(folder, name)))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names
                  if name.endswith(suffixes) and not name.startswith(".")]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def is_source(path):
    return path.endswith(SOURCES) or os.path.basename(path) in SCRIPTS


def joined(pieces, lines):
    """Comments of one line each, (line number, column, text), as blocks: a comment, and the lines below it
    that have nothing else and begin in its column."""
    blocks = []
    for number, column, text in pieces:
        alone = not lines[number - 1][:column].strip()
        if blocks and alone and blocks[-1][-1][:2] == (number - 1, column):
            blocks[-1].append((number, column, text))
        else:
            blocks.append([(number, column, text)])
    return [Text("comment", block[0][0], [text for _, _, text in block],
                 len(lines[block[-2][0] - 1]) if len(block) > 1 else 0) for block in blocks]


def c_texts(source):
    lines, comments, texts = source.split("\n"), [], []
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    number = 1
    for match in C_TOKEN.finditer(source):
        while starts[number] <= match.start():
            number += 1
        if match["line"] is not None:
            text = re.sub(r"^//[/!]?<? ?", "", match["line"])
            comments.append((number, match.start() - starts[number - 1], text))
        elif match["block"] is not None:
            body = [re.sub(r"^\s*\* ?", "", line) for line in match["block"][2:-2].split("\n")]
            texts.append(Text("comment", number, body, len(lines[number + len(body) - 3]) if len(body) > 1 else 0))
        elif (string := match["raw"] if match["raw"] is not None else match["string"]) is not None:
            texts.append(Text("text", number, string.split("\n"), 0))
    return joined(comments, lines) + texts


def python_texts(source):
    lines, comments, texts = source.split("\n"), [], []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.start[1], token.string.lstrip("#").lstrip(" ")))
        elif token.type == tokenize.STRING or "FSTRING_MIDDLE" in tokenize.tok_name[token.type]:
            texts.append(Text("text", token.start[0], token.string.split("\n"), 0))
    return joined(comments, lines) + texts


def hash_texts(source):
    """Shell and CMake, line by line: what follows a # at a word's begin, and what is in quotes."""
    lines, comments, texts = source.split("\n"), [], []
    for number, line in enumerate(lines, 1):
        for match in HASH_TOKEN.finditer(line):
            if match["line"] is not None:
                comments.append((number, match.start(), match["line"].lstrip("#").lstrip(" ")))
                break
            text = match["string"] if match["string"] is not None else match["raw"]
            texts.append(Text("text", number, [text], 0))
    return joined(comments, lines) + texts


def texts_of(path, source):
    """All comments and string literals of a source, by place."""
    if path.endswith(C_LIKE):
        found = c_texts(source)
    elif path.endswith(".py"):
        found = python_texts(source)
    else:
        found = hash_texts(source)
    return sorted(found, key=lambda text: text.first)


def outside_of_blocks(page):
    """(line number, line) of a Markdown page without its fenced blocks."""
    inside, found = False, []
    for number, line in enumerate(page.split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            found.append((number, line))
    return found


def headings(page):
    """The headings of a page: text without marks -> anchor as GitHub makes it."""
    found, used = {}, {}
    for _, line in outside_of_blocks(page):
        match = re.match(r"#{1,6} +(.*?) *#*$", line)
        if not match:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        used[anchor] = used.get(anchor, -1) + 1
        found.setdefault(text, anchor)
        if used[anchor]:
            found[f"{text} ({used[anchor]})"] = f"{anchor}-{used[anchor]}"
    return found
