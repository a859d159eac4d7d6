#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the sources below ROOT against the table of rooms in ROOT/docs/rooms.md.

Prints one line per fault and exits with 1 when there is any: an include that the table has no arrow for, an arrow that
no include uses, a cycle of arrows, a folder without a room, a folder with more than 12 sources.
"""
import re
import sys
from collections import Counter
from pathlib import Path

MOST_SOURCES = 12
TOPS = ("include", "runtime", "core", "plugins", "bench")
OUTSIDE = ("llvm/", "lld/", "op_families.inc", "onnx_rows.inc", "support/paths.h")  # LLVM's own; generated


def read_table(root):
    """Returns room -> (rooms it may include, whether it may hold any number of sources)."""
    rooms = {}
    for line in (root / "docs/rooms.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and cells[0].startswith("`"):
            rooms[cells[0].strip("`")] = (re.findall(r"`([^`]+)`", cells[2]), "any number" in cells[3])
    return rooms


def room_of(folder, rooms):
    while folder and folder not in rooms:
        folder = folder.rpartition("/")[0]
    return folder


def target_of(include, source, root):
    """Returns the file that a quoted include names, as a path from `root`; None when there is none."""
    plugin = "/".join(source.split("/")[:2])
    for path in (f"include/{include}", include, f"{plugin}/{include}"):
        if (root / path).is_file():
            return path
    return None


def find_cycle(arrows):
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        path.append(room)
        for target in arrows.get(room, ()):
            if cycle := visit(target):
                return cycle
        done.add(path.pop())
        return None

    return next((cycle for room in sorted(arrows) if (cycle := visit(room))), None)


def check(root):
    rooms, faults, used, sources = read_table(root), [], set(), Counter()
    files = [path for top in TOPS for path in sorted((root / top).rglob("*")) if path.suffix in (".cc", ".c", ".h")]
    for path in files:
        source = path.relative_to(root).as_posix()
        folder = source.rpartition("/")[0]
        sources[folder] += path.suffix != ".h"
        room = room_of(folder, rooms)
        if not room:
            faults.append(f"{source}: {folder} is in no room of docs/rooms.md")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include "([^"]+)"', line)
            if not match or match[1].startswith(OUTSIDE):
                continue
            target = target_of(match[1], source, root)
            to = target and room_of(target.rpartition("/")[0], rooms)
            if target is None:
                faults.append(f'{source}:{number}: "{match[1]}" is no file; headers are named from the top of the tree')
            elif to != room and to not in rooms[room][0]:
                faults.append(f"{source}:{number}: {room} may not include {target}: docs/rooms.md has no such arrow")
            used.add((room, to))
    for room, (targets, _) in rooms.items():
        faults += [f"docs/rooms.md: {room} -> {to} is an arrow that no include uses" for to in targets
                   if (room, to) not in used]
    if cycle := find_cycle({room: targets for room, (targets, _) in rooms.items()}):
        faults.append("docs/rooms.md: a cycle: " + " -> ".join(cycle))
    for folder in sorted({path.parent.relative_to(root).as_posix() for path in (root / "tests").rglob("*.cc")}):
        sources[folder] = len(list((root / folder).glob("*.cc"))) + len(list((root / folder).glob("*.c")))
    for folder, count in sorted(sources.items()):
        if count > MOST_SOURCES and not rooms.get(folder, ((), False))[1]:
            faults.append(f"{folder}: {count} sources, and a folder holds at most {MOST_SOURCES}: split it")
    return faults


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) if found else "rooms: as docs/rooms.md has them")
    sys.exit(bool(found))
