// SPDX-License-Identifier: Apache-2.0
#include "core/conform/groups/group_samples.h"

#include "byoc/base/check.h"
#include "byoc/text/text.h"

namespace byoc::conform {
namespace {

struct Written {
  const char *label, *text;
};
constexpr Written kWritten[] = {
    {"a product and softmax", R"(fn main(%x: f32[5,8], %w: f32[8,6]) {
      %0 = matmul(%x, %w) loc("product")
      %1 = softmax(%0) loc("softmax")
      return %1
    })"},
    {"a product that softmax and another op read", R"(fn main(%x: f32[5,8], %w: f32[8,6]) {
      %0 = matmul(%x, %w) loc("product")
      %1 = softmax(%0) loc("softmax")
      %2 = add(%0, %1) loc("sum")
      return %2
    })"},
    {"layers of a perceptron",
     R"(fn main(%x: f32[4,16], %w: f32[16,32], %b: f32[32], %v: f32[32,8]) {
      %0 = matmul(%x, %w) loc("product")
      %1 = add(%0, %b) loc("bias")
      %2 = relu(%1) loc("relu")
      %3 = matmul(%2, %v) loc("next")
      %4 = sigmoid(%3) loc("sigmoid")
      return %4
    })"},
    {"attention", R"(fn main(%q: f32[20,8], %k: f32[8,24], %v: f32[24,8]) {
      %0 = matmul(%q, %k) loc("scores")
      %1 = softmax(%0) loc("weights")
      %2 = matmul(%1, %v) loc("values")
      return %2
    })"},
    {"attention of two heads with scale and mask",
     R"(fn main(%q: f32[2,32,8], %k: f32[2,32,8], %v: f32[2,32,8], %mask: f32[32,32]) {
      %s = const(0.5) : f32[]
      %0 = transpose(%k) {perm=[0,2,1]} loc("keys")
      %1 = multiply(%q, %s) loc("scale")
      %2 = matmul(%1, %0) loc("scores")
      %3 = add(%2, %mask) loc("mask")
      %4 = softmax(%3) loc("weights")
      %5 = matmul(%4, %v) loc("values")
      %6 = transpose(%5) {perm=[1,0,2]} loc("move")
      return %6
    })"},
    {"a normalisation in parts", R"(fn main(%x: f32[6,32], %g: f32[32]) {
      %e = const(0.001) : f32[]
      %0 = mean(%x) {axes=[1], keepdims=true} loc("mean")
      %1 = subtract(%x, %0) loc("centred")
      %2 = multiply(%1, %1) loc("squared")
      %3 = mean(%2) {axes=[1], keepdims=true} loc("variance")
      %4 = add(%3, %e) loc("epsilon")
      %5 = sqrt(%4) loc("deviation")
      %6 = divide(%1, %5) loc("normal")
      %7 = multiply(%6, %g) loc("gain")
      return %7
    })"},
    {"convolutions with a residual",
     R"(fn main(%x: f32[1,8,9,9], %w: f32[8,8,3,3], %v: f32[8,8,1,1]) {
      %0 = conv2d(%x, %w) {pads=[1,1,1,1]} loc("first")
      %1 = relu(%0) loc("relu")
      %2 = conv2d(%1, %v) loc("second")
      %3 = add(%2, %x) loc("residual")
      return %3
    })"},
    {"a depthwise convolution between others",
     R"(fn main(%x: f32[1,8,12,12], %e: f32[16,8,1,1], %d: f32[16,1,3,3], %p: f32[8,16,1,1]) {
      %0 = conv2d(%x, %e) loc("expand")
      %1 = relu(%0) loc("relu")
      %2 = conv2d(%1, %d) {group=16, pads=[1,1,1,1]} loc("depthwise")
      %3 = relu(%2) loc("relu_2")
      %4 = conv2d(%3, %p) loc("project")
      %5 = add(%4, %x) loc("residual")
      return %5
    })"},
    {"the same in blocks of channels, on an image of 1 MiB",
     R"(fn main(%x: f32[1,2,64,64,8], %e: f32[8,2,1,1,8,8], %d: f32[8,1,3,3,1,8], %p: f32[2,8,1,1,8,8]) {
      %0 = conv2d_nchwc(%x, %e) loc("expand")
      %1 = relu(%0) loc("relu")
      %2 = conv2d_nchwc(%1, %d) {group=64, pads=[1,1,1,1]} loc("depthwise")
      %3 = relu(%2) loc("relu_2")
      %4 = conv2d_nchwc(%3, %p) loc("project")
      %5 = add(%4, %x) loc("residual")
      return %5
    })"},
    {"a diamond", R"(fn main(%x: f32[3,7]) {
      %0 = exp(%x) loc("top")
      %1 = tanh(%0) loc("left")
      %2 = sigmoid(%0) loc("right")
      %3 = multiply(%1, %2) loc("bottom")
      return %3, %1
    })"},
};

}  // namespace

std::vector<GroupSample> written_samples() {
  std::vector<GroupSample> out;
  for (const Written& row : kWritten) {
    Result<IRModule> module = parse_module(row.text, all_ops());
    BYOC_CHECK(module.ok(), row.label, ": ", module.status().to_string());
    const size_t params = module->function("main").num_params();
    out.push_back({row.label, *std::move(module), std::vector<Domain>(params)});
  }
  return out;
}

std::optional<GroupSample> chained(const Program& a, const Program& b) {
  const Function &first = a.module.function("main"), &second = b.module.function("main");
  const size_t n = first.num_params(), m = second.num_params();
  const bool fits = first.nodes.size() == n + 1 && second.nodes.size() == m + 1 && m > 0 &&
                    first.nodes[n].types.size() == 1 &&
                    first.nodes[n].types[0] == second.nodes[0].types[0];
  if (!fits) return std::nullopt;
  GroupSample out{cat(a.label, ", then ", b.label), {}, a.domains};
  Function main;
  for (size_t k = 0; k < n; ++k) main.add_param(cat("x", k), first.nodes[k].types[0]);
  for (size_t k = 1; k < m; ++k) {
    main.add_param(cat("y", k), second.nodes[k].types[0]);
    out.domains.push_back(b.domains[k]);
  }
  std::vector<ValueId> args(first.args(first.nodes[n]).begin(), first.args(first.nodes[n]).end());
  const uint32_t made = main.add_copy(first.nodes[n], args);
  args.clear();
  for (ValueId arg : second.args(second.nodes[m]))
    args.push_back(arg.node == 0 ? ValueId{made, 0}
                                 : ValueId{static_cast<uint32_t>(n) + arg.node - 1, 0});
  const uint32_t last = main.add_copy(second.nodes[m], args);
  main.nodes[made].loc = "first", main.nodes[last].loc = "second";
  for (uint32_t k = 0; k < main.nodes[last].types.size(); ++k) main.results.push_back({last, k});
  out.module.functions["main"] = std::move(main);
  out.module.entry = "main";
  return out;
}

}  // namespace byoc::conform
