# SPDX-License-Identifier: Apache-2.0
"""A minimal Debian in a folder, made by mmdebstrap from the mirror that apt of this machine uses."""
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

SKIPPED = 77
VISITOR = "visitor"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def enter_namespaces(arguments):
    """Starts this script again with mounts and processes of its own, which end with it. It has to be root's."""
    if os.environ.get("BYOC_IN_NAMESPACES"):
        return
    if os.geteuid() != 0:
        skip("only root can chroot into the Debian that this test makes")
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    tried = subprocess.run([*words, "--net", "true"], text=True, stderr=subprocess.PIPE)
    if tried.returncode != 0:
        skip(f"no namespaces: {tried.stderr.strip()}")
    os.environ["BYOC_IN_NAMESPACES"] = "1"
    os.execvp(words[0], [*words, sys.executable, *arguments])


def mirror():
    """Returns the mirror and the release of this machine's Debian."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path("/etc/os-release").read_text(), re.MULTILINE))
    if release.get("ID") != "debian":
        skip(f"the packages are for Debian, this machine has {release.get('PRETTY_NAME')}")
    for tool in ("mmdebstrap", "lintian"):
        if not shutil.which(tool):
            skip(f"the program {tool} is missing (on Debian: the package of that name)")
    codename = release["VERSION_CODENAME"]
    query = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    listed = subprocess.run([*query, f"Codename: {codename}"], text=True, stdout=subprocess.PIPE).stdout.split()
    if not listed:
        skip(f"apt has no lists of {codename}: apt-get update")
    try:
        urllib.request.urlopen(f"{listed[0]}dists/{codename}/InRelease", timeout=30).close()
    except OSError as error:
        skip(f"the mirror {listed[0]} cannot be reached: {error}")
    return listed[0], codename


class Root:
    """The folder. Commands in it run with the network off, unless online=True, and as root, unless visitor=True."""

    def __init__(self, folder, url, codename):
        self.folder = folder
        subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--skip=cleanup/apt/lists", codename,
                        str(folder), url], check=True)
        subprocess.run(["mount", "-t", "proc", "none", str(folder / "proc")], check=True)
        self.run("useradd", "--create-home", VISITOR)

    def start(self, *command, online=False, visitor=False):
        words = [] if online else ["unshare", "--net"]
        words += ["chroot", *([f"--userspec={VISITOR}:{VISITOR}"] if visitor else []), str(self.folder)]
        home = f"/home/{VISITOR}" if visitor else "/root"
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive", "DEBEMAIL": "visitor@byoc.example",
                       "DEBFULLNAME": "A visitor"}
        script = f'cd {home} && exec "$@"'
        return subprocess.run([*words, "/bin/sh", "-c", script, "sh", *map(str, command)], text=True, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def run(self, *command, **how):
        """Runs a command that must succeed; returns what it prints."""
        done = self.start(*command, **how)
        if done.returncode != 0:
            sys.exit(f"error: {' '.join(map(str, command))} exited with {done.returncode}\n{done.stdout}")
        return done.stdout

    def download(self, *packages):
        """Fetches packages and what they depend on into apt's cache."""
        self.run("apt-get", "install", "--download-only", "-y", "-qq", "--no-install-recommends", *packages,
                 online=True)

    def install(self, *packages):
        """Installs packages that are in apt's cache, without the network."""
        self.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)

    def names_with(self, word):
        """Lists the paths that have the word in their last part."""
        found = self.run("find", "/", "-xdev", "-name", f"*{word}*", "-not", "-path", "/packages*")
        return sorted(found.split())

    def remove(self):
        subprocess.run(["umount", str(self.folder / "proc")], check=True)
        shutil.rmtree(self.folder)
