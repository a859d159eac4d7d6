#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command with a standard output that is full, and with files that cannot be written.

    full_device.py BUILD SOURCE FOLDER

FOLDER is emptied and holds the models of the test. Each command must report that its result was not written, with an
exit code that is not 0, and must leave no half-written file. The commands are those of `byoc --help`. Prints one line
per fault and exits with 1 when there is any.
"""
import os
import re
import resource
import shutil
import subprocess
import sys

from json_schemas import BENCH, LINES, commands_of, make_models

MORE_LINES = """
--help
-h
help compile
help plugin-hang
"""
RUN_LINES = """
m.byoc
m.byoc --json
--help
--version
"""
NOT_WRITTEN = "error[output]: cannot write the result to standard output: "
# Command lines, with the option that names a file last. DIR/: a folder.
FILES = """
opt m.ir --passes fold_constants -o out.ir
opt m.ir --passes fold_constants -o out.onnx
partition m.ir -o out.ir
partition m.ir --svg out.svg
compile m.ir --compiler json -o out.byoc
report m.ir --no-run -o out.html
place m.ir --estimates -o out.ir
place m.ir --estimates --plan-file out.json
run m.ir --compiler json --trace out.json
print m.ir --json=out.json
tune m.ir --trials 1 --compiler llvm --log out.jsonl
run m.ir --compiler json --output-dir out/
dump m.ir --compiler json -o out/
new-plugin chip -o out/
"""
FULL = "No space left on device"
TOO_LARGE = "File too large"


def run(words, folder, **options):
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"), BYOC_LOG="error")
    return subprocess.run(words, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, timeout=300,
                          check=False, **options)


def check_printed(words, folder):
    """A command whose standard output is full."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = run(words, folder, stdout=full)
    line = " ".join(words[1:])
    if ran.returncode <= 0:
        return [f"{line}: exit code {ran.returncode} with a full standard output"]
    prints_nothing = " none." in line and "--json" not in words
    if NOT_WRITTEN + FULL in ran.stderr or prints_nothing:
        return []
    return [f"{line}: does not report the full standard output: {ran.stderr[:200]}"]


def check_closed(words, folder):
    """A command without a standard output. Its files must not get what is printed."""
    ran = run(words, folder, preexec_fn=lambda: os.close(1))
    line = " ".join(words[1:])
    if ran.returncode <= 0 or NOT_WRITTEN not in ran.stderr:
        return [f"{line}: exit code {ran.returncode} without a standard output: {ran.stderr[:200]}"]
    return []


def name_of(line):
    return re.split("[ =]", line)[-1]


def check_full_file(byoc, line, folder):
    """A command whose file is a device that is full."""
    name = name_of(line)
    path = os.path.join(folder, "full." + name.split(".")[1])
    if not os.path.islink(path):
        os.symlink("/dev/full", path)
    ran = run([byoc, *line.replace(name, os.path.basename(path)).split()], folder, stdout=subprocess.PIPE)
    if ran.returncode <= 0 or FULL not in ran.stderr:
        return [f"{line}: exit code {ran.returncode} with a full file: {ran.stderr[:200]}"]
    return []


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


def check_too_large(byoc, line, folder):
    """A command whose file may have 16 bytes and no more, as where a disk becomes full."""
    place = os.path.join(folder, "limited")
    os.makedirs(place)
    name = name_of(line)
    words = [byoc, *line.replace(name, os.path.join("limited", name.rstrip("/"))).split()]
    ran = run(words, folder, stdout=subprocess.PIPE, preexec_fn=limit_files)
    faults = []
    if ran.returncode <= 0 or TOO_LARGE not in ran.stderr:
        faults.append(f"{line}: exit code {ran.returncode} with a file that cannot grow: {ran.stderr[:200]}")
    left = sorted(os.path.join(parent, file) for parent, _, files in os.walk(place) for file in files)
    faults += [f"{line}: leaves {path}" for path in left if os.path.getsize(path) > 0]
    shutil.rmtree(place)
    return faults


def has_llvm(build):
    return os.path.exists(os.path.join(build, "lib/byoc/plugins/libbyoc_llvm.so"))


def lines_of(text, build, source):
    lines = text.format(b=build, p=os.path.join(build, "lib/byoc/plugins"), s=source, bench=BENCH).strip().splitlines()
    return [line for line in lines if line and (has_llvm(build) or not line.startswith("tune"))]


def main(build, source, folder):
    byoc, byoc_run = (os.path.join(build, "bin", name) for name in ("byoc", "byoc-run"))
    make_models(source, folder)
    lines = lines_of(LINES + MORE_LINES, build, source)
    if not os.path.isdir(os.path.join(folder, "onnx")):
        lines = [line for line in lines if not line.startswith("test-onnx")]
    faults, tried = [], {"test-onnx", "tune"}
    for line in lines:
        faults += check_printed([byoc, *line.split()], folder)
        if line.split()[0] not in tried:
            faults += check_printed([byoc, *line.split(), "--json"], folder)
        tried.add(line.split()[0])
    for line in RUN_LINES.strip().splitlines():
        faults += check_printed([byoc_run, *line.split()], folder)
    faults += [f"no line runs byoc {name}" for name in commands_of(byoc) if name not in tried]
    for line in ("plugins", "print m.ir", "compile m.ir -o m.byoc"):
        faults += check_closed([byoc, *line.split()], folder)
    for line in lines_of(FILES, build, source):
        if not line.endswith(("/", ".jsonl")):  # a log is read first, and a device that is full has no end
            faults += check_full_file(byoc, line, folder)
        if not line.startswith("tune"):  # its tasks are files, too: none is measured, with a warning for each
            faults += check_too_large(byoc, line, folder)
    return faults


if __name__ == "__main__":
    found = main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3]))
    print("\n".join(found) if found else "every command reports a result that cannot be written")
    sys.exit(bool(found))
