# SPDX-License-Identifier: Apache-2.0
"""Counts instructions in the inner loops of assembly that `byoc print --asm` wrote, for x86-64 and aarch64."""
import re

JUMP = re.compile(r"^(j\w+|b|b\.\w+|cbn?z|tbn?z)\t(?:\w+, )?(?:#\d+, )?(\.L\w+)$")
FMA = re.compile(r"^(vfn?m(add|sub)|fml[as]|fn?madd|fn?msub)")
MEMORY = re.compile(r"\(|\[(x\d|sp)")
STACK = re.compile(r"\(%r[sb]p[,)]|\[sp\b|\[x29\b")


class Loop:
    """An innermost loop of one basic block: multiply-adds, accesses of memory, and those of the stack among them."""

    def __init__(self, lines):
        memory = [line for line in lines if MEMORY.search(line) and not line.startswith("lea")]
        self.fma = sum(1 for line in lines if FMA.match(line))
        self.stack = sum(1 for line in memory if STACK.search(line))
        self.accesses = len(memory) - self.stack

    def text(self):
        return f"{self.fma}/{self.accesses}/{self.stack}"


def loops_of(lines):
    """Returns the loops whose body has no other label in it."""
    loops, label, body = [], None, []
    for raw in lines:
        line = re.sub(r"\s*(#|//).*$", "", raw.strip()) if not raw.startswith("#") else ""
        found = re.match(r"^(\.L\w+):", raw)
        if found:
            label, body = found.group(1), []
        elif line and not line.startswith("."):
            body.append(line)
            jump = JUMP.match(line)
            if jump and jump.group(2) == label:
                loops.append(Loop(body))
    return loops


def kernels_of(text):
    """Returns, by function, its inner loop with the most multiply-adds; functions without one are left out."""
    kernels, name = {}, None
    for line in text.splitlines():
        found = re.match(r"^# function (\S+), by", line)
        if found:
            name = found.group(1)
            kernels[name] = []
        elif name:
            kernels[name].append(line)
    best = {name: max(loops_of(lines), key=lambda loop: loop.fma, default=None) for name, lines in kernels.items()}
    return {name: loop for name, loop in best.items() if loop and loop.fma}
