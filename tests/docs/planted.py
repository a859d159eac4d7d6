#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one fault at a time in a small tree without faults, and expects the scripts of this folder to name it.

The small tree has the ABI, its page and the page of style of ROOT, and a few files of its own.
"""
import shutil
import sys
import tempfile
from pathlib import Path

import abi_names
import facts
import formatted
import pages
import prose

SPDX = "SPDX-License-Identifier: Apache-2.0"
COPIED = ("README.md", abi_names.HEADER, abi_names.PAGE, prose.STYLE, *sorted({path for path, _ in facts.VERSIONS.values()}),
          *set(abi_names.ELSEWHERE.values()))
MADE = {
    "docs/page.md": "# A page\n\n## Its `first` part: one\n\n"
                    "See [the part](#its-first-part-one), [the list](../core/README.md).\n",
    "core/README.md": "# core\n\nSee `core/sum.cc`.\n",
    "core/sum.cc": f"// {SPDX}\n// Sums, see docs/page.md, \"Its first part: one\".\n"
                   "int sum(int a) { return a; }  // one\n",
    "core/run.py": f'#!/usr/bin/env python3\n# {SPDX}\n"""Runs."""\nprint("runs")  # page.md explains it\n',
    "core/CMakeLists.txt": f"# {SPDX}\nmessage(\"adds\")  # one library\n",
}


def put(path, old, new):
    """A fault: `old` becomes `new` in the file."""
    def plant(root):
        file = root / path
        text = file.read_text()
        assert old in text, f"{path} has no {old!r}"
        file.write_text(text.replace(old, new, 1))
    return plant


def header(old, new):
    return put(abi_names.HEADER, old, new)


def remove(path):
    return lambda root: (root / path).unlink()


def word(text):
    return text.replace("_", "")  # so that this file has no word to avoid


FULL = "// " + "a comment that goes on up to the end of its line, as a comment does, and then has one more"
SUM, RUN, CMAKE, PAGE = "core/sum.cc", "core/run.py", "core/CMakeLists.txt", "docs/page.md"
FAULTS = [  # script, fault, what it must print
    (pages, put(PAGE, "(#its-first-part-one)", "(#its-last-part)"), "link #its-last-part leads to no heading"),
    (pages, put(PAGE, "core/README.md", "core/other.md"), "page.md:5: the link ../core/other.md leads to no file"),
    (pages, remove("core/README.md"), "core: has sources and no README.md"),
    (pages, put("core/README.md", SUM, "core/product.cc"), "core/README.md:3: names core/product.cc"),
    (pages, put("core/README.md", SUM, "core/product/"), "core/README.md:3: names core/product"),
    (pages, put(SUM, PAGE, "docs/other.md"), "core/sum.cc:1: cites docs/other.md"),
    (pages, put(SUM, "first part: one", "last part"), 'core/sum.cc:1: cites "Its last part" of docs/page.md'),
    (pages, put(SUM, "// one", "// page.md section 3"), '"page.md section 3": sections have no numbers'),
    (pages, put(SUM, "// one", "// STYLE has the rule"), "core/sum.cc:3: cites STYLE without its folder"),
    (pages, put(SUM, "// one", "// as core/product.cc does"), "core/sum.cc:3: names core/product.cc"),
    (pages, put(SUM, SPDX, ""), "core/sum.cc: its first line"),
    (pages, put(RUN, SPDX, ""), "core/run.py: its first line"),
    (pages, put(CMAKE, SPDX, ""), "core/CMakeLists.txt: its first line"),
    (prose, put(SUM, "// one", word("// be_hind the loop")), f'core/sum.cc:3: "{word("be_hind")}" is a word to avoid'),
    (prose, put(SUM, "return a;", word('return sizeof "it s_ays so";')), f'"{word("s_ays")}" is a word to avoid'),
    (prose, put(RUN, '"runs"', word('"t_old to run"')), f'core/run.py:4: "{word("t_old")}" is a word to avoid'),
    (prose, put(CMAKE, "adds", word("as w_anted")), f'core/CMakeLists.txt:2: "{word("w_anted")}"'),
    (prose, put("core/README.md", "See", word("It takes p_art. See")), f'"{word("takes p_art")}" is a word to avoid'),
    (prose, put(SUM, "int sum", word("// They take\n// p_art in it\nint sum")), f'"{word("take p_art")}" is a word'),
    (prose, put(SUM, "// one", "// those of a, that of b,\n// a alone, b alone"),
     'core/sum.cc: 4 of the words to use rarely in '),
    (prose, put(PAGE, "See [the", "Those are those of a alone, that of b alone. See [the"), "docs/page.md: 4 of the words to use"),
    (prose, put(SUM, "// one", "// Of two"), 'core/sum.cc:3: a comment begins with "Of"'),
    (prose, put(SUM, "int sum", f"{FULL}\n// line.\nint sum"), 'core/sum.cc:4: the last line of a comment is'),
    (abi_names, header("uint64_t n_functions;", "uint64_t n_functions, more;"), "byoc_compile has the field more"),
    (abi_names, header("(*judge)", "(*decide)"), "byoc_plugin has the field decide"),
    (abi_names, header("(*judge)", "(*decide)"), "describes the field judge of byoc_plugin"),
    (abi_names, header("BYOC_STALE_ARTIFACT", "BYOC_OLD_ARTIFACT"), "declares BYOC_OLD_ARTIFACT"),
    (abi_names, header("BYOC_STALE_ARTIFACT", "BYOC_OLD_ARTIFACT"), "describes BYOC_STALE_ARTIFACT"),
    (abi_names, header("BYOC_DATA_LOSS = 15", "BYOC_DATA_LOSS = 25"), "has the value 15 for BYOC_DATA_LOSS"),
    (abi_names, header("#define BYOC_NO_PATTERN", "#define BYOC_ALL 1\n#define BYOC_NO_PATTERN"), "declares BYOC_ALL"),
    (abi_names, header("typedef struct byoc_module ", "typedef struct byoc_more byoc_more;\ntypedef struct byoc_m "),
     "declares byoc_more"),
    (abi_names, header("///< the work was given up", "// the work"), "has no comment: BYOC_ABORTED"),
    (abi_names, header("  /// Frees memory", "  // Frees memory"), "has no comment: void (*free)"),
    (abi_names, put(abi_names.PAGE, "| `graph_json` |", "| `graph_text` |"), "the field graph_text of byoc_function"),
    (abi_names, put(abi_names.PAGE, "minor 10", "minor 1"), "is about minor 1"),
    (abi_names, put("README.md", "| major 1, minor 10 |", "| major 1, minor 1 |"), "README.md: is about minor 1"),
    (abi_names, header("Optional, since minor 3. Writes", "Optional, since minor 5. Writes"), "byoc_plugin.knobs is of minor 5"),
    (abi_names, header("Since minor 6, with", "Since minor 4, with"), "BYOC_PLUGIN_CHAINS is of minor 4, and the row 4"),
    (abi_names, put(abi_names.PAGE, "| 5 | the flag", "| 9 | the flag"), "the table of minors has no row 5"),
    (abi_names, put(abi_names.PAGE, "| since minor 5, with", "| since minor 2, with"), "describes BYOC_PLUGIN_ATTENTION as of"),
    (facts, put("README.md", "Seven plugins", "Three plugins"), "counts three plugins, and the folder plugins has seven"),
    (facts, put("README.md", "`onnxruntime` run parts", "`xnn` run parts"), "README.md: does not name the plugin onnxruntime"),
    (facts, put("README.md", "| artifact format | 1, 2 and 3 |", "| artifact format | 1 |"), "has the versions 1 of artifact format"),
    (facts, put("README.md", "| graph JSON | 1 |", "| graph JSON | 2 |"), "has the versions 2 of graph JSON"),
    (formatted, put(PAGE, "# A page", "#A page"), "docs/page.md:1: a heading without a space after its marks"),
    (formatted, put(PAGE, "See [the", "See `core / op / sum.cc`, [the"), "docs/page.md:5: spaces in a path"),
    (formatted, put(PAGE, "See [the", "- One.- Two\n\nSee [the"), "docs/page.md:5: spaces in a path, or several list items"),
    (formatted, put(PAGE, "See [the", "- one item\ngoes on\n\nSee [the"), "docs/page.md:6: a list item goes on in the first column"),
    (formatted, put(PAGE, "See [the", "| a | b |\n|---|---|\n| c |\n\nSee [the"), "docs/page.md:7: a row of a table has 1 cells"),
    (formatted, put(PAGE, "See [the", "| a | b |\n|---|---|\n| c |\n| d\n    e |\n\nSee [the"), "docs/page.md:8: a row of a table goes on in"),
    (formatted, put(PAGE, "See [the", "See `sum\nof two`, [the"), "docs/page.md:5: code in backticks goes on in the next line"),
]


def small_tree(root, source):
    for path in COPIED:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / path, root / path)
    for path, text in MADE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for name in facts.plugins_of(source):
        (root / "plugins" / name).mkdir(parents=True)
        (root / "plugins" / name / "CMakeLists.txt").write_text(MADE["core/CMakeLists.txt"])


def own_faults(script, root):
    """The faults of the files that are in no copied folder: copied pages have links to the whole tree."""
    found = script.check(str(root))
    return [fault for fault in found if script in (abi_names, facts) or fault.startswith(tuple(MADE) + ("core:",))]


def main(source):
    missed = 0
    for script, plant, expected in [(script, None, "") for script in (pages, prose, abi_names, facts, formatted)] + FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            small_tree(root, source)
            if plant:
                plant(root)
            found = own_faults(script, root)
        is_right = any(expected in fault for fault in found) if plant else not found
        missed += not is_right
        name = f"{script.__name__}: {expected or 'the tree without faults'}"
        print(name if is_right else f"MISSED {name}; found: {found}")
    return missed


if __name__ == "__main__":
    count = main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print(f"{len(FAULTS)} faults planted, {count} missed")
    sys.exit(bool(count))
