# SPDX-License-Identifier: Apache-2.0
"""Finds the peers, and installs those that are missing from the Python package index into a venv."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Tuple


class Peer(NamedTuple):
    id: str
    name: str
    modules: str  # what must load
    packages: Tuple[str, ...]


PEERS = {peer.id: peer for peer in (
    Peer("onnxruntime", "ONNX Runtime", "onnxruntime, numpy", ("onnxruntime",)),
    Peer("openvino", "OpenVINO", "openvino, numpy", ("openvino",)),
    Peer("mnn", "MNN", "MNN, onnx, numpy", ("MNN", "onnx")),
    Peer("ncnn", "ncnn", "ncnn, onnx, numpy", ("ncnn", "pnnx", "onnx")),
    Peer("pytorch", "PyTorch", "torch, onnx2torch, numpy", ("torch", "onnx2torch")),
    Peer("inductor", "inductor", "torch._inductor, onnx2torch, numpy", ("torch", "onnx2torch")),
)}


def loads(python, peer):
    command = [python, "-c", f"import {peer.modules}"]
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def install(venv, peer):
    """Returns None, or the reason why the peer cannot be installed."""
    own = str(venv / "bin" / "python")
    commands = [] if Path(own).exists() else [[sys.executable, "-m", "venv", str(venv)]]
    commands.append([own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.packages])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            return f"{peer.name} cannot be installed: {lines[-1]}"
    return None if loads(own, peer) else f"the installed {peer.name} does not load"


def find_python(venv, peer, may_install, say):
    """Returns a Python that has the peer, this one or that of the venv, or None and the reason."""
    own = str(venv / "bin" / "python")
    for python in (sys.executable, own):
        if Path(python).exists() and loads(python, peer):
            return python, None
    if not may_install:
        return None, f"{peer.name} is not installed, and --no-install is given"
    say(f"installing {peer.name} in {venv}")
    why = install(venv, peer)
    return (None, why) if why else (own, None)


def find_peers(options, say):
    """Returns {id: python} of the peers that are there, and {id: reason} of the others."""
    pythons, skipped = {}, {}
    for peer in options.peer:
        if peer in options.python:
            python = options.python[peer]
            works = loads(python, PEERS[peer])
            why = None if works else f"{python} does not load {PEERS[peer].name}"
            pythons[peer], skipped[peer] = python if works else None, why
        else:
            pythons[peer], skipped[peer] = find_python(options.venv, PEERS[peer], not options.no_install, say)
    return ({peer: python for peer, python in pythons.items() if python},
            {peer: why for peer, why in skipped.items() if why})
