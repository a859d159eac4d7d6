# SPDX-License-Identifier: Apache-2.0
"""Runs peers as on a processor with AVX2: what their processes and byoc's need for an instruction set.

ONNX Runtime and OpenVINO choose kernels by `cpuid` and have no switch for it, so their processes get an audit
library (mask_cpuid.c) that hides the rest from them. PyTorch and oneDNN have variables.
"""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import NamedTuple, Optional

LIBRARY = "lib/libmask_cpuid.so"  # below the build folder
UNLIMITED = ("mnn", "ncnn", "inductor")  # read the processor in other ways
FOLDERS = {"onnxruntime": "onnxruntime/capi", "openvino": "openvino/libs"}
UNUSED = ("_gpu_", "_npu_", "_auto_", "_hetero_", "_tensorflow", "_pytorch_", "_paddle_", "_jax_", "tbbbind")
V3 = ("avx avx2 bmi bmi2 cmov cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 "
      "ssse3 xsave").split()


class Isa(NamedTuple):
    name: str
    target: str  # byoc's --target
    onednn: Optional[str]  # ONEDNN_MAX_CPU_ISA


ISAS = {isa.name: isa for isa in (
    Isa("native", "native", None),
    Isa("avx2", "x86-64-v3", "AVX2"),
    Isa("avx2_vnni", json.dumps({"cpu": "x86-64-v3", "features": sorted([*V3, "avxvnni"])}), "AVX2_VNNI"),
)}


class CannotMask(Exception):
    """An error whose text is printed for the user."""


def library_folder(python, peer):
    """Returns the folder of a peer's libraries."""
    package, _, inner = FOLDERS[peer].partition("/")
    code = f"import importlib.util as u; print(u.find_spec('{package}').submodule_search_locations[0])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    if done.returncode:
        raise CannotMask(f"{python} has no {package}")
    return Path(done.stdout.strip()) / inner


def offsets_of(library):
    """Returns the addresses of a library's cpuid instructions, by its disassembly."""
    try:
        done = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", str(library)], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
    except FileNotFoundError as missing:
        raise CannotMask("--isa needs objdump (Debian: apt-get install binutils)") from missing
    with done:
        found = [line.split(":")[0].strip() for line in done.stdout if line.rstrip().endswith("\tcpuid")]
    if done.returncode:
        raise CannotMask(f"objdump cannot read {library}")
    return found


def sites_of(libraries, cache):
    """Returns a file for mask_cpuid.c with the cpuid instructions of the libraries; `cache` keeps those found."""
    cache.mkdir(parents=True, exist_ok=True)
    lines = []
    for library in sorted({library.resolve() for library in libraries}):
        state = library.stat()
        kept = cache / f"{library.name}-{state.st_size}-{state.st_mtime_ns}"
        if not kept.exists():
            kept.write_text("\n".join(offsets_of(library)))
        lines += [f"{offset} {library}\n" for offset in kept.read_text().split()]
    text = "".join(lines)
    sites = cache / f"sites-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    sites.write_text(text)
    return sites


def environment_of_peer(isa, python, peer, build):
    """Returns variables for the process of a peer, in which it sees the features of `isa` alone.
    Errors: CannotMask, with what is missing."""
    if isa == "native":
        return {}
    if peer in UNLIMITED:
        raise CannotMask(f"--isa does not limit {peer}")
    if peer not in FOLDERS:
        return {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", **environment_of_onednn(isa)}
    mask = Path(build) / LIBRARY
    if not mask.exists():
        raise CannotMask(f"--isa needs {mask}: build byoc's target mask_cpuid, which is for Linux on x86-64")
    folder = library_folder(python, peer)
    libraries = [file for file in folder.glob("*.so*") if not any(part in file.name for part in UNUSED)]
    sites = sites_of(libraries, Path(build) / "cpuid_sites")
    return {"LD_AUDIT": str(mask.resolve()), "MASK_CPUID_SITES": str(sites), "MASK_CPUID_ISA": isa}


def environment_of_onednn(isa):
    """Returns variables for a process with oneDNN, byoc's or PyTorch's."""
    return {"ONEDNN_MAX_CPU_ISA": ISAS[isa].onednn} if ISAS[isa].onednn else {}


def add_option(parser):
    parser.add_argument("--isa", choices=list(ISAS), default="native",
                        help="as on a processor with these instructions and no wider ones: byoc compiles for it, the "
                             "others see no more (default native: all that this processor has)")
