# SPDX-License-Identifier: Apache-2.0
"""Objects of a build that the build of a changed copy of its tree may take instead of compiling them again.

An object is the same in the copy when its command is, and when each file that it was made of has the same bytes there.
A file that was edited after the object was made excludes it.
"""
import filecmp
import json
import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path


def commands_of(build, renamed=()):
    """Returns object -> command of the compiler."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        command = entry["command"]
        for old, new in renamed:
            command = command.replace(str(old), str(new))
        found[re.search(r" -o (\S+)", command)[1]] = command
    return found


def files_of(build):
    """Returns object -> the files that it was made of, as ninja recorded them."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], text=True, capture_output=True).stdout
    found, files = {}, []
    for line in listed.splitlines():
        if line.startswith(" "):
            files.append(line.strip())
        elif ": #deps" in line:
            files = found.setdefault(line.partition(": #deps")[0], [])
    return found


def put_same_objects(source, build, copy, copied_build, folder):
    """Links the objects of `build` that `copied_build` would make again into `folder`; returns their number."""
    tops = ((build, copied_build), (source, copy))

    @lru_cache(None)
    def time_of_same(name):
        """The time of a file whose bytes are the same in the copy; 0 outside of the tree, None when they differ."""
        path = os.path.normpath(build / name)
        for top, other in tops:
            if path.startswith(f"{top}/"):
                twin = other / path[len(str(top)) + 1:]
                is_same = os.path.exists(path) and twin.exists() and filecmp.cmp(path, twin, shallow=False)
                return os.stat(path).st_mtime if is_same else None
        return 0

    here, there = commands_of(build), commands_of(copied_build, ((copied_build, build), (copy, source)))
    count = 0
    for name, files in files_of(build).items():
        made = build / name
        if not made.exists() or name not in here or here[name] != there.get(name):
            continue
        times = [time_of_same(file) for file in files]
        if None in times or made.stat().st_mtime < max(times, default=0):
            continue
        for file in (made, Path(f"{made}.sum")):            # the sum of a precompiled header
            if file.exists():
                target = folder / file.relative_to(build)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(file, target)
        count += 1
    return count
