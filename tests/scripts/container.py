#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an artifact with native code in roots like those of containers: read-only, with and without /proc and /tmp.

    container.py BUILD FOLDER

FOLDER is emptied. Exits with 77, after a line with the reason, where such roots cannot be made or there is no
llvm plugin. Prints one line per fault and exits with 1 when there is any.
"""
import os
import shutil
import subprocess
import sys

SKIPPED = 77
MODEL = """fn main(%x: f32[8,16]) {
  %w = const(0.25) : f32[16,4]
  %0 = matmul(%x, %w)
  %1 = relu(%0)
  return %1
}
"""
# Makes the root $1 with /usr, and with what the words after $2 name; runs $2/byoc-run in it.
SCRIPT = r"""
root=$1 files=$2
shift 2
mount -t tmpfs none "$root"
mkdir "$root/usr" "$root/app"
mount --rbind /usr "$root/usr"
mount --bind "$files" "$root/app"
for name in bin lib lib64 sbin; do
  if [ -L /$name ]; then cp -P /$name "$root/"
  elif [ -d /$name ]; then mkdir "$root/$name"; mount --rbind /$name "$root/$name"; fi
done
for part; do
  case $part in
    proc) mkdir "$root/proc"; mount -t proc none "$root/proc" ;;
    tmp) mkdir "$root/tmp"; mount -t tmpfs none "$root/tmp" ;;
    noexec-tmp) mkdir "$root/tmp"; mount -t tmpfs -o noexec none "$root/tmp" ;;
  esac
done
mount -o remount,ro,bind "$root"
exec chroot "$root" /app/byoc-run /app/m.byoc --input "x=f32[8,16]=1" --json
"""
# The parts of a root, and the slug of the error there; "": the artifact runs.
ROOTS = [
    ("proc", ""),
    ("proc noexec-tmp", ""),
    ("tmp", ""),
    ("noexec-tmp", "code-place"),
    ("", "code-place"),
]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def in_root(folder, parts):
    root = os.path.join(folder, "root")
    os.makedirs(root, exist_ok=True)
    namespace = ["unshare", "--mount", "--pid", "--fork"] + ([] if os.getuid() == 0 else ["--map-root-user"])
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    return subprocess.run([*namespace, "sh", "-e", "-c", SCRIPT, "sh", root, os.path.join(folder, "app"), *parts.split()],
                          capture_output=True, text=True, timeout=60, check=False, env=environment)


def check_can_make_roots(folder):
    try:
        ran = in_root(folder, "proc tmp")
    except FileNotFoundError:
        skip("there is no command unshare")
    if ran.returncode != 0 and "byoc-run" not in ran.stderr and "error[" not in ran.stderr:
        skip("this machine lets the test make no root: " + ran.stderr.strip()[:200])


def make_app(build, folder):
    shutil.rmtree(folder, ignore_errors=True)
    app = os.path.join(folder, "app")
    os.makedirs(app)
    model = os.path.join(folder, "m.ir")
    with open(model, "w", encoding="utf-8") as file:
        file.write(MODEL)
    subprocess.run([os.path.join(build, "bin/byoc"), "compile", model, "--compiler", "llvm", "-o",
                    os.path.join(app, "m.byoc")], check=True, stdout=subprocess.DEVNULL, timeout=120)
    shutil.copy(os.path.join(build, "bin/byoc-run"), app)


def main(build, folder):
    if not os.path.exists(os.path.join(build, "lib/byoc/plugins/libbyoc_llvm.so")):
        skip("the llvm plugin is not built")
    make_app(build, folder)
    check_can_make_roots(folder)
    faults = []
    for parts, slug in ROOTS:
        ran = in_root(folder, parts)
        name = f"a root with {parts or 'nothing'}"
        if slug == "" and (ran.returncode != 0 or '"max": 4.0' not in ran.stdout):  # 16 times 0.25
            faults.append(f"{name}: exit code {ran.returncode}: {ran.stdout[:200]} {ran.stderr[:300]}")
        elif slug and (f"error[{slug}]" not in ran.stderr or "help: mount /proc, or set TMPDIR" not in ran.stderr):
            faults.append(f"{name}: expected the error {slug}: {ran.stderr[:300]}")
    return faults


if __name__ == "__main__":
    found = main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
    print("\n".join(found) if found else "native code runs in roots like those of containers")
    sys.exit(bool(found))
