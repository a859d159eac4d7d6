#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the packages, installs them in a minimal Debian, uses them as another user without a network, removes them.

    packages_test.py BUILD SOURCE FOLDER

FOLDER is emptied. Exits with 77, after a line with the reason, where no Debian can be made. It needs root.
"""
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from debian_root import Root, enter_namespaces, mirror

DEBS = ("byoc", "byoc-plugin-onednn", "libbyoc-dev", "libbyoc-runtime0", "libbyoc0", "python3-byoc")
# CPack calls ldconfig in postinst and postrm of a library's package, and has no option against it.
KNOWN_WARNINGS = re.compile(r"^W: libbyoc\S+: maintscript-calls-ldconfig")
PYTHON = """
import numpy, byoc, byoc_runtime
digits = "/usr/share/byoc/digits/"
images, expected = numpy.load(digits + "images.npy")[:1], numpy.load(digits + "outputs.npy")[:1]
program = byoc.compile(digits + "model.onnx", shapes={"N": 1}, compiler=["llvm"])
numpy.testing.assert_allclose(program(images), expected, rtol=1e-4, atol=1e-4)
program.save("python.byoc")
numpy.testing.assert_array_equal(byoc_runtime.load("python.byoc")(images), program(images))
print("python:", byoc.__file__)
"""


def expect(holds, what, text=""):
    if not holds:
        sys.exit(f"error: {what}\n{text}")


def say(what):
    print(what, flush=True)


def plugin_ids(listing):
    return re.findall(r"^([a-z0-9_-]+) +\S", listing, re.MULTILINE)


def lint(debs):
    """Runs lintian, which looks at all packages at once."""
    command = ["lintian", "--allow-root", "--tag-display-limit", "0", *map(str, debs)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    warned = [line for line in done.stdout.splitlines() if re.match(r"[EW]: ", line) and not KNOWN_WARNINGS.match(line)]
    expect(done.returncode == 0 and not warned, "lintian has found faults", done.stdout)
    say(f"lintian: {len(debs)} packages without faults")


def try_tarball(root, tarball):
    """Unpacks it as the visitor, who moves it; nothing of byoc or of the libraries that it brings is installed."""
    began = time.monotonic()
    root.run("tar", "-xf", f"/packages/{tarball.name}", visitor=True)
    root.run("mv", tarball.name.removesuffix(".tar.gz"), "moved", visitor=True)
    shown = root.run("moved/bin/byoc", "demo", visitor=True)
    say(f"tarball: unpacked, moved, demo after {time.monotonic() - began:.1f} s without a network")
    listing = root.run("moved/bin/byoc", "plugins", visitor=True)
    expect({"onednn", "llvm", "json"} <= set(plugin_ids(listing)), "the tarball lacks plugins", listing)
    expect("onednn" in shown and "llvm" in shown, "the demo of the tarball uses other plugins", shown)
    model = "moved/share/byoc/digits/model.onnx"
    root.run("moved/bin/byoc", "compile", model, "--shape", "N=1", "-o", "moved/digits.byoc", visitor=True)
    root.run("moved/bin/byoc-run", "moved/digits.byoc", visitor=True)
    root.run("rm", "-r", "moved", ".cache", visitor=True)
    licences = subprocess.run(["tar", "-tf", str(root.folder / "packages" / tarball.name)], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
    for library in re.findall(r"/lib/(lib(?!byoc)[\w+-]+)\.so", licences):
        say(f"  brings {library}")
    expect("share/doc/byoc/licences/libdnnl2.txt" in licences, "the tarball lacks the licence of oneDNN", licences)


def try_commands(root, files):
    """Installs the commands and runs them as the visitor."""
    chosen = [files[name] for name in ("byoc", "byoc-plugin-onednn", "libbyoc0")]
    root.download(*chosen)
    began = time.monotonic()
    root.install(*chosen)
    shown = root.run("byoc", "demo", visitor=True)
    say(f"packages: installed from apt's cache, demo after {time.monotonic() - began:.1f} s")
    say(shown)
    listing = root.run("byoc", "plugins", visitor=True)
    expect({"onednn", "llvm", "json"} <= set(plugin_ids(listing)), "plugins are missing", listing)
    digits = "/usr/share/byoc/digits/model.onnx"
    root.run("byoc", "compile", digits, "--shape", "N=1", "-o", "digits.byoc", visitor=True)
    say(root.run("byoc-run", "digits.byoc", visitor=True))
    changed = root.run("dpkg", "--verify", "byoc", "byoc-plugin-onednn", "libbyoc0")
    expect(not changed, "dpkg finds other files than it has installed", changed)
    for page in ("man/man1/byoc-run.1.gz", "bash-completion/completions/byoc"):
        root.run("test", "-s", f"/usr/share/{page}")


def try_c(root, source):
    """Compiles the program of the C tutorial against libbyoc-dev and runs it."""
    page = (source / "tests/tutorials/byoc_from_c.md").read_text()
    (root.folder / "home/visitor/digits.c").write_text(re.search(r"```c digits\.c\n(.*?)```", page, re.DOTALL).group(1))
    root.run("gcc", "-std=c99", "-Wall", "-Werror", "digits.c", "-o", "digits", "-lbyoc", visitor=True)
    shown = root.run("./digits", "/usr/share/byoc/digits/model.onnx", "c.byoc", visitor=True)
    expect(re.search(r"it is a \d$", shown.strip()), "the C program prints no digit", shown)
    say(f"C: {shown.strip()}")


def try_plugin(root):
    """Makes a plugin and its package as an author does, installs and removes it."""
    root.run("byoc", "new-plugin", "my_chip", "--c", "-o", "plugin", visitor=True)
    root.run("cmake", "-S", "plugin", "-B", "plugin/build", visitor=True)
    root.run("cmake", "--build", "plugin/build", visitor=True)
    root.run("sh", "-c", "cd plugin/build && cpack -G DEB", visitor=True)
    root.run("sh", "-c", "apt-get install -y -qq /home/visitor/plugin/build/byoc-plugin-my-chip_*.deb")
    listing = root.run("byoc", "plugins", visitor=True)
    expect("my_chip" in plugin_ids(listing), "byoc does not list the installed plugin", listing)
    expect((root.folder / "usr/lib/byoc/plugins/libbyoc_my_chip.so").exists(), "the plugin is in another folder")
    root.run("apt-get", "purge", "-y", "-qq", "byoc-plugin-my-chip")
    listing = root.run("byoc", "plugins", visitor=True)
    expect("my_chip" not in listing, "byoc lists a plugin that is removed", listing)
    say("plugin: made, packed, installed, listed, removed")


def remove(root):
    root.run("apt-get", "purge", "-y", "-qq", *DEBS)
    left = [path for path in root.names_with("byoc") if not path.startswith("/home/")]
    expect(not left, "purge has left files", "\n".join(left))
    known = root.run("sh", "-c", "dpkg-query -W -f '${Package} ${Status}\\n' | grep byoc || true")
    expect(not known, "dpkg still lists packages", known)
    say("removed: nothing of byoc is left")


def main(build, source, folder):
    url, codename = mirror()
    shutil.rmtree(folder, ignore_errors=True)
    made = folder / "packages"
    subprocess.run([str(source / "packages/make.sh"), str(build), "--quick", "--output", str(made)], check=True)
    files = {path.name.split("_")[0]: path for path in sorted(made.glob("*.deb"))}
    expect(sorted(files) == sorted(DEBS), "other packages are made than expected", "\n".join(sorted(files)))
    tarball, = made.glob("byoc-*.tar.gz")
    lint(files.values())

    root = Root(folder / "root", url, codename)
    shutil.copytree(made, root.folder / "packages")
    inside = {name: f"/packages/{path.name}" for name, path in files.items()}
    try_tarball(root, tarball)
    try_commands(root, inside)
    tools = ("gcc", "libc6-dev", "make", "cmake", *inside.values())
    root.download(*tools)
    root.install(*tools)
    try_c(root, source)
    say(root.run("python3", "-c", PYTHON, visitor=True).strip())
    root.run("python3", "-c", "import byoc")                # as root, who could write files beside the modules
    try_plugin(root)
    remove(root)
    root.remove()


if __name__ == "__main__":
    enter_namespaces(sys.argv)
    main(*(Path(word).resolve() for word in sys.argv[1:]))
