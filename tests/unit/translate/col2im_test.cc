// SPDX-License-Identifier: Apache-2.0
// The tensor expression of col2im, which gathers the blocks of each cell, against loops that add
// each block to the image.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "byoc/te/evaluate.h"
#include "byoc/text/builder.h"
#include "byoc/translate/translate.h"

namespace byoc {
namespace {

/// Windows over a line or an image, per dim.
struct Blocks {
  Ints image, block, strides, dilations, pads;
  Ints counts;  // of blocks
};

Blocks random_blocks(std::mt19937& random) {
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Blocks out;
  const auto rank = static_cast<size_t>(between(1, 2));
  out.pads.resize(2 * rank);
  for (size_t d = 0; d < rank; ++d) {
    out.block.push_back(between(1, 5));
    out.strides.push_back(between(1, 6));
    out.dilations.push_back(between(1, 6));
    out.pads[d] = between(0, 3), out.pads[d + rank] = between(0, 3);
    const int64_t reach = (out.block[d] - 1) * out.dilations[d] + 1;
    out.image.push_back(std::max<int64_t>(reach - out.pads[d] - out.pads[d + rank], 1) +
                        between(0, 12));
    const int64_t free = out.image[d] + out.pads[d] + out.pads[d + rank] - reach;
    out.counts.push_back(free / out.strides[d] + 1);
  }
  return out;
}

int64_t product(const Ints& list) {
  int64_t out = 1;
  for (int64_t x : list) out *= x;
  return out;
}

/// Adds each element of x [1, taps, blocks] to its cell.
std::vector<float> added(const Blocks& b, const std::vector<float>& x) {
  std::vector<float> out(static_cast<size_t>(product(b.image)), 0);
  const int64_t blocks = product(b.counts);
  for (size_t at = 0; at < x.size(); ++at) {
    int64_t tap = static_cast<int64_t>(at) / blocks, block = static_cast<int64_t>(at) % blocks;
    int64_t flat = 0, step = 1;
    bool is_inside = true;
    for (size_t d = b.image.size(); d-- > 0;) {
      const int64_t cell =
          block % b.counts[d] * b.strides[d] + tap % b.block[d] * b.dilations[d] - b.pads[d];
      is_inside = is_inside && cell >= 0 && cell < b.image[d];
      flat += cell * step, step *= b.image[d];
      block /= b.counts[d], tap /= b.block[d];
    }
    if (is_inside) out[static_cast<size_t>(flat)] += x[at];
  }
  return out;
}

std::vector<float> gathered(const Blocks& b, const std::vector<float>& x) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId in = f.param("x", {DType::kF32, {1, product(b.block), product(b.counts)}});
  ValueId y = f.call("col2im", {in},
                     {{"image_shape", b.image},
                      {"block_shape", b.block},
                      {"strides", b.strides},
                      {"dilations", b.dilations},
                      {"pads", b.pads}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  auto dag = te::translate_to_te(module, module.function("main"), te::Target{}, te::by_level());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  auto loops = te::lower(te::Schedule(*std::move(dag)));
  EXPECT_TRUE(loops.ok()) << loops.status().message();
  std::vector<float> out(static_cast<size_t>(product(b.image)), -1);
  const void* inputs[] = {x.data()};
  void* outputs[] = {out.data()};
  const Status status = te::evaluate(*loops, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST(Col2ImCompute, GathersWhatBlocksAdd) {
  std::mt19937 random(7);
  for (int k = 0; k < 500; ++k) {
    const Blocks b = random_blocks(random);
    std::vector<float> x(static_cast<size_t>(product(b.block) * product(b.counts)));
    for (float& value : x) value = static_cast<float>(static_cast<int>(random() % 17) - 8);
    EXPECT_EQ(gathered(b, x), added(b, x)) << "case " << k;
  }
}

}  // namespace
}  // namespace byoc
