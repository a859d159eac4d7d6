#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""signatures.py BUILD SOURCE FOLDER: artifacts and plugins with signatures, where a key is configured.

The files of stored/ were signed by minisign 0.11. Artifacts and plugins are signed here by libsodium, and by minisign where it
is installed.
"""
import base64
import ctypes
import ctypes.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

MODEL = "fn main(%x: f32[2,3]) {\n  %0 = relu(%x)\n  return %0\n}\n"


class Signer:
    """A key pair of libsodium, from a seed."""

    def __init__(self, seed):
        self.sodium = ctypes.CDLL(ctypes.util.find_library("sodium"))
        assert self.sodium.sodium_init() >= 0
        self.public, self.secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
        self.sodium.crypto_sign_seed_keypair(self.public, self.secret, bytes([seed]) * 32)
        self.id = bytes([seed]) * 8

    def key(self):
        return base64.b64encode(b"Ed" + self.id + self.public.raw).decode()

    def signed(self, message):
        out = ctypes.create_string_buffer(64)
        self.sodium.crypto_sign_detached(out, None, message, ctypes.c_ulonglong(len(message)), self.secret)
        return out.raw

    def sign(self, path, hashed=True, comment="by a test", signed_comment=None):
        data = path.read_bytes()
        if hashed:
            digest = ctypes.create_string_buffer(64)
            self.sodium.crypto_generichash(digest, ctypes.c_size_t(64), data, ctypes.c_ulonglong(len(data)), None, ctypes.c_size_t(0))
            data = digest.raw
        of_file = self.signed(data)
        of_comment = self.signed(of_file + (signed_comment or comment).encode())
        text = ["untrusted comment: x", base64.b64encode((b"ED" if hashed else b"Ed") + self.id + of_file).decode(),
                f"trusted comment: {comment}", base64.b64encode(of_comment).decode()]
        Path(f"{path}.minisig").write_text("\n".join(text) + "\n")


class Test:
    def __init__(self, build, source, folder):
        self.build, self.folder, self.faults, self.checks = build, folder, [], 0
        self.stored = source / "tests/signatures/stored"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "m.ir").write_text(MODEL)
        self.env = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"), BYOC_TUNING_PATH="")
        assert self.run(None, "byoc", "compile", "m.ir", "--compiler", "json", "-o", "m.byoc").returncode == 0

    def run(self, keys, program, *words, **more):
        env = dict(self.env, BYOC_TRUSTED_KEYS=keys or "", **more)
        return subprocess.run([self.build / "bin" / program, *words], cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=120, check=False)

    def expect(self, what, ran, text):
        """`text`: in the error; None: the command works."""
        self.checks += 1
        if text is None and ran.returncode != 0 or text is not None and (ran.returncode == 0 or text not in ran.stderr):
            self.faults.append(f"{what}: exit code {ran.returncode}, expected {text or 'success'}: {ran.stdout[-200:]}{ran.stderr[-300:]}")

    def inspect(self, what, keys, path, text):
        self.expect(what, self.run(keys, "byoc", "inspect", path), text)


def check_stored(test):
    """Signatures of minisign itself. What is signed is no artifact, which is found after the signature."""
    trusted, other, stored = str(test.stored / "trusted.pub"), str(test.stored / "other.pub"), test.stored
    key = (stored / "trusted.pub").read_text().splitlines()[1]
    for name in ("hashed", "legacy"):
        for keys in (trusted, key, f"{other}:{trusted}", f"{trusted}:{other}"):
            test.inspect(f"{name} by {keys}", keys, stored / f"{name}.byoc", "error[artifact-corrupt]")
        test.inspect(f"{name} by another key", other, stored / f"{name}.byoc", "which is none of BYOC_TRUSTED_KEYS")
    test.inspect("changed", trusted, stored / "changed.byoc", "error[signature]")
    for word in ("nowhere.pub", "RWQ", "=" * 56, str(stored / "hashed.byoc")):
        test.inspect(f"the key {word}", word, stored / "hashed.byoc", "error[signature-key]")


def check_artifacts(test, signer, other):
    path, keys = test.folder / "m.byoc", signer.key()
    test.inspect("no key", None, path, None)
    test.inspect("no signature", keys, path, "error[signature]")
    signer.sign(path)
    test.inspect("hashed", keys, path, None)
    test.expect("byoc-run of a plugin without one", test.run(keys, "byoc-run", path, "--quiet"), "error[")
    signer.sign(path, hashed=False)
    test.inspect("not hashed", keys, path, None)
    signer.sign(path, signed_comment="another")
    test.inspect("a changed comment", keys, path, "trusted comment")
    other.sign(path)
    test.inspect("another key", keys, path, "which is none of BYOC_TRUSTED_KEYS")
    other.id = signer.id
    other.sign(path)
    test.inspect("another key with this id", keys, path, "the signature is wrong")
    signer.sign(path)
    text = Path(f"{path}.minisig").read_text()
    for k in range(len(text)):
        if text[k] == "\n" or k < text.index("\n"):  # the first line is not signed
            continue
        Path(f"{path}.minisig").write_text(text[:k] + ("A" if text[k] != "A" else "B") + text[k + 1:])
        if k % 7 == 0:
            test.inspect(f"byte {k} of the signature", keys, path, "error[signature]")
    for cut in (0, 1, 30, 100, len(text) - 60):
        Path(f"{path}.minisig").write_text(text[:cut])
        test.inspect(f"{cut} bytes of the signature", keys, path, "error[signature]")
    Path(f"{path}.minisig").write_text(text)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    test.inspect("a changed file", keys, path, "error[signature]")
    path.write_bytes(data)


def check_plugins(test, signer):
    plugins, keys = test.folder / "plugins", signer.key()
    plugins.mkdir(mode=0o755)
    plugin = plugins / "libbyoc_json.so"
    shutil.copy(test.build / "lib/byoc/plugins/libbyoc_json.so", plugin)
    plugin.chmod(0o644)
    for program in ("byoc", "byoc-run"):
        (test.folder / "bin").mkdir(exist_ok=True)
        shutil.copy(test.build / "bin" / program, test.folder / "bin")
    test.build = test.folder  # these programs find no other plugins

    def listed():
        ran = test.run(keys, "byoc", "plugins", "--json", BYOC_PLUGIN_PATH=str(plugins))
        out = json.loads(ran.stdout)
        return [row["id"] for row in out["plugins"]], " ".join(row["reason"] for row in out["refused"])

    def expect(what, ids, reason):
        test.checks += 1
        found = listed()
        if found[0] != ids or reason not in found[1]:
            test.faults.append(f"{what}: {found}, expected {ids} {reason}")

    expect("a plugin without a signature", [], "it has no signature")
    signer.sign(plugin)
    expect("a signed plugin", ["json"], "")
    test.expect("byoc-run, all signed", test.run(keys, "byoc-run", "m.byoc", "--quiet", BYOC_PLUGIN_PATH=str(plugins)), None)
    data = plugin.read_bytes()
    plugin.write_bytes(data + b"\0")
    expect("a changed plugin", [], "the signature is wrong")
    plugin.write_bytes(data)


def check_minisign(test):
    if not shutil.which("minisign"):
        return "minisign is not installed"
    for words in (["-G", "-f", "-W", "-p", "k.pub", "-s", "k.key"], ["-S", "-s", "k.key", "-m", "m.byoc"]):
        subprocess.run(["minisign", *words], cwd=test.folder, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    test.inspect("signed by minisign", "k.pub", test.folder / "m.byoc", None)
    return "and by minisign"


def main(build, source, folder):
    if ctypes.util.find_library("sodium") is None:
        print("skipped: libsodium is not installed")
        return 77
    test = Test(Path(build).resolve(), Path(source).resolve(), Path(folder).resolve())
    signer, other = Signer(1), Signer(2)
    check_stored(test)
    check_artifacts(test, signer, other)
    also = check_minisign(test)
    signer.sign(test.folder / "m.byoc")
    check_plugins(test, signer)
    print("\n".join(test.faults) or f"{test.checks} checks; signed by libsodium, {also}")
    return bool(test.faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
