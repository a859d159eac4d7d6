#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds an op, a pass, a plugin, an option and a kernel family to a copy of the tree, and uses them.

The places that each of them takes are the table PLACES: an op has four (source, test, importer row, conformance
sample), a pass four (source, declaration, row of the pipeline, golden test), a plugin one (its folder), an option one (a row of
the table), a family of the llvm plugin two (its folder, a row of the list). Nothing else of the copy changes, and
everything is found by the build.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper

import reuse

OP_SOURCE = """// Third powers.
#include "byoc/op/registry.h"
#include "core/op/kernel/unary.h"

namespace byoc::op {

void add_cube_ops(OpRegistry& ops) {
  ops.add(unary("cube", "y = x x x", FloatTypes{}, [](auto x) { return x * x * x; },
                [](Expr x) { return x * x * x; }));
}

}  // namespace byoc::op
"""
OP_TEST = """#include "support/run_op.h"

namespace byoc::testing {
namespace {

TEST(Cube, IsTheThirdPower) {
  expect_close(run_op1("cube", {f32({4}, {-2, 0, 1, 3})}), f32({4}, {-8, 0, 1, 27}));
}

}  // namespace
}  // namespace byoc::testing
"""
PASS_SOURCE = """// identity(x) is x:
//   before: %0 = identity(%x)  %1 = relu(%0)
//   after:  %0 = relu(%x)
#include "byoc/ir/visit.h"
#include "byoc/pass/simplify.h"

namespace byoc {

Result<IRModule> remove_identities(IRModule module, const PassContext&) {
  for (auto& [name, function] : module.functions) {
    Rewriter rewriter(function);
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      auto* call = std::get_if<Call>(&function.nodes[node].kind);
      if (call && call->op->name == "identity") rewriter.set({node, 0}, rewriter.mapped_args(node)[0]);
      else rewriter.copy(node);
    }
    function = std::move(rewriter).finish();
  }
  return module;
}

}  // namespace byoc
"""
PASS_GOLDEN = """// pass: remove_identities
// why: the reader of an identity reads its operand
fn main(%x: f32[1,8]) {
  %0 = identity(%x)
  %1 = relu(%0)
  return %1 }
// ---- expect
fn main(%x: f32[1,8]) {
  %0 = relu(%x)
  return %0 }
"""
OPTION_ROW = """    {.name = "fold-mib",
     .value = "MIB",
     .doc = "by how much folding constants may make the model larger",
     .fallback = std::string("64"),
     .part = OptionPart::kBuild,
     .is_of_functions = true,
     .set = [](const OptionValue& value, BuildOptions& to) -> Status {
       to.options["fold_mib"] = std::get<std::string>(value);
       return {};
     },
     .get = [](const BuildOptions& from) -> OptionValue {
       auto at = from.options.find("fold_mib");
       return at == from.options.end() ? std::string("64") : at->second;
     }},
"""
FAMILY_SOURCE = """// SPDX-License-Identifier: Apache-2.0
// A product and the softmax of its rows as one kernel: a row of sums is in the first cache when its softmax reads it.
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/ways.h"
#include "plugins/llvm/topi/schedule.h"

namespace byoc::llvm_plugin::row_softmax {
namespace {

constexpr const char* kCompute = "row_softmax";

std::vector<Match> find(const Function& function, bool) {
  const Ways ways(function);
  std::vector<Match> out;
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!ways.is_op(node, "softmax")) continue;
    const uint32_t product = ways.operands(node)[0].node;
    if (ways.is_op(product, "matmul") && ways.readers(product).size() == 1)
      out.push_back({{product, node}, {{product, "product"}}});
  }
  return out;
}

void add_computes(const FamilyCall& call, Strategies& out) {
  if (call.match == nullptr || call.match->role(call.site.node) != "product") return;
  te::Strategy own = out.front();
  own.name = kCompute, own.level = kPreferred, own.has_generic_schedule = false;
  out.push_back(std::move(own));
}

bool owns(std::string_view compute) { return compute == kCompute; }

std::optional<topi::Template> schedules(const te::Dag& dag, const te::Target& target) {
  const bool has_product = std::ranges::any_of(
      dag.stages, [](const te::Stage& stage) { return stage.compute == kCompute; });
  if (!has_product) return std::nullopt;
  topi::Template out = topi::default_template(dag, target);
  out.kind = kCompute;
  return out;
}

}  // namespace

extern const Family kFamily{.name = kCompute,
                            .find = find,
                            .add_computes = add_computes,
                            .owns = owns,
                            .schedules = schedules};

}  // namespace byoc::llvm_plugin::row_softmax
"""
SBATCH = """#!/usr/bin/env python3
import os, shutil, sys
folder = next(word.partition("=")[2] for word in sys.argv if word.startswith("--chdir="))
shutil.copy(os.path.join(folder, "sitting.json"), "SCRATCH/sitting.json")
sys.exit("no cluster here")
"""
PLUGIN_CMAKE = "byoc_add_plugin(byoc_added SOURCES plugin.cc)\n"


def new_file(path, text):
    def add(root):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        assert not (root / path).exists(), path
        (root / path).write_text(text)
    return path, add


def line_before(path, anchor, line):
    def add(root):
        text = (root / path).read_text()
        assert text.count(anchor) == 1, f"{path}: {anchor!r} is there {text.count(anchor)} times"
        (root / path).write_text(text.replace(anchor, line + anchor))
    return path, add


def plugin_folder(path, source):
    def add(root):
        text = (root / source).read_text().replace('"example"', '"added"')
        (root / path).mkdir()
        (root / path / "plugin.cc").write_text(text)
        (root / path / "CMakeLists.txt").write_text(PLUGIN_CMAKE)
    return path, add


PLACES = {
    "op": [
        new_file("core/op/elementwise/cube.cc", OP_SOURCE),
        new_file("tests/ops/cube_test.cc", OP_TEST),
        line_before("core/import/onnx/rows/elementwise.cc", '    {"Abs", 1,', '    {"Cube", 1, kNewest, renamed<"cube">},\n'),
        line_before("core/conform/samples/sample_table.cc", '    {"acosh", ', '    {"cube", "T[2,3,5] | T[0,3]", ""},\n'),
    ],
    "pass": [
        new_file("core/simplify/remove_identities.cc", PASS_SOURCE),
        line_before("include/byoc/pass/simplify.h", "\n}  // namespace byoc",
                    "/// Readers of an identity read its operand.\nResult<IRModule> remove_identities(IRModule, const PassContext&);\n"),
        line_before("core/compile/pipeline.cc", '      {"merge_equal_nodes", ""',
                    '      {"remove_identities", "", "readers of an identity read its operand", plain(remove_identities)},\n'),
        new_file("tests/golden/remove_identities/reader_reads_the_operand.ir", PASS_GOLDEN),
    ],
    "plugin": [plugin_folder("plugins/added", "plugins/example/cpp/plugin.cc")],
    "option": [line_before("core/compile/option_table.cc", '    {.name = "tuning-log",', OPTION_ROW)],
    "kernel family": [
        new_file("plugins/llvm/families/row_softmax/family.cc", FAMILY_SOURCE),
        line_before("plugins/llvm/families/families.inc", "BYOC_FAMILY(stem)", "BYOC_FAMILY(row_softmax)\n"),
    ],
}
EXPECTED = {"op": 4, "pass": 4, "plugin": 1, "option": 1, "kernel family": 2}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}exit code {done.returncode}")
    return done.stdout


def copy_tree(source, copy):
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    shutil.copy(source / "CMakeLists.txt", copy)
    for folder in ("cmake", "include", "runtime", "core", "plugins", "frontends", "tests", "docs", "bench", "packages", "python", "share"):
        shutil.copytree(source / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))


def use_op(build, scratch):
    run(build / "bin/ops_test", "--gtest_filter=Cube.*")
    x = numpy.array([[-2, 0.5, 3]], numpy.float32)
    graph = helper.make_graph([helper.make_node("Cube", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), scratch / "m.onnx")
    numpy.save(scratch / "x.npy", x)
    run(build / "bin/byoc", "run", scratch / "m.onnx", "--compiler", "json", "--input", f"x={scratch / 'x.npy'}",
        "--output-dir", scratch / "out")
    files = json.loads((scratch / "out/outputs.json").read_text())
    name = next(str(value) for value in json_strings(files) if str(value).endswith(".npy"))
    y = numpy.load(scratch / "out" / name)
    assert numpy.allclose(y, x * x * x, rtol=1e-6), y
    sampled = run(build / "bin/byoc", "check-plugin", build / "lib/byoc/plugins/libbyoc_json.so", "--json")
    assert '"cube"' in sampled, "check-plugin compares no cube"


def json_strings(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from json_strings(item)
    elif isinstance(value, str):
        yield value


def use_pass(build, _):
    assert "remove_identities" in run(build / "bin/byoc", "opt", "--list")
    run(build / "bin/golden_test", "--gtest_filter=*remove_identities*", "--gtest_fail_if_no_test_selected")


def use_plugin(build, _):
    assert "added" in run(build / "bin/byoc", "plugins")
    run(build / "bin/byoc", "check-plugin", build / "lib/byoc/plugins/libbyoc_added.so")


def use_option(build, scratch):
    """The flag, JSON, a word of --vs, a replay folder and the file for machines of a cluster have the new option."""
    byoc, digits = build / "bin/byoc", build.parent / "tests/models/digits/model.onnx"
    model = (digits, "--shape", "N=1", "--fold-mib", "7", "--compiler", "llvm", "--plugin", llvm_plugin())
    explained = json.loads(run(byoc, "explain", *model, "--json"))
    assert explained["options"]["fold-mib"] == "7", explained["options"]
    benched = json.loads(run(byoc, "bench", *model, "--no-check", "--min-time", "0.01", "--vs", "fold-mib=9", "--json"))
    assert benched["options"]["fold-mib"] == "7" and benched["versus"]["configuration"] == "fold-mib=9"
    run(byoc, "dump", *model, "--region", "0", "-o", scratch / "region")
    manifest = json.loads((scratch / "region/manifest.json").read_text())
    assert manifest["options"] == {"fold-mib": "7"}, manifest
    run(byoc, "replay", scratch / "region", "--plugin", llvm_plugin())
    sbatch = scratch / "bin/sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(SBATCH.replace("SCRATCH", str(scratch)))
    sbatch.chmod(0o755)
    subprocess.run([byoc, "tune", *map(str, model), "--log", scratch / "log.jsonl", "--slurm", "--trials", "1"],
                   env=os.environ | {"PATH": f"{sbatch.parent}:{os.environ['PATH']}"}, capture_output=True)
    sitting = json.loads((scratch / "sitting.json").read_text())
    assert json.loads(sitting["options"]) == {"fold-mib": "7"}, sitting


def use_family(build, scratch):
    """The copy's llvm plugin computes a product and its softmax as one kernel, and as two without the family."""
    rng = numpy.random.default_rng(1)
    x, w = rng.standard_normal((40, 24), numpy.float32), rng.standard_normal((24, 56), numpy.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Softmax", ["m"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
                               helper.make_tensor_value_info("w", TensorProto.FLOAT, w.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (40, 56))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), scratch / "family.onnx")
    numpy.save(scratch / "family_x.npy", x)              # constants may be packed, for an op of their own
    numpy.save(scratch / "family_w.npy", w)
    model = (scratch / "family.onnx", "--compiler", "llvm", "--plugin", build / "lib/byoc/plugins/libbyoc_llvm.so")
    for kernels, options in ((1, ()), (2, ("--plugin-option", "llvm.families=-row_softmax"))):
        made = json.loads(run(build / "bin/byoc", "compile", *model, *options, "-o", scratch / "family.byoc", "--json"))
        assert made["modules"][0]["functions"] == kernels, made
        run(build / "bin/byoc", "run", *model, *options, "--input", f"x={scratch / 'family_x.npy'}", "--input",
            f"w={scratch / 'family_w.npy'}", "--output-dir", scratch / f"family{kernels}")
        y = numpy.load(next((scratch / f"family{kernels}").glob("*.npy")))
        terms = numpy.exp(x @ w - (x @ w).max(1, keepdims=True))
        assert numpy.allclose(y, terms / terms.sum(1, keepdims=True), atol=1e-5), abs(y).max()


def llvm_plugin():
    """The llvm plugin of the build that this test belongs to: a plugin works with every byoc of its ABI."""
    return os.environ["BYOC_LLVM_PLUGIN"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("copy", type=Path)
    parser.add_argument("--objects", type=Path, help="a build folder of the tree; what the copy does not change is taken from it")
    parser.add_argument("--generator", default="Ninja")
    parser.add_argument("--batch", default="0", help="BYOC_BATCH of that build")
    options = parser.parse_args()
    copy_tree(options.source, options.copy)
    for kind, places in PLACES.items():
        assert len({path for path, _ in places}) == EXPECTED[kind], f"{kind}: {len(places)} places"
        for path, add in places:
            print(f"{kind}: {path}", flush=True)
            add(options.copy)
    build, scratch = options.copy / "build", options.copy / "scratch"
    scratch.mkdir()
    objects, include = options.copy / "objects", Path(__file__).with_name("reuse.cmake")
    run("cmake", "-S", options.copy, "-B", build, "-G", options.generator, "-DBYOC_BENCH=OFF",
        f"-DBYOC_BATCH={options.batch}",
        f"-DCMAKE_PROJECT_byoc_INCLUDE={include}")
    if options.objects and options.generator == "Ninja":
        count = reuse.put_same_objects(options.source, options.objects, options.copy, build, objects)
        print(f"objects of {options.objects}: {count}", flush=True)
    run("cmake", "--build", build, "--target", "byoc", "byoc_json", "byoc_llvm", "byoc_added", "ops_test", "golden_test",
        env={**os.environ, "BYOC_REUSE": str(objects)})
    for use in (use_op, use_pass, use_plugin, use_option, use_family):
        use(build, scratch)
        print(f"{use.__name__}: works", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time: {used.ru_utime + used.ru_stime:.0f} s", flush=True)
    shutil.rmtree(options.copy)


if __name__ == "__main__":
    main()
