# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs one hostile model after another within limits, and notes what is not right."""
import os
import re
import resource
import shutil
import subprocess
from collections import Counter

SECONDS, BYTES = 10, 2 << 30


def processor_seconds():
    """The time of all children so far, which other programs on the machine do not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def limit(is_sanitized):
    if not is_sanitized:                    # sanitizers reserve more than any machine has
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    most = (12 if is_sanitized else 2) * SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault_of(ran, seconds, may_compile):
    first = (ran.stderr.strip().splitlines() or ["no text"])[0][:200]
    if ran.returncode < 0 or ran.returncode > 2:
        return f"ends with {ran.returncode}: {ran.stderr[-300:]}"
    if ran.returncode == 0 and not may_compile:
        return f"is compiled: {first}"
    if ran.returncode != 0 and "error[" not in ran.stderr:
        return f"has no named error: {first}"
    if any(ord(c) < 32 and c not in "\n\t" for c in ran.stderr):
        return f"prints control characters: {first!r}"
    return f"takes {seconds:.0f} s: {first}" if seconds > SECONDS else None


def open_sizes(content):
    """The names of sizes that a command line can have."""
    inputs = [] if isinstance(content, bytes) else content.graph.input
    names = {dim.dim_param for value in inputs for dim in value.type.tensor_type.shape.dim}
    return sorted(name for name in names if re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name))[:50]


class Runner:
    """Compiles models in a folder with files that external data could name."""

    def __init__(self, options):
        self.options, self.folder, self.inside = options, options.folder, options.folder / "models"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.inside.mkdir(parents=True)
        (self.folder / "secret.bin").write_bytes(bytes(24))
        (self.inside / "short.bin").write_bytes(bytes(8))
        (self.inside / "link.bin").symlink_to(self.folder / "secret.bin")
        (self.inside / "up").symlink_to("..")
        (self.inside / "zero").symlink_to("/dev/zero")
        (self.inside / "loop.bin").symlink_to("loop.bin")
        os.mkfifo(self.inside / "fifo")
        (self.inside / "a").mkdir()
        self.is_sanitized = "asan" in options.build.name or "fuzz" in options.build.name
        self.env = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), BYOC_TUNING_PATH="", BYOC_BUG="0")
        self.faults, self.slugs, self.slowest, self.models = [], Counter(), [], 0

    def compile(self, name, content, may_compile):
        name = "".join(c if c.isalnum() or c in "_-" else "_" for c in name)[:80]
        self.models += 1
        path = self.inside / f"{name}.onnx"
        path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
        words = ["byoc", "compile", path, "-o", self.folder / "out.byoc"]
        if self.options.compiler:
            words += ["--compiler", self.options.compiler]
        code, slug = self.call(name, words, may_compile)
        self.slugs["compiled" if code == 0 else slug] += 1
        if code == 0 and self.options.run:
            sizes = [word for size in open_sizes(content) for word in ("--shape", f"{size}=3")]
            code, slug = self.call(f"{name}, run,", ["byoc-run", self.folder / "out.byoc", "--threads", "1", "--quiet", *sizes], True)
            self.slugs["run" if code == 0 else f"run: {slug}"] += 1
        if not self.faults or not self.faults[-1].startswith(name):
            path.unlink()

    def call(self, name, words, may_succeed):
        """Notes a fault. Returns the exit code and the slug of the error."""
        begin = processor_seconds()
        try:
            ran = subprocess.run([self.options.build / "bin" / words[0], *words[1:]], env=self.env, capture_output=True, text=True, errors="replace",
                                 timeout=60 * SECONDS, check=False, preexec_fn=lambda: limit(self.is_sanitized))
        except subprocess.TimeoutExpired:
            self.note(f"{name} does not end")
            return 1, "no end"
        seconds = processor_seconds() - begin
        self.slowest = sorted([*self.slowest, (seconds, name)], reverse=True)[:5]
        fault = fault_of(ran, seconds / (6 if self.is_sanitized else 1), may_succeed)
        if fault:
            self.note(f"{name} {fault}")
        return ran.returncode, ran.stderr.partition("error[")[2].partition("]")[0]

    def note(self, fault):
        self.faults.append(fault)
        print(fault, flush=True)
