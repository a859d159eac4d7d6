// SPDX-License-Identifier: Apache-2.0
#include "core/conform/open/open_samples.h"

#include <algorithm>
#include <set>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/pass/bind.h"
#include "byoc/text/text.h"

namespace byoc::conform {
namespace {

using Axes = std::vector<size_t>;

constexpr const char* kNames[] = {"N", "L"};  // the later axis comes first by name

int64_t most_of(int64_t extent) { return 2 * extent + 3; }

// Opens these dims of the first operand, and those of others of its rank that have the same extent.
std::optional<IRModule> with_open_axes(const IRModule& module, const Axes& axes) {
  const Function& main = module.function("main");
  const Shape& first = main.nodes[0].types[0]->shape;
  IRModule out = module;
  Function now;
  std::vector<TypeId> types;
  for (const Node& node : main.nodes) {
    TensorType type = *node.types[0];
    const bool is_param = std::holds_alternative<Param>(node.kind);
    if (!is_param && !std::holds_alternative<Constant>(node.kind)) break;
    for (size_t k = 0; is_param && k < axes.size() && type.shape.size() == first.size(); ++k) {
      Dim& dim = type.shape[axes[k]];
      if (dim == first[axes[k]]) dim = Dim::symbol(kNames[k], 1, most_of(dim.extent()));
    }
    types.emplace_back(type);
    if (is_param) now.add_param(std::get<Param>(node.kind).name, types.back());
    else now.add_constant(std::get<Constant>(node.kind).data, types.back());
  }
  const Node& last = main.nodes.back();
  const Call& call = std::get<Call>(last.kind);
  std::vector<TypeId> in;
  for (ValueId arg : main.args(last)) in.push_back(types[arg.node]);
  auto results = infer_types(*call.op, in, *call.attrs);
  if (!results.ok()) return std::nullopt;
  const uint32_t node = now.add_call(call.op, call.attrs, main.args(last), TypeIds(*results));
  for (uint32_t k = 0; k < results->size(); ++k) now.results.push_back({node, k});
  out.functions["main"] = std::move(now);
  return out;
}

using Sizes = std::vector<int64_t>;

/// Returns the largest sizes, the least, some between, and the largest and the least again.
std::vector<Sizes> sizes_of(const std::vector<Dim>& sizes) {
  std::vector<Sizes> out(6);
  for (size_t k = 0; k < sizes.size(); ++k) {
    const int64_t least = sizes[k].min(), most = sizes[k].max();
    const int64_t middle = (least + most) / 2, next = std::min(least + 1, most);
    const int64_t turns[] = {most,   least, k % 2 == 0 ? middle : most, k % 2 == 0 ? next : middle,
                             middle, most};
    for (size_t turn = 0; turn < out.size(); ++turn) out[turn].push_back(turns[turn]);
  }
  out.push_back(out[1]);
  return out;
}

// Adds the runs of those sizes for which the op has types and the reference a kernel.
void add_runs(OpenSample& sample) {
  const std::vector<Dim> open = open_sizes(sample.module, sample.module.function("main"));
  for (const Sizes& sizes : sizes_of(open)) {
    GivenShapes given;
    OpenRun run;
    for (size_t k = 0; k < open.size(); ++k) {
      given[open[k].name().str()] = {sizes[k]};
      run.names.push_back(open[k].name().str());
      run.text += cat(k > 0 ? ", " : "", open[k].name(), "=", sizes[k]);
    }
    Result<IRModule> module = bind_shapes(sample.module, given, {});
    if (!module.ok()) continue;
    run.reference = *std::move(module);
    run.sizes = sizes;
    sample.runs.push_back(std::move(run));
  }
}

bool has_several_sizes(const OpenSample& sample) {
  return std::ranges::any_of(sample.runs,
                             [&](const OpenRun& run) { return run.sizes != sample.runs[0].sizes; });
}

struct WrittenOpen {
  const char *label, *text;
};
constexpr WrittenOpen kWrittenOpen[] = {
    {"rows of a product, a bias and relu", R"(fn main(%x: f32[1<=N<=9,16]) {
      %w = const(0.25) : f32[16,12]
      %b = const(-1.5) : f32[12]
      %0 = matmul(%x, %w)
      %1 = add(%0, %b)
      %2 = relu(%1)
      return %2
    })"},
    {"a product of sequences, and its rows", R"(fn main(%x: f32[1<=N<=4,1<=L<=17,8]) {
      %w = const(0.5) : f32[8,6]
      %0 = reshape(%x) {shape=[-1,8]}
      %1 = matmul(%0, %w)
      %2 = reshape(%1) {open_shape=["1<=N<=4","1<=L<=17","6"]}
      %3 = tanh(%2)
      return %3
    })"},
    {"attention of an open length",
     R"(fn main(%q: f32[1<=N<=3,1<=L<=11,8], %k: f32[1<=N<=3,1<=L<=11,8], %v: f32[1<=N<=3,1<=L<=11,8]) {
      %0 = transpose(%k) {perm=[0,2,1]}
      %1 = matmul(%q, %0)
      %2 = softmax(%1)
      %3 = matmul(%2, %v)
      return %3
    })"},
    {"a convolution of an open batch, and a residual", R"(fn main(%x: f32[1<=N<=5,8,6,7]) {
      %w = const(0.125) : f32[8,8,3,3]
      %0 = conv2d(%x, %w) {pads=[1,1,1,1]}
      %1 = add(%0, %x)
      %2 = relu(%1)
      return %2
    })"},
    {"a concatenation along an open length",
     R"(fn main(%x: f32[1<=N<=4,1<=L<=9], %y: f32[1<=N<=4,3]) {
      %0 = concat(%x, %y) {axis=1}
      %1 = exp(%0)
      return %1
    })"},
    {"sums along an open length", R"(fn main(%x: f32[1<=N<=4,1<=L<=33,5]) {
      %0 = sum(%x) {axes=[1], keepdims=true}
      %1 = subtract(%x, %0)
      return %1
    })"},
};

}  // namespace

std::vector<OpenSample> opened(const Program& program) {
  std::vector<OpenSample> out;
  const Function& main = program.module.function("main");
  const bool is_one_op = main.nodes.size() > 1 &&
                         std::holds_alternative<Param>(main.nodes[0].kind) &&
                         std::holds_alternative<Call>(main.nodes.back().kind);
  if (!is_one_op) return out;
  const size_t rank = main.nodes[0].types[0]->shape.size();
  for (const Axes& axes : {Axes{0}, Axes{1}, Axes{0, 1}}) {
    if (axes.back() >= rank) continue;
    std::optional<IRModule> module = with_open_axes(program.module, axes);
    if (!module) continue;
    OpenSample sample{
        cat(program.label, " with open dims"), *std::move(module), program.domains, {}};
    for (size_t axis : axes) sample.label += cat(" ", axis);
    add_runs(sample);
    if (has_several_sizes(sample)) out.push_back(std::move(sample));
  }
  return out;
}

std::vector<OpenSample> written_open_samples() {
  std::vector<OpenSample> out;
  for (const WrittenOpen& row : kWrittenOpen) {
    Result<IRModule> module = parse_module(row.text, all_ops());
    BYOC_CHECK(module.ok(), row.label, ": ", module.status().to_string());
    const size_t params = module->function("main").num_params();
    OpenSample sample{row.label, *std::move(module), std::vector<Domain>(params), {}, true};
    add_runs(sample);
    BYOC_CHECK(has_several_sizes(sample), row.label, " has several sizes");
    out.push_back(std::move(sample));
  }
  return out;
}

}  // namespace byoc::conform
