// SPDX-License-Identifier: Apache-2.0
// Products of an open number of rows and convolutions of an open number of images by llvm: runs of
// one row or of one image have code of their own.
#include <gmock/gmock.h>

#include "byoc/compile.h"
#include "byoc/op/registry.h"
#include "byoc/pass/bind.h"
#include "byoc/runtime/session.h"
#include "byoc/text/text.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

std::shared_ptr<const PluginSet> all_plugins() {
  static const auto all = [] {
    PluginSearch search;
    search.folders = {BYOC_BUILD_DIR "/lib/byoc/plugins"};
    return PluginSet::load(search);
  }();
  return all;
}

/// Returns "[first, ...]", `count` numbers that repeat late.
std::string numbers(int64_t count, int64_t modulus, double scale) {
  std::string out = "[";
  for (int64_t k = 0; k < count; ++k)
    out += cat(k > 0 ? "," : "", static_cast<double>(k * k % modulus) * scale);
  return out + "]";
}

/// Returns the dims of the text's first parameter with so many rows or images.
Ints with_rows(const std::string& text, int64_t rows) {
  return text.find("<=9,24]") != std::string::npos ? Ints{rows, 24} : Ints{rows, 16, 9, 11};
}

std::vector<Tensor> run(const std::string& text, const GivenShapes& sizes,
                        const std::string& plugin, int64_t rows) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  auto bound = bind_shapes(*std::move(module), sizes, {});
  EXPECT_TRUE(bound.ok()) << bound.status().to_string();
  auto built = build(*std::move(bound), {.plugins = all_plugins(), .compilers = {plugin}});
  EXPECT_TRUE(built.ok()) << built.status().to_string();
  for (const ExternalModule& part : built->modules) EXPECT_EQ(part.plugin, plugin);
  auto session = Session::load(*std::move(built), all_plugins());
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  auto context = *(*session)->make_context();
  Tensor x = *Tensor::make({DType::kF32, with_rows(text, rows)});
  fill_random(x, static_cast<uint64_t>(rows));
  std::vector<DLTensor> in = {x.view()};
  std::vector<Tensor> out;
  out.push_back(*Tensor::make((*session)->output_types(in)->at(0)));
  std::vector<DLTensor> to = {out[0].view()};
  const Status ran = (*session)->run(*context, in, to);
  EXPECT_TRUE(ran.ok()) << ran.to_string();
  return out;
}

void expect_all_rows(const std::string& text) {
  for (int64_t rows : {1, 2, 3, 9, 1}) {
    SCOPED_TRACE(rows);
    const auto got = run(text, {}, "llvm", rows), right = run(text, {{"N", {rows}}}, "json", rows);
    ASSERT_EQ(got[0].spec(), right[0].spec());
    const auto* a = reinterpret_cast<const float*>(got[0].data());
    const auto* b = reinterpret_cast<const float*>(right[0].data());
    for (int64_t k = 0; k < num_elements(right[0].spec()); ++k)
      ASSERT_NEAR(a[k], b[k], 1e-4 * (1 + std::abs(b[k]))) << k;
  }
}

std::string product() {
  return cat("fn main(%x: f32[1<=N<=9,24]) {\n  %w = const(", numbers(24 * 70, 101, 0.01),
             ") : f32[24,70]\n  %b = const(", numbers(70, 11, 0.5),
             ") : f32[70]\n  %0 = matmul(%x, %w)\n  %1 = add(%0, %b)\n  %2 = relu(%1)\n",
             "  return %2\n}\n");
}

std::string blocks() {
  return cat("fn main(%x: f32[1<=N<=9,24]) {\n  %w = const(", numbers(40 * 12, 251, 1),
             ") : u8[40,12]\n  %s = const(", numbers(40 * 3, 13, 0.1),
             ") : f32[40,3]\n  %0 = matmul_blocks(%x, %w, %s) {block=8, bits=4}\n",
             "  return %0\n}\n");
}

// Products of bytes less a zero point, whose sums are exact.
std::string integers() {
  return cat("fn main(%x: f32[1<=N<=9,24]) {\n  %w = const(", numbers(24 * 70, 101, 1),
             ") : i8[24,70]\n  %s = const(0.01) : f32[]\n  %z = const(120) : u8[]\n",
             "  %zero = const(120) : i32[]\n  %0 = quantize(%x, %s, %z)\n",
             "  %1 = cast(%0) {to=i32}\n  %2 = subtract(%1, %zero)\n",
             "  %3 = cast(%w) {to=i32}\n  %4 = matmul(%2, %3)\n",
             "  %5 = cast(%4) {to=f32}\n  return %5\n}\n");
}

// A 3x3 convolution, which may be Winograd's, one of 1x1, which may be Strassen's, and a pool.
std::string images() {
  return cat("fn main(%x: f32[1<=N<=9,16,9,11]) {\n  %w = const(", numbers(32 * 16 * 9, 101, 0.01),
             ") : f32[32,16,3,3]\n  %v = const(", numbers(64 * 32, 103, 0.01),
             ") : f32[64,32,1,1]\n  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}\n  %1 = relu(%0)\n",
             "  %2 = conv2d(%1, %v)\n  %3 = max_pool(%2) {kernel_shape=[3,3], strides=[2,2]}\n",
             "  return %3\n}\n");
}

TEST(OneRow, OfAProduct) { expect_all_rows(product()); }
TEST(OneRow, OfAProductOfIntegers) { expect_all_rows(integers()); }
TEST(OneRow, OfAProductWithBlocks) { expect_all_rows(blocks()); }
TEST(OneRow, OfImages) { expect_all_rows(images()); }

// The condition is in the code that the command prints, and the constants are packed once.
TEST(OneRow, HasCodeOfItsOwn) {
  Byoc byoc;
  for (const std::string& text : {product(), blocks(), images()}) {
    const std::string open = byoc.write("open.ir", text);
    std::string one_row = text;
    one_row.replace(one_row.find("1<=N"), 4, "2<=N");
    const std::string rows = byoc.write("rows.ir", one_row);
    const std::string flags = " --compiler llvm --llvm";
    EXPECT_GT(byoc("print " + open + flags).out.size(), byoc("print " + rows + flags).out.size());
    const Json with = byoc.json("compile " + open + " --compiler llvm -o " + byoc.file("a.byoc"));
    const Json without =
        byoc.json("compile " + rows + " --compiler llvm -o " + byoc.file("b.byoc"));
    EXPECT_EQ(with["constant_bytes"], without["constant_bytes"]);
    EXPECT_GT(with["constant_bytes"], 0);
  }
}

}  // namespace
}  // namespace byoc::test
