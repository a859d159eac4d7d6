#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows a page as a reader would: its blocks are the files and the commands.

    run_page.py PAGE.md FOLDER --prefix INSTALLED             in an empty folder; ~/byoc is a copy of INSTALLED
    run_page.py PAGE.md FOLDER --prefix INSTALLED --build DIR   in a copy of the tree (by links) that was built in DIR

The word after ``` is the block's language, and what follows it the use of the block:

    ```cpp main.cc     a language and a file name: the file is written
    ```sh              the commands are run, and must succeed; "sh fails": and must fail
    ```text            must be what the commands before it printed; a line "..." means any lines, "..." in a line any
                       text
    ```console         lines that begin with "$ " are commands, the lines after each what it prints
    ```ir printed      any language: these lines are in what the commands before printed, one after another;
                       "json printed": so is this value, however it is broken into lines
    ```cpp from FILE   these lines are in that file of the tree; a line "..." means any lines

Other blocks are examples. $BYOC_TREE is the source tree. Commands of not_run.py are
checked in the way that it has for each, and not run.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from collections import namedtuple

import not_run

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = re.compile(r"(build/bin/|~/byoc/|\./|cmake |ctest |python3 |bench/|tests/)\S")

Block = namedtuple("Block", "line language use lines")


class Fault(Exception):
    """A page whose commands or texts are wrong."""


def blocks_of(text):
    """The blocks of a page. Refuses a block without a language, and commands outside of blocks."""
    blocks, begin = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if begin is None and re.match(" {4}", line) and COMMAND.match(line.strip()):
            raise Fault(f"{number}: a command outside of a block: begin the block with ```sh")
        if not line.startswith("```"):
            if begin is not None:
                lines.append(line)
        elif begin is None:
            begin, lines = number, []
            language, _, use = line[3:].strip().partition(" ")
            if not language:
                raise Fault(f"{number}: a block without a language")
        else:
            blocks.append(Block(begin, language, use.strip(), lines))
            begin = None
    if begin is not None:
        raise Fault(f"{begin}: a block without an end")
    return blocks


def fits(pattern, text):
    """True when `text` is `pattern`, whose "..." are any text."""
    parts = [re.escape(part) for part in pattern.split("...")]
    return re.fullmatch(".*".join(parts), text) is not None


def is_printed(expected, got):
    """True when the lines are the expected ones; a line "..." is as few lines as the next expected line lets it be."""
    at = 0
    for k, line in enumerate(expected):
        if line == "...":
            if k + 1 == len(expected):
                return True
            while at < len(got) and not fits(expected[k + 1], got[at]):
                at += 1
        elif at < len(got) and fits(line, got[at]):
            at += 1
        else:
            return False
    return at == len(got)


def is_part(expected, got):
    """True when the expected lines are in `got` one after another, apart from indentation; "..." as for is_printed."""
    expected, got = [line.strip() for line in expected], [line.strip() for line in got]
    return any(is_printed(expected + ["..."], got[k:]) for k in range(len(got)))


def part_fault(expected, path):
    """None when the file has these lines; else the first line that it lacks, or that is elsewhere."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if is_part(expected, lines):
        return None
    missing = [line for line in expected if line != "..." and line.strip() not in map(str.strip, lines)]
    return f"{path} has no such line: {missing[0].strip()}" if missing else f"{path} has these lines, but not together"


class Reader:
    """Follows a page in a folder."""

    def __init__(self, page, folder, prefix, build):
        self.page, self.work, self.home = page, os.path.join(folder, "work"), os.path.join(folder, "home")
        self.build = build
        self.printed, self.counts = [], {"run": 0, "compared": 0, "checked": 0}
        self.environment = dict(os.environ, HOME=self.home, BYOC_TREE=TREE, CCACHE_BASEDIR=folder)
        self.environment.setdefault("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))
        self.environment.pop("BYOC_PLUGIN_PATH", None)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(self.work)
        os.makedirs(os.path.join(self.home, "programs"))  # python3 is the one of the tests, with their packages
        os.symlink(sys.executable, os.path.join(self.home, "programs", "python3"))
        self.environment["PATH"] = os.path.join(self.home, "programs") + os.pathsep + os.environ["PATH"]
        if prefix:
            shutil.copytree(prefix, os.path.join(self.home, "byoc"), symlinks=True, copy_function=os.link)
        if build:
            self.link_tree()

    def link_tree(self):
        """Links to the tree and to what was built, so that new files come into the reader's folder."""
        for name in os.listdir(TREE):
            if not name.startswith((".", "build")):
                os.symlink(os.path.join(TREE, name), os.path.join(self.work, name))
        os.mkdir(os.path.join(self.work, "build"))
        for name in ("bin", "lib", "cmake_install.cmake"):
            os.symlink(os.path.join(self.build, name), os.path.join(self.work, "build", name))

    def bash(self, script, must_fail, line):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.work, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode("utf-8", "replace")
        self.printed = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
        self.counts["run"] += 1
        if (done.returncode != 0) != must_fail:
            raise Fault(f"{line}: exit code {done.returncode} of:\n{script}\nwhich printed:\n{text}")

    def runnable(self, commands, line):
        """The commands that are run; checks the others."""
        kept = []
        for command in not_run.commands_of(commands):
            rule = not_run.rule_for(command)
            if rule is None or not self.build:
                kept.append(command)
            elif fault := rule.check(command, TREE, self.build):
                raise Fault(f"{line}: `{command}` is wrong: {fault}")
            else:
                self.counts["checked"] += 1
        return "\n".join(kept)

    def compare(self, expected, is_right, line):
        self.counts["compared"] += 1
        if not is_right:
            raise Fault(f"{line}: the page has:\n" + "\n".join(expected) + "\nprinted was:\n" + "\n".join(self.printed))

    def console(self, block):
        commands = []
        for offset, line in enumerate(block.lines, 1):
            if line.startswith("$ "):
                commands.append((block.line + offset, line[2:], []))
            else:
                commands[-1][2].append(line)
        for line, command, expected in commands:
            if script := self.runnable([command], line):
                self.bash(script, False, line)
                self.compare(expected, is_printed(expected, self.printed), line)

    def follow(self, block):
        if block.language == "sh":
            if script := self.runnable(block.lines, block.line):
                self.bash(script, block.use == "fails", block.line)
        elif block.language == "console":
            self.console(block)
        elif block.use == "printed":
            glued = "".join("".join(block.lines).split()) in "".join("".join(self.printed).split())
            is_right = glued if block.language == "json" else is_part(block.lines, self.printed)
            self.compare(block.lines, is_right, block.line)
        elif block.use.startswith("from "):
            self.counts["compared"] += 1
            if fault := part_fault(block.lines, os.path.join(TREE, block.use[5:])):
                raise Fault(f"{block.line}: {fault}")
        elif block.use:
            with open(os.path.join(self.work, block.use), "w", encoding="utf-8") as file:
                file.write("\n".join(block.lines) + "\n")
        elif block.language == "text":
            self.compare(block.lines, is_printed(block.lines, self.printed), block.line)


def run_page(page, folder, prefix, build):
    """Follows the page; returns the counts of what was done. Raises Fault."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    blocks = blocks_of(text)
    commands = "\n".join("\n".join(block.lines) for block in blocks if block.language in ("sh", "console"))
    has_byoc = "~/byoc" in commands and "--install" not in commands
    reader = Reader(page, os.path.abspath(folder), prefix if has_byoc else None, build)
    for block in blocks:
        reader.follow(block)
    return reader.counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("folder")
    parser.add_argument("--prefix")
    parser.add_argument("--build")
    given = parser.parse_args()
    try:
        counts = run_page(given.page, given.folder, given.prefix, given.build)
    except Fault as fault:
        print(f"{given.page}:{fault}")
        return 1
    if not given.build and not (counts["run"] and counts["compared"]):
        print(f"{given.page}: nothing was run and compared")
        return 1
    print(f"{counts['run']} blocks of commands run, {counts['compared']} texts compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
