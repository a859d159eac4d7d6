#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in copies of the sources, and expects rooms.py, wings.py, sizes.py or lines.py to name each of them."""
import shutil
import sys
import tempfile
from pathlib import Path

import lines
import rooms
import sizes
import wings


def plant_include(root, path, header):
    file = root / path
    file.write_text(f'#include {header if header[0] == "<" else chr(34) + header + chr(34)}\n' + file.read_text())


def edit_table(root, old, new):
    table = root / "docs/rooms.md"
    text = table.read_text()
    assert old in text, old
    table.write_text(text.replace(old, new, 1))


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
    return ["core/attic has no row in docs/rooms.md: old.cc"]


def subfolder_without_a_row(root):
    (root / "core/bind/attic").mkdir()
    (root / "core/bind/attic/old.h").write_text("")
    return ["core/bind/attic has no row in docs/rooms.md: old.h"]


def include_in_angle_brackets(root):
    plant_include(root, "runtime/base/file.cc", "<byoc/ir/node.h>")
    return ["runtime/base/file.cc:1: runtime/base may not include include/byoc/ir/node.h"]


def header_of_a_library(root):
    """Plants one per library; a room that may include LLVM may not include oneDNN."""
    for path, header in (("core/ir/type.cc", "<nlohmann/json.hpp>"), ("core/ir/type.cc", "llvm/IR/Function.h"),
                         ("plugins/llvm/link.cc", "<dnnl.hpp>"), ("core/tune/space.cc", "<xgboost/c_api.h>"),
                         ("core/op/all_ops.cc", "<boost/dll/shared_library.hpp>"), ("core/bind/bind_params.cc", "<cblas.h>"),
                         ("core/export/export.cc", "<google/protobuf/message.h>"), ("runtime/cli/run.cc", "<xnnpack.h>")):
        if not (root / path).exists():
            (root / path).write_text("")
        plant_include(root, path, header)
    return ["core/ir may not include nlohmann/json.hpp: nlohmann json is for include/byoc/base, include/byoc/plugin",
            "core/ir may not include llvm/IR/Function.h: LLVM is for", "plugins/llvm may not include dnnl.hpp: oneDNN",
            "core/tune may not include xgboost/c_api.h: XGBoost is for core/tuner/search",
            "core/op may not include boost/dll/shared_library.hpp: Boost.DLL is for runtime/base",
            "core/bind may not include cblas.h", "core/export may not include google/protobuf/message.h: protobuf is for",
            "runtime/cli may not include xnnpack.h: XNNPACK is for plugins/xnnpack"]


def header_of_an_unlisted_library(root):
    plant_include(root, "core/ir/type.cc", "<fmt/core.h>")
    return ["<fmt/core.h> is in no row of the libraries of docs/rooms.md"]


def library_that_is_not_included(root):
    edit_table(root, "| `boost/` | `runtime/base` |", "| `boost/` | `runtime/base` `core/ir` |")
    return ["docs/rooms.md: core/ir includes no header of Boost.DLL"]


def thirteenth_header(root):
    folder = root / "core/bind"
    for k in range(13 - len(list(folder.glob("*.h")))):
        (folder / f"extra_{k}.h").write_text("")
    return ["core/bind: 13 headers, and it holds at most 12"]


def room_without_a_wing(root):
    edit_table(root, "| `core/placement` | the choice", "| `tests` | the choice")
    return ["docs/rooms.md: core/placement is in no wing"]


def cycle_of_wings(root):
    edit_table(root, "`runtime/cli` `runtime/program` |", "`runtime/cli` `runtime/program` `runtime/artifact` |")
    return ["docs/rooms.md: a cycle of wings: "]


def outdated_picture(root):
    edit_table(root, "| models | `core/import`", "| files | `core/import`")
    return ["docs/images/wings.svg is not the picture of the table"]


def long_file(root):
    (root / "core/bind/lines.cc").write_text("int* next();\n" * 401)
    return ["core/bind/lines.cc: 401 lines, and a file has at most 400"]


def long_public_header(root):
    (root / "include/byoc/ir/long.h").write_text("int* next();\n" * 201)
    return ["include/byoc/ir/long.h: 201 lines, and a public header has at most 200"]


def long_functions(root):
    """Plants a function, a method with a head of two lines, and a table, which is as long and no fault."""
    body = "\n".join(f"    n += {k};" for k in range(39))
    rows = "\n".join(f'    {{"row", {k}}},' for k in range(60))
    (root / "core/bind/long.cc").write_text(
        f"int whole(int n) {{\n{body}\n    return n;\n}}\n\nstruct Adder {{\n  int sum(int n,\n          int m) const {{\n"
        f"{body}\n  }}\n  int m;\n}};\n\nint table() {{\n  static const Row kRows[] = {{\n{rows}\n  }};\n  return 0;\n}}\n")
    return ["core/bind/long.cc:1: whole has 42 lines, and a function has at most 40",
            "core/bind/long.cc:45: sum has 42 lines, and a function has at most 40"]


def unused_arrow(root):
    for path in (root / "core/bind").rglob("*.[ch]*"):
        path.write_text(path.read_text().replace('#include "core/simplify/', '// "core/simplify/'))
    return ["core/bind -> core/simplify is an arrow that no include uses"]


def long_comment(root):
    """Plants a comment after a line of a raw string that is as long, and that is no fault."""
    file = root / "core/bind/bind_params.cc"
    file.write_text(file.read_text() + f'\nconst char* kRaw = R"({"x" * 100})";\n// {"y" * 98}\n')
    return [f"core/bind/bind_params.cc:{len(file.read_text().splitlines())}: 101 columns"]


def all_faults(root):
    return [fault for script in (rooms, wings, sizes, lines) for fault in script.check(root)]


COPIES = (  # the faults of each copy: a cycle of wings hides an outdated picture
    (backward_include, private_include, include_in_angle_brackets, cycle, thirteenth_source, thirteenth_header,
     folder_without_a_room, subfolder_without_a_row, unused_arrow, header_of_a_library, header_of_an_unlisted_library,
     library_that_is_not_included, room_without_a_wing, outdated_picture, long_file, long_public_header, long_functions,
     long_comment),
    (cycle_of_wings,),
)


def main(root):
    failed = all_faults(root)
    for plants in COPIES:
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch)
            for top in rooms.TOPS + ("docs", "tests"):
                shutil.copytree(root / top, copy / top, ignore=lambda folder, names: [
                    name for name in names if not (Path(folder) / name).is_dir()
                    and not name.endswith((".cc", ".c", ".h", "rooms.md", "wings.svg"))])
            wanted = [(plant.__name__, text) for plant in plants for text in plant(copy)]
            found = all_faults(copy)
        missing = [(name, text) for name, text in wanted if not any(text in fault for fault in found)]
        print(*(f"{name} is not found: {text!r}" for name, text in missing),
              *(f"{plant.__name__} is found" for plant in plants if plant.__name__ not in dict(missing)), sep="\n")
        failed += missing
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
