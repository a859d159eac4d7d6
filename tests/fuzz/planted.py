#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in a copy of the tree, one at a time, and counts those that byoc_fuzz finds.

Each fault of FAULTS is a plausible mistake: an edit of one or two places. The copy is built once; after
an edit ninja rebuilds what it touches. byoc_fuzz then runs at most --count graphs and is stopped at the first fault
that the program without the edit does not have.

  planted.py --work DIR                  all of them; README.md has the result
  planted.py --work DIR --only 3,17      some, by number
  planted.py --work DIR --only "onednn: alpha"  those whose names have this text
  planted.py --check                     only checks that every edit still applies
"""
import argparse
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Fault:
    name: str
    file: str
    old: str
    new: str
    more: tuple = ()  # further (file, old, new)

    def edits(self):
        return ((self.file, self.old, self.new), *self.more)


PROGRAM = "core/codegen/program/"
PLAN, ARENA = PROGRAM + "plan_memory.cc", "runtime/base/arena.cc"
EQUAL, AFFINE, FOLD = "core/simplify/merge_equal_nodes.cc", "core/simplify/channel_affine.cc", "core/simplify/fold_batch_norm.cc"
BLOCK, BLOCKED = "core/codegen/block_ops.cc", "core/codegen/blocked_function.cc"
DNNL_PLAN, DNNL = "plugins/onednn/plan.cc", "plugins/onednn/primitives/"
GROUP = "core/codegen/kernels/group_kernels.cc"
LLVM_OPS, LLVM_PLAN = "plugins/llvm/values/ops.cc", "plugins/llvm/analysis/memory_plan.cc"

FAULTS = [
    # Faults in passes and the memory plan.
    Fault("plan_memory: sizes are rounded down to the alignment", PROGRAM + "control_scratch.cc",
          "(std::max(static_cast<uint64_t>(bytes), least) + kScratchAlign - 1) / kScratchAlign *",
          "std::max(static_cast<uint64_t>(bytes), least) / kScratchAlign *"),
    Fault("executable: a value that is two results is written once", PROGRAM + "write_steps.cc",
          "if (from != frame.results[k])", "if (from.kind != Place::kOutput)"),
    Fault("plan_memory: the last step that reads a value is forgotten", PLAN,
          "last_read_[blocks_.first[arg.node] + arg.output] = node;", "last_read_[blocks_.first[arg.node] + arg.output] = node - 1;"),
    Fault("arena: values of one step overlap", ARENA,
          "there.first > now.last || there.last < now.first", "there.first >= now.last || there.last <= now.first",
          ((ARENA, "(is_start ? 0 : 1)", "(is_start ? 1 : 0)"),
           (ARENA, "  BYOC_CHECK(best.bytes >= peak,", "  BYOC_CHECK(true || best.bytes >= peak,"))),
    Fault("merge_equal_nodes: attributes are not compared", EQUAL,
          "if (call->op != other.op || call->attrs != other.attrs) return false;", "if (call->op != other.op) return false;",
          ((EQUAL, "mix(mix(hash, std::hash<const void*>()(call->op)), std::hash<const void*>()(call->attrs));",
            "mix(hash, std::hash<const void*>()(call->op));"),)),
    Fault("merge_equal_nodes: constants of one type are merged", EQUAL,
          "return constant->data == std::get<Constant>(y.kind).data;",
          "return constant->data->size() == std::get<Constant>(y.kind).data->size();",
          ((EQUAL, "hash = mix(mix(hash, std::hash<const void*>()(constant->data)), node.types[0].id());",
            "hash = mix(mix(hash, constant->data->size()), node.types[0].id());"),)),
    Fault("merge_equal_nodes: outputs of one node are not distinguished", EQUAL,
          "return std::ranges::equal(to_.args(x), to_.args(y));",
          "return std::ranges::equal(to_.args(x), to_.args(y), {}, &ValueId::node, &ValueId::node);",
          ((EQUAL, "hash = mix(mix(hash, arg.node), arg.output);", "hash = mix(hash, arg.node);"),)),
    Fault("fold_batch_norm: the mean has the wrong sign", AFFINE,
          "(before.shift[c] - mean[c]) * factor", "(before.shift[c] + mean[c]) * factor"),
    Fault("fold_batch_norm: a product leaves the sum before it as it is", AFFINE,
          "      out.shift[c] *= values[c];\n", ""),
    Fault("fold_batch_norm: a value with other readers is folded", FOLD,
          "first_of_[arg.node] == kNone || uses_(arg) != 1", "first_of_[arg.node] == kNone"),
    Fault("fold_batch_norm: channels of a gemm with trans_b are taken along k", AFFINE,
          "is_swapped ? rank - 1 - static_cast<size_t>(dim) :", "is_swapped && rank < 2 ? 0 :"),
    Fault("fold_batch_norm: epsilon is dropped", AFFINE,
          "std::sqrt(var[c] + call.attrs->f(\"epsilon\"))", "std::sqrt(var[c])"),
    Fault("assign_layouts: pads of a pool in blocks are in another order", BLOCK,
          "Ints{pads[0], pads[1], 0, pads[2], pads[3], 0}", "Ints{pads[0], pads[2], 0, pads[1], pads[3], 0}"),
    Fault("assign_layouts: strides of a pool in blocks are dropped at its end", BLOCK,
          "{\"kernel_shape\", \"strides\", \"dilations\"}", "{\"kernel_shape\", \"dilations\"}",
          ((BLOCK, "  Ints pads = attrs.ints(\"pads\");", "  attrs.set(\"strides\", Ints{});\n  Ints pads = attrs.ints(\"pads\");"),)),
    Fault("assign_layouts: a concat along another axis is made along channels", BLOCK,
          "if (call_.attrs->i(\"axis\") != 1 && call_.attrs->i(\"axis\") != -3) return false;", ""),
    Fault("group_kernels: a value that is read twice is let into one reader's kernel", GROUP,
          "    if (producer.readers != kernel || kernel == kMixed) {", "    if (kernel == kMixed) {"),
    # Faults in onednn.
    Fault("onednn: the residual is not copied before a sum", DNNL_PLAN, "  if (built.sum < 0) return;", "  return;"),
    Fault("onednn: memory that a later unit reads is taken over", DNNL_PLAN,
          "if (is_result || last_reader_[static_cast<size_t>(value)] != unit)", "if (is_result)"),
    Fault("onednn: memory that a view shares is taken over", DNNL_PLAN,
          "buffer.home != Buffer::kArena || buffer.is_shared", "buffer.home != Buffer::kArena"),
    Fault("onednn: an output that lies elsewhere is not copied", DNNL_PLAN, " && from.offset == 0)", ")",
          ((DNNL_PLAN, "home.home == Buffer::kOutput && home.index == k &&", "home.home == Buffer::kOutput &&"),)),
    Fault("onednn: subtract with swapped operands keeps its sign", DNNL + "elementwise.cc",
          "append_eltwise(ops, algorithm::eltwise_linear, -1, 0);", "append_eltwise(ops, algorithm::eltwise_linear, 1, 0);"),
    Fault("onednn: divide with swapped operands is not inverted", DNNL + "elementwise.cc",
          "append_eltwise(ops, algorithm::eltwise_pow, 1, -1);", "append_eltwise(ops, algorithm::eltwise_pow, 1, 1);"),
    Fault("onednn: less with swapped operands stays less", DNNL + "post_ops.cc",
          "{\"less\", {algorithm::binary_lt, algorithm::binary_gt}}", "{\"less\", {algorithm::binary_lt, algorithm::binary_lt}}"),
    Fault("onednn: clip without a lower bound is clipped at 0", DNNL + "post_ops.cc",
          "f32(node, \"min\", -kNone)", "f32(node, \"min\", 0)"),
    Fault("onednn: the slope of leaky_relu is the default one", DNNL + "post_ops.cc",
          "return {how, f32(n, \"alpha\", default_percent / 100.0), 0};",
          "return {how, f32(n, \"no alpha\", default_percent / 100.0), 0};"),
    Fault("onednn: a bias of another dim's extent is taken for one per channel", DNNL + "post_ops.cc",
          "if (static_cast<int64_t>(k + shift) != channel.axis && dims[k] != 1) return false;", "",
          ((DNNL + "post_ops.cc", "  size_t shift = rank - dims.size();\n  int64_t elements = 1;", "  int64_t elements = 1;"),)),
    Fault("onednn: a negative start of a slice is off by one", "plugins/onednn/region/subviews.cc",
          "start < 0 ? start + dims[d] : start", "start < 0 ? start + dims[d] - 1 : start"),
    Fault("onednn: the step of a slice is dropped", DNNL + "move.cc", "strides.push_back(from[d] * steps[d]);", "strides.push_back(from[d]);"),
    Fault("onednn: a transpose goes the other way", DNNL + "move.cc",
          "strides[k] = from[perm.empty() ? dims.size() - 1 - k : static_cast<size_t>(perm[k])];",
          "strides[perm.empty() ? k : static_cast<size_t>(perm[k])] = from[perm.empty() ? dims.size() - 1 - k : k];"),
    Fault("onednn: the pads of a pool change places", DNNL + "pool.cc",
          "b.data(0)), w.strides, w.kernel,\n                                  minus_one(w.dilations), w.begin, w.end);",
          "b.data(0)), w.strides, w.kernel,\n                                  minus_one(w.dilations), w.end, w.begin);"),
    Fault("onednn: alpha of a gemm is dropped", DNNL + "matmul.cc",
          "static_cast<float>(attrs.f(\"alpha\", 1.0))", "static_cast<float>(attrs.f(\"alpha\", 1.0) * 0 + 1)"),
    Fault("onednn: max pooling in blocks loses NaN", DNNL + "pool.cc",
          "(cell[k] > most[k]) | (cell[k] != cell[k]) ? cell[k] : most[k];", "cell[k] > most[k] ? cell[k] : most[k];"),
    # Faults in llvm, and in the tensor expressions that it compiles.
    Fault("llvm: round takes halves away from zero", LLVM_OPS, "llvm::Intrinsic::roundeven", "llvm::Intrinsic::round"),
    Fault("llvm: not_equal is false for NaN", LLVM_OPS, "llvm::CmpInst::FCMP_UNE", "llvm::CmpInst::FCMP_ONE"),
    Fault("llvm: unsigned integers are compared as signed ones", LLVM_OPS,
          "auto less = is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;",
          "auto less = llvm::CmpInst::ICMP_SLT;"),
    Fault("llvm: unsigned integers become floats as signed ones", "plugins/llvm/values/casts.cc",
          "return is_signed_int(from) ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);\n}\n\nllvm::Value* Ops::bitcast",
          "return b_.CreateSIToFP(x, type);\n}\n\nllvm::Value* Ops::bitcast"),
    Fault("llvm: the last loop that reads a value is forgotten", LLVM_PLAN,
          "  range.first = std::min(range.first, from);\n  range.last = std::max(range.last, now_);",
          "  range.first = std::min(range.first, from);\n  range.last = std::max(range.last, from - 1);",
          ((LLVM_PLAN, "    range.last = std::max(range.last, now_);\n  }\n  ++now_;", "    range.last = range.last + 0;\n  }\n  ++now_;"),)),
    Fault("llvm: the cells after the body of a split loop are left out", "plugins/llvm/analysis/loop_splitting.cc",
          "  if (longest->last < runs.back().last) out.push_back({longest->last, runs.back().last});\n", ""),
    Fault("llvm: the lanes of a select's second value are loaded where the first one is chosen", "plugins/llvm/values/values.cc",
          "value_under(x.no, b_.CreateNot(condition))", "value_under(x.no, condition)"),
    Fault("pad: reflect repeats the edge cell", "core/op/shape/pad.cc",
          'if (mode == "reflect") before = -at,', 'if (mode == "reflect") before = -at - 1,'),
    Fault("onednn: a chain goes on after an operand that makes its result larger", "plugins/onednn/region/chain.cc",
          "bool is_cut = post.grows || row->", "bool is_cut = row->"),
    Fault("llvm: sums of no terms are tiled", "plugins/llvm/topi/tiled.cc",
          "if (!is_known || !has_terms)", "if (!is_known || !(has_terms || true))"),
    # The guards after the pass are taken away, too: each would hide the fault from llvm.
    Fault("prepare_quantized: a dequantize is left without a reader, and becomes a function without results",
          "core/simplify/prepare_quantized.cc",
          "        if (is_read[arg.node]) rewriter.copy(arg.node);\n", "        rewriter.copy(arg.node);\n",
          (("core/simplify/prepare_quantized.cc",
            "without_dead_nodes(with_own_dequantize(without_dead_nodes(std::move(integers))))",
            "with_own_dequantize(without_dead_nodes(std::move(integers)))"),
           ("core/partition/partition_graph.cc", "  if (outputs.empty()) return;\n", ""),
           ("core/codegen/run_codegen.cc", "if (function.results.empty()) {", "if (function.results.size() > 1000000) {"),
           ("core/graph_json/read_graph_json.cc",
            '  if (main_.function.results.empty()) throw BadGraph("it has no outputs");\n', ""))),
]


def say(text):
    print(text, flush=True)


def check(root):
    """Names the edits that do not apply to exactly one place."""
    bad = []
    for number, fault in enumerate(FAULTS, 1):
        for file, old, _ in fault.edits():
            count = (root / file).read_text().count(old) if (root / file).exists() else 0
            if count != 1:
                bad.append(f"{number} {fault.name}: {file} has its text {count} times")
    return bad


def copy_tree(work):
    """Brings the copy to the state of the tree; files that are equal keep their times."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = set(filter(None, listed.split("\0")))
    for path in (work / "tree").rglob("*"):
        name = str(path.relative_to(work / "tree"))
        if path.is_file() and not name.startswith("build/") and name not in files:
            path.unlink()  # sources are gathered by pattern
    for name in sorted(files):
        source, target = ROOT / name, work / "tree" / name
        if not source.is_file() or (target.is_file() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


class Copy:
    def __init__(self, work, jobs):
        self.tree, self.build, self.jobs = work / "tree", work / "tree/build", jobs  # as in a checkout, for ccache
        self.clean = work / "clean"

    def configure(self):
        subprocess.run(["cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", "-DBYOC_BENCH=OFF", "-DBYOC_BATCH=12"], check=True,
                       stdout=subprocess.DEVNULL)

    def make(self):
        """Builds the copy; returns None, or the compiler's errors."""
        done = subprocess.run(["nice", "ninja", "-C", self.build, f"-j{self.jobs}", "byoc_fuzz"], capture_output=True, text=True)
        return None if done.returncode == 0 else done.stdout

    def keep(self):
        """Keeps the program and the plugins without an edit: a fault that they report as well is not a planted one."""
        shutil.rmtree(self.clean, ignore_errors=True)
        shutil.copytree(self.build / "lib/byoc/plugins", self.clean / "plugins")
        shutil.copy(self.build / "bin/byoc_fuzz", self.clean)

    def is_known(self, seed, style, flags):
        command = [self.clean / "byoc_fuzz", "--plugins", self.clean / "plugins", "--seed", seed, "--count", "1",
                   "--style", style, "--most-faults", "0", *flags.split()]
        return subprocess.run(command, capture_output=True).returncode != 0

    def fuzz(self, arguments):
        """Returns the first fault that is not in the tree without the edit, as (seed, text), or None; the number of graphs."""
        command = ["nice", self.build / "bin/byoc_fuzz", "--most-faults", "0", "--jobs", str(self.jobs), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found, graphs = None, 0
        for line in process.stdout:
            match = re.match(r"fault: seed (\d+) \((\w+)\) (--compiler .* --threads \d+): (.*)", line)
            if match and not found and not self.is_known(match[1], match[2], match[3]):
                found = (int(match[1]), f"{match[3]}: {match[4]}")
                process.send_signal(signal.SIGINT)
            elif match := re.match(r"(\d+) graphs, ", line):
                graphs = int(match[1])
        process.wait()
        return found, graphs

    def apply(self, fault):
        before = {}
        for file, old, new in fault.edits():
            path = self.tree / file
            text = path.read_text()
            before.setdefault(path, text)
            path.write_text(text.replace(old, new))
        return before


def run_fault(copy, fault, arguments, first):
    before = copy.apply(fault)
    try:
        if error := copy.make():
            return "no build", next((line for line in error.splitlines() if "error" in line), error)[:150]
        found, graphs = copy.fuzz(arguments)
        if not found:
            return "not found", f"in {graphs} graphs"
        return "found", f"at graph {found[0] - first + 1}, {found[1][:140]}"
    finally:
        for path, text in before.items():
            path.write_text(text)


def chosen(text):
    """The numbers of faults, from 3,17-20 or a part of a name."""
    if not re.fullmatch(r"[\d,-]+", text):
        return [number for number, fault in enumerate(FAULTS, 1) if text in fault.name]
    ranges = [part.split("-") for part in text.split(",")]
    return [number for part in ranges for number in range(int(part[0]), int(part[-1]) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="folder of the copy and its build; kept for the next time")
    parser.add_argument("--only", help="numbers of faults, as 3,17 or 20-30, or a part of their names")
    parser.add_argument("--count", type=int, default=2000, help="graphs at most (2000)")
    parser.add_argument("--seed", type=int, default=500000, help="of the first graph (500000)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (1)")
    parser.add_argument("--check", action="store_true", help="only check that every edit applies")
    options = parser.parse_args()
    if bad := check(ROOT):
        sys.exit("\n".join(bad))
    if options.check:
        return say(f"{len(FAULTS)} edits apply")
    if options.work is None:
        parser.error("--work DIR is needed")
    numbers = chosen(options.only) if options.only else list(range(1, len(FAULTS) + 1))
    if not numbers:
        parser.error(f"no fault is called {options.only}")
    copy_tree(options.work)
    copy = Copy(options.work, options.jobs)
    copy.configure()
    if error := copy.make():
        sys.exit("the tree without faults does not build:\n" + error)
    arguments = ["--seed", str(options.seed), "--count", str(options.count), "--configurations", "6"]
    copy.keep()
    results = {}
    for number in numbers:
        begin = time.time()
        verdict, text = run_fault(copy, FAULTS[number - 1], arguments, options.seed)
        results[number] = verdict
        say(f"{number:2} {verdict:9} {FAULTS[number - 1].name} ({time.time() - begin:.0f} s)\n             {text}")
    say(f"{sum(v == 'found' for v in results.values())} of {len(results)} found")


if __name__ == "__main__":
    main()
