# SPDX-License-Identifier: Apache-2.0
"""The slowest layers of ONNX Runtime and of byoc, each by its own profiler, in separate runs."""

import json
import os
import subprocess
from pathlib import Path

import isa
from turns import Child, Failed

HERE = Path(__file__).resolve().parent


def peers_layers(python, options, file, threads, folder):
    """Returns ONNX Runtime's layers, and its inputs."""
    setup = {"peer": "onnxruntime", "model": str(file), "threads": threads, "profile": str(Path(folder) / "ort")}
    peer = Child("ONNX Runtime", [python, str(HERE / "peer_child.py"), json.dumps(setup)],
                 isa.environment_of_peer(options.isa, python, "onnxruntime", options.build))
    inputs = peer.ask(f"inputs {folder}")["inputs"]
    peer.ask("run 10")
    layers = peer.ask("layers")["layers"][:options.layers]
    peer.close()
    return layers, inputs


def our_layers(options, compiler, file, threads, inputs):
    command = [str(options.build / "bin" / "byoc"), "bench", str(file), "--compiler", compiler, "--no-check",
               "--threads", str(threads), "--json", "--min-time", "0.5", "--target", isa.ISAS[options.isa].target]
    for given in inputs:
        command += ["--input", f"{given['name']}={given['file']}",
                    *(["--shape", f"{given['name']}={'x'.join(map(str, given['dims']))}"] if given["dims"] else [])]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, **isa.environment_of_onednn(options.isa)})
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    rows = [{"name": span["name"], "us": span["median_ns"] * span["calls_per_run"] / 1000,
             "op": span["details"].get("implementation", "") + (" reorder" if span["is_reorder"] else "")}
            for span in json.loads(done.stdout)["configurations"][0]["spans"]]
    return sorted(rows, key=lambda row: -row["us"])[:options.layers]


def layers_of(python, options, file, threads, folder):
    theirs, inputs = peers_layers(python, options, file, threads, folder)
    return {"onnxruntime": theirs,
            "byoc": {compiler: our_layers(options, compiler, file, threads, inputs) for compiler in options.compiler}}
