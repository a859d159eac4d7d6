#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""damaged_files.py BUILD FOLDER: runs every command with a folder of plugins in which most files are damaged.

The folder has a good plugin, the reference plugin json, and more than forty files that are none: the reference plugin cut
short at every step, code that crashes or hangs when it is loaded, and what is no file. Each must be listed as refused with
its path and a reason, `byoc doctor` must name it, and every command must work as without these files.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

MODEL = "fn main(%x: f32[1,2,4,4]) {\n  %w = const([0.5,-0.25]) : f32[1,2,1,1]\n" \
        "  %0 = conv2d(%x, %w)\n  %1 = relu(%0)\n  return %1\n}\n"
FAULTS = ["constructor_crashes", "constructor_hangs", "constructor_exits", "entry_crashes", "entry_hangs", "entry_exits"]
CUTS = 24  # of the large reference plugin; the small plugin is cut at every 4 KiB


def damage(good, small, faults, folder):
    """Fills `folder`; returns the names of the files in it that must be refused."""
    names = []

    def put(name, data, mode=0o644):
        (folder / name).write_bytes(data)
        (folder / name).chmod(mode)
        names.append(name)

    for k in range(CUTS):
        put(f"cut_{k:02}.so", good[:len(good) * k // CUTS // 4096 * 4096])
    for size in range(4096, len(small), 4096):
        put(f"small_{size}.so", small[:size])
    put("last_byte.so", good[:-1])
    for fault in FAULTS:
        put(f"{fault}.so", (faults / fault / f"libbyoc_{fault}.so").read_bytes())
    put("other_processor.so", good[:18] + struct.pack("<H", 40) + good[20:])
    put("text.so", b"#!/bin/sh\necho I am a plugin\n")
    put("empty.so", b"")
    put("zero_tail.so", good[:-8192] + bytes(8192))
    sections = struct.unpack_from("<Q", good, 40)[0]
    put("section_garbage.so", good[:sections] + bytes(k * 37 % 256 for k in range(len(good) - sections)))
    half = len(good) // 2
    put("zero_half.so", good[:half] + bytes(sections - half) + good[sections:])
    put("anyone_may_write.so", good, 0o646)
    (folder / "folder.so").mkdir()
    os.mkfifo(folder / "fifo.so")
    (folder / "dangling.so").symlink_to("/nonexistent/libx.so")
    (folder / "loop.so").symlink_to("loop.so")
    names += ["folder.so", "fifo.so", "dangling.so", "loop.so"]
    if os.geteuid() != 0:  # root reads everything
        put("unreadable.so", good, 0)
    return names


class Writer:
    """A copy in progress: never complete before it is stopped."""

    def __init__(self, path, data):
        self.path, self.data, self.stop = path, data, threading.Event()
        self.path.write_bytes(data[:4096])
        self.path.chmod(0o644)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with open(self.path, "r+b") as out:
            at = 0
            while not self.stop.wait(0.005):
                at = (at + 65536) % (len(self.data) - 65536)  # the last bytes are missing
                out.seek(at)
                out.write(self.data[at:at + 65536])
                out.flush()

    def end(self):
        self.stop.set()
        self.thread.join()


def commands(folder, model):
    artifact = folder / "m.byoc"
    return [
        ["compile", model, "--compiler", "json", "-o", artifact], ["run", model, "--compiler", "json"], ["run", artifact],
        ["explain", model, "--compiler", "json"], ["verify", model, "--compiler", "json"],
        ["bench", model, "--compiler", "json", "--warmup", "0", "--min-time", "0.01"],
        ["place", model, "--estimates"], ["print", model], ["partition", model],
        ["dump", model, "--compiler", "json", "-o", folder / "dumped"], ["ops"], ["ops", "--support"],
        ["opt", model, "--passes", "infer_types"],
        ["report", model, "--compiler", "json", "-o", folder / "m.html"], ["demo", "--help"],
    ]


def main(build, work):
    build, work = Path(build), Path(work)
    shutil.rmtree(work, ignore_errors=True)
    plugins = work / "plugins"
    plugins.mkdir(parents=True)
    plugins.chmod(0o755)
    good = (build / "lib/byoc/plugins/libbyoc_json.so").read_bytes()
    names = damage(good, (build / "tests/faults/faulty_none/libbyoc_faulty_none.so").read_bytes(),
                   build / "tests/faults", plugins)
    (plugins / "zz_good.so").write_bytes(good)
    (plugins / "zz_good.so").chmod(0o644)
    (work / "bin").mkdir()
    for name in ("byoc", "byoc-run"):  # a copy, since programs also search beside their own folder
        shutil.copy(build / "bin" / name, work / "bin")
    model = work / "m.ir"
    model.write_text(MODEL)
    env = dict(os.environ, BYOC_PLUGIN_PATH=str(plugins), XDG_CACHE_HOME=str(work / "cache"), BYOC_TUNING_PATH="")
    writer = Writer(plugins / "being_written.so", good)
    names.append("being_written.so")
    faults = []

    def run(program, *arguments):
        return subprocess.run([work / "bin" / program, *arguments], env=env, cwd=work, capture_output=True, text=True,
                              timeout=300)

    try:
        listed = run("byoc", "plugins", "--json")
        refused = {Path(row["library"]).name: row for row in json.loads(listed.stdout)["refused"]}
        for name in names:
            row = refused.get(name)
            if row is None:
                faults.append(f"plugins does not list {name}")
            elif not row["reason"] or not row["library"].startswith(("/", str(plugins))):
                faults.append(f"plugins lists {name} without path or reason: {row}")
        ids = [row["id"] for row in json.loads(listed.stdout)["plugins"]]
        if ids != ["json"]:
            faults.append(f"expected the plugin json, got {ids}")
        if listed.returncode != 0:
            faults.append(f"plugins ends with {listed.returncode}: {listed.stderr}")
        doctor = run("byoc", "doctor", "--min-free", "0")
        for name in names:
            if f"{plugins}/{name}" not in doctor.stdout:
                faults.append(f"doctor does not name {name}")
        if doctor.returncode != 1:
            faults.append(f"doctor ends with {doctor.returncode}")
        for command in commands(work, model):
            begin = time.monotonic()
            ran = run("byoc", *map(str, command))
            if ran.returncode != 0:
                faults.append(f"byoc {' '.join(map(str, command))} ends with {ran.returncode}: {ran.stderr}")
            if time.monotonic() - begin > 60:
                faults.append(f"byoc {command[0]} takes {time.monotonic() - begin:.0f} s")
        ran = run("byoc", "tune", model, "--compiler", "json", "--default", "json", "--trials", "1", "--log", work / "t.jsonl")
        if "error[no-task]" not in ran.stderr:  # json has no choices
            faults.append(f"byoc tune ends with {ran.returncode}: {ran.stderr}")
        ran = run("byoc-run", work / "m.byoc")
        if ran.returncode != 0:
            faults.append(f"byoc-run ends with {ran.returncode}: {ran.stderr}")
    finally:
        writer.end()
    for row in refused.values():
        print(f"{Path(row['library']).name:26}{row['reason']}")
    print("\n".join(faults) or f"{len(names)} damaged files, every command works")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
