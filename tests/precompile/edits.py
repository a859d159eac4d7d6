#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that sources are compiled with the present headers, not with ccache's of an earlier edit.

edits.py TREE FOLDER: builds a small project in FOLDER with the options and the precompiled headers of TREE. Its
header is edited, a second build folder starts from the header before the edit, and then another edit is made.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(edits LANGUAGES C CXX)
include({tree}/cmake/options.cmake)
include({tree}/cmake/precompile.cmake)
byoc_precompiled(probe)
add_library(edits OBJECT edits.cc)
target_include_directories(edits PRIVATE include)
byoc_precompile(edits probe)
"""


def build(folder, member):
    """Compiles a header whose struct has `member`, and a source that reads it."""
    (folder / "include/edited.h").write_text(f"#pragma once\nstruct Edited {{ int first, {member}; }};\n")
    (folder / "edits.cc").write_text(f'#include "edited.h"\nint read(const Edited& edited) {{ return edited.{member}; }}\n')
    environment = dict(os.environ, CCACHE_DIR=str(folder / "cache"))
    for command in (["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja"],
                    ["cmake", "--build", folder / "build", "--target", "edits"]):
        done = subprocess.run([str(word) for word in command], env=environment, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"the header with `{member}`: {done.stdout[-3000:]}{done.stderr[-1000:]}")


def main():
    tree, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "include").mkdir(parents=True)
    (folder / "cmake/precompiled").mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text(PROJECT.format(tree=tree))
    (folder / "cmake/precompiled/probe.h").write_text('#pragma once\n#include "edited.h"\n')
    build(folder, "before")
    build(folder, "after_one_edit")
    shutil.rmtree(folder / "build")
    build(folder, "before")
    build(folder, "after_another_edit")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
