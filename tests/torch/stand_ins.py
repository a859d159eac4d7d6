#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes stand-ins for the libraries of CUDA that an installed torch lacks, so that it is imported on a machine without them.

    stand_ins.py SITE_PACKAGES FOLDER

The wheel of torch on the Python index needs wheels of CUDA, ten times its size. `pip install --no-deps torch` leaves them out;
each library that is missing then gets a shared object in FOLDER with its name, and the symbols and versions that torch's
libraries leave undefined. Every function returns 100, which is "no device" in CUDA: torch runs on the processor. Use it with
LD_LIBRARY_PATH=FOLDER. Needs gcc, nm and readelf.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ASSEMBLY = '.section .note.GNU-stack,"",@progbits\n.text\n'


def printed(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True).stdout


def needed(file):
    """Returns the names of the libraries that a shared object needs, and its own."""
    text = printed("readelf", "-d", file)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text), "".join(re.findall(r"\(SONAME\).*\[(.*)\]", text)) or file.name


def versions(file):
    """Returns the library that has each symbol version which a shared object needs."""
    out, library = {}, None
    for line in printed("readelf", "-V", "--wide", file).splitlines():
        if found := re.search(r"File: (\S+)", line):
            library = found[1]
        elif found := re.search(r"Name: (\S+)  Flags", line):
            out[found[1]] = library
    return out


def is_here(library):
    return subprocess.run(["gcc", "-shared", "-o", "/dev/null", f"-l:{library}"], capture_output=True).returncode == 0


def symbols(file, kind):
    """Returns the rows (name, version) of the dynamic symbols of a shared object that are "undefined" or "defined"."""
    for line in printed("nm", "-D", f"--{kind}-only", file).splitlines():
        *_, letter, name = line.split()
        if letter not in "wv" or kind == "defined":        # a weak one may stay undefined
            name, _, version = name.replace("@@", "@").partition("@")
            yield name, version


def make(library, names, folder):
    """Makes one stand-in, of {version: names}."""
    source, script = folder / f"{library}.s", folder / f"{library}.map"
    every = sorted({name for group in names.values() for name in group})
    source.write_text(ASSEMBLY + "".join(f".globl {name}\n.type {name},@function\n{name}:\n" for name in every)
                      + " movl $100, %eax\n ret\n")
    script.write_text("".join(f"{version} {{ global: {' '.join(f'{name};' for name in sorted(group))} }};\n"
                              for version, group in sorted(names.items()) if version and group))
    more = [f"-Wl,--version-script={script}"] if script.read_text() else []
    printed("gcc", "-shared", "-nostdlib", "-o", folder / library, source, f"-Wl,-soname,{library}", *more)
    source.unlink()
    script.unlink()


def main():
    site, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(site.glob("torch/lib/*.so*"))
    if not files:
        sys.exit(f"error: {site} has no torch/lib")
    has, wants = {file: needed(file) for file in files}, {}
    own = {name for _, name in has.values()}
    missing = [name for name in sorted({name for names, _ in has.values() for name in names} - own) if not is_here(name)]
    if not missing:
        sys.exit("error: no library is missing")
    defined = {name for file in files for name, _ in symbols(file, "defined")}
    wants = {library: defaultdict(set) for library in missing}
    for file in files:
        of_version = versions(file)
        lacks = [name for name in has[file][0] if name in missing]
        for name, version in symbols(file, "undefined"):
            library = of_version.get(version)
            if library in wants:
                wants[library][version].add(name)
            elif library is None and name not in defined and lacks and not name.startswith("_Py"):
                wants[lacks[0]][""].add(name)              # symbols without versions are found in any library
    for library, names in wants.items():
        make(library, names, folder)
    print(f"{len(missing)} stand-ins in {folder}: {' '.join(missing)}")


if __name__ == "__main__":
    main()
