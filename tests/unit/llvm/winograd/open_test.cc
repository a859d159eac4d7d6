// SPDX-License-Identifier: Apache-2.0
// Winograd's convolutions of images whose rows and columns each run gives, against sums by the
// definition.
#include "unit/llvm/open/open_sizes.h"
#include "unit/llvm/winograd/layer.h"

namespace byoc {
namespace {

using at_sizes::Sizes;
using test::Layer;

// Returns the text of the layer's function, of which `d` has the images, rows and columns.
at_sizes::TextOf text_of(const Layer& s) {
  return [s](const std::vector<std::string>& d) {
    const std::string image = cat(d[0], ",", s.c / s.block, ",", d[1], ",", d[2], ",", s.block);
    std::string out =
        cat("fn main(%x: f32[", image, "], %w: f32[", s.o / s.block, ",", s.c / s.block, ",",
            s.rows, ",", s.columns, ",", s.block, ",", s.block, "]");
    if (s.has_bias) out += cat(", %b: f32[1,", s.o / s.block, ",1,1,", s.block, "]");
    if (s.has_residual) out += cat(", %r: f32[", image, "]");
    out += cat(") {\"llvm.families\"=\"+winograd\"} {\n  %0 = conv2d_nchwc(%x, %w) {pads=[",
               s.pads[0], ",", s.pads[1], ",", s.pads[2], ",", s.pads[3], "], strides=[", s.stride,
               ",", s.stride, "]}\n");
    int last = 0;
    if (s.has_bias) out += cat("  %", last + 1, " = add(%", last, ", %b)\n"), ++last;
    if (s.has_residual) out += cat("  %", last + 1, " = add(%", last, ", %r)\n"), ++last;
    if (s.has_relu) out += cat("  %", last + 1, " = relu(%", last, ")\n"), ++last;
    return out + cat("  return %", last, "\n}\n");
  };
}

bool has_winograd(const IRModule& module, const te::Target& target) {
  const auto dags = llvm_plugin::translate_open(module, target);
  EXPECT_TRUE(dags.ok()) << dags.status().to_string();
  return dags.ok() && std::ranges::any_of(dags->open.stages, [](const te::Stage& stage) {
           return stage.compute.starts_with("winograd_");
         });
}

void expect_sums_at(Layer layer, const test::Loaded& code, const std::vector<int64_t>& sizes) {
  layer.n = sizes[0], layer.h = sizes[1], layer.w = sizes[2];
  SCOPED_TRACE(layer.text());
  const test::LayerData data = test::data_of(layer, 1);
  const auto y = code.run(test::inputs_of(layer, data), sizes);
  ASSERT_EQ(y.size(), 1u);
  EXPECT_LE(test::relative_error(layer, y[0].as<float>(), test::expected(layer, data)), 2e-5);
}

// Compiles a layer once, and runs it for each of these images, rows and columns.
void expect_sums(const Layer& layer, const Sizes& sizes,
                 const std::vector<std::vector<int64_t>>& at, uint32_t threads = 1) {
  std::vector<std::string> dims;
  for (const at_sizes::Size& size : sizes) dims.push_back(size.text());
  const IRModule module = at_sizes::module_of(text_of(layer), dims);
  EXPECT_TRUE(has_winograd(module, llvm_plugin::host_target())) << layer.text();
  const te::LoopFunction loops = at_sizes::compiled_loops(module, threads);
  if (::testing::Test::HasFailure()) return;
  const test::Loaded code(loops, {.threads = threads});
  for (const std::vector<int64_t>& one : at) expect_sums_at(layer, code, one);
}

const Sizes kImages = {{"B", 1, 3}, {"H", 3, 70}, {"W", 3, 70}};

// All numbers of rows that the last tile and the last batch may have.
std::vector<std::vector<int64_t>> every_rest() {
  std::vector<std::vector<int64_t>> out;
  for (int64_t h = 3; h <= 36; ++h) out.push_back({1, h, 3 + h * 7 % 31});
  for (int64_t w = 3; w <= 36; ++w) out.push_back({2, 3 + w * 5 % 29, w});
  for (int64_t size : {3, 64, 69, 70}) out.push_back({1, size, size});
  out.push_back({3, 70, 3});
  out.push_back({3, 3, 70});
  return out;
}

TEST(OpenWinograd, ComputesTheSumsOfAllRests) {
  for (const uint32_t threads : {1u, 2u}) {
    for (const Ints& pads : {Ints{1, 1, 1, 1}, Ints{0, 0, 0, 0}}) {
      const bool is_same = pads[0] == 1;
      expect_sums({.c = 16,
                   .o = 16,
                   .pads = pads,
                   .block = 8,
                   .has_bias = is_same,
                   .has_residual = is_same,
                   .has_relu = is_same},
                  kImages, every_rest(), threads);
    }
  }
}

TEST(OpenWinograd, HasAllWindowsAndStrides) {
  for (auto [rows, columns, stride, block] :
       {std::tuple(3, 3, 2, 8), std::tuple(5, 5, 1, 16), std::tuple(5, 5, 2, 8),
        std::tuple(1, 3, 1, 8), std::tuple(3, 1, 1, 8), std::tuple(1, 7, 1, 8),
        std::tuple(7, 1, 1, 8), std::tuple(3, 3, 1, 16)}) {
    const Ints pads = {rows / 2, columns / 2, rows / 2, columns / 2};
    expect_sums({.c = 16,
                 .o = 32,
                 .rows = rows,
                 .columns = columns,
                 .pads = pads,
                 .block = block,
                 .has_bias = true,
                 .has_relu = true,
                 .stride = stride},
                kImages,
                {{1, 3, 3}, {1, 70, 70}, {2, 5, 33}, {1, 33, 6}, {1, 17, 19}, {3, 24, 16}});
  }
}

TEST(OpenWinograd, TakesOneOpenAxis) {
  const Layer layer{.c = 16, .o = 16, .h = 20, .block = 8, .has_relu = true};
  const at_sizes::TextOf all = text_of(layer);
  for (const bool is_height : {true, false}) {
    const at_sizes::TextOf text = [=](const std::vector<std::string>& d) {
      return is_height ? all({"1", d[0], "20"}) : all({"1", "20", d[0]});
    };
    const IRModule module = at_sizes::module_of(text, {"3<=S<=70"});
    EXPECT_TRUE(has_winograd(module, llvm_plugin::host_target()));
    const te::LoopFunction loops = at_sizes::compiled_loops(module, 1);
    ASSERT_FALSE(::testing::Test::HasFailure());
    const test::Loaded code(loops, {.threads = 1});
    for (int64_t size : {3, 4, 9, 16, 31, 70}) {
      Layer one = layer;
      one.h = is_height ? size : 20, one.w = is_height ? 20 : size;
      SCOPED_TRACE(one.text());
      const test::LayerData data = test::data_of(one, 1);
      const auto y = code.run(test::inputs_of(one, data), {size});
      EXPECT_LE(test::relative_error(one, y[0].as<float>(), test::expected(one, data)), 2e-5);
    }
  }
}

}  // namespace
}  // namespace byoc
