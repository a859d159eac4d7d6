#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX's backend test cases compiled for open sizes: no case may be wrong, or end in an error of a run.

open_cases.py BYOC FOLDER COMPILER [MIN_OPEN]

Each model below FOLDER gets names in place of the extents of its inputs. byoc compiles it once for a range of sizes,
runs it with the stored inputs, and compares the stored outputs. Equal extents have one name; stored shapes of values and
outputs are removed. Forms are tried in order until one is not refused: all dims from 1 on, all dims from the stored
extent on, and both for the first dim of each input; up to twice the stored extent and one. MIN_OPEN is how many cases
must run at the least.
"""
import json
import os
import subprocess
import sys
import tempfile

import onnx

FORMS = {"all_from_1": (True, "a"), "all": (True, "b"), "first_from_1": (False, "a"), "first": (False, "b")}
OF_RUNS = ("[mismatch]", "while running", "[run-failed]")
MOST_SHOWN = 30


def open_model(path, whole, sign, names):
    """Returns the model with names for extents of its inputs, or None when there is none to open."""
    model = onnx.load(path)
    constants = {one.name for one in model.graph.initializer}
    opened = False
    for value in model.graph.input:
        if value.name in constants or not value.type.HasField("tensor_type"):
            continue
        dims = value.type.tensor_type.shape.dim
        for dim in dims if whole else dims[:1]:
            if dim.HasField("dim_value") and dim.dim_value > 1:
                extent = dim.dim_value
                names[f"{sign}{extent}"] = (1 if sign == "a" else extent, 2 * extent + 1)
                dim.dim_param = f"{sign}{extent}"
                opened = True
    if not opened:
        return None
    del model.graph.value_info[:]
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return model


def folders_below(root):
    return [folder for folder, _, files in sorted(os.walk(root)) if "model.onnx" in files]


def write_cases(folders, form, out):
    """Writes one form of the cases. Returns ({folder that is written: the case}, {name: bounds})."""
    written, names = {}, {}
    for folder in folders:
        model = open_model(os.path.join(folder, "model.onnx"), *FORMS[form], names)
        if model is None:
            continue
        case = os.path.join(out, form, os.path.basename(folder))
        os.makedirs(case)
        onnx.save(model, os.path.join(case, "model.onnx"))
        for entry in sorted(os.listdir(folder)):
            if entry.startswith("test_data_set_"):
                os.symlink(os.path.abspath(os.path.join(folder, entry)), os.path.join(case, entry))
        written[case] = folder
    return written, names


def run(byoc, folder, compiler, names):
    command = [byoc, "test-onnx", folder, "--compiler", compiler, "--json"]
    for name, (least, most) in sorted(names.items()):
        command += ["--shape", f"{name}={least}..{most}"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    report = json.loads(ran.stdout)
    if "cases" not in report:
        sys.exit(f"test-onnx: {ran.stdout}")
    return report["cases"]


def is_refusal(case):
    """True for a case that was refused before anything ran."""
    reason = case["reason"]
    return case["verdict"] == "unsupported" or (case["verdict"] == "failed" and reason.startswith("error")
                                                and not any(word in reason for word in OF_RUNS))


def main():
    byoc, root, compiler = sys.argv[1:4]
    least_open = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    left, right, wrong = folders_below(root), 0, []
    cases = 0
    with tempfile.TemporaryDirectory() as out:
        for form in FORMS:
            written, names = write_cases(left, form, out)
            cases = cases or len(written)
            found = run(byoc, os.path.join(out, form), compiler, names)
            refused = [case for case in found if is_refusal(case)]
            passed = [case for case in found if case["verdict"] in ("passed", "folded")]
            for case in found:
                if case not in refused and case not in passed:
                    wrong.append(f"{form} {os.path.basename(case['folder'])}: {(case['reason'].splitlines() or [''])[0]}")
            print(f"{compiler:12} {form:14} {len(passed):4} right {len(refused):4} refused", flush=True)
            right += len(passed)
            left = [written[case["folder"]] for case in refused]
    print(f"{right} of {cases} cases run with open sizes")
    for line in wrong[:MOST_SHOWN]:
        print(f"wrong: {line}")
    if right < least_open:
        print(f"expected {least_open} at the least")
    return 1 if wrong or right < least_open else 0


if __name__ == "__main__":
    sys.exit(main())
