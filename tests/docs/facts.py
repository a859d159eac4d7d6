#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what ROOT/README.md counts with the sources: the plugins, and the versions of artifacts and of graph JSON."""
import os
import re
import sys

import tree

README = "README.md"
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
VERSIONS = {  # row of the table of versions: the file that has them, and the expression that finds them
    "artifact format": ("runtime/artifact/artifact.cc", r"k\w*Version = (\d+)"),
    "graph JSON": ("core/graph_json/write_graph_json.cc", r'"byoc\.graph","version":(\d+)'),
}


def plugins_of(root):
    """The ids of the plugins of the tree, without the examples."""
    folders = sorted(os.listdir(os.path.join(root, "plugins")))
    return [name for name in folders if name != "example"
            and os.path.exists(os.path.join(root, "plugins", name, "CMakeLists.txt"))]


def plugin_faults(page, plugins):
    sentence = re.search(r"^(\w+) plugins are in this tree:(.*?)\n\n", page, re.M | re.S)
    if not sentence:
        return [f'{README}: has no sentence "N plugins are in this tree: ..."']
    faults, expected = [], NUMBERS[len(plugins)]
    if sentence[1].lower() != expected:
        faults.append(f"{README}: counts {sentence[1].lower()} plugins, and the folder plugins has {expected}")
    named = set(re.findall(r"`(\w+)`", sentence[2]))
    faults += [f"{README}: does not name the plugin {name}" for name in plugins if name not in named]
    return faults + [f"{README}: names the plugin {name}, which is no folder of plugins" for name in named - set(plugins)]


def version_faults(root, page):
    faults = []
    for what, (path, expression) in VERSIONS.items():
        row = re.search(rf"^\| {what} \| ([^|]*) \|", page, re.M)
        written = re.findall(r"\d+", row[1]) if row else []
        found = re.findall(expression, tree.read(root, path))
        if written != found:
            faults.append(f"{README}: has the versions {', '.join(written)} of {what}, and {path} {', '.join(found)}")
    return faults


def check(root):
    page = tree.read(root, README)
    return plugin_faults(page, plugins_of(root)) + version_faults(root, page)


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) if found else "facts: as README.md has them")
    sys.exit(bool(found))
