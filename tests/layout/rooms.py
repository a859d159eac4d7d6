#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the sources below ROOT against the table of rooms in ROOT/docs/rooms.md.

Prints one line per fault and exits with 1 when there is any: an include that the table has no arrow for, an arrow that
no include uses, a cycle of arrows, a folder without a row, a folder with more than 12 sources or 12 headers, a header of
an external library outside of the rooms that the second table has for it.
"""
import re
import sys
from collections import Counter, namedtuple
from pathlib import Path

MOST_SOURCES, MOST_HEADERS = 12, 12
Room = namedtuple("Room", "targets part_of most_sources most_headers")
TOPS = ("include", "runtime", "core", "frontends", "plugins", "bench")
GENERATED = ("op_families.inc", "onnx_rows.inc", "microsoft_rows.inc", "support/paths.h")


def rows_of(root, section):
    """The rows of the table below a heading of docs/rooms.md, as lists of cells."""
    text = (root / "docs/rooms.md").read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return rows[2:]                                         # without the head and the line below it


def read_table(root):
    """Returns room -> Room."""
    rooms = {}
    for name, _, targets, limits in rows_of(root, "Rooms"):
        headers = re.search(r"(\d+) headers", limits)
        names = re.findall(r"`([^`]+)`", targets)
        is_part = targets.startswith("part of ")
        rooms[name.strip("`")] = Room([] if is_part else names, names[0] if is_part else None,
                                      sys.maxsize if "any number" in limits else MOST_SOURCES,
                                      int(headers[1]) if headers else MOST_HEADERS)
    return rooms


def read_libraries(root):
    """Returns header, or begin of a header that ends in "/", -> (library, its rooms; None when all rooms may)."""
    found = {}
    for library, headers, rooms in rows_of(root, "Libraries"):
        allowed = None if rooms == "all" else re.findall(r"`([^`]+)`", rooms)
        found.update({header: (library, allowed) for header in re.findall(r"`([^`]+)`", headers)})
    return found


def row_of(folder, rooms):
    """The name of a folder's row, its own or that of all folders of its parent, "parent/*"; None when it has none."""
    for name in (folder, f"{folder.rpartition('/')[0]}/*"):
        if name in rooms:
            return name
    return None


def room_of(folder, rooms):
    """The room that a folder is, or is a part of; None when it has no row."""
    row = row_of(folder, rooms)
    return row and (rooms[row].part_of or folder)


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


def library_of(include, libraries):
    """The row of an external header: (key, (library, rooms)), or None."""
    return next(((key, row) for key, row in libraries.items()
                 if include == key or key.endswith("/") and include.startswith(key)), None)


def library_faults(place, room, include, libraries, used):
    found = library_of(include, libraries)
    if not found:
        if "/" in include or include.endswith((".h", ".hpp")):  # others are of the standard library of C++
            return [f"{place}: <{include}> is in no row of the libraries of docs/rooms.md"]
        return []
    key, (library, allowed) = found
    used.add((key, room))
    if allowed is None or room in allowed:
        return []
    return [f"{place}: {room} may not include {include}: {library} is for {', '.join(allowed)}"]


def include_faults(root, files, rooms, libraries):
    """Faults of all includes, the arrows that are used, and the (header, room) pairs of libraries that are used."""
    faults, arrows, used = [], set(), set()
    for path in files:
        source = path.relative_to(root).as_posix()
        room = room_of(source.rpartition("/")[0], rooms)
        for number, line in enumerate(path.read_text().splitlines() if room else (), 1):
            match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
            include = match and (match[1] or match[2])
            if not match or include in GENERATED:
                continue
            place, target = f"{source}:{number}", target_of(include, source, root)
            to = target and room_of(target.rpartition("/")[0], rooms)
            if target is None and match[1] and not library_of(include, libraries):
                faults.append(f'{place}: "{include}" is no file; headers are named from the top of the tree')
            elif target is None:
                faults += library_faults(place, room, include, libraries, used)
            elif to != room and to not in rooms[room].targets:
                faults.append(f"{place}: {room} may not include {target}: docs/rooms.md has no such arrow")
            arrows.add((room, to))
    return faults, arrows, used


def table_faults(rooms, libraries, arrows, used):
    """Arrows and rooms of libraries that no include uses, and cycles."""
    faults = [f"docs/rooms.md: {room} -> {to} is an arrow that no include uses" for room in rooms
              for to in rooms[room].targets if (room, to) not in arrows]
    by_library = {}
    for key, (library, allowed) in libraries.items():
        for room in allowed or ():
            by_library[library, room] = by_library.get((library, room), False) or (key, room) in used
    faults += [f"docs/rooms.md: {room} includes no header of {library}" for (library, room), is_used
               in by_library.items() if not is_used]
    if cycle := find_cycle({name: room.targets for name, room in rooms.items()}):
        faults.append("docs/rooms.md: a cycle: " + " -> ".join(cycle))
    return faults


def folder_faults(root, files, rooms):
    """Folders without a row, and folders with too many sources or headers."""
    faults, sources, headers = [], Counter(), Counter()
    tests = [path for path in (root / "tests").rglob("*") if path.suffix in (".cc", ".c", ".h")]
    for path in files + tests:
        folder = path.parent.relative_to(root).as_posix()
        (headers if path.suffix == ".h" else sources)[folder] += 1
        if path in files and not row_of(folder, rooms):
            faults.append(f"{folder} has no row in docs/rooms.md: {path.name}")
    plain = Room((), None, MOST_SOURCES, MOST_HEADERS)
    for count, what, most in ((sources, "sources", "most_sources"), (headers, "headers", "most_headers")):
        for folder, number in sorted(count.items()):
            limit = getattr(rooms.get(row_of(folder, rooms), plain), most)
            if number > limit:
                faults.append(f"{folder}: {number} {what}, and it holds at most {limit}: split it")
    return faults


def check(root):
    rooms, libraries = read_table(root), read_libraries(root)
    files = [path for top in TOPS for path in sorted((root / top).rglob("*")) if path.suffix in (".cc", ".c", ".h")]
    faults, arrows, used = include_faults(root, files, rooms, libraries)
    return faults + table_faults(rooms, libraries, arrows, used) + folder_faults(root, files, rooms)


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) if found else "rooms: as docs/rooms.md has them")
    sys.exit(bool(found))
