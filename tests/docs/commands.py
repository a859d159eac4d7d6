#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of all pages of the tree that have any, and compares what they print with the page.

    commands.py FOLDER --prefix INSTALLED --build DIR [PAGE...]

Two pages run at a time, but those that build a plugin run one after another: they build the same one, which the
compiler cache then has. Prints a line per page and exits with 1 when a page is wrong. Tutorials are tests of their own.
"""
import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import run_page
import tree

OWN_TESTS = "tests/tutorials/"


def pages_with_commands():
    pages = [page for page in tree.files(run_page.TREE, ".md") if not page.startswith(OWN_TESTS)]
    texts = {page: tree.read(run_page.TREE, page) for page in pages}
    return [page for page, text in texts.items() if "```" in text or any(
        run_page.COMMAND.match(line.strip()) for line in text.split("\n") if line.startswith("    "))]


def follow(page, given):
    """(a line about the page, whether it is right)"""
    begin = time.monotonic()
    folder = os.path.join(given.folder, page.replace("/", "-").removesuffix(".md"))
    try:
        counts = run_page.run_page(os.path.join(run_page.TREE, page), folder, given.prefix, given.build)
    except run_page.Fault as fault:
        return f"{page}:{fault}", False
    done = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{page}: {done}, {time.monotonic() - begin:.1f} s", True


def follow_all(pages, given):
    """Whether each of the pages is right; prints about each."""
    is_right = True
    for page in pages:
        line, right = follow(page, given)
        print(line, flush=True)
        is_right = is_right and right
    return is_right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("pages", nargs="*")
    given = parser.parse_intermixed_args()
    pages = given.pages or pages_with_commands()
    building = [page for page in pages if "-DCMAKE_PREFIX_PATH" in tree.read(run_page.TREE, page)]
    others = [page for page in pages if page not in building]
    with ThreadPoolExecutor(2) as pool:
        return not all(pool.map(lambda group: follow_all(group, given), (building, others)))


if __name__ == "__main__":
    sys.exit(main())
