#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one fault at a time in a copy of the sources, and expects rooms.py or lines.py to name it."""
import shutil
import sys
import tempfile
from pathlib import Path

import lines
import rooms


def plant_include(root, path, header):
    file = root / path
    file.write_text(f'#include "{header}"\n' + file.read_text())


def backward_include(root):
    plant_include(root, "runtime/base/file.cc", "byoc/ir/node.h")
    return ["runtime/base may not include include/byoc/ir/node.h"]


def private_include(root):
    plant_include(root, "core/codegen/kernels/fuse_ops.cc", "core/partition/convex/regions.h")
    return ["core/codegen/kernels may not include core/partition/convex/regions.h"]


def cycle(root):
    """Plants an arrow back that the table allows; it is a cycle nevertheless."""
    plant_include(root, "core/te/schedule/state.h", "core/te/lower/tensorize.h")
    table = root / "docs/rooms.md"
    lines = table.read_text().splitlines()
    row = next(k for k, line in enumerate(lines) if line.startswith("| `core/te/schedule` |"))
    cells = lines[row].split("|")
    lines[row] = "|".join(cells[:3] + [cells[3] + "`core/te/lower` "] + cells[4:])
    table.write_text("\n".join(lines))
    return ["a cycle: ", "core/te/schedule -> core/te/lower", "core/te/lower -> core/te/schedule"]


def thirteenth_source(root):
    folder = root / "core/codegen"
    for k in range(13 - len(list(folder.glob("*.cc")))):
        (folder / f"extra_{k}.cc").write_text("")
    return ["core/codegen: 13 sources"]


def folder_without_a_room(root):
    (root / "core/attic").mkdir()
    (root / "core/attic/old.cc").write_text("")
    return ["core/attic is in no room"]


def unused_arrow(root):
    for path in (root / "core/bind").rglob("*.[ch]*"):
        path.write_text(path.read_text().replace('#include "core/simplify/', '// "core/simplify/'))
    return ["core/bind -> core/simplify is an arrow that no include uses"]


def long_comment(root):
    """Plants a comment after a line of a raw string that is as long, and that is no fault."""
    file = root / "core/bind/bind_params.cc"
    file.write_text(file.read_text() + f'\nconst char* kRaw = R"({"x" * 100})";\n// {"y" * 98}\n')
    return [f"core/bind/bind_params.cc:{len(file.read_text().splitlines())}: 101 columns"]


def main(root):
    failed = rooms.check(root) + lines.check(root)
    for plant in (backward_include, private_include, cycle, thirteenth_source, folder_without_a_room, unused_arrow,
                  long_comment):
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch)
            for top in rooms.TOPS + ("docs", "tests"):
                shutil.copytree(root / top, copy / top, ignore=lambda folder, names: [
                    name for name in names if not (Path(folder) / name).is_dir()
                    and not name.endswith((".cc", ".c", ".h", "rooms.md"))])
            wanted = plant(copy)
            found = "\n".join(rooms.check(copy) + lines.check(copy))
            missing = [text for text in wanted if text not in found]
            print(plant.__name__, "is found" if not missing else f"is not found: {missing} in {found!r}")
            failed += missing
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
