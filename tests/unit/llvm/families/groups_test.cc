// SPDX-License-Identifier: Apache-2.0
// The kernels that families find in functions, which the host is to keep together.
#include <gmock/gmock.h>

#include "byoc/op/op.h"
#include "byoc/text/text.h"
#include "plugins/llvm/families/family.h"

namespace byoc::test {
namespace {

struct Program {
  const char* why;
  const char* text;
  std::vector<std::string> groups;  // the ops of each, in order
};

const Program kPrograms[] = {
    {"scale, mask, softmax and both products are one kernel, with the moves and factors of "
     "queries, keys and values before them; a mask of fewer elements and the projection's bias "
     "stay outside",
     R"(fn main(%x: f32[20,1,24], %w: f32[24,24], %b: f32[24], %mask: f32[20]) {
  %0 = matmul(%x, %w)
  %1 = add(%0, %b)
  %2 = split(%1) {axis=2, split=[8,8,8]}
  %5 = reshape(%2#0) {shape=[20,2,4]}
  %6 = transpose(%5) {perm=[1,0,2]}
  %7 = const(0.5) : f32[]
  %8 = multiply(%6, %7)
  %9 = reshape(%2#1) {shape=[20,2,4]}
  %10 = transpose(%9) {perm=[1,2,0]}
  %11 = reshape(%2#2) {shape=[20,2,4]}
  %12 = transpose(%11) {perm=[1,0,2]}
  %13 = matmul(%8, %10)
  %14 = sigmoid(%mask)
  %15 = add(%14, %13)
  %16 = softmax(%15)
  %17 = matmul(%16, %12)
  %18 = transpose(%17) {perm=[1,0,2]}
  return %18
})",
     {"reshape transpose multiply reshape transpose reshape transpose matmul add softmax matmul"}},
    {"keys that a resize interpolates are made outside, as are products before the scores; a "
     "residual and an activation join",
     R"(fn main(%x: f32[20,8], %w: f32[8,8], %k: f32[8,10], %v: f32[20,8]) {
  %0 = matmul(%x, %w)
  %1 = resize(%k) {mode="linear", sizes=[8,20]}
  %2 = matmul(%0, %1)
  %3 = softmax(%2)
  %4 = matmul(%3, %v)
  %5 = add(%4, %x)
  %6 = relu(%5)
  return %6
})",
     {"matmul softmax matmul"}},
    {"weights that something else reads too, softmax along another axis, few rows, and scores "
     "that are the second operand are no attention",
     R"(fn main(%q: f32[20,8], %k: f32[8,20], %v: f32[20,8], %few: f32[4,8]) {
  %0 = matmul(%q, %k)
  %1 = softmax(%0)
  %2 = matmul(%1, %v)
  %3 = matmul(%q, %k)
  %4 = softmax(%3) {axis=0}
  %5 = matmul(%4, %v)
  %6 = matmul(%few, %k)
  %7 = softmax(%6)
  %8 = matmul(%7, %v)
  %9 = matmul(%q, %k)
  %10 = softmax(%9)
  %11 = matmul(%k, %10)
  return %1, %2, %5, %8, %11
})",
     {}},
    {"an expansion, a depthwise convolution of an image of 1 MiB and a projection are one "
     "kernel, with what is between them, also where x * sigmoid(x) reads a value twice; the "
     "residual joins its end",
     R"(fn main(%x: f32[1,2,64,64,8], %e: f32[8,2,1,1,8,8], %d: f32[8,1,3,3,1,8],
    %p: f32[2,8,1,1,8,8], %b: f32[8,1,1,8], %g: f32[8,1,5,5,1,8]) {
  %0 = conv2d_nchwc(%x, %e)
  %1 = add(%0, %b)
  %2 = sigmoid(%1)
  %3 = multiply(%1, %2)
  %4 = conv2d_nchwc(%3, %d) {group=64, pads=[1,1,1,1]}
  %5 = relu(%4)
  %6 = conv2d_nchwc(%5, %p)
  %7 = add(%6, %x)
  %8 = conv2d_nchwc(%7, %e)
  %9 = conv2d_nchwc(%8, %g) {group=64, pads=[2,2,2,2], strides=[2,2]}
  %10 = global_average_pool(%9)
  %11 = relu(%9)
  return %10, %11
})",
     {"conv2d_nchwc add sigmoid multiply conv2d_nchwc relu conv2d_nchwc",
      "conv2d_nchwc conv2d_nchwc"}},
    {"a resize, whose sums no chain has, joins none, before or after the last convolution in the "
     "order of nodes; the addition that reads both is its reader's",
     R"(fn main(%x: f32[1,2,64,64,8], %e: f32[8,2,1,1,8,8], %d: f32[8,1,3,3,1,8],
    %p: f32[2,8,1,1,8,8], %z: f32[1,2,32,32,8]) {
  %0 = conv2d_nchwc(%x, %e)
  %1 = conv2d_nchwc(%0, %d) {group=64, pads=[1,1,1,1]}
  %2 = conv2d_nchwc(%1, %p)
  %3 = resize(%z) {mode="linear", scales=[1.0,1.0,2.0,2.0,1.0]}
  %4 = add(%2, %3)
  %5 = conv2d_nchwc(%x, %e)
  %6 = conv2d_nchwc(%5, %d) {group=64, pads=[1,1,1,1]}
  %7 = resize(%z) {mode="linear", scales=[1.0,1.0,2.0,2.0,1.0]}
  %8 = conv2d_nchwc(%6, %p)
  %9 = add(%8, %7)
  return %4, %9
})",
     {"conv2d_nchwc conv2d_nchwc conv2d_nchwc", "conv2d_nchwc conv2d_nchwc conv2d_nchwc"}},
    {"a window of more than half of the image's rows would need most of the expanded image for "
     "each row of results: only what follows it is in its chain; each image of a batch has 1 MiB",
     R"(fn main(%x: f32[1,2,33,33,8], %e: f32[32,2,1,1,8,8], %d: f32[32,1,3,3,1,8],
    %p: f32[2,32,1,1,8,8], %b: f32[8,2,16,16,8]) {
  %0 = conv2d_nchwc(%x, %e)
  %1 = conv2d_nchwc(%0, %d) {dilations=[16,16], group=256, pads=[16,16,16,16]}
  %2 = conv2d_nchwc(%1, %p)
  %3 = conv2d_nchwc(%b, %e)
  %4 = conv2d_nchwc(%3, %d) {group=256, pads=[1,1,1,1]}
  return %2, %4
})",
     {"conv2d_nchwc conv2d_nchwc"}},
    {"a mask's arithmetic on as many elements as there are scores is done where it is read, what "
     "another op reads as well and arithmetic on fewer elements is not",
     R"(fn main(%q: f32[2,20,8], %k: f32[2,8,20], %v: f32[2,20,8], %m: f32[2,20,20],
    %few: f32[20]) {
  %0 = matmul(%q, %k)
  %1 = tanh(%m)
  %2 = negative(%1)
  %3 = exp(%m)
  %4 = add(%2, %3)
  %5 = add(%0, %4)
  %6 = sigmoid(%few)
  %7 = add(%5, %6)
  %8 = softmax(%7)
  %9 = matmul(%8, %v)
  return %9, %3
})",
     {"matmul tanh negative add add add softmax matmul"}},
    {"no chain has a value that something else reads, an image of less than 1 MiB, a window of "
     "more than 7 columns, a convolution of one pixel each with strides or pads, or one of whole "
     "windows; the second of two depthwise convolutions takes the projection",
     R"(fn main(%x: f32[1,8,64,64,8], %e: f32[8,8,1,1,8,8], %d: f32[8,1,3,3,1,8],
    %w: f32[8,1,1,9,1,8], %k: f32[8,8,3,3,8,8], %s: f32[1,8,32,32,8]) {
  %0 = conv2d_nchwc(%x, %e)
  %1 = conv2d_nchwc(%0, %d) {group=64, pads=[1,1,1,1]}
  %2 = add(%0, %1)
  %3 = conv2d_nchwc(%s, %e)
  %4 = conv2d_nchwc(%3, %d) {group=64, pads=[1,1,1,1]}
  %5 = conv2d_nchwc(%x, %e)
  %6 = conv2d_nchwc(%5, %w) {group=64}
  %7 = conv2d_nchwc(%x, %k)
  %8 = conv2d_nchwc(%7, %d) {group=64}
  %9 = conv2d_nchwc(%8, %e) {strides=[2,2]}
  %10 = conv2d_nchwc(%x, %d) {group=64, pads=[1,1,1,1]}
  %11 = conv2d_nchwc(%10, %d) {group=64, pads=[1,1,1,1]}
  %12 = conv2d_nchwc(%11, %e)
  return %2, %4, %6, %9, %12
})",
     {"conv2d_nchwc conv2d_nchwc"}},
};

std::vector<std::string> groups_in(const Function& function) {
  std::vector<std::string> out;
  for (const llvm_plugin::KernelGroup& group : llvm_plugin::groups_of(function)) {
    std::string ops;
    for (uint32_t node : group.nodes)
      ops += cat(ops.empty() ? "" : " ", std::get<Call>(function.nodes[node].kind).op->name);
    out.push_back(std::move(ops));
  }
  return out;
}

TEST(Groups, AreThoseOfTheFamilies) {
  for (const Program& program : kPrograms) {
    SCOPED_TRACE(program.why);
    const Result<IRModule> module = parse_module(program.text, all_ops());
    ASSERT_TRUE(module.ok()) << module.status().message();
    EXPECT_EQ(groups_in(module->function("main")), program.groups);
  }
}

}  // namespace
}  // namespace byoc::test
