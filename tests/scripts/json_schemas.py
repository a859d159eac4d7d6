#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command with --json and checks what it prints against share/byoc/schemas.

    json_schemas.py BUILD SOURCE FOLDER

FOLDER is emptied and holds the models of the test. Each value is then damaged in several ways, which the schema must
refuse. Prints one line per fault and exits with 1 when there is any.
"""
import copy
import json
import os
import re
import shutil
import subprocess
import sys

import jsonschema

MODEL = """fn main(%x: f32[8,16]) {
  %w = const(0.25) : f32[16,4]
  %0 = matmul(%x, %w) loc("/fc/MatMul")
  %1 = relu(%0) loc("/fc/Relu")
  %2 = sin(%1) loc("Sin")
  return %2
}
"""
OPEN_MODEL = "fn main(%x: f32[N,4]) { %0 = relu(%x)  return %0 }"
BENCH = "--warmup 0 --min-time 0.02 --rounds 2"
# Command lines in order: later ones use the files of earlier ones. {p}: the folder of plugins, {s}: the sources.
LINES = """
--version
plugins
plugins --plugin {b}/tests/faults/faulty_no_entry/libbyoc_faulty_no_entry.so
ops
opt --list
opt m.ir --passes fold_constants
print m.ir
print m.ir --te
partition m.ir
explain m.ir
explain m.ir --compiler onednn --diff compiler=json
compile m.ir -o m.byoc
compile m.ir --compiler onednn --fallback json -o both.byoc
run m.ir --profile
run m.byoc
inspect m.byoc
error symbolic-shape
error --list
bench m.ir --compiler onednn --vs compiler=json {bench}
bench m.byoc --no-peaks {bench}
bench --ops=Relu,MatMul --threads 1,2 --min-time 0 --rounds 1
ops relu --support
compile sizes.ir --shape N=1,2 -o sizes.byoc
run sizes.byoc
inspect sizes.byoc
join one=m.byoc more=sizes.byoc -o joined.byoc
inspect joined.byoc
run sizes.ir
verify m.ir --compiler onednn
verify m.ir --vs-float m.ir --compiler json
dump m.ir --compiler onednn -o regions
cache
replay regions
bench regions/onednn_main_0 --no-peaks {bench}
test-onnx onnx
demo --data {s}/tests/models/digits
check-plugin --list
check-plugin {p}/libbyoc_json.so --group 1
doctor
new-plugin chip
report m.ir -o m.html {bench}
report m.ir -o m.html --no-run
report m.ir -o m.html --compiler onednn --vs compiler=json {bench}
tune m.ir --log t.jsonl --trials 2 --compiler llvm
tune --list t.jsonl
tune --compact t.jsonl
explain m.ir --placement
calibrate
place m.ir --min-time 0.02
run none.ir
check-plugin none.so
"""
def read_schemas(folder):
    schemas = {}
    for name in sorted(one for one in os.listdir(folder) if one.endswith(".schema.json")):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            schemas[name.removesuffix(".schema.json")] = json.load(file)
    return schemas


def make_models(source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "m.ir"), "w", encoding="utf-8") as file:
        file.write(MODEL)
    with open(os.path.join(folder, "sizes.ir"), "w", encoding="utf-8") as file:
        file.write(OPEN_MODEL)
    data = "/usr/share/libonnx-testdata/data/node/test_relu"
    if os.path.isdir(data):
        shutil.copytree(data, os.path.join(folder, "onnx", "test_relu"))


def printed(byoc, line, folder):
    """The JSON value that a command prints; raises ValueError with the reason when it is none."""
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"), BYOC_LOG="error")
    ran = subprocess.run([byoc, *line.split(), "--json"], cwd=folder, env=environment, capture_output=True, text=True,
                         timeout=300, check=False)
    try:
        return json.loads(ran.stdout)
    except json.JSONDecodeError as error:
        raise ValueError(f"prints no JSON ({error}): {ran.stderr[:300]}") from error


def name_of(value):
    if not value.get("ok", True):
        return "error"
    match = re.fullmatch(r"byoc\.([a-z-]+)/1", value.get("schema", ""))
    return match[1] if match else ""


def damaged(value, schema):
    """Copies of the value, each with one required member taken out or one added."""
    for name in schema.get("required", []):
        other = copy.deepcopy(value)
        del other[name]
        yield f"without {name}", other
    other = copy.deepcopy(value)
    other["no_such_member"] = 1
    yield "with one more member", other
    for name in schema.get("required", []):
        other = copy.deepcopy(value)
        other[name] = {"not": ["what", "it", "was"]}
        if other[name] != value[name] and schema["properties"][name]:
            yield f"with another type of {name}", other


def check_value(line, value, schemas):
    name = name_of(value)
    schema = schemas.get(name)
    if schema is None:
        return [f"{line}: there is no schema \"{name}\""]
    validator = jsonschema.Draft202012Validator(schema)
    faults = [f"{line}: {'/'.join(map(str, error.path))}: {error.message[:200]}"
              for error in list(validator.iter_errors(value))[:5]]
    for what, other in damaged(value, schema):
        if validator.is_valid(other):
            faults.append(f"the schema {name} accepts a value {what}")
    return faults


def check_report(line, value, schemas):
    """The parts of a report that are the JSON of other commands."""
    faults = []
    for part in value.get("configurations", []):
        for member, name in (("explain", "explain"), ("bench", "bench"), ("changes", "explain-diff")):
            if part[member] is not None:
                whole = {"schema": f"byoc.{name}/1", "byoc": value["byoc"], "ok": True, **part[member]}
                faults += check_value(f"{line}: {member}", whole, schemas)
    return faults


def commands_of(byoc):
    text = subprocess.run([byoc, "--help"], capture_output=True, text=True, check=True).stdout
    part = text.split("commands:\n", 1)[1].split("\n\n", 1)[0]
    return [line.split()[0] for line in part.splitlines()]


def main(build, source, folder):
    byoc = os.path.join(build, "bin", "byoc")
    schemas = read_schemas(os.path.join(source, "share/byoc/schemas"))
    make_models(source, folder)
    faults, used = [], set()
    lines = LINES.format(b=build, p=os.path.join(build, "lib/byoc/plugins"), s=source, bench=BENCH).strip().splitlines()
    if not os.path.isdir(os.path.join(folder, "onnx")):
        lines = [line for line in lines if not line.startswith("test-onnx")]
        used.add("test-onnx")
    if not os.path.exists(os.path.join(build, "lib/byoc/plugins/libbyoc_llvm.so")):  # tune needs a plugin with knobs
        lines = [line for line in lines if not line.startswith("tune")]
        used |= {"tune", "tune-list", "tune-compact"}
    for line in lines:
        try:
            value = printed(byoc, line, folder)
        except ValueError as error:
            faults.append(f"{line}: {error}")
            continue
        used.add(name_of(value))
        faults += check_value(line, value, schemas)
        if name_of(value) == "report":
            faults += check_report(line, value, schemas)
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    faults += [f"no line uses the schema {name}" for name in schemas if name not in used]
    tried = {line.split()[0] for line in lines} | used
    faults += [f"no line runs byoc {name}" for name in commands_of(byoc) if name not in tried]
    return faults


if __name__ == "__main__":
    found = main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3]))
    print("\n".join(found) if found else "schemas: the JSON of every command has the form of its schema")
    sys.exit(bool(found))
