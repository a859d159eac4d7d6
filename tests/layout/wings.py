#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the wings of ROOT/docs/rooms.md: each room is in one of them, and their arrows, which follow from the arrows of
rooms, have no cycle. Compares the picture docs/images/wings.svg with the one that it makes of the table.

    wings.py ROOT [--write]      --write renews the picture
"""
import re
import sys
from collections import namedtuple
from pathlib import Path

import rooms as table

PICTURE = "docs/images/wings.svg"
MOST_WINGS = 25
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 118, 34, 26, 44, 12
Wing = namedtuple("Wing", "name folders")


def read_wings(root):
    return [Wing(name, re.findall(r"`([^`]+)`", folders)) for name, folders, _ in table.rows_of(root, "Wings")]


def wing_of(room, wings):
    """The wing with the longest folder that is the room, or is above it; None when there is none."""
    found = [(len(folder), wing.name) for wing in wings for folder in wing.folders
             if room == folder or room.startswith(folder + "/")]
    return max(found)[1] if found else None


def arrows_of(rooms, wings):
    """Wing -> the wings that it includes, without those that it also reaches through another one."""
    direct = {wing.name: set() for wing in wings}
    for room, row in rooms.items():
        here = wing_of(room, wings)
        for target in row.targets if here else ():
            to = wing_of(target, wings)
            if to and to != here:
                direct[here].add(to)
    if table.find_cycle(direct):
        return direct
    reached = {}

    def reach(name):
        if name not in reached:
            reached[name] = set().union(*({to} | reach(to) for to in direct[name]))
        return reached[name]

    return {name: {to for to in targets if not any(to in reach(other) for other in targets)}
            for name, targets in direct.items()}


def rows_of_picture(arrows):
    """Wings by their longest way down: the wings of a row include wings of lower rows."""
    depth = {}

    def depth_of(name):
        if name not in depth:
            depth[name] = 1 + max(map(depth_of, arrows[name]), default=-1)
        return depth[name]

    for name in arrows:
        depth_of(name)
    return [[name for name in arrows if depth[name] == row] for row in range(max(depth.values()), -1, -1)]


def place_rows(rows, arrows):
    """Name -> (x, y) of the centre: each row is centred, and ordered by the mean place of the wings that include it."""
    most = max(map(len, rows))
    width = most * (WIDTH + GAP_X) - GAP_X + 2 * MARGIN
    places = {}
    for number, row in enumerate(rows):
        def wish(name):
            above = [places[other][0] for other in places if name in arrows[other]]
            return sum(above) / len(above) if above else width / 2
        left = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        for k, name in enumerate(sorted(row, key=wish)):
            places[name] = (left + k * (WIDTH + GAP_X) + WIDTH / 2, MARGIN + number * (HEIGHT + GAP_Y) + HEIGHT / 2)
    return places, width, MARGIN * 2 + len(rows) * (HEIGHT + GAP_Y) - GAP_Y


def picture_of(arrows):
    """The wings as SVG: an arrow goes from a wing to one that it includes."""
    places, width, height = place_rows(rows_of_picture(arrows), arrows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
           'font-family="sans-serif" font-size="13">',
           '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
           f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>']
    for name, targets in arrows.items():
        for to in sorted(targets):
            (x, y), (u, v) = places[name], places[to]
            out.append(f'<path d="M{x:.0f} {y + HEIGHT / 2:.0f}L{u:.0f} {v - HEIGHT / 2:.0f}" fill="none" stroke="#99a" '
                       'marker-end="url(#head)"/>')
    for name, (x, y) in places.items():
        out.append(f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="5" '
                   f'fill="#eef3fb" stroke="#446"/><text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{name}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def check(root):
    rooms, wings = table.read_table(root), read_wings(root)
    faults = [f"docs/rooms.md: {room} is in no wing" for room in rooms if not wing_of(room, wings)]
    if len(wings) > MOST_WINGS:
        faults.append(f"docs/rooms.md: {len(wings)} wings, and there are at most {MOST_WINGS}: join some")
    for wing in wings:
        faults += [f"docs/rooms.md: the wing {wing.name} has {folder}, which is no folder" for folder in wing.folders
                   if not (root / folder).is_dir()]
    arrows = arrows_of(rooms, wings)
    if cycle := table.find_cycle(arrows):
        return faults + ["docs/rooms.md: a cycle of wings: " + " -> ".join(cycle)]
    picture = root / PICTURE
    if not picture.exists() or picture.read_text() != picture_of(arrows):
        faults.append(f"{PICTURE} is not the picture of the table: run tests/layout/wings.py . --write")
    return faults


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    if "--write" in sys.argv:
        (root / PICTURE).write_text(picture_of(arrows_of(table.read_table(root), read_wings(root))))
    found = check(root)
    print("\n".join(found) if found else "wings: as docs/rooms.md and its picture have them")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
