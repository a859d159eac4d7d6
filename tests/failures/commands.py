# SPDX-License-Identifier: Apache-2.0
"""Commands whose files the tests of this folder let fail, and the checks of what they leave."""
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

MODEL = "fn main(%x: f32[2,8,8,8]) {\n  %w = const(0.25) : f32[8,8,3,3]\n  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}\n" \
        "  %1 = relu(%0)\n  %2 = tanh(%1)\n  return %2\n}\n"
# name, words, the file that is written
COMMANDS = {
    "compile": (["compile", "m.ir", "--compiler", "llvm", "-o", "out/m.byoc"], "out/m.byoc"),
    "run": (["run", "good.byoc", "--input", "x=f32[2,8,8,8]=0.5", "--output-dir", "out"], "out/outputs.json"),
    "tune": (["tune", "m.ir", "--compiler", "llvm", "--trials", "2", "--log", "out/t.jsonl"], "out/t.jsonl"),
    "place": (["place", "m.ir", "--estimates", "--compiler", "llvm,json", "--plan-file", "out/p.json"], "out/p.json"),
}


class Place:
    """A folder with a model, an artifact, a cache and the outputs of the commands."""

    def __init__(self, build, folder, limit=120):
        self.build, self.folder, self.limit = Path(build).resolve(), Path(folder).resolve(), limit
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "out").mkdir(parents=True)
        (self.folder / "m.ir").write_text(MODEL)
        self.env = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), TMPDIR=str(self.folder), BYOC_TUNING_PATH="",
                        BYOC_BUG="0")
        made = self.run(["compile", "m.ir", "--compiler", "llvm", "-o", "good.byoc"])
        assert made.returncode == 0, made.stderr

    def words(self, words):
        return [str(self.build / "bin/byoc"), *words]

    def run(self, words, **more):
        return subprocess.run(self.words(words), cwd=self.folder, env=dict(self.env, **more), capture_output=True, text=True,
                              timeout=self.limit, check=False)

    def clean(self, keeps_cache=True):
        for path in (self.folder / "out").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(self.folder / "cache.gone", ignore_errors=True)
        shutil.rmtree(self.folder / "cache/byoc.gone", ignore_errors=True)
        if not keeps_cache:
            shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def left(self):
        """The files in the folder of outputs, and temporary ones beside them; not those of a cache that was moved away."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*")
                      if path.is_file() and not {"cache", "cache.gone"} & set(path.parts))

    def check_file(self, name, good=None):
        """Returns what is wrong with a file that a command wrote, perhaps before it failed; None for nothing."""
        path = self.folder / name
        if not path.exists():
            return None
        data = path.read_bytes()
        if name.endswith(".byoc"):
            ran = self.run(["inspect", name])
            return None if ran.returncode == 0 else f"{name} is not complete: {ran.stderr[:200]}"
        if name.endswith(".jsonl"):  # lines are appended; the last one may be cut, and readers leave it out
            lines = data.decode().split("\n")[:-1]
            for line in lines:
                try:
                    json.loads(line)
                except ValueError:
                    return f"{name} has a broken line that is not the last one: {line[:80]}"
            return None
        try:
            json.loads(data)
        except ValueError:
            return f"{name} is half of a file: {data[:80]}"
        return None


def is_crash(code):
    return code < 0 or code >= 128 and code != 130 or code == 3


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
