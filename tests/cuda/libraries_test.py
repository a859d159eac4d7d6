# SPDX-License-Identifier: Apache-2.0
"""Products by cuBLASLt: which ones it gets, with which layouts, what they give, and what happens where it is absent or fails.

usage: libraries_test.py BUILD DRIVER CUBLASLT, where the last one is a pretended library on the pretended driver.
"""
import os
import subprocess
import sys
import tempfile

from models import MODELS, function, product

BUILD, DRIVER, LIBRARY = sys.argv[1:4]
WRONG = 0
TRANSPOSED = function("x: f32[50,40]; y: f32[60,50]", "%0 = transpose(%x) {perm=[1,0]}", "%1 = transpose(%y) {perm=[1,0]}",
                      "%2 = matmul(%0, %1)", "%3 = relu(%2)", "%3")
LAYERS = function("x: f32[2,20,32]; w: f32[32,48]; b: f32[48]; v: f32[48,16]", "%0 = matmul(%x, %w)", "%1 = add(%0, %b)",
                  "%2 = relu(%1)", "%3 = matmul(%2, %v)", "%3")
# Models, and the calls: the operations, rows x columns x terms of the library's column-major product, leading dimensions,
# matrices of the batch, types of factors and result (0: f32, 1: f64, 2: f16, 14: bf16).
CALLS = {
    "product": (MODELS["product"], ["nn 83 x 45 x 70, ld 83 70 83, batch 1, types 0 0"]),
    "doubles": (MODELS["doubles"], ["nn 19 x 20 x 33, ld 19 33 19, batch 1, types 1 1"]),
    "half_tiles": (MODELS["half_tiles"], ["nn 128 x 64 x 64, ld 128 64 128, batch 1, types 2 2"]),
    "half_batches": (MODELS["half_batches"], ["nn 19 x 20 x 33, ld 19 33 19, batch 3, types 2 2"]),
    "half_to_floats": (product("f16", "[32,48]", "[48,16]", "%1 = cast(%0) {to=f32}", "%2 = exp(%1)", "%2"),
                       ["nn 16 x 32 x 48, ld 16 48 16, batch 1, types 2 0"]),
    "bfloat_product": (MODELS["bfloat_product"], ["nn 83 x 45 x 70, ld 83 70 83, batch 1, types 14 14"]),
    "transposed": (TRANSPOSED, ["tt 60 x 40 x 50, ld 50 40 60, batch 1, types 0 0"]),
    "layers": (LAYERS, ["nn 48 x 40 x 32, ld 48 32 48, batch 1, types 0 0", "nn 16 x 40 x 48, ld 16 48 16, batch 1, types 0 0"]),
    "row_product": (MODELS["row_product"], []),
    "batches": (MODELS["batches"], []),
    "attention": (MODELS["attention"], []),
    "conv": (MODELS["conv"], []),
}
FAILURES = {"cublasLtCreate": 1, "cublasLtMatmulDescCreate": 3, "cublasLtMatmulDescSetAttribute": 7,
            "cublasLtMatrixLayoutCreate": 3, "cublasLtMatrixLayoutSetAttribute": 7, "cublasLtMatmulPreferenceCreate": 3,
            "cublasLtMatmulPreferenceSetAttribute": 7, "cublasLtMatmulAlgoGetHeuristic": 14, "cublasLtMatmul": 13}
NAMES = {1: "CUBLAS_STATUS_NOT_INITIALIZED", 3: "CUBLAS_STATUS_ALLOC_FAILED", 7: "CUBLAS_STATUS_INVALID_VALUE",
         13: "CUBLAS_STATUS_EXECUTION_FAILED", 14: "CUBLAS_STATUS_INTERNAL_ERROR"}


def byoc(*args, library=LIBRARY, **environment):
    command = [os.path.join(BUILD, "bin/byoc"), *args, "--plugin-option", f"cuda.driver={DRIVER}", "--plugin-option",
               f"cuda.cublaslt={library}"]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    return run.returncode, run.stdout + run.stderr


def expect(what, is_right, text):
    global WRONG
    print(f"{'ok  ' if is_right else 'FAIL'} {what}")
    if not is_right:
        print(text)
        WRONG += 1


def check_calls(name, path, folder, calls):
    code, text = byoc("verify", path, "--strict", "--compiler", "cuda", "--default", "json", "-o", os.path.join(folder, "wrong"),
                      FAKE_BLAS_LOG="1")
    found = [line[len("cublasLtMatmul "):] for line in text.splitlines() if line.startswith("cublasLtMatmul ")]
    expect(f"{name}: right, {len(calls)} products by the library", code == 0 and list(dict.fromkeys(found)) == calls,
           f"exit code {code}, calls {found}, expected {calls}\n{text}")


def check_choice(saved):
    def run(what, *texts, **more):
        code, text = byoc("run", saved, BYOC_LOG="info", **more)
        missing = [one for one in texts if one not in text]
        expect(what, code == 0 and not missing, f"exit code {code}, missing: {missing}\n{text}")
    run("names the library", "1 products by cuBLASLt 12.4.5")
    run("uses own kernels where it has no algorithm", "cuBLASLt has no algorithm for a product of 45 x 83 x 70", FAKE_BLAS_NONE="1")
    run("uses own kernels where it is absent", "cuBLASLt cannot be opened (/nowhere.so): install it", library="/nowhere.so")
    run("uses own kernels where it is too old", "cuBLASLt has the version 10.2.3, at least 11.0 is needed: install it",
        FAKE_BLAS_VERSION="10203")
    run("uses own kernels for a file that is another library", "cuBLASLt has no cublasLtGetVersion: install it", library=DRIVER)
    run("uses own kernels when it may not be used", "cuBLASLt is not used: its option is none", library="none")


def check_failures(saved):
    for call, status in FAILURES.items():
        slug = "device-lost" if status == 13 else ""
        code, text = byoc("run", saved, FAKE_BLAS_FAIL=f"{call}:{status}")
        expect(f"names {call} that fails", code == 1 and f"{call}: {NAMES[status]} ({status})" in text and slug in text, text)
    code, text = byoc("run", saved, FAKE_BLAS_FAIL="cublasLtMatmul:3")
    expect("names memory that a product lacks", code == 1 and "device-memory" in text and "cublasLtMatmul" in text, text)


def check_list():
    for library, expected in (LIBRARY, '"cublaslt":"12.4.5"'), ("/nowhere.so", '"cublaslt":"cuBLASLt cannot be opened (/nowhere.so): '):
        code, text = byoc("plugins", library=library)
        expect(f"lists {expected}", code == 0 and expected in text, text)
    needed = subprocess.run(["readelf", "-d", os.path.join(BUILD, "lib/byoc/plugins/libbyoc_cuda.so")], capture_output=True,
                            text=True, check=True).stdout
    linked = [line for line in needed.splitlines() if "NEEDED" in line and ("libcu" in line or "nv" in line)]
    expect("links no library of NVIDIA", "NEEDED" in needed and not linked, needed)


def main():
    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, "product.byoc")
        for name, (text, calls) in CALLS.items():
            path = os.path.join(folder, name + ".ir")
            with open(path, "w") as file:
                file.write(text)
            check_calls(name, path, folder, calls)
        code, text = byoc("compile", os.path.join(folder, "product.ir"), "--compiler", "cuda", "--default", "json", "--strict",
                          "-o", saved, library="auto")
        expect("compiles without the library", code == 0, text)
        check_choice(saved)
        check_failures(saved)
        check_list()
    return WRONG != 0


if __name__ == "__main__":
    sys.exit(main())
