#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the node cases of the installed package `onnx` as folders for `byoc test-onnx`, and a table of their tiers.

newest_cases.py FOLDER      writes FOLDER/newest/CASE/{model.onnx, test_data_set_0/*.pb} and FOLDER/cases.tsv
newest_cases.py --report FOLDER RESULTS.json [MIN_OPSET MAX_OPSET]
                            counts the verdicts of `byoc test-onnx --json=RESULTS.json FOLDER/newest` by tier and by op

Run it by a Python that has the newest onnx of the package index; Debian's 1.12 ends at opset 17. Tiers: `core` has one
op on f32, integers and bools, control flow included; `expanded` is the body of a function op; other dtypes and groups
of ops have tiers of their own; `out:` are tiers that byoc does not implement (sequences, strings, training, images).
"""
import json
import os
import sys
from collections import Counter, defaultdict

SIGNAL = {"DFT", "STFT", "MelWeightMatrix", "HannWindow", "HammingWindow", "BlackmanWindow"}
LOSS = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}
DATA_DEPENDENT = {"NonZero", "Compress", "Unique", "NonMaxSuppression"}
STRINGS = {"TfIdfVectorizer", "StringNormalizer"}
OPTIONALS = {"OptionalHasElement", "OptionalGetElement"}
RANDOM = {"Bernoulli", "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"}
IMAGES = {"ImageDecoder"}
DTYPE_TIERS = {"FLOAT16": "f16", "DOUBLE": "f64", "BFLOAT16": "bf16", "STRING": "out:string", "COMPLEX64": "out:complex",
               "COMPLEX128": "out:complex"}
CORE_DTYPES = {"FLOAT", "BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"}


def dtype_names(model):
    import onnx
    names = set()
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.HasField("tensor_type"):
            names.add(onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type))
    return names


def kinds_of_values(model):
    return {value.type.WhichOneof("value") for value in [*model.graph.input, *model.graph.output]}


def tier_of(name, model):
    nodes = model.graph.node
    ops = {node.op_type for node in nodes}
    domains = {node.domain for node in nodes} - {"", "ai.onnx"}
    if any(domain.startswith("ai.onnx.preview.training") for domain in domains):
        return "out:training"
    if domains:
        return "out:" + sorted(domains)[0]
    if any(node.op_type.startswith("SequenceMap") for node in nodes):
        return "out:sequence"
    if kinds_of_values(model) - {"tensor_type"}:
        return "out:" + sorted(kinds_of_values(model) - {"tensor_type"})[0].removesuffix("_type")
    for group, tier in ((RANDOM, "out:random"), (IMAGES, "out:image"), (STRINGS, "out:string"),
                        (OPTIONALS, "out:optional"), (SIGNAL, "signal"), (LOSS, "loss"),
                        ({"LSTM", "GRU", "RNN"}, "rnn"), (DATA_DEPENDENT, "dds")):
        if ops & group:
            return tier
    if any(attr.name == "training_mode" and attr.i for node in nodes for attr in node.attribute):
        return "out:training"
    if ops == {"Dropout"} and len(nodes[0].input) > 2:
        return "out:training"
    dtypes = dtype_names(model) - CORE_DTYPES
    if any(dtype.startswith("FLOAT8") or "INT4" in dtype or "INT2" in dtype or "FLOAT4" in dtype for dtype in dtypes):
        return "narrow"
    if dtypes:
        return "+".join(sorted(DTYPE_TIERS.get(dtype, dtype) for dtype in dtypes))
    return "expanded" if "_expanded" in name else "core"


def write(path, message):
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def as_proto(value, info):
    import onnx
    from onnx import numpy_helper
    if isinstance(value, onnx.TensorProto):
        return value
    make = {"tensor_type": numpy_helper.from_array, "sequence_type": numpy_helper.from_list,
            "map_type": numpy_helper.from_dict, "optional_type": numpy_helper.from_optional}
    return make[info.type.WhichOneof("value")](value, info.name)


def write_case(folder, case):
    os.makedirs(os.path.join(folder, "test_data_set_0"), exist_ok=True)
    write(os.path.join(folder, "model.onnx"), case.model)
    inputs, outputs = case.data_sets[0]
    for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
        for k, value in enumerate(values):
            write(os.path.join(folder, "test_data_set_0", f"{kind}_{k}.pb"), as_proto(value, infos[k]))


def opset_of(model):
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    return versions[0] if versions else 0


def generate(root):
    from onnx.backend.test.case import node as node_cases
    rows = []
    for case in node_cases.collect_testcases():
        write_case(os.path.join(root, "newest", case.name), case)
        ops = sorted({node.op_type for node in case.model.graph.node})
        rows.append((case.name, tier_of(case.name, case.model), str(opset_of(case.model)),
                     ",".join(ops) if len(ops) < 6 else f"{len(case.model.graph.node)} nodes"))
    with open(os.path.join(root, "cases.tsv"), "w") as table:
        table.write("case\ttier\topset\tops\n")
        table.writelines("\t".join(row) + "\n" for row in sorted(rows))
    print(f"{len(rows)} cases in {root}/newest")


def report(root, results, first, last):
    with open(results) as file:
        verdicts = {os.path.basename(case["folder"]): case for case in json.load(file)["cases"]}
    tiers, ops = defaultdict(Counter), defaultdict(Counter)
    with open(os.path.join(root, "cases.tsv")) as table:
        for line in list(table)[1:]:
            name, tier, opset, op = line.rstrip("\n").split("\t")
            if not first <= int(opset) <= last or name not in verdicts:
                continue
            verdict = verdicts[name]["verdict"]
            tiers[tier][verdict] += 1
            if verdict not in ("passed", "folded"):
                ops[tier, op][verdict] += 1
    for tier, counts in sorted(tiers.items()):
        good, total = counts["passed"] + counts["folded"], sum(counts.values())
        print(f"{tier:28} {good:5} of {total:5} ({100 * good / total:5.1f} %)  failed {counts['failed']}")
    for (tier, op), counts in sorted(ops.items(), key=lambda item: (item[0][0], -sum(item[1].values()), item[0][1])):
        print(f"  {tier:16} {sum(counts.values()):4} {op}  {dict(counts)}")


if __name__ == "__main__":
    if sys.argv[1] == "--report":
        limits = [int(text) for text in sys.argv[4:6]] or [1, 1 << 20]
        report(sys.argv[2], sys.argv[3], *limits)
    else:
        generate(sys.argv[1])
